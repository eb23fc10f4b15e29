"""The graph as Graphiti reads it: on Kùzu, and on Neo4j where ``NEO4J_URI`` names a server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not find_spec("graphiti_core"), reason="Graphiti is not installed")]


@pytest.fixture(scope="module", params=["kuzu", "server"])
def read(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what Graphiti read in a process of its own, after each step of a small story."""
    folder = tmp_path_factory.mktemp("graphiti")
    uri = f"kuzu:{folder / 'graph.kuzu'}"
    if request.param == "server":
        uri = os.environ.get("NEO4J_URI") or pytest.skip("NEO4J_URI names no server")
    command = [sys.executable, "-m", "tests.graph.graphiti_process", str(folder), uri]
    environment = os.environ | {"GRAPHITI_TELEMETRY_ENABLED": "false"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_graphiti_reads_entities_relations_and_episodes(read: dict[str, Any]) -> None:
    """A relation has its fact, whether it ended, whether it is no longer believed, and whether it cites right."""
    there = read["steps"][0]
    assert there["nodes"] == ["Ada", "Countess", "Mill", "Oslo", "Rome", "billing", "checkout"]
    assert (there["types"]["Ada"], there["types"]["Rome"]) == ("person", "place")
    assert there["edges"] == [
        ["Ada", "LIVES_IN", "Oslo", "Ada lives in Oslo", False, False, True],
        ["Ada", "LIVES_IN", "Rome", "Ada lives in Rome", False, True, True],
        ["Ada", "LIVES_IN", "Rome", "Ada lives in Rome", True, False, True],
        ["Countess", "WORKS_AT", "Mill", "Countess works at Mill", False, False, True],
        ["checkout", "NOT_CALLS", "billing", "checkout does not call billing", False, False, True],
    ]
    texts = [text for _, text in there["episodes"]]
    assert "user: Ada lives_in Rome\nnot checkout calls billing" in texts
    assert all(citation.startswith("[ep:") for citation, _ in there["episodes"])


def test_a_second_time_writes_nothing(read: dict[str, Any]) -> None:
    assert read["counts"][1].startswith("0 entities, 0 episodes and 0 relations written, 0 removed")


def test_merges_forgetting_and_erasing_are_followed(read: dict[str, Any]) -> None:
    _, merged, forgotten, full, erased = read["steps"]
    assert "Countess" not in merged["nodes"]
    assert ["Ada", "WORKS_AT", "Mill", "Ada works at Mill", False, False, True] in merged["edges"]
    assert forgotten["nodes"] == ["Ada", "Mill", "Oslo"]
    assert [edge[3] for edge in forgotten["edges"]] == ["Ada lives in Oslo", "Ada works at Mill"]
    assert len(forgotten["episodes"]) == 2
    assert full == forgotten
    assert erased == {"nodes": [], "types": {}, "episodes": [], "edges": []}


def test_with_an_embedder_graphiti_finds_by_meaning_what_no_word_of_the_question_names(read: dict[str, Any]) -> None:
    assert read["meant"] == [[], ["Ada lives in Oslo"]]
