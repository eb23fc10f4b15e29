"""The times that queries speak of: what is read, what is not, and what it does to a recall."""

from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from tidal_plugins import HashingEmbedder, InvalidInput, Message, Settings, TidalMemory
from tidal_plugins.scoring.time import closeness
from tidal_plugins.testing import FrozenClock
from tidal_plugins.tuning import RecallTuning, Tuning

FRIDAY = datetime(2026, 11, 20, 15, tzinfo=UTC)


@pytest.fixture(scope="module")
def times(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., tuple[str, ...]]]:
    """Returns the times that a recall reads off a text, at some time."""
    clock = FrozenClock()
    with TidalMemory(tmp_path_factory.mktemp("times") / "a.db", embedder=HashingEmbedder(), clock=clock) as memory:

        def read(text: str, now: datetime = FRIDAY) -> tuple[str, ...]:
            clock.set(now)
            return memory.recall(text).times

        yield read


@pytest.fixture
def read(times: Any) -> Any:
    """Returns the same without the words."""
    return lambda *asked: [item.split("» ")[1] for item in times(*asked)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did I do last Tuesday?", "2026-11-17…2026-11-18"),
        ("on Friday evening", "2026-11-13…2026-11-14"),
        ("Where did we go in May?", "2026-05-01…2026-06-01"),
        ("last May", "2026-05-01…2026-06-01"),
        ("in December", "2025-12-01…2026-01-01"),
        ("what did we decide two weeks ago about caching", "2026-11-02…2026-11-09"),
        ("a couple of months back", "2026-09-01…2026-10-01"),
        ("a few days ago", "2026-11-17…2026-11-18"),
        ("yesterday", "2026-11-19…2026-11-20"),
        ("the day before yesterday", "2026-11-18…2026-11-19"),
        ("what I said this morning", "2026-11-20…2026-11-21"),
        ("last week", "2026-11-09…2026-11-16"),
        ("last month", "2026-10-01…2026-11-01"),
        ("last year", "2025-01-01…2026-01-01"),
        ("over the weekend", "2026-11-14…2026-11-16"),
        ("last weekend", "2026-11-14…2026-11-16"),
        ("last summer", "2026-06-01…2026-09-01"),
        ("in the winter of 2024", "2024-12-01…2025-03-01"),
        ("in the past three months", "2026-08-01…2026-11-20"),
        ("on 3 July", "2026-07-03…2026-07-04"),
        ("on May 7th, 2023", "2023-05-07…2023-05-08"),
        ("in mid-August 2023", "2023-08-01…2023-09-01"),
        ("2023-05-07", "2023-05-07…2023-05-08"),
        ("in 2022", "2022-01-01…2023-01-01"),
        ("before April 10, 2023", "…2023-04-10"),
        ("since March", "2026-03-01…"),
        ("after March", "2026-04-01…"),
        ("between August 11 and August 15 2023", "2023-08-11…2023-08-16"),
        ("from March to May", "2026-03-01…2026-06-01"),
        ("the week before 16 November 2023", "2023-11-09…2023-11-16"),
        ("two weeks before August 11, 2023", "2023-07-24…2023-07-31"),
        ("the Friday before 14 August 2023", "2023-08-11…2023-08-12"),
    ],
)
def test_times_are_read_as_seen_from_now(read: Any, text: str, expected: str) -> None:
    assert read(text) == [expected]


def test_last_weekend_and_last_summer_said_in_one_are_those_before(read: Any) -> None:
    assert read("last weekend", FRIDAY + timedelta(days=1)) == ["2026-11-14…2026-11-16"]
    assert read("last summer", datetime(2026, 7, 1, tzinfo=UTC)) == ["2025-06-01…2025-09-01"]
    assert read("this summer", datetime(2026, 7, 1, tzinfo=UTC)) == ["2026-06-01…2026-09-01"]


@pytest.mark.parametrize(
    "text",
    [
        "What may I eat?",
        "We march on",
        "Where do I sit?",
        "Which second book did Mel read?",
        "what did April say",
        "How many weeks ago",
        "next Tuesday",
        "every Tuesday",
        "31 February 2023",
        "99/99/2023",
        "on 3 July 2027",
        "version 2023.1 of the tool",
        "a year before 0001-01-01",
        "since 9999-12-31",
        "two weeks after 9999-12-31",
    ],
)
def test_other_words_are_no_times(read: Any, text: str) -> None:
    assert read(text) == []


def test_of_many_times_the_first_ones_count(read: Any) -> None:
    assert len(read("yesterday " * 400)) == 2


@pytest.mark.parametrize(
    ("text", "name", "before"),
    [
        ("What did we plan before the move?", "the move", True),
        ("How did she feel after Ann's wedding, then?", "Ann's wedding", False),
        ("since I changed jobs", "I changed jobs", False),
        ("prior to moving to Kent", "moving to Kent", True),
    ],
)
def test_an_event_is_a_time_that_the_memory_may_know(memory: TidalMemory, text: str, name: str, before: bool) -> None:
    memory.record(name)
    [time] = memory.recall(text).times
    assert time.endswith("» …2026-03-01" if before else "» 2026-03-01…")


@pytest.mark.parametrize("text", ["after you finish, commit", "before and after", "thereafter the move"])
def test_what_an_agent_is_told_to_do_is_no_event(memory: TidalMemory, text: str) -> None:
    memory.record(text)
    assert memory.recall(text).times == ()


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


def test_closeness_is_one_inside_and_falls_outside() -> None:
    days = np.array([20.0, 20.9, 24.0, 17.0])
    assert closeness(days, 20, 21, slack=3) == pytest.approx([1.0, 1.0, math.exp(-1), math.exp(-1)])
    assert closeness(-365, None, 20, slack=3) == 1.0


@pytest.mark.parametrize("days", [0, 1e9])
def test_slack_is_a_number_of_days_that_a_calendar_has(days: float) -> None:
    with pytest.raises(ValidationError):
        RecallTuning(slack=days)


# in a recall


PREFERRED = {"time": 1.0}
"""Above what the hashing embedder makes of a number in a text."""


@pytest.fixture
def trips(open_memory: Any, clock: FrozenClock) -> TidalMemory:
    """Nearly the same, every week of two years: only the time tells the memories apart."""
    clock.set(FRIDAY)
    memory: TidalMemory = open_memory(settings=Tuning(recall=PREFERRED))
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
    narrow = open_memory(settings=Tuning(recall={**PREFERRED, "pool": 1, "shortlist": 1}))
    [hit] = narrow.recall("trip in May 2025", limit=1)
    assert (hit.entry.occurred_at.year, hit.entry.occurred_at.month) == (2025, 5)
    assert hit.why.keyword_rank is None


def test_it_is_a_preference_and_no_filter(trips: TidalMemory) -> None:
    assert len(trips.recall("trip yesterday")) == 10
    assert len(trips.recall("trip in 1950")) == 10


def test_hard_filters_hold_inside_the_time(trips: TidalMemory) -> None:
    recall = trips.recall("trip in May", since=FRIDAY - timedelta(days=60))
    assert recall
    assert all(hit.entry.occurred_at >= FRIDAY - timedelta(days=60) for hit in recall)


def test_other_profiles_and_a_weight_of_zero_read_no_times(trips: TidalMemory, open_memory: Any) -> None:
    assert trips.recall("trip in May", profile="tidal").times == ()
    off = open_memory(settings=Tuning(recall={"time": 0.0}))
    assert off.recall("trip in May").times == ()


def test_before_an_event_is_before_the_memory_of_it(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    for days, text in ((400, "the flat was cold"), (300, "the move to Kent"), (200, "the flat was warm")):
        memory.remember(text, kind="fact", occurred_at=FRIDAY - timedelta(days=days))
    recall = memory.recall("how was the flat before the move to Kent?")
    factors = {hit.text: hit.why.factors.get("time", 0.0) for hit in recall}
    assert factors["the flat was cold"] == 0.2
    assert factors["the flat was warm"] < 0.01
    assert factors["the move to Kent"] == 0.0, "what tells of the move is not from before it"
    assert memory.recall("how was the flat before the zebra crossing?").times == ()


def test_a_damaged_event_is_unknown(memory: TidalMemory, tmp_path: Path) -> None:
    move = memory.remember("the move to Kent")
    memory.remember("the flat was cold")
    with closing(sqlite3.connect(tmp_path / "agent.db")) as file, file:
        file.execute("UPDATE entries SET occurred_at = 1 << 62 WHERE id = ?", (move.id,))
    recall = memory.recall("the flat before the move to Kent")
    assert recall.times == ()
    assert [hit.text for hit in recall] == ["the flat was cold"]


@pytest.mark.parametrize("slack", [1e-9, 1e12])
def test_slack_is_a_stretch_of_days(slack: float) -> None:
    with pytest.raises(ValidationError, match="slack"):
        Tuning(recall={"slack": slack})


def test_an_event_may_be_told_where_the_question_does_not_look(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    memory.remember("the flat was cold", kind="fact")
    memory.remember("the move to Kent", kind="kb")
    assert memory.recall("the flat before the move to Kent", kinds={"fact"}).times


def test_what_joins_from_the_time_is_a_hit_or_dropped_and_not_both(trips: TidalMemory) -> None:
    recall = trips.recall("trip in May 2025", limit=3)
    seen = [*recall.ids, *(item.id for item in recall.dropped)]
    assert len(seen) == len(set(seen))


def test_an_event_of_another_scope_is_unknown(memory: TidalMemory) -> None:
    memory.scoped("user", "other").remember("the move to Kent")
    memory.remember("the flat was cold")
    assert memory.recall("the flat before the move to Kent").times == ()


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


def test_as_of_shows_what_was_valid_then(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    memory.remember("the code is 4711", kind="fact", valid_until=FRIDAY + timedelta(days=2))
    clock.advance(days=7)
    assert not memory.recall("the code")
    assert memory.recall("the code", as_of=FRIDAY + timedelta(days=1))


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


def test_as_of_knows_no_mood_of_today(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    memory.record("I hate this, it is terrible and I am furious!", "I am so sorry.")
    assert memory.recall("the code").affect.intensity > 0
    assert memory.recall("the code", as_of=FRIDAY).affect.intensity == 0


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


def test_a_whisper_as_of_then_knows_no_mood_of_today(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    memory.record("I hate this, it is terrible and I am furious!", "I am so sorry.")
    now, then = memory.whisper("Where is the code?"), memory.whisper("Where is the code?", as_of=FRIDAY)
    assert now.recall is not None
    assert then.recall is not None
    assert now.recall.affect.intensity > then.recall.affect.intensity


def test_times_are_seen_from_as_of(trips: TidalMemory, clock: FrozenClock) -> None:
    clock.advance(days=800)
    [time] = trips.recall("trip last week", as_of=FRIDAY).times
    assert time.endswith("2026-11-09…2026-11-16")


def test_as_of_needs_a_time_zone(memory: TidalMemory) -> None:
    with pytest.raises(InvalidInput, match="as_of"):
        memory.recall("a", as_of=datetime(2026, 11, 13))


def test_a_turn_in_a_thread_is_found_by_its_day(memory: TidalMemory, open_memory: Any, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    for day in range(30):
        at = FRIDAY - timedelta(days=day)
        memory.record(messages=[Message("user", f"lunch was soup {day}")], thread=f"day {day}", occurred_at=at)
    assert memory.recall("what was lunch last Tuesday?")[0].text == "lunch was soup 3"
    off = open_memory(settings=Tuning(recall={"time": 0.0}))
    sure, unsure = (store.whisper("what was lunch last Tuesday?").recall for store in (memory, off))
    assert sure is not None
    assert sure.confidence > unsure.confidence * 1.2, "a whisper is surer of what is from that day"


@pytest.mark.parametrize(
    "text",
    ["over 2000 rows", "in Spring Boot", "on monday.com", "friday@company.com wrote", "where is it until the move?"],
)
def test_what_only_looks_like_a_time_is_none(read: Any, text: str) -> None:
    assert read(text) == []


def test_with_dots_the_day_comes_first(read: Any) -> None:
    assert read("on 7.5.2026") == read("on 5/7/2026") == ["2026-05-07…2026-05-08"]


def test_as_of_does_not_know_what_was_added_to_a_turn_later(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    memory.record(user="violin lesson", id="turn-1")
    clock.advance(days=2)
    memory.record(user="violin lesson", agent="The teacher is Ada.", id="turn-1")
    assert not memory.recall("violin lesson", kinds=["episode"], as_of=FRIDAY + timedelta(days=1))
    assert memory.recall("violin lesson", kinds=["episode"], as_of=FRIDAY + timedelta(days=2))
    assert [hit.text for hit in memory.recall("violin", as_of=FRIDAY + timedelta(days=1))] == ["violin lesson"]


def test_as_of_does_not_feel_the_signals_of_today(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.set(FRIDAY)
    entry = memory.remember("violin lesson")
    memory.signals.add("reward", entry.id)
    assert "signals" in memory.recall("violin")[0].why.factors
    assert "signals" not in memory.recall("violin", as_of=FRIDAY)[0].why.factors
