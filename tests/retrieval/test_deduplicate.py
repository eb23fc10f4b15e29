"""What says nearly the same: it is no rival, and the whisper has room for something else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.retrieval.directions import QUESTION, holding
from tidal_plugins import Exchange, Message, Note, Settings, TidalMemory
from tidal_plugins.errors import Corrupt
from tidal_plugins.storage.sqlite.columns import SQLiteColumns
from tidal_plugins.tuning import Tuning

TURN = "when is my jazz piano lesson"


def copies(count: int, text: str = "The jazz piano lesson is on friday at the music school, room {}.") -> list[Note]:
    return [Note(text.format(number)) for number in range(count)]


# kinds


def turned(open_memory: Any, **degrees: float) -> Any:
    """A memory of texts at a cosine of .2 with the question, turned so far from each other; .9 is 25.8 degrees."""
    texts = {text: 0.5 - place / 100 for place, text in enumerate(degrees)}
    alike = {"threshold": 0.0, "max_entries": 20, "max_chars": 5_000}
    return holding(open_memory, texts, degrees=degrees, whisper=alike)


def shown(memory: TidalMemory) -> list[str]:
    return [hit.text for hit in memory.whisper(QUESTION).hits]


def test_a_third_of_a_kind_does_not_surface(open_memory: Any) -> None:
    memory = turned(open_memory, apple=0, birch=80, cedar=10, date=90, elder=20)
    assert shown(memory) == ["apple", "birch", "cedar", "date"]


def test_a_kind_does_not_spread_from_one_to_the_next(open_memory: Any) -> None:
    assert shown(turned(open_memory, apple=0, birch=25, cedar=50, date=75)) == ["apple", "birch", "cedar", "date"]


def test_damaged_vectors_make_nothing_alike(open_memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*args: Any) -> Any:
        raise Corrupt("damaged")

    memory = turned(open_memory, apple=0, birch=1, cedar=2)
    assert len(shown(memory)) == 2
    monkeypatch.setattr(SQLiteColumns, "units", damaged)
    assert len(shown(memory)) == 3


# whispers


def test_many_that_say_the_same_silence_nothing(open_memory: Any) -> None:
    one, many = open_memory("one.db"), open_memory("many.db")
    rivals = open_memory("rivals.db", settings=Tuning(whisper={"alike": 1.1}))
    one.remember(copies(1))
    for memory in (many, rivals):
        memory.remember(copies(30))
    confidences = [memory.whisper(TURN).recall.confidence for memory in (one, many, rivals)]
    assert confidences[1] == pytest.approx(confidences[0], abs=0.1)
    assert confidences[2] < Settings().whisper.threshold < confidences[1]
    assert many.whisper(TURN)


def test_many_that_say_the_same_leave_room_for_what_else_there_is(memory: TidalMemory) -> None:
    memory.remember(copies(20))
    other = memory.remember("When the jazz lesson ends, my piano is tuned by Ms Okafor.")
    told = memory.whisper(TURN)
    assert other.id in told.ids
    assert len(told.ids) == 3
    assert told.recall is not None
    dropped = {item.id: item.reason for item in told.recall.dropped if item.stage == "diversity"}
    first, second = [id_ for id_ in told.ids if id_ != other.id]
    assert len(dropped) == 18
    assert set(dropped.values()) == {f"says nearly the same as {first} and {second}"}


def test_what_changed_is_shown_beside_what_it_was(memory: TidalMemory) -> None:
    then = memory.remember("My jazz piano lesson is at 10:00 on the second floor.")
    now = memory.remember("My jazz piano lesson is at 11:00 on the second floor.")
    assert set(memory.whisper(TURN).ids) == {then.id, now.id}


def test_what_is_denied_is_shown_beside_what_was_said(memory: TidalMemory) -> None:
    said = memory.remember("My jazz piano lesson is on friday.")
    denied = memory.remember("My jazz piano lesson is not on friday.")
    assert set(memory.whisper(TURN).ids) == {said.id, denied.id}


def test_the_same_words_are_shown_once(memory: TidalMemory) -> None:
    kinds_ = ("kb", "skill", "fact")
    notes = {memory.remember("My jazz piano lesson is on friday.", kind=kind).id for kind in kinds_}
    told = memory.whisper(TURN)
    [shown] = told.ids
    assert told.recall is not None
    reasons = {item.id: item.reason for item in told.recall.dropped if item.stage == "diversity"}
    assert reasons.keys() == notes - {shown}
    assert f"says in the same words what {shown} says" in reasons.values()


def test_many_in_the_same_words_leave_room_for_what_else_there_is(open_memory: Any) -> None:
    memory = open_memory(settings=Tuning(whisper={"alike": 1.1, "threshold": 0.0}))
    memory.remember([Note("My jazz piano lesson is on friday" + "!" * number) for number in range(20)])
    other = memory.remember("The jazz piano is old.")
    told = memory.whisper(TURN)
    assert len(told.ids) == 2
    assert other.id in told.ids
    assert [item.stage for item in told.recall.dropped] == ["diversity"] * 19


def test_the_same_words_of_two_people_are_two_things(memory: TidalMemory) -> None:
    said = [Exchange((Message("user", "My jazz piano lesson is on friday.", speaker=name),)) for name in ("Ann", "Bob")]
    memory.record_many(said)
    entries = {entry for episode in memory.episodes.list() for entry in episode.entries}
    assert set(memory.whisper(TURN).ids) == entries
    assert len(entries) == 2


def test_who_searches_gets_all_of_them(memory: TidalMemory) -> None:
    memory.remember(copies(10))
    found = memory.recall(TURN, limit=10)
    assert len(found) == 10
    assert not found.dropped


def test_nothing_is_alike_when_the_settings_say_so(open_memory: Any) -> None:
    memory = open_memory(settings=Tuning(whisper={"alike": 1.1, "threshold": 0.01, "line_threshold": 0.0}))
    memory.remember(copies(20))
    told = memory.whisper(TURN)
    assert len(told.ids) == 3
    assert "diversity" not in {item.stage for item in told.recall.dropped}


@pytest.mark.parametrize("profile", ["balanced", "tidal", "attention"])
def test_every_profile_speaks_and_is_silent(open_memory: Any, profile: str) -> None:
    texts = ["Jazz piano lesson on friday.", "My piano is old.", "The lesson was long.", "Jazz is my thing."]
    plain = open_memory("plain.db", settings=Settings(recall={"profile": profile}))
    plain.remember([Note(text) for text in texts])
    told = plain.whisper("Which jazz piano lesson is on friday?")
    assert texts[0] in {hit.text for hit in told.hits}
    assert not plain.whisper("quantum chromodynamics lattice")
    plain = open_memory("none.db", settings=Settings(recall={"profile": profile}, whisper={"threshold": 0.0}))
    plain.remember("Nothing like it.")
    assert plain.whisper("jazz piano lesson"), "a threshold of nothing lets everything through"


def test_a_question_that_is_asked_again_brings_up_nothing_that_has_nothing_to_do_with_it(memory: TidalMemory) -> None:
    memory.record("The crate goes to Split on the ferry.", "I booked it.", thread="monday")
    asked = memory.record("Look everywhere.", thread="monday")
    told = memory.whisper("Look everywhere.")
    assert not told
    assert told.recall is not None
    assert next(item for item in told.recall.dropped if item.id == asked.entries[0]).stage == "threshold"
