"""Many writers of one file at once lose nothing, and the log stays small while somebody always reads."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.inside import storage_of
from tidal_plugins import TidalMemory
from tidal_plugins.storage.sqlite import log_mark


def test_nothing_is_lost_among_threads_and_none_is_told_that_the_file_is_busy(open_memory: Any) -> None:
    memory = open_memory()
    with ThreadPoolExecutor(20) as pool:
        said = [(f"Crate {number} stands in the hall.", f"thread {number % 20}") for number in range(40)]
        turns = list(pool.map(lambda one: memory.record(one[0], "Noted.", thread=one[1]), said))
    assert {episode.id for episode in memory.episodes.list()} == {turn.id for turn in turns}
    assert len(turns) == 40


HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
connection.execute("ROLLBACK")
"""
"""A process that holds the lock of a file until its input ends."""


@pytest.mark.slow
async def test_async_methods_wait_for_the_lock_of_another_process(open_memory: Any, tmp_path: Path) -> None:
    memory = open_memory()
    memory.facts["harbour"] = "open"
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "agent.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdin
        assert holder.stdout.readline() == b"held\n"
        waiting = [asyncio.create_task(memory.arecord(f"Crate {n}.", "Noted.", thread="hall")) for n in range(5)]
        await asyncio.sleep(0.2)
        assert not any(task.done() for task in waiting)
        holder.stdin.close()
        await asyncio.gather(*waiting)
    assert len(memory.episodes.list()) == 5


def read_on(memory: TidalMemory, mine: threading.Semaphore, other: threading.Semaphore, end: threading.Event) -> None:
    """Begin to read when the other reader says so, and let it begin before this one ends."""
    while not end.is_set():
        mine.acquire()
        with storage_of(memory).snapshot():
            memory.facts.get("harbour")
            other.release()


def test_the_log_begins_anew_although_somebody_always_reads(open_memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, pages in {"LONG": 50, "FULL": 120, "STEP": 25}.items():
        monkeypatch.setattr(log_mark, name, pages)
    monkeypatch.setattr(log_mark, "READERS", 10.0)  # on a busy machine a reader may rest for longer than usual
    memory, end = open_memory(), threading.Event()
    turns = threading.Semaphore(1), threading.Semaphore(0)
    readers = [threading.Thread(target=read_on, args=(memory, *pair, end)) for pair in (turns, turns[::-1])]
    for reader in readers:
        reader.start()
    try:
        for number in range(100):
            memory.record(f"Crate {number} stands in the hall.", "Noted.", thread="hall")
    finally:
        end.set()
        for turn in turns:
            turn.release()
        for reader in readers:
            reader.join()
    assert 0 < memory.stats().log_bytes < 1_500_000


def test_a_reader_that_stays_does_not_stop_the_writers(open_memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, pages in {"LONG": 25, "FULL": 50, "STEP": 50}.items():
        monkeypatch.setattr(log_mark, name, pages)
    memory, other = open_memory(), open_memory()
    memory.facts["harbour"] = "open"
    with storage_of(other).snapshot():
        assert other.facts["harbour"] == "open"
        for number in range(15):
            memory.record(f"Crate {number} stands in the hall.", "Noted.", thread="hall")
        assert memory.stats().log_bytes > 400_000
    assert len(memory.episodes.list()) == 15
