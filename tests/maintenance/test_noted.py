"""What is noted of maintenance, compactions and forgettings, for those who look later and in another process."""

from __future__ import annotations

from typing import Any

import pytest

from tidal_plugins import Forgotten, InvalidInput, Message, Settings, TidalMemory
from tidal_plugins.model.compaction import Compacted
from tidal_plugins.model.reports import Erasure, MaintenanceRun
from tidal_plugins.testing import FrozenClock

CALM = Settings(graph={"background": False})
SECRET = "my uncle Barnaby buried the zither under the pergola"


def test_runs_that_did_something_are_listed_newest_first(open_memory: Any, clock: FrozenClock) -> None:
    memory: TidalMemory = open_memory(settings=CALM)
    assert memory.maintenance.runs() == []
    memory.record("The ferry leaves at nine.", "Noted.")
    learned = memory.maintenance.run()
    clock.advance(hours=24 * 40)
    settled = memory.maintenance.run()
    memory.maintenance.run()  # there is nothing left to do
    memory.close()
    again = open_memory(settings=CALM)
    later, first = again.maintenance.runs()
    assert first == MaintenanceRun(learned.at, learned=1)
    assert later == MaintenanceRun(settled.at, settled.run, settled=2)
    assert again.maintenance.runs(limit=1) == [later]
    assert again.scoped("other").maintenance.runs() == []


def test_a_rebuilt_context_is_noted_and_goes_with_its_last_episode(memory: TidalMemory) -> None:
    turns = [
        Message(
            role, f"{role} {n}: the ferry to harbour {n} leaves at {n} o'clock and takes {n} cars.", id=f"{role}{n}"
        )
        for n in range(12)
        for role in ("user", "assistant")
    ]
    made = memory.compactor(max_tokens=400).compact([*turns, Message("user", "When does it leave?")], thread="s")
    assert made.rebuilt
    [noted] = memory.maintenance.compactions()
    assert noted == Compacted(
        memory.now(), made.episodes[-1], "s", made.stage, made.before, made.after, len(made.episodes)
    )
    assert noted.after.tokens < noted.before.tokens
    assert memory.scoped("other").maintenance.compactions() == []
    memory.forget(noted.episode)
    assert memory.maintenance.compactions() == []


def test_erasures_are_listed_by_a_later_process_without_what_went(open_memory: Any) -> None:
    memory: TidalMemory = open_memory(settings=CALM)
    turn = memory.record(SECRET, "I see, under the pergola.")
    assert not memory.forget("unknown")
    first = memory.forget(turn.entries[0])
    second = memory.forget(turn.id)
    at = memory.now()
    memory.close()
    noted = open_memory(settings=CALM).maintenance.erasures()
    assert noted == [
        Erasure(at, second.count, second.shelves, second.links),
        Erasure(at, first.count, first.shelves, first.links, blanked=1),
    ]
    assert "zither" not in str(noted)
    assert turn.id not in str(noted)


# dry runs


def test_a_dry_run_says_what_would_go_and_changes_nothing(open_memory: Any) -> None:
    memory: TidalMemory = open_memory(settings=CALM)
    turn = memory.record(SECRET, "I see.", thread="a")
    memory.facts["treasure"] = "under the pergola"
    memory.dossiers.refresh("zither")
    memory.graph.index_pending()
    memory.associations.link_pending()
    before = (memory.stats().kinds, memory.episodes.list(), memory.dossiers.list(), memory.check().rows)
    looked = memory.forget(turn.id, dry_run=True)
    assert looked.dry_run
    assert "would go" in str(looked)
    assert (memory.stats().kinds, memory.episodes.list(), memory.dossiers.list(), memory.check().rows) == before
    assert memory.maintenance.erasures() == []
    assert memory.stats().unscrubbed_bytes == 0
    assert memory.recall("zither pergola")[0].text == SECRET
    done = memory.forget(turn.id)
    assert (looked.count, looked.shelves, looked.ids, looked.links) == (done.count, done.shelves, done.ids, done.links)
    assert looked.links > 0
    with pytest.raises(Forgotten):
        memory.episodes[turn.id]


def test_a_dry_run_finds_the_same_text_everywhere_or_nothing(memory: TidalMemory) -> None:
    first, again = (memory.record(SECRET, "Noted.", thread=thread) for thread in "ab")
    looked = memory.forget(first.entries[0], everywhere=True, dry_run=True)
    assert {first.entries[0], again.entries[0]} <= set(looked.ids)
    assert set(looked.blanked) == {first.id, again.id}
    assert memory.get(again.entries[0]).text == SECRET
    assert not memory.forget("unknown", dry_run=True)
    with pytest.raises(InvalidInput):
        memory.forget(dry_run=True)
    with pytest.raises(InvalidInput):
        memory.forget("unknown", dry_run="yes")  # type: ignore[arg-type]


def test_what_retention_forgot_is_noted_as_a_run_and_as_erasures(open_memory: Any, clock: FrozenClock) -> None:
    memory: TidalMemory = open_memory(settings=Settings(graph={"background": False}, retention=[
        {"kinds": ["conversation"], "days": 30}
    ]))  # fmt: skip
    memory.record(SECRET, "I see.")
    clock.advance(hours=24 * 31)
    memory.maintenance.run()
    [run] = memory.maintenance.runs()
    [erasure] = memory.maintenance.erasures()
    assert (run.forgotten, erasure.count, erasure.at) == (1, 3, memory.now())
    assert erasure.shelves == {"conversation": 2, "episode": 1}
