"""A memory that was opened with ``read_only=True``: everything that reads works, and nothing is written anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import HashingEmbedder, InvalidInput, ReadOnly, StorageError, TidalMemory, list_backups
from tidal_plugins.storage.sqlite import TemporarySQLite
from tidal_plugins.testing import FrozenClock


def opened(path: Path | str, **options: Any) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder(), clock=FrozenClock(), **options)


def fill(memory: TidalMemory) -> None:
    memory.record("The lawn mower is kept under the stairs.", "Noted.", thread="monday")
    memory.remember("The mower takes two-stroke oil.", source="manual.md")
    memory.facts["mower.fuel"] = "two-stroke"
    with memory.sessions.open(user="ana", agent="gardener") as session:
        session.signal("like", memory.recall("mower oil")[0].id)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    with opened(tmp_path / "folder" / "agent.db") as memory:
        fill(memory)
        memory.close(timeout=30)
    return tmp_path / "folder" / "agent.db"


@pytest.fixture
def reader(path: Path) -> Iterator[TidalMemory]:
    with opened(path, read_only=True) as memory:
        yield memory


def state(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


READS: dict[str, Callable[[TidalMemory], Any]] = {
    "recall": lambda memory: memory.recall("Where is the lawn mower?", window=1, associative=True, hops=2),
    "whisper": lambda memory: memory.whisper("Where did I put the lawn mower?"),
    "get": lambda memory: memory.get(memory.recall("mower oil")[0].id),
    "episodes": lambda memory: memory.episodes[memory.episodes.list()[0].id],
    "facts": lambda memory: [memory.facts["mower.fuel"], dict(memory.facts), memory.facts.conflicts()],
    "graph": lambda memory: [memory.graph.entities(), memory.graph.relations(), memory.graph.pending()],
    "associations": lambda memory: [memory.associations.links(memory.recall("mower oil")[0].id)],
    "dossiers": lambda memory: [memory.dossiers.list()],
    "capsule": lambda memory: str(memory.capsule.read()),
    "sessions": lambda memory: [memory.sessions.audit(info.id) for info in memory.sessions.list()],
    "signals": lambda memory: [memory.signals.tally()],
    "supersessions": lambda memory: [memory.supersessions],
    "affect": lambda memory: [memory.affect.state()],
    "maintenance": lambda memory: [memory.maintenance.admitted(), memory.maintenance.expire(dry_run=True)],
    "check": lambda memory: memory.check().ok,
    "stats": lambda memory: memory.stats().entries,
    "warm": lambda memory: [memory.warm()],
    "scoped": lambda memory: [memory.scoped("user", "42").recall("mower")],
}

WRITES: dict[str, Callable[[TidalMemory], Any]] = {
    "record": lambda memory: memory.record("The rake is in the shed.", "Noted."),
    "remember": lambda memory: memory.remember("Rakes rust."),
    "forget": lambda memory: memory.forget(memory.episodes.list()[0].id),
    "forget nothing": lambda memory: memory.forget("unknown"),
    "erase_scope": lambda memory: memory.erase_scope(),
    "reembed": lambda memory: memory.reembed(HashingEmbedder(64)),
    "facts": lambda memory: memory.facts.set("mower.fuel", "petrol"),
    "graph": lambda memory: memory.graph.forget_source("manual.md"),
    "dossiers": lambda memory: memory.dossiers.refresh("mower"),
    "capsule": lambda memory: memory.capsule.write(memory.capsule.read()),
    "session": lambda memory: memory.sessions.open(user="ana", agent="gardener").__enter__(),
    "signals": lambda memory: memory.signals.add("like", memory.recall("mower oil")[0].id),
    "maintenance": lambda memory: memory.maintenance.run(),
    "maintenance thread": lambda memory: memory.maintenance.start(timedelta(hours=1)),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_what_reads_works_and_leaves_no_trace(reader: TidalMemory, path: Path, read: Callable[[Any], Any]) -> None:
    before = state(path)
    assert read(reader)
    reader.close(timeout=10)
    assert state(path) == before


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_what_writes_is_refused_and_writes_nothing(
    reader: TidalMemory, path: Path, write: Callable[[Any], Any]
) -> None:
    before = state(path)
    with pytest.raises(ReadOnly, match="without read_only=True"):
        write(reader)
    assert state(path) == before
    assert reader.recall("Where is the lawn mower?")


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No such file"):
        opened(tmp_path / "none.db", read_only=True)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.db").touch()
    with pytest.raises(StorageError, match="empty"):
        opened(tmp_path / "empty.db", read_only=True)
    assert (tmp_path / "empty.db").stat().st_size == 0


def test_only_a_file_is_opened_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="read_only="):
        opened("memory://", read_only=True)
    with pytest.raises(InvalidInput, match="read_only="):
        TidalMemory(storage=TemporarySQLite(), embedder=HashingEmbedder(), read_only=True)
    with pytest.raises(InvalidInput, match="read_only"):
        opened(tmp_path / "agent.db", read_only="yes")
    assert list(tmp_path.iterdir()) == []


WRITER = """
import sys
from tidal_plugins import HashingEmbedder, TidalMemory
memory = TidalMemory(sys.argv[1], embedder=HashingEmbedder())
print("open", flush=True)
for line in sys.stdin:
    memory.record(line.strip(), "Noted.")
    print("recorded", flush=True)
memory.close()
"""


@pytest.mark.slow
def test_what_another_process_writes_is_seen(reader: TidalMemory, path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
        for number in range(3):
            writer.stdin.write(f"Seed tray {number} stands on the sill.\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "recorded\n"
            assert reader.recall(f"seed tray {number}")[0].text == f"Seed tray {number} stands on the sill."
            assert len(reader.episodes.list()) == number + 2
        writer.kill()
    assert len(reader.episodes.list()) == 4, "the log of a process that was killed is read"
    with opened(path) as memory:
        assert len(memory.episodes.list()) == 4


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="folders are not kept from who may do all")
def test_a_read_only_folder_is_enough(path: Path) -> None:
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with opened(path, read_only=True) as memory:
            assert memory.recall("lawn mower")
    finally:
        path.parent.chmod(0o700)


def test_a_reader_makes_backups(reader: TidalMemory, path: Path, tmp_path: Path) -> None:
    backup = reader.backup(tmp_path / "copy.db")
    assert list_backups(tmp_path) == [backup]
    assert backup.rows["entries"] == reader.check().rows["entries"]
    assert [file.name for file in path.parent.iterdir()] == ["agent.db"]
