"""The model of nodes: its arithmetic, worked out by hand, and the figures that it takes from a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.scale_model import Assumptions, main, measured, plan

EVEN = Assumptions(
    bytes_per_entry=10_000, recall_core_ms=40, record_core_ms=20, server_share=0.5, writes_per_recall=0.5, active=0.1,
    cores=10, memory_gb=100, disk_tb=2, load=0.5, replicas=1, skew=1,
)  # fmt: skip
BUSY = {"p50_ms": 25.0, "p95_ms": 30.0}


def test_each_resource_asks_for_nodes() -> None:
    found = plan(1e9, 1_000, EVEN)
    assert found.disk_tb == pytest.approx(10)
    assert found.by_disk == 10, "10 TB, 1 TB on a node"
    assert found.by_memory == 20, "1,000 GB that are in use, 50 GB in a node"
    assert found.by_writes == 1, "500 records of 10 ms are 5 cores, and a node has 5 to use"
    assert found.by_reads == 3, "20 cores that two nodes share, and the 5 of records in each"
    assert found.application_cores == 50, "20 for recalls and 5 for records, half of them to be busy"
    assert (found.nodes, found.bound_by) == (20, "memory")


def test_replicas_serve_recalls_and_not_records() -> None:
    one, three = (plan(1e6, 100_000, replace(EVEN, replicas=number)) for number in (1, 3))
    assert three.by_reads < one.by_reads
    assert three.by_writes == one.by_writes
    assert one.by_reads == 300
    assert three.by_reads == 200


def test_busier_nodes_count() -> None:
    assert plan(1e9, 1_000, replace(EVEN, skew=2)).nodes == 2 * plan(1e9, 1_000, EVEN).nodes


def test_the_largest_row_of_a_run_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"bytes_per_entry": size, "recalls_per_second": speed, "calls": {"record": BUSY}}
        for size, speed in ((1, 1), (9_000, 50.0))
    ]
    (path := tmp_path / "scale.json").write_text(json.dumps({"cores": 2, "processes": 8, "rows": rows}), "utf-8")
    assert measured(path) == {"bytes_per_entry": 9_000, "recall_core_ms": 40.0, "record_core_ms": 25.0}
    main(["--measured", str(path), "--entries", "1e9", "--recalls", "10000", "--record-core-ms", "30"])
    printed = capsys.readouterr().out
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    assert any("9,000 │ bytes on disk" in line and "scale.py" in line for line in lines)
    assert any("30 │ ms of one core for a record" in line and "assumed" in line for line in lines)
    assert "1,000 M" in printed
