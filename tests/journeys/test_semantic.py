"""What is recorded comes into the graph, once, however often those who read it are killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.inside import logged, stored
from tests.journeys.conftest import ENVIRONMENT, Order
from tests.journeys.worker import LEARNED
from tests.reading import Reader
from tidal_plugins import HashingEmbedder, Settings, TidalMemory

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

KILLS = 20


def open_memory(path: Path) -> TidalMemory:
    settings = Settings(graph={"background": False})
    return TidalMemory(path, embedder=HashingEmbedder(), graph_extractor=Reader(), settings=settings)


def learned(memory: TidalMemory) -> Counter[str]:
    return Counter(key.removeprefix("learned ") for key in logged(memory, LEARNED).elements())


def test_of_what_two_processes_record_none_is_lost_and_none_is_done_twice(tmp_path: Path, order: Order) -> None:
    path, chance = tmp_path / "agent.db", random.Random(11)
    acknowledged: set[str] = set()
    states = set()
    for kill in range(KILLS):
        tasks = [("learn_forever", str(path), f"k{kill}{one}") for one in "ab"]
        for ids in order(*tasks, after=chance.uniform(0.0, 0.2), said=chance.randrange(4)):
            acknowledged.update(ids)
        with open_memory(path) as memory:
            pending = {item.episode for item in memory.graph.pending()}
            done = learned(memory)
            there = {episode.id for episode in memory.episodes.list()}
            assert acknowledged <= there
            assert pending | done.keys() == there, "none is lost"
            assert not pending & done.keys()
            assert set(done.values()) <= {1}, "none is done twice"
            states.add((len(pending), len(done)))
    assert len(states) > KILLS / 2, "else it was killed at the same places"
    assert len(acknowledged) > 10
    with open_memory(path) as memory:
        memory.graph.index_pending(failed=True)
        assert memory.graph.pending() == []
        check_graph(memory)


HANGING = """
import sys, threading
from tidal_plugins import HashingEmbedder, TidalMemory
from tidal_plugins.tuning import Tuning

asked = threading.Event()

class Hangs:
    def extract_graph(self, texts):
        print("asked", flush=True)
        asked.set()
        threading.Event().wait()

quick = Tuning(graph={"quiet": 0})
memory = TidalMemory(sys.argv[1], embedder=HashingEmbedder(), graph_extractor=Hangs(), settings=quick)
memory.record("billing depends on storage")
assert asked.wait(300)
"""


def test_reading_does_not_keep_a_process_alive(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    run = [sys.executable, "-W", "error", "-c", HANGING, str(path)]
    done = subprocess.run(run, capture_output=True, text=True, check=True, timeout=500, env=ENVIRONMENT)
    assert (done.stdout, done.stderr) == ("asked\n", "")
    with open_memory(path) as memory:
        assert memory.graph.index_pending().episodes == 1


def check_graph(memory: TidalMemory) -> None:
    """Each turn made one relation, with one piece of evidence, and recall finds it."""
    episodes = {episode.id: episode.query for episode in memory.episodes.list()}
    graph = memory.graph
    relations = graph.relations()
    said = graph.sentences(relations)
    assert sorted(said.values()) == sorted(episodes.values())
    for relation in relations:
        [evidence] = graph.evidence(relation)
        assert evidence.quote == episodes[evidence.episode] == said[relation.id]
        assert relation.episodes == (evidence.episode,)
    facts = stored(memory, "fact")
    stated = Counter(str(entry.metadata.get("relation")) for entry in facts if "relation" in entry.metadata)
    assert stated == dict.fromkeys([relation.id for relation in relations], 1)
