"""The benchmarks of the PostgreSQL engine run, on few entries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import large_scopes, latency, scale, shared_load
from tools.databases import Databases

pytestmark = pytest.mark.slow


def test_calls_are_timed_beside_langgraphs_store(
    postgres: Databases, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("langgraph.store.postgres")
    out = tmp_path / "out.json"
    sizes = ["--store", "postgres", "--url", postgres.url, "--sizes", "40", "--repeats", "3"]
    latency.main([*sizes, "--json", str(out)])
    calls = json.loads(out.read_text())["postgres"]["40"]["calls"]
    assert calls.keys() == {"recall", "recall after a write", "record", "remember", "bare commit"}
    for name in ("recall", "record"):
        assert calls[name].keys() == {"tidal", "PostgresStore"}
        assert min(figures["p50_ms"] for figures in calls[name].values()) > 0
    assert "PostgresStore" in capsys.readouterr().out


def test_several_processes_write_and_lose_nothing(postgres: Databases, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    few = ["--processes", "2", "--records", "3", "--workers", "1", "2", "--turns", "4"]
    shared_load.main([*few, "--url", postgres.url, "--json", str(out)])
    figures = json.loads(out.read_text())
    assert figures["writing"]["lost"] == 0
    assert figures["writing"]["acknowledged"] == figures["writing"]["expected"] == 9
    assert [each["left"] for each in figures["queue"].values()] == [0, 0]
    one, two = (each["entities"] for each in figures["queue"].values())
    assert one == two > 4


def test_scopes_are_filled_and_asked(postgres: Databases, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    few = ["--scopes", "2", "4", "--entries", "6", "--processes", "2", "--repeats", "2"]
    scale.main([*few, "--url", postgres.url, "--json", str(out)])
    rows = json.loads(out.read_text())["rows"]
    assert [(row["scopes"], row["entries"]) for row in rows] == [(2, 12), (4, 24)]
    assert all(row["bytes_per_entry"] > 0 and row["recalls_per_second"] > 0 for row in rows)
    assert rows[0]["calls"].keys() == {"first recall", "recall", "record"}


def test_a_large_scope_is_searched_with_and_without_an_index(postgres: Databases, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    large_scopes.main(["--passages", "60", "--repeats", "3", "--url", postgres.url, "--json", str(out)])
    [figures] = json.loads(out.read_text())["sizes"].values()
    assert all(figures[way]["first_ms"] > 0 for way in (*large_scopes.WAYS, large_scopes.RECALL))
    assert [figures[way]["recall@10"] for way in large_scopes.WAYS] == [1, 1, 1], "of so few all are compared"
    assert figures["index"]["index_bytes"] > 0
    assert figures["puts"].keys() == {"plain", "indexed"}
