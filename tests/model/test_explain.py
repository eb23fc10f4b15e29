"""A recall laid open, the tiers of entries, and times."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta, timezone
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from tidal_plugins import Affect, InvalidInput, Note, Recall, Settings, TidalMemory
from tidal_plugins.storage.sqlite.seek import SoughtColumns
from tidal_plugins.testing import FrozenClock

TOPICS = ("jazz piano", "garden tools", "train to Oslo", "bread and jam")


def shown(recall: Recall, dropped: int = 10) -> str:
    out = StringIO()
    Console(file=out, width=160).print(recall.table(dropped))
    return out.getvalue()


@pytest.fixture
def full(memory: TidalMemory) -> TidalMemory:
    memory.remember([Note(f"{TOPICS[n % 4]} number {n}") for n in range(120)])
    return memory


def test_an_explanation_survives_json(full: TidalMemory) -> None:
    stirred = Affect(-0.6, 0.8, {"anger": 0.9})
    recall = full.recall("jazz piano [bold]", limit=4, affect=stirred, associative=True, hops=2)
    told = recall.explanation()
    read = json.loads(told.as_json())
    assert read == told.as_dict()
    assert (read["query"], read["profile"], read["affect"]["emotions"]) == (recall.query, "balanced", {"anger": 0.9})
    assert [hit["id"] for hit in read["hits"]] == list(recall.ids)
    assert [hit["place"] for hit in read["hits"]] == list(range(1, len(recall) + 1))
    assert read["hits"][0]["why"]["factors"] == pytest.approx(dict(recall[0].why.factors))
    assert read["hits"][0]["why"]["cosine"] == pytest.approx(recall[0].why.cosine)
    assert [item["reason"] for item in read["dropped"]] == [item.reason for item in recall.dropped]
    assert sum(read["stages"].values()) == len(recall.dropped)
    assert all(item["stage"] and item["reason"] and item["origin"] for item in read["dropped"])
    assert read["stopped"] == recall.stopped != ""
    assert read["hops"] == [{"number": hop.number, "query": hop.query, "ids": list(hop.ids)} for hop in recall.hops]


def test_an_explanation_says_times_peers_and_how_sure_a_whisper_is(open_memory: Any) -> None:
    with open_memory("planner.db") as planner:
        planner.remember("jazz piano")
    memory = open_memory(peers=[planner.path])
    recall = memory.recall("the jazz piano in May 2020")
    read = json.loads(recall.explanation().as_json())
    assert read["times"] == ["«in May 2020» 2020-05-01…2020-06-01"]
    assert read["peers"] == [{"name": "planner", "trust": 0.8, "hits": 1, "error": "", "degraded": []}]
    assert "time: «in May 2020»" in shown(recall)
    whispered = memory.whisper("jazz piano").recall
    assert whispered is not None
    assert whispered.explanation().confidence == whispered.confidence is not None


def test_a_table_shows_hits_and_what_was_dropped(full: TidalMemory) -> None:
    recall = full.recall("jazz piano", limit=3)
    text = shown(recall, dropped=2)
    for hit in recall:
        assert hit.entry.citation in text
        assert f"{hit.score:.3f}" in text
    assert recall.dropped[0].id in text
    assert recall.dropped[2].id not in text
    assert f"{len(recall.dropped) - 2} more" in text
    assert "trim: score" in text


def test_a_table_takes_no_markup_from_what_was_said(memory: TidalMemory) -> None:
    memory.remember("[bold red]jazz[/bold red] piano [/nonsense]")
    assert "[bold red]jazz[/bold red] piano [/nonsense]" in shown(memory.recall("[link=x]jazz[/] piano"))


def test_a_table_says_what_became_of_peers(open_memory: Any) -> None:
    with open_memory("planner.db") as planner:
        planner.remember("jazz piano")
    memory = open_memory(peers=[planner.path, "gone.db"])
    text = shown(memory.recall("jazz piano"))
    assert "planner" in text
    assert "peer gone was not asked" in " ".join(text.split())


def test_without_rich_the_message_says_what_to_do(full: TidalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.table", None)
    with pytest.raises(ImportError, match="pip install rich"):
        full.recall("jazz piano").table()


@pytest.mark.parametrize("whispers", [False, True])
def test_every_entry_that_a_channel_found_is_a_hit_or_has_a_stage_and_a_reason(
    open_memory: Any, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch, whispers: bool
) -> None:
    memory = open_memory(settings=Settings(whisper={"threshold": 0.2}))
    for n in range(30):
        memory.record(f"the {TOPICS[n % 4]} number {n}, what of it?", f"number {n} is fine", thread=f"s{n // 10}")
        clock.advance(minutes=5)
    found: set[str] = set()
    for channel in ("nearest", "matching"):
        original = getattr(SoughtColumns, channel)

        def spy(columns: SoughtColumns, *args: Any, original: Any = original) -> Any:
            matches = original(columns, *args)
            found.update(columns.ids(matches.entries))
            return matches

        monkeypatch.setattr(SoughtColumns, channel, spy)
    turn = "the jazz piano number 4, what of it?"
    recall = memory.whisper(turn).recall if whispers else memory.recall(turn, limit=5)
    assert found
    assert found <= {*recall.ids, *(item.id for item in recall.dropped)}
    assert all(item.stage and item.reason for item in recall.dropped)
    assert not set(recall.ids) & {item.id for item in recall.dropped}


def test_what_a_whisper_has_no_room_for_has_a_reason(open_memory: Any) -> None:
    settings = Settings(whisper={"threshold": 0.0, "max_chars": 200, "max_entries": 5})
    memory = open_memory(settings=settings)
    others = ("beside old mirrors", "under grey blankets", "behind broken chairs", "with seven boxes")
    memory.remember([Note(f"the jazz piano stands in the attic {other} and much else of hers") for other in others])
    whisper = memory.whisper("where does the jazz piano stand, in the attic?")
    assert whisper.recall.hits == whisper.hits
    left = [item for item in whisper.recall.dropped if item.stage == "whisper"]
    assert {item.reason for item in left} == {"no room for it"}
    assert not {item.id for item in left} & set(whisper.ids)


# entries: what state their tier is in


DAY = timedelta(days=1)


# times: exact, in UTC, with a zone


def test_a_time_is_kept_to_the_microsecond(memory: TidalMemory) -> None:
    times = [
        datetime(2, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC), datetime(9998, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    ]  # fmt: skip
    for time in times:
        memory.record("hello", occurred_at=time)
    assert [episode.occurred_at for episode in memory.episodes.list()] == times


def test_times_are_brought_to_utc(memory: TidalMemory) -> None:
    there = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    episode = memory.record("hello", occurred_at=there)
    assert episode.occurred_at == datetime(2025, 12, 31, 20, 30, tzinfo=UTC)
    assert episode.occurred_at.tzinfo is UTC
    for time in (datetime(2026, 1, 1), "2026-01-01"):
        with pytest.raises(InvalidInput, match="since must be a datetime with a time zone"):
            memory.episodes.list(since=time)


def test_what_was_asked_for_in_vain_has_an_explanation_too(memory: TidalMemory) -> None:
    told = memory.recall("jazz piano").explanation()
    assert (told.hits, told.dropped, told.stages, told.peers) == ([], [], {}, [])
    assert json.loads(told.as_json(indent=2))["words"] == ["jazz", "piano"]
