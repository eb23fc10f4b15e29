"""The arms of the benchmark of trust, with small counts: what is lost is none, and what would be lost is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.trust import kills
from benchmarks.trust.deeds import Deed, Event, do, open_memory
from benchmarks.trust.ledger import Ledger

pytestmark = pytest.mark.slow


def test_the_ledger_tells_what_was_lost_and_what_came_back(tmp_path: Path) -> None:
    ledger = Ledger()
    with open_memory(tmp_path / "one.db") as memory:
        for deed in (Deed("record", 1), Deed("remember", 2), Deed("fact", 3)):
            ledger.add(Event(deed, True, do(memory, deed)))
        assert ledger.lost(memory) == []
        memory.forget(*ledger.texts[1])
        memory.facts["shelf 3"] = "jar 10"
        assert ledger.lost(memory) == [
            "call 1 is not there as it was made",
            "fact shelf 3 is 'jar 10' and not 'jar 3'",
        ]
        ledger.add(Event(Deed("forget", 4, 2, ledger.texts[2]), True))
        assert "call 2 was forgotten and is there again" in ledger.lost(memory)
    assert ledger.residue(tmp_path / "one.db") == ["jar00002q"]


def test_a_call_that_was_cut_short_is_made_once(tmp_path: Path) -> None:
    ledger = Ledger()
    with open_memory(tmp_path / "one.db") as memory:
        deed = Deed("record", 1)
        do(memory, deed)
        ledger.add(Event(deed, False))
        assert ledger.settle(memory) == []
        assert ledger.lost(memory) == []
        assert ledger.acknowledged == 1


def test_a_killed_process_loses_nothing_that_it_acknowledged() -> None:
    killed = kills.kill(6)
    assert killed.kills == 6
    assert killed.acknowledged
    assert killed.good, killed
