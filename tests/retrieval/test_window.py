"""The turns around a hit, which are returned with it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tidal_plugins import Hit, InvalidInput, Message, TidalMemory
from tidal_plugins.testing import NOON, FrozenClock

TURNS = ("hello there", "what is for lunch", "soup with leek", "and bread", "thank you")


@pytest.fixture
def talk(memory: TidalMemory) -> TidalMemory:
    for number, text in enumerate(TURNS):
        message = Message("user", text, speaker="Ann" if number % 2 else "Ben")
        memory.record(messages=[message], thread="s", occurred_at=NOON - timedelta(minutes=9 - number))
    memory.record(messages=[Message("user", "a leek elsewhere")], thread="t", occurred_at=NOON - timedelta(minutes=5))
    return memory


def around(hit: Hit) -> tuple[list[str], list[str]]:
    return [entry.text for entry in hit.window.before], [entry.text for entry in hit.window.after]


def test_a_hit_comes_with_the_turns_around_it_in_order(talk: TidalMemory) -> None:
    assert around(talk.recall("soup leek", window=1)[0]) == (["what is for lunch"], ["and bread"])
    assert around(talk.recall("soup leek", window=9)[0]) == (list(TURNS[:2]), list(TURNS[3:]))


def test_without_being_asked_for_there_is_none(talk: TidalMemory) -> None:
    assert around(talk.recall("soup leek")[0]) == ([], [])


def test_a_hit_without_a_thread_has_none(memory: TidalMemory) -> None:
    memory.remember("soup with leek")
    memory.remember("soup with beans")
    assert around(memory.recall("soup", window=3)[0]) == ([], [])


def test_filters_choose_hits_and_not_what_stands_around_them(talk: TidalMemory) -> None:
    [hit] = talk.recall("soup leek", speakers=["Ben"], since=NOON - timedelta(minutes=7, seconds=1), limit=1, window=1)
    assert around(hit) == (["what is for lunch"], ["and bread"])


def test_what_is_excluded_archived_or_forgotten_stays_out(talk: TidalMemory, clock: FrozenClock) -> None:
    ids = {hit.text: hit.id for hit in talk.recall(" ".join(TURNS))}
    [hit] = talk.recall("soup leek", exclude=[ids["and bread"]], limit=1, window=1)
    assert around(hit) == (["what is for lunch"], ["thank you"])
    talk.forget(ids["what is for lunch"])
    assert around(talk.recall("soup leek", window=1)[0])[0] == ["hello there"]
    clock.advance(days=9_000)
    talk.maintenance.run()
    assert not talk.recall("soup leek", window=1)
    [hit] = talk.recall("soup leek", limit=1, window=1, include_archived=True)
    assert around(hit) == (["hello there"], ["and bread"])


def test_what_was_not_known_then_stays_out(talk: TidalMemory, clock: FrozenClock) -> None:
    clock.advance(hours=1)
    later = NOON - timedelta(minutes=6, seconds=30)
    talk.record(messages=[Message("user", "it was late to say so")], thread="s", occurred_at=later)
    [hit] = talk.recall("soup leek", limit=1, window=1, as_of=NOON)
    assert around(hit)[1] == ["and bread"]
    [hit] = talk.recall("soup leek", limit=1, window=1)
    assert around(hit)[1] == ["it was late to say so"]


@pytest.mark.parametrize("window", [-1, 51, True, 1.0])
def test_a_window_is_a_small_number(memory: TidalMemory, window: object) -> None:
    with pytest.raises(InvalidInput, match="window"):
        memory.recall("a", window=window)  # type: ignore[arg-type]
