"""``tidal export`` and ``tidal load``."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import networkx
import pytest

from tests.cli import histories
from tests.cli.conftest import Tidal
from tests.waiting import eventually
from tidal_plugins import HashingEmbedder, TidalMemory
from tidal_plugins.storage.sqlite import SQLiteStorage


def test_a_memory_travels_as_one_file(tidal: Tidal, tmp_path: Path) -> None:
    tidal("import", str(histories.codex(tmp_path / "rollout.jsonl")))
    assert tidal("export", "memory.jsonl.gz").code == 0
    assert tidal("export", "memory.jsonl.gz").code == 1
    assert tidal("load", "memory.jsonl.gz", "--db", "new.db").code == 0
    assert tidal("load", "memory.jsonl.gz", "--db", "new.db").code == 1
    assert tidal("history", "--full", "--db", "new.db").out == tidal("history", "--full").out
    tidal("export", "again.jsonl.gz", "--db", "new.db")
    assert (tmp_path / "again.jsonl.gz").read_bytes() == (tmp_path / "memory.jsonl.gz").read_bytes()


def test_a_damaged_file_leaves_no_memory_behind(tidal: Tidal, tmp_path: Path) -> None:
    tidal("import", str(histories.codex(tmp_path / "rollout.jsonl")))
    tidal("export", "memory.jsonl")
    (tmp_path / "broken.jsonl").write_bytes((tmp_path / "memory.jsonl").read_bytes()[:-300])
    ran = tidal("load", "broken.jsonl", "--db", "new.db")
    assert ran.code == 1
    assert "truncated or altered" in ran.err
    assert not (tmp_path / "new.db").exists()
    assert tidal("load", "nowhere.jsonl", "--db", "new.db").code == 1


@pytest.mark.slow
def test_a_kill_while_loading_leaves_all_or_nothing(tidal: Tidal, tmp_path: Path) -> None:
    exported, copy = tmp_path / "memory.jsonl", tmp_path / "copy.jsonl"
    with TidalMemory(tmp_path / "memory.db", embedder=HashingEmbedder()) as memory:
        crates = [[f"Crate {n} holds {part} lamps from pier {part % 7}." for part in range(250)] for n in range(100)]
        memory.remember([" ".join(parts) for parts in crates])
        memory.close(timeout=60)  # what waits would be done where it is loaded
    with TidalMemory(tmp_path / "memory.db", embedder=HashingEmbedder(), read_only=True) as memory:
        memory.export(exported)
        entries = memory.stats().entries

    def size(path: Path) -> int:
        with suppress(FileNotFoundError):  # one that goes while it is looked at
            return sum(file.stat().st_size for file in tmp_path.glob(f"{path.name}*"))
        return 0

    left = list[int]()
    for written in (1, 200_000, 1_000_000):
        path = tmp_path / f"{written}.db"
        command = [sys.executable, "-m", "tidal_plugins", "load", str(exported), "--db", str(path)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as loading:
            assert eventually(lambda: size(path) >= written or loading.poll() is not None)  # noqa: B023
            loading.kill()
        with TidalMemory(path, embedder=HashingEmbedder()) as memory:
            assert memory.check().ok
            left.append(memory.stats().entries)
        assert left[-1] in (0, entries)
        whole = left[-1] > 0
        again = tidal("load", str(exported), "--db", path.name)
        assert (again.code == 1) == ("load into a new memory" in again.err) == whole, again.err
        tidal("export", str(copy), "--db", path.name, "--replace")
        assert copy.read_bytes() == exported.read_bytes()
    assert 0 in left, "else none was killed while it loaded"


def test_a_memory_that_was_never_finished_is_told_and_completed(tidal: Tidal, tmp_path: Path) -> None:
    """A process that was killed while it made the file leaves one with tables and nothing else."""
    SQLiteStorage(tmp_path / "tidal.db").close()
    ran = tidal("stats")
    assert (ran.code, "read_only" in ran.err) == (3, False)
    assert "tidal init" in ran.err
    assert tidal("init").code == 0
    assert tidal("stats").code == 0


def told(tidal: Tidal, folder: Path) -> None:
    """Let a memory hear of people and where they live."""
    said = ["My sister Ada lives in Rome.", "I work at the Mill, and Ada owns a boat."]
    lines = [json.dumps({"role": "user", "content": text}) for text in said]
    (folder / "told.jsonl").write_text("\n".join(lines), "utf-8")
    assert tidal("import", "told.jsonl", "--format", "jsonl").code == 0


def test_a_graph_is_written_to_a_file_that_other_programs_read(tidal: Tidal, tmp_path: Path) -> None:
    told(tidal, tmp_path)
    assert tidal("export", "graph.graphml", "--graph").code == 0
    edges: int = networkx.read_graphml(tmp_path / "graph.graphml").number_of_edges()
    assert edges > 0
    assert tidal("export", "graph.cypher", "--graph").code == 0
    assert (tmp_path / "graph.cypher").read_text("utf-8").count("]->(") == edges
    assert "--replace" in tidal("export", "graph.graphml", "--graph").err
    assert tidal("export", "graph.graphml", "--graph", "--replace").code == 0
    refused = tidal("export", "graph.txt", "--graph")
    assert refused.code == 2
    assert ".graphml" in refused.err


def test_a_graph_engine_gets_what_changed(tidal: Tidal, tmp_path: Path) -> None:
    pytest.importorskip("ladybug")
    told(tidal, tmp_path)
    first = tidal("export", "ladybug:graph.lbug", "--graph", "--json").data
    assert first["entities"] > 0
    assert first["sink"] == f"ladybug:{tmp_path / 'graph.lbug'}"
    written = first["entities"] + first["episodes"] + first["relations"]
    again = tidal("export", "ladybug:graph.lbug", "--graph", "--json").data
    assert again == {**first, "entities": 0, "episodes": 0, "relations": 0, "unchanged": written}
    assert tidal("export", "ladybug:graph.lbug", "--graph", "--full", "--json").data == first
    assert f"{first['entities']:,} entities" in tidal("export", "ladybug:other.lbug", "--graph").out


def test_a_file_of_an_engine_that_cannot_be_opened_is_told_in_a_sentence(tidal: Tidal, tmp_path: Path) -> None:
    pytest.importorskip("ladybug")
    told(tidal, tmp_path)
    (tmp_path / "letter.lbug").write_text("Dear Ada")
    for target in ("ladybug:nowhere/graph.lbug", "ladybug:letter.lbug", "ladybug:."):
        refused = tidal("export", target, "--graph")
        assert refused.code == 1
        assert "cannot be opened" in refused.err


def test_an_address_that_cannot_be_used_is_refused_and_no_password_shown(tidal: Tidal, tmp_path: Path) -> None:
    pytest.importorskip("neo4j")
    told(tidal, tmp_path)
    secret = "neo4j://ada:s3cret@host neo4j:ada:s3cret@host neo4j://ada:s3/cret@host bolt://ada:s3?cret@host".split()
    hostless = "neo4j:// neo4j:host neo4j://[host bolt://host:many bolt://host:99999".split()
    unknown = ["http://localhost", "neo4j:", "graphiti+ladybug:file"]
    for words, says in (
        *(((uri, "--graph"), "auth") for uri in secret),
        *(((uri, "--graph"), "neo4j://host:7687") for uri in (*hostless, *unknown)),
        (("ladybug:graph.lbug",), "--graph"),
        (("all.jsonl", "--full"), "--graph"),
    ):
        refused = tidal("export", *words)
        assert refused.code == 2
        assert says in refused.err
        assert "s3" not in refused.err
