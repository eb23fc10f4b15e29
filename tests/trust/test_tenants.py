"""Many scopes in one file, asked at every public door by threads at once: none shows another's memories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph")
pytest.importorskip("llama_index.core")

from benchmarks.trust.tenant_life import CANARY, canary
from benchmarks.trust.tenants import SCOPES, attack, prepare, standing

LOOKALIKES = (("a",), ("a", "b"), ('a","b',), ("a%",), ("\uff41",), ("user", "1"))


@pytest.mark.parametrize(
    ("scopes", "calls"), [(LOOKALIKES[1:4], 100), pytest.param(LOOKALIKES, 400, marks=pytest.mark.slow)]
)
def test_no_door_shows_or_changes_what_another_scope_has(tmp_path: Path, scopes: Any, calls: int) -> None:
    path = str(tmp_path / "agent.db")
    ids, before = prepare(path, scopes)
    counts = attack(path, scopes, ids, calls=calls, processes=1, threads=3)
    assert (counts.leaks, counts.errors) == ([], [])
    assert counts.calls.total() >= calls
    assert counts.refused["get an entry"] == counts.calls["get an entry"] > 0
    assert standing(path, scopes) == before


@pytest.mark.slow
def test_an_answer_that_shows_another_scope_is_noticed(tmp_path: Path) -> None:
    path = str(tmp_path / "agent.db")
    ids, _ = prepare(path, [("a",)])
    counts = attack(path, [("b",), ("a",)], {("a",): ids[("a",)], ("b",): ids[("a",)]}, calls=1, processes=1, threads=1)
    assert counts.leaks  # the second scope is known here by another canary than it was filled with
    assert len(set(SCOPES)) == len(SCOPES) == len({canary(number) for number in range(len(SCOPES))}) >= 50
    assert all(CANARY.fullmatch(canary(number)) for number in range(len(SCOPES)))
