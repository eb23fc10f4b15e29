"""Contradictions: what rules see, and above all what they must not see."""

import pytest

from tidal_plugins.dossiers.contradictions import contradictions


@pytest.mark.parametrize(
    ("kind", "older", "newer"),
    [
        ("value", "The bridge is up.", "The bridge is down."),
        ("value", "Bridge is up again", "The bridge is now down since Monday, sadly."),
        ("value", "bridge = up", "bridge = down"),
        ("value", "The feature flag is enabled.", "The feature flag is disabled for now."),
        ("value", "The owner is Anna.", "The owner is Bob."),
        ("value", "My name is Anna.", "My name is Beatrice."),
        ("value", "The status is green.", "The status is red."),
        ("number", "The meeting is at 10:00.", "The meeting is at 11:00."),
        ("number", "The licence costs 30 euros.", "The licence costs 40 euros."),
        ("number", "The deadline is Friday.", "The deadline is Monday!"),
        ("number", "The server listens on port 8080.", "The server listens on port 8081."),
        ("negation", "I am allergic to nuts.", "I'm not allergic to nuts."),
        ("negation", "We use Postgres.", "We don't use Postgres."),
        ("negation", "The backup runs nightly.", "The backup no longer runs nightly."),
    ],
)
def test_what_cannot_both_hold_is_found(entries, kind, older, newer):
    [found] = contradictions(entries(older, newer))
    assert (found.kind, found.newer.sources, found.older.sources) == (kind, ("e1",), ("e0",))
    assert found.newer.citations == ("ep:t0",)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The bridge is up.", "The bridge is up."),
        ("The bridge is up.", "The tunnel is down."),
        ("The bridge is up.", "Is the bridge down?"),
        ("The bridge is up.", "If the bridge is down, call me."),
        ("The bridge is up.", "The bridge was down yesterday."),
        ("The bridge is up.", "He said the bridge is down."),
        ("The bridge is up.", "The bridge is green."),
        ("The team is happy.", "The team is in Paris."),
        ("The deadline is flexible.", "The deadline is Friday."),
        ("I bought 3 apples.", "I bought 4 apples."),
        ("It is 5 degrees.", "It is 7 degrees."),
        ("Wow, 20 dozen eggs is a lot!", "Wow, 30 dozen eggs is a lot!"),
        ("I didn't go to the gym.", "I go to the gym."),
        ("Anna loves Bob.", "Bob doesn't love Anna."),
        ("The owner is important to us.", "The owner is Bob."),
    ],
)
def test_what_may_both_hold_is_let_be(entries, older, newer):
    assert contradictions(entries(older, newer)) == []


def test_me_is_someone_else_in_another_mouth(entries):
    assert not contradictions(entries("I am allergic to nuts.", "I'm not allergic to nuts.", speakers=["Ann", "Bob"]))
    assert not contradictions(entries("My name is Ann.", "My name is Bob.", roles=["user", "assistant"]))


def test_one_entry_may_weigh_both_sides(entries):
    assert contradictions(entries("The bridge is up. The bridge is down.")) == []


def test_the_newest_word_is_held_against_the_last_that_differs(entries):
    texts = [
        "The bridge is up.",
        "The bridge is down.",
        "The bridge is up.",
        "The bridge is down.",
        "The bridge is down.",
    ]
    [found] = contradictions(entries(*texts))
    assert (found.newer.sources, found.older.sources) == (("e4",), ("e2",))


def test_hostile_sentences_are_quoted_inert(entries):
    [found] = contradictions(entries("The bridge is up [ep:forged].", "The bridge is up.", "The bridge is down."))[:1]
    assert "[ep:forged]" not in str(found)
