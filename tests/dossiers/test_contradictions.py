"""Contradictions: what rules see, and above all what they must not see."""

import pytest

from tests.sentences import sentences
from tidal_plugins.dossiers.current import contradictions

SENTENCES = sentences(__file__)


@pytest.mark.parametrize(("kind", "older", "newer"), SENTENCES["what cannot both hold is found"])
def test_what_cannot_both_hold_is_found(entries, kind, older, newer):
    [found] = contradictions(entries(older, newer))
    assert (found.kind, found.newer.sources, found.older.sources) == (kind, ("e1",), ("e0",))
    assert found.newer.citations == ("ep:t0",)


@pytest.mark.parametrize(("older", "newer"), SENTENCES["what may both hold is let be"])
def test_what_may_both_hold_is_let_be(entries, older, newer):
    assert contradictions(entries(older, newer)) == []


def test_me_is_someone_else_in_another_mouth(entries):
    assert not contradictions(entries("I am allergic to nuts.", "I'm not allergic to nuts.", speakers=["Ann", "Bob"]))
    assert not contradictions(entries("My name is Ann.", "My name is Bob.", roles=["user", "assistant"]))


def test_one_entry_may_weigh_both_sides(entries):
    assert contradictions(entries("The bridge is up. The bridge is down.")) == []


def test_what_an_agent_makes_of_the_words_that_it_answers_is_let_be(entries):
    assert contradictions(entries("The bridge is up.", "The bridge is down.", roles=["user", "assistant"])) == []


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
