"""The times that queries speak of: what is read, what is not, and what it does to a recall."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.tables import tables, wrong
from tidal_plugins import InvalidInput, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

FRIDAY = datetime(2026, 11, 20, 15, tzinfo=UTC)


def read(memory: TidalMemory, clock: FrozenClock, text: str, now: datetime = FRIDAY) -> list[str]:
    """Return the times that a recall reads off a text at some time, without the words."""
    clock.set(now)
    return [item.split("» ")[1] for item in memory.recall(text).times]


def test_times_are_read_as_seen_from_now_and_other_words_are_none(memory: TidalMemory, clock: FrozenClock) -> None:
    assert wrong(lambda text: read(memory, clock, text), tables("retrieval/times.jsonl")["times"]) == []


def test_an_event_is_a_time_that_the_memory_may_know(memory: TidalMemory) -> None:
    for text, name, before in (
        ("What did we plan before the move?", "the move", True),
        ("How did she feel after Ann's wedding, then?", "Ann's wedding", False),
        ("since I changed jobs", "I changed jobs", False),
        ("prior to moving to Kent", "moving to Kent", True),
    ):
        memory.record(name)
        [time] = memory.recall(text).times
        assert time.endswith("» …2026-03-01" if before else "» 2026-03-01…"), text
    for text in (
        *("after you finish, commit", "before and after", "thereafter the move"),  # what an agent is told to do
        *("I'm a bit tired since I slept badly", "Since it's raining I'll stay in today"),  # a reason
    ):
        other = memory.scoped(text)
        other.record(text)
        assert other.recall(text).times == (), text


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["CET-1CEST,M3.5.0,M10.5.0/3", "Nowhere/Land"])
def test_the_time_zone_of_the_machine_plays_no_part(tmp_path: Path, zone: str) -> None:
    code = (
        "import sys; from datetime import UTC, datetime; from tidal_plugins import HashingEmbedder, TidalMemory;"
        "clock = lambda: datetime(2026, 11, 20, 15, tzinfo=UTC);"
        "memory = TidalMemory(sys.argv[1], embedder=HashingEmbedder(), clock=clock);"
        "print(*memory.recall('two weeks ago, in May').times); memory.close()"
    )
    command, env = [sys.executable, "-c", code, str(tmp_path / "a.db")], {**os.environ, "TZ": zone}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert "2026-11-02…2026-11-09" in done.stdout, done.stderr
    assert "2026-05-01…2026-06-01" in done.stdout


# in a recall


PREFERRED = {"recall.time": 1.0}
"""Above what the hashing embedder makes of a number in a text."""


@pytest.fixture
def trips(open_memory: Any, clock: FrozenClock) -> TidalMemory:
    """Nearly the same, every week of two years: only the time tells the memories apart."""
    clock.set(FRIDAY)
    memory: TidalMemory = open_memory(settings=Settings(tuning=PREFERRED))
    for week in range(104):
        memory.remember(f"trip {week}", kind="fact", occurred_at=FRIDAY - timedelta(days=7 * week))
    return memory


def test_what_is_from_the_time_comes_first_and_says_so(trips: TidalMemory) -> None:
    recall = trips.recall("trip in May")
    assert [hit.entry.occurred_at.month for hit in recall[:3]] == [5, 5, 5]
    assert recall[0].why.factors["time"] == 1.0
    assert recall.times == ("«in May» 2026-05-01…2026-06-01",)
    assert "time 1.00" in recall.explain()
    assert recall.explain().startswith("time: «in May» 2026-05-01…2026-06-01\n1. ")


def test_what_no_channel_would_reach_takes_part(trips: TidalMemory, open_memory: Any) -> None:
    narrow = open_memory(settings=Settings(tuning={**PREFERRED, "recall.pool": 1, "recall.shortlist": 1}))
    [hit] = narrow.recall("trip in May 2025", limit=1)
    assert (hit.entry.occurred_at.year, hit.entry.occurred_at.month) == (2025, 5)
    assert hit.why.keyword_rank is None


def test_it_is_a_preference_and_no_filter(trips: TidalMemory) -> None:
    assert len(trips.recall("trip yesterday")) == 10
    assert len(trips.recall("trip in 1950")) == 10


def test_before_an_event_is_before_the_memory_of_it(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    for days, text in ((400, "the flat was cold"), (300, "the move to Kent"), (200, "the flat was warm")):
        memory.remember(text, kind="fact", occurred_at=FRIDAY - timedelta(days=days))
    recall = memory.recall("how was the flat before the move to Kent?")
    factors = {hit.text: hit.why.factors.get("time", 0.0) for hit in recall}
    assert factors["the flat was cold"] == 0.2
    assert factors["the flat was warm"] < 0.01
    assert factors["the move to Kent"] == 0.0, "what tells of the move is not from before it"
    memory.scoped("user", "other").remember("the zebra crossing")
    assert memory.recall("how was the flat before the zebra crossing?").times == (), "another scope's is unknown"


# as of


def test_as_of_shows_what_had_been_stored_by_then(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    memory.remember("the bridge is open", kind="fact")
    clock.advance(days=7)
    memory.remember("the bridge is closed", kind="fact", occurred_at=FRIDAY - timedelta(days=1))
    then = memory.recall("is the bridge open?", as_of=FRIDAY + timedelta(days=1))
    assert [hit.text for hit in then] == ["the bridge is open"]
    assert then.at == FRIDAY + timedelta(days=1)
    assert len(memory.recall("is the bridge open?")) == 2
    assert not memory.recall("is the bridge open?", as_of=FRIDAY - timedelta(days=1))


def test_as_of_does_not_know_what_the_graph_learned_later(open_memory: Any, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    memory: TidalMemory = open_memory(settings=Settings(graph={"background": False}))
    told = FRIDAY - timedelta(days=100)
    memory.record(user="Maria works at Acme Corp since 2020.", agent="Noted.", thread="s", occurred_at=told)
    memory.graph.index_pending()
    known = memory.recall("Maria works at Acme", kinds=["fact"], as_of=FRIDAY)
    assert known[0].entry.occurred_at == datetime(2020, 1, 1, tzinfo=UTC)
    for before in (FRIDAY - timedelta(days=900), FRIDAY - timedelta(hours=1)):
        assert not memory.recall("Maria works at Acme", kinds=["fact"], as_of=before)
        assert not memory.recall("Maria works at Acme", associative=True, as_of=before)


def test_as_of_knows_no_mood_and_no_signals_of_today(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    memory.record("I hate this, it is terrible and I am furious!", "I am so sorry.")
    assert memory.recall("the code").affect.intensity > 0
    assert memory.recall("the code", as_of=FRIDAY).affect.intensity == 0
    now, then = memory.whisper("Where is the code?"), memory.whisper("Where is the code?", as_of=FRIDAY)
    assert now.recall.affect.intensity > then.recall.affect.intensity
    entry = memory.remember("violin lesson")
    memory.signals.add("reward", entry.id)
    assert "signals" in memory.recall("violin")[0].why.factors
    assert "signals" not in memory.recall("violin", as_of=FRIDAY)[0].why.factors


def test_a_whisper_is_as_it_would_have_been_then(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    memory.record("I keep the spare key of the boathouse under the blue bucket.", "Noted.")
    clock.advance(days=7)
    memory.record("The spare key of the boathouse hangs behind the stove now.", "Noted.")
    turn = "Where is the spare key of the boathouse?"
    now, then = memory.whisper(turn), memory.whisper(turn, as_of=FRIDAY + timedelta(days=1))
    assert "stove" in str(now)
    assert "bucket" in str(then)
    assert "stove" not in str(then)
    assert "1 day ago" in str(then)
    assert then.recall is not None
    assert then.recall.at == FRIDAY + timedelta(days=1)
    assert not memory.whisper(turn, as_of=FRIDAY - timedelta(days=1))


def test_times_are_seen_from_as_of(trips: TidalMemory, clock: FrozenClock) -> None:
    clock.advance(days=800)
    [time] = trips.recall("trip last week", as_of=FRIDAY).times
    assert time.endswith("2026-11-09…2026-11-16")


def test_as_of_needs_a_time_zone(memory: TidalMemory) -> None:
    with pytest.raises(InvalidInput, match="as_of"):
        memory.recall("a", as_of=datetime(2026, 11, 13))


def test_as_of_does_not_know_what_was_added_to_a_turn_later(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    memory.record(user="violin lesson", id="turn-1")
    clock.advance(days=2)
    memory.record(user="violin lesson", agent="The teacher is Ada.", id="turn-1")
    assert not memory.recall("violin lesson", kinds=["episode"], as_of=FRIDAY + timedelta(days=1))
    assert memory.recall("violin lesson", kinds=["episode"], as_of=FRIDAY + timedelta(days=2))
    assert [hit.text for hit in memory.recall("violin", as_of=FRIDAY + timedelta(days=1))] == ["violin lesson"]


def test_hard_filters_hold_inside_the_time(trips: TidalMemory) -> None:
    recall = trips.recall("trip in May", since=FRIDAY - timedelta(days=60))
    assert recall
    assert all(hit.entry.occurred_at >= FRIDAY - timedelta(days=60) for hit in recall)


def test_as_of_shows_what_was_valid_then(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    memory.remember("the code is 4711", kind="fact", valid_until=FRIDAY + timedelta(days=2))
    clock.advance(days=7)
    assert not memory.recall("the code")
    assert memory.recall("the code", as_of=FRIDAY + timedelta(days=1))
