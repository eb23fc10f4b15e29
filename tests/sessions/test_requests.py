"""What a model asks of a session by its tools, and what it is told."""

from __future__ import annotations

import pytest

from tidal_plugins import Forgotten, NotFound, Policy, SignalCapReached, TidalMemory
from tidal_plugins.model.entry import user_of
from tidal_plugins.sessions.requests import annotate, meant, reward


@pytest.fixture
def ids(memory: TidalMemory) -> list[str]:
    return [memory.remember(f"Entry {number}.").id for number in range(3)]


def test_each_entry_that_is_meant_is_rewarded_and_the_first_one_gets_the_note(
    memory: TidalMemory, ids: list[str]
) -> None:
    session = memory.sessions.open()
    assert reward(session, ids, 2.0, "jazz") == "Rewarded: it ranks higher in this conversation from now on."
    assert session.snapshot().scores == {"reward": dict.fromkeys(ids, 2.0)}
    assert [(note.entry, note.text) for note in session.snapshot().annotations] == [(ids[0], "jazz")]


def test_a_note_is_made_once(memory: TidalMemory, ids: list[str]) -> None:
    session = memory.sessions.open(policy=Policy(max_signals=5))
    assert annotate(session, ids, "jazz").endswith(" Signals left in this session: 4.")
    assert [note.entry for note in session.snapshot().annotations] == [ids[0]]


def test_a_reward_that_is_refused_half_way_says_so(memory: TidalMemory, ids: list[str]) -> None:
    session = memory.sessions.open(policy=Policy(max_signals=2))
    assert reward(session, ids, 1.0, None).startswith("Rewarded in part, 2 of 3 entries. signal 'reward' was refused")
    with pytest.raises(SignalCapReached):
        reward(session, ids, 1.0, None)


def test_what_was_shown_is_meant_and_all_of_it_where_that_is_not_known() -> None:
    assert meant(["a", "b", "c"], ["c", "b", "x"]) == ["b", "c"]
    assert meant(["a", "b"], ["x"]) == ["a", "b"]


def test_a_citation_means_an_entry_or_what_was_said_in_an_episode(memory: TidalMemory, ids: list[str]) -> None:
    episode = memory.record("Which key?", "In F.")
    assert memory.episodes.entry_ids(f"[mem:{ids[0]}]") == (ids[0],)
    assert (
        memory.episodes.entry_ids(f"[{episode.citation}]") == memory.episodes.entry_ids(episode.id) == episode.entries
    )
    memory.forget(episode.entries[0])
    assert memory.episodes.entry_ids(episode.citation) == episode.entries[1:]
    for citation, error in (("nowhere", NotFound), (episode.entries[0], Forgotten)):
        with pytest.raises(error):
            memory.episodes.entry_ids(citation)


@pytest.mark.parametrize(
    ("scope", "user"),
    [(("user", "42"), "42"), (("app", "user", "42", "notes"), "42"), (("user",), None), (("default",), None)],
)
def test_a_scope_may_name_its_user(scope: tuple[str, ...], user: str | None) -> None:
    assert user_of(scope) == user
