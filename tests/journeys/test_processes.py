"""Memories that several processes use, some of which are killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.conftest import ENVIRONMENT, Order
from tidal_plugins import HashingEmbedder, TidalMemory
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.sqlite import SQLiteStorage

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

SCOPE = ("default",)
KILLS = 50


def open_memory(path: Path) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder())


def python(code: str, *arguments: str) -> str:
    run = [sys.executable, "-W", "error", "-c", code, *arguments]
    return subprocess.run(run, capture_output=True, text=True, check=True, timeout=500, env=ENVIRONMENT).stdout


def test_what_one_process_wrote_another_recalls(tmp_path: Path) -> None:
    write = """
import sys
from tidal_plugins import HashingEmbedder, TidalMemory
with TidalMemory(sys.argv[1], embedder=HashingEmbedder()) as memory:
    memory.remember("to deploy, run the release script", kind="skill")
    print(memory.record("I play jazz piano every day", "Noted.").id)
"""
    read = """
import sys
from tidal_plugins import HashingEmbedder, TidalMemory
with TidalMemory(sys.argv[1], embedder=HashingEmbedder()) as memory:
    print(memory.recall("jazz piano")[0].entry.episode)
    assert "jazz piano" in str(memory.whisper("jazz piano every day"))
"""
    path = str(tmp_path / "agent.db")
    assert python(write, path) == python(read, path)


def test_a_killed_process_loses_nothing_that_it_acknowledged_and_leaves_nothing_half_written(
    tmp_path: Path, order: Order
) -> None:
    path, chance = tmp_path / "agent.db", random.Random(7)
    acknowledged: dict[str, str] = {}
    for kill in range(KILLS):
        said = chance.randrange(4) if kill % 5 else None
        [ids] = order(("record_forever", str(path), f"k{kill}"), after=chance.uniform(0.0, 0.1), said=said)
        fresh = {id_: f"k{kill}q{number}" for number, id_ in enumerate(ids)}
        acknowledged |= fresh
        with open_memory(path) as memory:
            for id_, word in fresh.items():
                check_whole(memory, id_, word)
            assert acknowledged.keys() <= {episode.id for episode in memory.episodes.list()}
        check_store(path)
    assert len(acknowledged) > 10


def check_whole(memory: TidalMemory, id_: str, word: str) -> None:
    episode = memory.episodes[id_]
    assert (episode.query, episode.answer) == (f"seek {word}", f"seek it here: {word}")
    assert episode.tool_calls[0].result == f"found {word}"
    assert [memory.get(entry).text for entry in episode.entries] == [episode.query, episode.answer]
    found = {hit.id: hit.why for hit in memory.recall(word, kinds={"conversation", "episode"}, limit=50)}
    for entry in (id_, *episode.entries):
        assert found[entry].keyword_rank or entry == id_, "episodes are found by meaning only"
        assert found[entry].vector_rank


def check_store(path: Path) -> None:
    storage = SQLiteStorage(path)
    try:
        rows = {entry.id: entry for entry in storage.find(SCOPE, Where())}
        episodes = {id_: entry for id_, entry in rows.items() if entry.kind == "episode"}
        said = {entry for episode in episodes.values() for entry in episode.metadata["entries"]}
        assert said == rows.keys() - episodes.keys()
        assert sorted(entry.position or 0 for entry in episodes.values()) == list(range(1, len(episodes) + 1))
        vector = HashingEmbedder().embed(["seek it"])[0]
        assert {match.id for match in storage.nearest(SCOPE, vector, 4000, Where())} == rows.keys()
        assert {match.id for match in storage.matching(SCOPE, ["seek"], 4000, Where())} == said
        assert storage.statistics(("default",)).corpus.passages == len(said)
    finally:
        storage.close()


def test_two_processes_write_at_once(tmp_path: Path, order: Order) -> None:
    path = tmp_path / "agent.db"
    one, two = order(("record_some", str(path), "one"), ("record_some", str(path), "two"))
    assert len(one) == len(two) == 50
    assert set(one[::2]) == set(two[::2])
    with open_memory(path) as memory:
        episodes = memory.episodes.list(thread="s")
        assert {episode.id for episode in episodes} == {*one, *two}
        assert sorted(episode.turn for episode in episodes) == list(range(1, 76))


def test_a_bulk_that_was_killed_can_be_run_again_without_duplicates(tmp_path: Path, order: Order) -> None:
    chance = random.Random(3)
    for run in range(4):
        path = tmp_path / f"{run}.db"
        for _ in range(3):
            order(("import_all", str(path), ""), after=chance.uniform(0.0, 0.1), said=0)
        [said] = order(("import_all", str(path), ""))
        assert said[-1] == "turns 60"
        with open_memory(path) as memory:
            assert [e.turn for e in memory.episodes.list(thread="bulk")] == list(range(1, 61))
            assert memory.forget(source="bulk").count == 60
