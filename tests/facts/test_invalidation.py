"""The newest value first, through the public doors: recorded turns, the background, recall, whisper, undo, forget."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests.tables import tables
from tests.waiting import eventually
from tidal_plugins import Exchange, HashingEmbedder, Message, NotFound, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

TABLE = tables("facts/invalidation.jsonl")

BY_HAND = Settings(graph={"background": False}, whisper={"threshold": 0.0})
OLD = "The dentist appointment is on Thursday 5 March at 10:00."
NEW = "They moved the dentist appointment to Friday 6 March at 14:30."
QUERY = "When is the dentist appointment?"


@pytest.fixture
def memory(open_memory: Any) -> Any:
    return open_memory(settings=BY_HAND)


def said(memory: TidalMemory, clock: FrozenClock, *texts: str) -> list[str]:
    """Record each text a day after the one before, look for what is superseded, and return the entries' ids."""
    ids = []
    for text in texts:
        clock.advance(days=1)
        ids += memory.record(text, thread=f"day {len(ids)}").entries
    memory.supersessions.find()
    return ids


def test_the_newest_has_the_best_chance_and_what_it_supersedes_hardly_one(memory: Any, clock: FrozenClock) -> None:
    said(memory, clock, OLD, NEW, "The hedge is cut in March.")
    memory.supersessions.find()
    newer, older = memory.recall(QUERY)[:2]
    [link] = memory.supersessions.list()
    assert (newer.id, older.id) == (link.later, link.earlier)
    assert newer.score > older.score
    assert newer.confidence > older.confidence
    assert newer.why.features
    assert {one.id for one in memory.recall(QUERY).dropped}.isdisjoint(memory.recall(QUERY).ids)


@pytest.mark.parametrize("ten", ["The standup moved to 10.", "The standup is at 10."])
def test_a_return_to_an_earlier_value_in_the_same_words_is_the_newest(
    memory: Any, clock: FrozenClock, ten: str
) -> None:
    nine = "The standup is at 9."
    first, second, again = said(memory, clock, nine, ten, nine)
    links = {(link.later, link.earlier) for link in memory.supersessions.list()}
    assert links == {(second, first), (again, second)}
    assert memory.recall("When is the standup?").ids[0] == again
    assert memory.whisper("When does the standup start?").ids[0] == again
    once_more = said(memory, clock, nine)[0]
    assert memory.recall("When does the standup start?").ids[0] in (again, once_more)


def recorded(memory: TidalMemory, clock: FrozenClock, *told: tuple[int, str]) -> dict[int, str]:
    """Record texts with the days on which they were said, in the order given, and return the entries' ids by day."""
    ids = {}
    for day, text in told:
        when = clock() - timedelta(days=100 - day)
        memory.record_many([Exchange((Message("user", text),), thread=f"day {day}", occurred_at=when)])
        [ids[day]] = memory.episodes.list(thread=f"day {day}")[0].entries
        memory.supersessions.find()
    return ids


def test_the_order_of_recording_does_not_matter(memory: Any, clock: FrozenClock) -> None:
    texts = {1: OLD, 2: NEW, 3: "The dentist appointment is now on Monday 9 March at 8:00."}
    for order in permutations(texts):
        scope = memory.scoped(str(order))
        ids = recorded(scope, clock, *((day, texts[day]) for day in order))
        assert scope.recall(QUERY).ids[:3] == (ids[3], ids[2], ids[1]), order


@pytest.mark.parametrize("values", [100, 7])
def test_the_newest_of_very_many_values_is_on_top(memory: Any, clock: FrozenClock, values: int) -> None:
    begun = clock() - timedelta(days=400)
    texts = [f"The boiler temperature is now {20 + place % values} degrees." for place in range(100)]
    memory.record_many(
        Exchange((Message("user", text),), id=str(place), occurred_at=begun + timedelta(hours=place))
        for place, text in enumerate(texts)
    )
    memory.supersessions.find()
    assert memory.recall("What is the boiler temperature?")[0].text == texts[-1]
    assert len(memory.supersessions.list()) <= 32 * len(texts)


def test_a_named_fact_is_superseded_until_it_is_set_anew(memory: Any, clock: FrozenClock) -> None:
    memory.facts["heron_berth"] = "berth 17"
    [new] = said(memory, clock, "The Heron is on berth 9 this season.")
    [link] = memory.supersessions.list()
    assert (link.later, link.replacement.old, link.replacement.new) == (new, "17", "9")
    assert memory.recall("Which berth is the Heron on?").ids[0] == new
    assert memory.recall("Which berth is the Heron on?")[1].why.superseded_by == (link,)
    memory.facts["heron_berth"] = "berth 4"
    assert memory.supersessions.list() == []


def test_a_hit_says_what_it_replaces_and_the_explanation_too(memory: Any, clock: FrozenClock) -> None:
    old, new = said(memory, clock, OLD, NEW)
    first, second = memory.recall(QUERY)[:2]
    [link] = first.why.replaces
    assert (link.later, link.earlier, link.replacement.new) == (new, old, "Friday 6 March")
    assert first.older_value() == "Thursday 5 March"
    assert second.why.superseded_by == (link,)
    text = memory.recall(QUERY).explain()
    assert f"supersedes {old}: Friday 6 March instead of Thursday 5 March" in text
    plain = json.loads(memory.recall(QUERY).explanation().as_json())
    assert plain["hits"][0]["why"]["replaces"][0]["earlier"] == old


def test_a_recall_of_the_past_sees_the_state_of_then(memory: Any, clock: FrozenClock) -> None:
    old, _ = said(memory, clock, OLD, NEW)
    then = memory.recall(QUERY, as_of=clock() - timedelta(hours=12))
    assert then.ids == (old,)
    assert not then[0].why.superseded_by


NOW = [text for (text,) in TABLE["asks for the newest"]]
FORMERLY = [text for (text,) in TABLE["asks for the former"]]


def test_a_question_asks_for_the_newest_unless_it_is_for_the_former_value(memory: Any, clock: FrozenClock) -> None:
    _, new = said(memory, clock, OLD, NEW)
    for query in NOW:
        found = memory.recall(query)
        assert found.ids[0] == new, query
        assert found[0].why.replaces, query
    for query in FORMERLY:
        assert not any(hit.why.replaces for hit in memory.recall(query)), query


def test_what_was_undone_counts_no_more_and_is_not_found_again(memory: Any, clock: FrozenClock) -> None:
    old, new = said(memory, clock, OLD, NEW)
    with pytest.raises(NotFound, match="does not supersede"):
        memory.supersessions.undo(old, new)
    undone = memory.supersessions.undo(new, old)
    assert undone.undone_at == clock()
    assert memory.supersessions.list() == []
    assert not any(hit.why.replaces for hit in memory.recall(QUERY))
    episode = memory.get(new).episode
    assert memory.episodes[episode].entries == (new,)
    said(memory, clock, "Unrelated: the tomatoes are in flower.")
    assert memory.supersessions.list() == []


@pytest.mark.parametrize("end", [0, 1])
def test_forgetting_either_end_removes_the_link(memory: Any, clock: FrozenClock, end: int) -> None:
    ids = said(memory, clock, OLD, NEW)
    memory.forget(ids[end])
    assert memory.supersessions.list() == []
    assert memory.recall(QUERY).ids == (ids[1 - end],)


def test_a_whisper_leaves_out_only_what_is_sure(memory: Any, clock: FrozenClock) -> None:
    sure = "The dentist appointment moved from Thursday 5 March to Friday 6 March."
    old, new = said(memory, clock, OLD, sure)
    whisper = memory.whisper(QUERY)
    assert new in whisper.ids
    assert old not in whisper.ids
    assert any(item.id == old and item.stage == "supersession" for item in whisper.recall.dropped)


def test_the_background_looks_through_every_turn(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=Settings(graph={"enabled": False}, tuning={"jobs.quiet": 0.0}))
    for text in (OLD, NEW):
        clock.advance(days=1)
        memory.record(text)
    assert eventually(lambda: len(memory.supersessions.list()) == 1)


def test_switched_off_it_finds_nothing_and_changes_nothing(open_memory: Any, clock: FrozenClock) -> None:
    off = Settings(graph={"background": False, "supersession": False})
    memory = open_memory(settings=off)
    said(memory, clock, OLD, NEW)
    assert memory.supersessions.list() == []


KILLED = """
import os, sys
from datetime import UTC, datetime, timedelta
from tidal_plugins import Exchange, HashingEmbedder, Message, Settings, TidalMemory

begun = datetime(2026, 3, 1, tzinfo=UTC)
settings = Settings(graph={"enabled": False}, tuning={"jobs.quiet": 0.0})
memory = TidalMemory(sys.argv[1], embedder=HashingEmbedder(), settings=settings)
names = [first + second for first in "abcd" for second in "klmn"]
texts = [f"The ferry {name.title()}ora leaves on 5 March." for name in names]
texts += [f"The ferry {name.title()}ora moved to 6 March." for name in names]
memory.record_many(
    Exchange((Message("user", text),), id=text, occurred_at=begun + timedelta(hours=place))
    for place, text in enumerate(texts)
)
while len(memory.supersessions.list()) < int(sys.argv[2]):
    pass
os._exit(9)
"""


@pytest.mark.slow
@pytest.mark.parametrize("enough", [0, 1])
def test_a_killed_process_leaves_its_work_to_the_next(tmp_path: Path, enough: int) -> None:
    def links(path: Path) -> set[tuple[str, str]]:
        with TidalMemory(path, embedder=HashingEmbedder(), settings=BY_HAND) as memory:
            memory.supersessions.find()
            return {
                (memory.get(link.later).text.split()[2], memory.get(link.earlier).text.split()[2])
                for link in memory.supersessions.list()
            }

    path = tmp_path / "agent.db"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), str(enough)], env=os.environ, check=False)
    assert killed.returncode == 9
    found = links(path)
    assert len(found) == 16
    assert all(later == earlier for later, earlier in found)
    assert links(path) == found
