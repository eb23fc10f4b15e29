"""Many scopes in one file, asked at every public door by threads at once: none shows another's memories."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("langgraph")
pytest.importorskip("llama_index.core")

from benchmarks.trust.tenant_life import CANARY, canary
from benchmarks.trust.tenants import SCOPES, attack, prepare, standing

LOOKALIKES = (("a",), ("a", "b"), ('a","b',), ("a%",), ("\uff41",), ("user", "1"))


def test_no_door_shows_or_changes_what_another_scope_has(tmp_path: Path) -> None:
    path = str(tmp_path / "agent.db")
    ids, before = prepare(path, LOOKALIKES)
    counts = attack(path, LOOKALIKES, ids, calls=300, processes=1, threads=3)
    assert (counts.leaks, counts.errors) == ([], [])
    assert counts.calls.total() >= 300
    assert counts.refused["get an entry"] == counts.calls["get an entry"] > 0
    assert standing(path, LOOKALIKES) == before


def test_an_answer_that_shows_another_scope_is_noticed(tmp_path: Path) -> None:
    path = str(tmp_path / "agent.db")
    ids, _ = prepare(path, [("a",)])
    counts = attack(path, [("b",), ("a",)], {("a",): ids[("a",)], ("b",): ids[("a",)]}, calls=1, processes=1, threads=1)
    assert counts.leaks  # the second scope is known here by another canary than it was filled with


def test_each_scope_is_another_and_has_its_canary() -> None:
    assert len(set(SCOPES)) == len(SCOPES) == len({canary(number) for number in range(len(SCOPES))}) >= 50
    assert all(CANARY.fullmatch(canary(number)) for number in range(len(SCOPES)))
