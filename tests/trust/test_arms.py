"""The arms of the benchmark of trust, with small counts: what is lost is none, and what would be lost is counted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.console import Console

from benchmarks.trust import copies, damage, disk, kills, power, servers
from benchmarks.trust.life import Deed, Event, Ledger, do, open_memory
from benchmarks.trust.power import Step, left_by_cut

pytestmark = pytest.mark.slow


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own: it makes a virtual file system the default of its process, for good."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def test_the_ledger_tells_what_was_lost_and_what_came_back(tmp_path: Path) -> None:
    ledger = Ledger()
    with open_memory(tmp_path / "one.db") as memory:
        for deed in (Deed("record", 1), Deed("remember", 2), Deed("fact", 3)):
            ledger.add(Event(deed, True, do(memory, deed)))
        cut = Deed("record", 9)
        do(memory, cut)
        ledger.add(Event(cut, False))  # a call that was cut short is made once
        assert ledger.settle(memory) == ledger.lost(memory) == []
        assert ledger.acknowledged == 4
        memory.forget(*ledger.texts[1])
        memory.facts["shelf 3"] = "jar 10"
        lost = ["call 1 is not there as it was made", "fact shelf 3 is 'jar 10' and not 'jar 3'"]
        assert ledger.lost(memory) == lost
        ledger.add(Event(Deed("forget", 4, 2, ledger.texts[2]), True))
        assert "call 2 was forgotten and is there again" in ledger.lost(memory)
    assert ledger.residue(tmp_path / "one.db") == ["jar00002q"]


def test_a_killed_process_loses_nothing_that_it_acknowledged() -> None:
    killed = kills.kill(6)
    assert killed.kills == 6
    assert killed.acknowledged
    assert killed.good, killed


def test_damage_to_any_table_is_told_or_harmless() -> None:
    outcomes = list(damage.damaged(24, workers=1))
    assert len({outcome.damage.table for outcome in outcomes}) > 5
    assert sum(outcome.found for outcome in outcomes) > len(outcomes) / 4
    assert [(str(outcome.damage), outcome.bad) for outcome in outcomes if outcome.bad] == []


def test_a_power_cut_takes_nothing_that_was_synced_and_leaves_no_fault() -> None:
    outcomes = alone(power.cut, 24, "full", 1)
    assert sum(outcome.acknowledged for outcome in outcomes) > 0
    assert [outcome for outcome in outcomes if not outcome.good] == []
    outcomes = alone(power.cut, 12, "fast", 1)
    assert any(outcome.lost for outcome in outcomes), "the cut takes nothing"
    assert [line for outcome in outcomes for line in (*outcome.half, *outcome.faults)] == []
    steps = [Step("write", "f", 0, b"a" * 1024), Step("sync", "f"), Step("write", "f", 0, b"b" * 1024)]
    assert left_by_cut(steps, "dropped", Random(1)) == {"f": b"a" * 1024}
    assert left_by_cut(steps, "kept", Random(1)) == {"f": b"b" * 1024}
    torn = {bytes(left_by_cut(steps, "torn", Random(seed))["f"]) for seed in range(40)}
    assert torn == {one * 512 + other * 512 for one in (b"a", b"b") for other in (b"a", b"b")}


def test_faults_of_the_disk_are_errors_of_the_library_and_lose_nothing() -> None:
    for operation, outcome in alone(disk.fail, 10, 1).items():
        assert outcome.faults == 2, operation
        assert outcome.wrong == [], operation


def test_servers_under_attack_tell_nothing_and_answer_who_asks() -> None:
    for kind, rows in servers.attack(600).items():
        assert [(kind, row.name, row.wrong) for row in rows if row.wrong] == []
        assert all(row.count for row in rows)


def test_a_copy_of_an_encrypted_file_in_use_is_whole_or_says_what_is_missing() -> None:
    if not copies.CIPHERS.is_dir():
        pytest.skip(f"apsw-sqlite3mc is not in {copies.CIPHERS}; make test installs it")
    assert copies.run(10, Console(quiet=True))
