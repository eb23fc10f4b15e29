"""A session that four processes write to and that is killed at a hundred points."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.journeys.conftest import Order
from tests.journeys.worker import SETTINGS
from tidal_plugins import HashingEmbedder, Policy, TidalMemory

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

KILLS, PROCESSES = 50, 4


def open_memory(path: Path) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder(), settings=SETTINGS)


def opened(path: Path, cap: int | None) -> Path:
    with open_memory(path) as memory:
        for number in range(8):
            memory.remember(f"entry {number}")
        assert (
            memory.sessions.open(user="42", agent="planner", policy=Policy(max_signals=cap), metadata={"a": 1}).id == 1
        )
    return path


def test_no_signal_that_was_acknowledged_is_lost_when_processes_are_killed(tmp_path: Path, order: Order) -> None:
    path, chance = opened(tmp_path / "agent.db", None), random.Random(11)
    accepted: set[str] = set()
    for kill in range(KILLS):
        tasks = [("signal_forever", str(path), f"k{kill}p{process}") for process in range(PROCESSES)]
        for said in order(*tasks, after=chance.uniform(0.0, 0.08), said=chance.randrange(3)):
            accepted |= {line.removeprefix("accepted ") for line in said}
        check_whole(path, accepted)
    assert len(accepted) > KILLS


def check_whole(path: Path, acknowledged: set[str]) -> None:
    """What is stored is what was acknowledged, and at most one more signal of each process: it was cut off between
    the commit and the word."""
    with open_memory(path) as memory:
        session = memory.sessions.resume(1)
        snapshot, audit = session.snapshot(), session.audit()
    noted = [note.text for note in snapshot.annotations if note.type == "reward"]
    assert acknowledged <= set(noted)
    assert len(noted) == len(set(noted)) == snapshot.info.accepted == len(audit)
    assert all(decision.accepted for decision in audit)
    assert sum(snapshot.scores["reward"].values() if snapshot.scores else [0]) == pytest.approx(len(noted), rel=1e-3)
    assert (snapshot.info.user, snapshot.info.metadata) == ("42", {"a": 1})


def test_a_cap_is_exact_over_processes(tmp_path: Path, order: Order) -> None:
    path = opened(tmp_path / "agent.db", 300)
    said = [
        line for lines in order(*(("signal_forever", str(path), f"p{n}") for n in range(PROCESSES))) for line in lines
    ]
    with open_memory(path) as memory:
        info, audit = memory.sessions.resume(1).info, memory.sessions.audit(1)
    accepted = [line for line in said if line.startswith("accepted")]
    assert (len(accepted), info.accepted) == (300, 300)
    assert info.rejected == len(said) - 300
    assert [decision.accepted for decision in audit] == [True] * 300 + [False] * info.rejected
