"""The benchmark of the graph in recall: its arms rank turns, and a relation stands for the turns it was read in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import graph_recall
from benchmarks.locomo import Session, Turn
from tests.conftest import OpenMemory
from tidal_plugins.testing import FrozenClock

TURNS = [
    "I live in Porto, near the river, since the spring.",
    "The kettle makes a strange noise in the mornings.",
    "My sister Inês works at the harbour office.",
]


def test_the_command_compares_three_rankings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = [{"dia_id": f"D1:{number}", "speaker": "Ana", "text": text} for number, text in enumerate(TURNS, 1)]
    path = tmp_path / "talk.json"
    path.write_text(
        json.dumps(
            [
                {
                    "sample_id": "talk",
                    "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2024", "session_1": talk},
                    "qa": [{"question": "Where does Ana live?", "answer": "", "evidence": ["D1:1"], "category": 4}],
                }
            ]
        )
    )
    graph_recall.main(["--data", str(path), "--embedder", "hashing"])
    shown = capsys.readouterr().out
    assert "1 questions" in shown
    assert "0 relations" not in shown
    for arm in (graph_recall.ALONE, graph_recall.ONE, graph_recall.FUSED):
        assert arm in shown


def test_a_relation_stands_for_its_turn(open_memory: OpenMemory) -> None:
    memory = open_memory()
    clock = FrozenClock()
    graph_recall.fill(memory, [Session("s1", clock(), (Turn("t1", TURNS[0], clock(), speaker="Ana"),))])
    hits = memory.recall("Where does Ana live?", kinds=["fact"])
    told = {turn for hit in hits if "relation" in hit.entry.metadata for turn in graph_recall.turns_of(memory, hit)}
    assert told == {"t1"}
