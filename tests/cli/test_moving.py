"""``tidal export`` and ``tidal load``."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

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


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an exported memory of 3,000 notes, whose loading writes some 6 MB."""
    folder = tmp_path_factory.mktemp("export")
    with TidalMemory(folder / "memory.db", embedder=HashingEmbedder()) as memory:
        memory.remember([f"Crate {n} holds {n} lamps from pier {n % 7}." for n in range(3000)])
        memory.facts["harbour"] = "open"
        memory.export(folder / "memory.jsonl")
    return folder / "memory.jsonl"


@pytest.mark.slow
@pytest.mark.parametrize("written", [1, 100_000, 500_000, 2_000_000, 3_000_000])
def test_a_kill_while_loading_leaves_all_or_nothing(tidal: Tidal, tmp_path: Path, exported: Path, written: int) -> None:
    path, copy = tmp_path / "new.db", tmp_path / "copy.jsonl"

    def size() -> int:
        with suppress(FileNotFoundError):  # one that goes while it is looked at
            return sum(file.stat().st_size for file in tmp_path.glob("new.db*"))
        return 0

    command = [sys.executable, "-m", "tidal_cli", "load", str(exported), "--db", str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as loading:
        assert eventually(lambda: size() >= written or loading.poll() is not None)
        loading.kill()
    with TidalMemory(path, embedder=HashingEmbedder()) as memory:
        assert memory.check().ok
        assert memory.stats().entries in (0, 3001)
        whole = memory.stats().entries > 0
    again = tidal("load", str(exported), "--db", "new.db")
    assert again.code == whole, again.err
    assert ("load into a new memory" in again.err) == whole
    tidal("export", str(copy), "--db", "new.db")
    assert copy.read_bytes() == exported.read_bytes()


def test_a_memory_that_was_never_finished_is_told_and_completed(tidal: Tidal, tmp_path: Path) -> None:
    """A process that was killed while it made the file leaves one with tables and nothing else."""
    SQLiteStorage(tmp_path / "tidal.db").close()
    ran = tidal("stats")
    assert (ran.code, "read_only" in ran.err) == (3, False)
    assert "tidal init" in ran.err
    assert tidal("init").code == 0
    assert tidal("stats").code == 0
