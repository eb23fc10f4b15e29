"""A store that is re-embedded by processes that are killed."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.conftest import Order
from tidal_plugins import EmbedderMismatch, HashingEmbedder, Note, TidalMemory

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

OLD, NEW = HashingEmbedder(), HashingEmbedder(64)
NOTES = 1_700
KILLS = 10


def fill(path: Path, embedder: HashingEmbedder) -> None:
    with TidalMemory(path, embedder=embedder) as memory:
        memory.remember([Note(f"note {n} on {'jazz tea Oslo'.split()[n % 3]}", source="list.md") for n in range(NOTES)])


def answers(memory: TidalMemory) -> Any:
    hits = (memory.recall(f"note {n} on tea", limit=20) for n in range(0, NOTES, 100))
    return [[(hit.text, pytest.approx(hit.score, abs=1e-4)) for hit in found] for found in hits]


def test_a_re_embedding_that_was_killed_goes_on_and_loses_nothing(tmp_path: Path, order: Order) -> None:
    whole, fresh, path, chance = tmp_path / "whole.db", tmp_path / "fresh.db", tmp_path / "agent.db", random.Random(9)
    fill(whole, OLD)
    fill(fresh, NEW)
    with TidalMemory(whole, embedder=OLD) as memory:
        before = answers(memory)
    with TidalMemory(fresh, embedder=NEW) as memory:
        after = answers(memory)
    went_on = []
    for kill in range(KILLS):
        shutil.copy(whole, path)  # closed: nothing of it stands elsewhere
        order(("reembed", str(path), ""), after=chance.uniform(0.0, 0.02), said=kill)
        with TidalMemory(path, embedder=OLD) as memory:
            try:
                assert answers(memory) == before, "searches find the old vectors until the switch"
            except EmbedderMismatch:
                assert kill, "it was done"
            told: list[int] = []
            memory.reembed(NEW, progress=lambda done, of, told=told: told.append(done))  # type: ignore[misc]
            went_on.append(told[0] if told else NOTES)
            assert answers(memory) == after
        with TidalMemory(path, embedder=NEW) as memory:
            assert answers(memory) == after
        path.unlink()
    assert len(set(went_on)) > KILLS / 2, "else it was killed at the same places"
