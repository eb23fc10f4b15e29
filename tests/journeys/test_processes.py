"""Memories that several processes use, some of which are killed."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.inside import logged, stored
from tests.journeys.conftest import ENVIRONMENT, Order
from tests.journeys.worker import LEARNED, SETTINGS
from tests.reading import Reader
from tidal_plugins import EmbedderMismatch, HashingEmbedder, Note, Policy, Settings, TidalMemory

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

SCOPE = ("default",)


def open_memory(path: Path, **options: Any) -> TidalMemory:
    return TidalMemory(path, **{"embedder": HashingEmbedder(), **options})


def test_two_processes_write_at_once(tmp_path: Path, order: Order) -> None:
    path = tmp_path / "agent.db"
    one, two = order(("record_some", str(path), "one"), ("record_some", str(path), "two"))
    assert len(one) == len(two) == 50
    assert set(one[::2]) == set(two[::2])
    with open_memory(path) as memory:
        episodes = memory.episodes.list(thread="s")
        assert {episode.id for episode in episodes} == {*one, *two}
        assert sorted(episode.turn for episode in episodes) == list(range(1, 76))


# a store that is re-embedded


OLD, NEW, NOTES = HashingEmbedder(), HashingEmbedder(64), 900


def test_a_re_embedding_that_was_killed_goes_on_and_loses_nothing(tmp_path: Path, order: Order) -> None:
    def answers(memory: TidalMemory) -> Any:
        hits = (memory.recall(f"note {n} on tea", limit=20) for n in range(0, NOTES, 100))
        return [[(hit.text, pytest.approx(hit.score, abs=1e-4)) for hit in found] for found in hits]

    whole, path, chance = tmp_path / "whole.db", tmp_path / "agent.db", random.Random(9)
    told: dict[int, Any] = {}
    for embedder in (NEW, OLD):
        whole.unlink(missing_ok=True)
        with open_memory(whole, embedder=embedder) as memory:
            texts = (f"note {n} on {'jazz tea Oslo'.split()[n % 3]}" for n in range(NOTES))
            memory.remember([Note(text, source="list.md") for text in texts])
            told[embedder.dimensions] = answers(memory)
    went_on = []
    for kill in range(6):
        shutil.copy(whole, path)  # closed: nothing of it stands elsewhere
        order(("reembed", str(path), ""), after=chance.uniform(0.0, 0.02), said=kill)
        with open_memory(path, embedder=OLD) as memory:
            try:
                assert answers(memory) == told[OLD.dimensions], "searches find the old vectors until the switch"
            except EmbedderMismatch:
                assert kill, "it was done"
            done: list[int] = []
            memory.reembed(NEW, progress=lambda now, of, done=done: done.append(now))  # type: ignore[misc]
            went_on.append(done[0] if done else NOTES)
            assert answers(memory) == told[NEW.dimensions]
        with open_memory(path, embedder=NEW) as memory:
            assert answers(memory) == told[NEW.dimensions]
        path.unlink()
    assert len(set(went_on)) > 2, "else it was killed at the same places"


# a session that several processes write to


def opened(path: Path, cap: int | None) -> Path:
    with open_memory(path, settings=SETTINGS) as memory:
        for number in range(8):
            memory.remember(f"entry {number}")
        session = memory.sessions.open(user="42", agent="planner", policy=Policy(max_signals=cap), metadata={"a": 1})
        assert session.id == 1
    return path


def test_a_cap_is_exact_over_processes(tmp_path: Path, order: Order) -> None:
    path = opened(tmp_path / "agent.db", 300)
    said = [line for lines in order(*(("signal_forever", str(path), f"p{n}") for n in range(3))) for line in lines]
    with open_memory(path, settings=SETTINGS) as memory:
        info, audit = memory.sessions.resume(1).info, memory.sessions.audit(1)
    assert (len([line for line in said if line.startswith("accepted")]), info.accepted) == (300, 300)
    assert info.rejected == len(said) - 300
    assert [decision.accepted for decision in audit] == [True] * 300 + [False] * info.rejected


# what is recorded comes into the graph, once


def test_of_what_two_processes_record_none_is_lost_and_none_is_read_twice(tmp_path: Path, order: Order) -> None:
    path, chance = tmp_path / "agent.db", random.Random(11)
    options: Any = {"graph_extractor": Reader(), "settings": Settings(graph={"background": False})}
    acknowledged: set[str] = set()
    states = set()
    for kill in range(12):
        tasks = [("learn_forever", str(path), f"k{kill}{one}") for one in "ab"]
        for ids in order(*tasks, after=chance.uniform(0.0, 0.2), said=chance.randrange(4)):
            acknowledged.update(ids)
        with open_memory(path, **options) as memory:
            pending = {item.episode for item in memory.graph.pending()}
            done = Counter(key.removeprefix("learned ") for key in logged(memory, LEARNED).elements())
            there = {episode.id for episode in memory.episodes.list()}
            assert acknowledged <= there
            assert pending | done.keys() == there, "none is lost"
            assert not pending & done.keys()
            assert set(done.values()) <= {1}, "none is done twice"
            states.add((len(pending), len(done)))
    assert len(states) > 4, "else it was killed at the same places"
    assert len(acknowledged) > 10
    with open_memory(path, **options) as memory:
        memory.graph.index_pending(failed=True)
        assert memory.graph.pending() == []
        check_graph(memory)


def check_graph(memory: TidalMemory) -> None:
    """Each turn made one relation, with one piece of evidence, and recall finds it."""
    episodes = {episode.id: episode.query for episode in memory.episodes.list()}
    relations = memory.graph.relations()
    said = memory.graph.sentences(relations)
    assert sorted(said.values()) == sorted(episodes.values())
    for relation in relations:
        [evidence] = memory.graph.evidence(relation)
        assert evidence.quote == episodes[evidence.episode] == said[relation.id]
        assert relation.episodes == (evidence.episode,)
    facts = stored(memory, "fact")
    stated = Counter(str(entry.metadata.get("relation")) for entry in facts if "relation" in entry.metadata)
    assert stated == dict.fromkeys([relation.id for relation in relations], 1)


HANGING = """
import sys, threading
from tidal_plugins import HashingEmbedder, Settings, TidalMemory

asked = threading.Event()

class Hangs:
    def extract_graph(self, texts):
        print("asked", flush=True)
        asked.set()
        threading.Event().wait()

quick = Settings(tuning={"jobs.quiet": 0})
memory = TidalMemory(sys.argv[1], embedder=HashingEmbedder(), graph_extractor=Hangs(), settings=quick)
memory.record("billing depends on storage")
assert asked.wait(300)
"""


def test_reading_does_not_keep_a_process_alive_and_another_one_reads_what_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    run = [sys.executable, "-W", "error", "-c", HANGING, str(path)]
    done = subprocess.run(run, capture_output=True, text=True, check=True, timeout=500, env=ENVIRONMENT)
    assert (done.stdout, done.stderr) == ("asked\n", "")
    with open_memory(path, graph_extractor=Reader(), settings=Settings(graph={"background": False})) as memory:
        assert memory.graph.index_pending().episodes == 1
        assert memory.recall("billing")[0].text == "billing depends on storage"
