"""The benchmark of the semantic graph runs, and its figures are those of what it names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import graph


def test_the_command_writes_rates_and_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    graph.main(["--relations", "60", "--repeats", "2", "--json", str(out)])
    figures = json.loads(out.read_text())["sizes"]["60"]
    assert figures["rates"].keys() == {"insert", "networkx insert"}
    assert all(times["p50_ms"] > 0 for times in figures["calls"].values())
    assert "60 relations" in capsys.readouterr().out


def test_relations_are_each_drawn_once_and_the_same_on_every_run() -> None:
    said = list(graph.triples(200))
    assert len(set(said)) == 200
    assert said == list(graph.triples(200))
    assert sum(len(extraction.assertions) for _, extraction in graph.turns(said)) == 200
