"""A log that was deleted after a crash is noticed, and nothing else is taken for that."""

from __future__ import annotations

import logging
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tidal_plugins import HashingEmbedder, Settings, TidalMemory, restore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted there")


QUIET = Settings(graph={"background": False})
"""No thread reads while the first turn is written, which may keep the mark from the file until a later one."""


def opened(path: Path, *, read_only: bool = False) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder(), settings=QUIET, read_only=read_only)


def is_told(path: Path, *, read_only: bool = False) -> bool:
    with opened(path, read_only=read_only) as memory:
        check, stats = memory.check(), memory.stats()
        assert check.ok == (not stats.log_lost), str(check)
        return stats.log_lost


WRITER = """
import os, signal, sys, time
from tidal_plugins import HashingEmbedder, Settings, TidalMemory
memory = TidalMemory(sys.argv[1], embedder=HashingEmbedder(), settings=Settings(graph={"background": False}))
for number in range(int(sys.argv[2])):
    memory.record(f"Seed tray {number} stands on the sill of the green house.", "Noted.", thread="trays")
    print(number, flush=True)
sys.stdin.readline()
"""


def killed(path: Path, turns: int = 3, program: str = WRITER) -> None:
    """Let a process record turns, and kill it."""
    command = [sys.executable, "-c", program, str(path), str(turns)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(turns):
            writer.stdout.readline()
        writer.kill()


FOREIGN = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute(sys.argv[2]).fetchall()
connection.close()
"""


def foreign(path: Path, sql: str) -> None:
    """Let another program open the file, which moves the log into it."""
    subprocess.run([sys.executable, "-c", FOREIGN, str(path), sql], check=True)


def log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def delete_log(path: Path) -> None:
    log(path).unlink()


def delete_both(path: Path) -> None:
    log(path).unlink()
    path.with_name(path.name + "-shm").unlink()


def empty_log(path: Path) -> None:
    log(path).write_bytes(b"")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with opened(path) as memory:
        memory.record("The hose is in the shed.", "Noted.")
        memory.close(timeout=30)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("fault", [delete_log, delete_both, empty_log])
def test_a_log_that_is_gone_is_told(
    path: Path, fault: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    killed(path)
    fault(path)
    with caplog.at_level(logging.ERROR), opened(path) as memory:
        assert "without its log" in caplog.text
        assert [str(fault) for fault in memory.check().lost] == [
            "log of the file: the file was opened without the log that a process had left, and the writes that the log "
            "held are lost (lost)"
        ]
        assert memory.recall("Where is the hose?")
        memory.record("The ladder is in the barn.", "Noted.")
        memory.close(timeout=30)
    assert is_told(path), "until it was read with repair=True"
    with opened(path) as memory:
        assert memory.check(repair=True).lost
        assert memory.check().ok
    assert not is_told(path)


@pytest.mark.slow
def test_it_is_told_in_backups_and_read_only_too(path: Path, tmp_path: Path) -> None:
    killed(path)
    delete_both(path)
    before = path.read_bytes()
    assert is_told(path, read_only=True)
    assert path.read_bytes() == before
    with opened(path) as memory:
        backup = memory.backup(tmp_path / "copy.db")
    restore(backup, tmp_path / "new.db")
    assert is_told(tmp_path / "new.db")


@pytest.mark.slow
def test_a_log_in_its_place_is_read_whenever_a_process_was_killed(path: Path) -> None:
    chance = random.Random(7)
    for _ in range(4):
        command = [sys.executable, "-c", WRITER, str(path), "1000"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(chance.uniform(0, 0.6))
            writer.send_signal(signal.SIGKILL)
        for read_only in (True, False, True):
            assert not is_told(path, read_only=read_only)


@pytest.mark.slow
@pytest.mark.parametrize("sql", ["SELECT count(*) FROM entries", "PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM"])
def test_another_program_may_move_the_log_into_the_file(path: Path, sql: str) -> None:
    killed(path)
    foreign(path, sql)
    delete_both(path) if log(path).exists() else None
    assert not is_told(path)
    with opened(path) as memory:
        assert len(memory.episodes.list()) == 4


@pytest.mark.slow
def test_a_file_and_its_log_may_be_moved_together(path: Path, tmp_path: Path) -> None:
    killed(path)
    for file in (path, log(path)):
        shutil.move(file, tmp_path / file.name.replace("agent", "moved"))
    assert not is_told(tmp_path / "moved.db", read_only=True)
    assert not is_told(tmp_path / "moved.db")


def test_nothing_is_told_after_forgetting_maintenance_failures_and_closing(path: Path) -> None:
    with opened(path) as one, opened(path) as two:
        episode = one.record("The ladder is in the barn.", "Noted.")
        two.forget(episode.id)  # empties the log
        storage = one._services.storage
        with pytest.raises(RuntimeError), storage.transaction():  # the first after that, and it fails
            raise RuntimeError
        two.maintenance.run()
        one.close()
        two.record("The rake is in the barn.", "Noted.")
    for _ in range(2):
        assert not is_told(path)


UNCLOSED = WRITER.replace("sys.stdin.readline()", "")


@pytest.mark.slow
def test_nothing_is_told_after_a_process_that_did_not_close(path: Path) -> None:
    subprocess.run([sys.executable, "-c", UNCLOSED, str(path), "3"], check=True, stdout=subprocess.DEVNULL)
    assert not is_told(path)


@pytest.mark.slow
def test_a_copy_of_an_open_file_without_its_log_is_told(path: Path, tmp_path: Path) -> None:
    with opened(path) as memory:
        memory.record("The ladder is in the barn.", "Noted.")
        subprocess.run(["cp", str(path), str(tmp_path / "copy.db")], check=True)
    assert is_told(tmp_path / "copy.db")
    assert not is_told(path)
