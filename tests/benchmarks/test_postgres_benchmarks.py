"""The benchmarks that run beside LangGraph's stores, and those of the PostgreSQL engine, on few entries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import latency, latency_beside, scale, shared_load
from tools.databases import Databases

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_calls_are_timed_beside_langgraphs_store(
    engine: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(f"langgraph.store.{engine}")
    place = ["--url", request.getfixturevalue("postgres").url] if engine == "postgres" else []
    latency.main(["--beside", "--store", engine, *place, "--sizes", "40", "--repeats", "3"])
    printed = capsys.readouterr().out
    for part in (
        latency_beside.PEERS[engine],
        *(name.strip() for name in latency_beside.CALLS.values()),
        "committed durably",
    ):
        assert part in printed


def test_several_processes_write_and_lose_nothing(postgres: Databases) -> None:
    writing = shared_load.write_at_once(postgres.new(), 2, 3)
    assert writing["lost"] == 0
    assert writing["acknowledged"] == writing["expected"] == 9
    queues = [shared_load.drain(postgres.new(), workers, 4) for workers in (1, 2)]
    assert [each["left"] for each in queues] == [0, 0]
    assert queues[0]["entities"] == queues[1]["entities"] > 4


def test_scopes_are_filled_and_asked(postgres: Databases, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    few = ["--scopes", "2", "4", "--entries", "6", "--processes", "2", "--repeats", "2"]
    scale.main([*few, "--url", postgres.url, "--json", str(out)])
    rows = json.loads(out.read_text())["rows"]
    assert [(row["scopes"], row["entries"]) for row in rows] == [(2, 12), (4, 24)]
    assert all(row["bytes_per_entry"] > 0 and row["recalls_per_second"] > 0 for row in rows)
    assert rows[0]["calls"].keys() == {"first recall", "recall", "record"}
