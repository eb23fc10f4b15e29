"""The log of a file stays small while somebody always reads."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.inside import storage_of
from tidal_plugins import TidalMemory
from tidal_plugins.storage.sqlite import log_mark


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
