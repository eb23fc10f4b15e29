"""What each writer of a load does. Processes are spawned, so that these are functions of a module."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tidal_plugins import HashingEmbedder, Settings, TidalError, TidalMemory

SETTINGS: Final = Settings(graph={"background": False})
"""Durable, as by default. No thread writes beside those that are measured."""
TEXT = "The parcel stands in row {number} of the hall, beside the crates that came from {name} on Monday."
BARE_BYTES = 80_000
"""Bytes that a bare commit writes: about as many as ``record`` adds to the log for a turn of two messages."""


@dataclass
class Written:
    """What a writer was told is stored, the errors that it met, and the seconds of each write."""

    ids: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def opened(path: str) -> TidalMemory:
    """Open a memory whose embedder costs next to nothing."""
    return TidalMemory(path, embedder=HashingEmbedder(), settings=SETTINGS)


def record_turns(path: str, name: str, turns: int, together: Any, *, memory: TidalMemory | None = None) -> Written:
    """Record turns, through a memory that is open or one of its own."""
    written = Written()
    with nullcontext(memory) if memory else opened(path) as own:
        own.recall("parcel")  # what is imported and opened at first use is here before the others begin
        together.wait()
        for number in range(turns):
            begun = time.perf_counter()
            try:
                said = TEXT.format(number=number, name=name)
                written.ids.append(own.record(said, f"Noted, {name} {number}.", thread=name).id)
            except TidalError as error:
                written.errors.append(f"{type(error).__name__}: {error!s:.200}")
            written.seconds.append(time.perf_counter() - begun)
    return written


def commit_bare(path: str, name: str, turns: int, together: Any) -> Written:
    """Commit as often to a plain table, as durably, through the SQLite of the standard library."""
    written = Written()
    with closing(sqlite3.connect(path, timeout=30.0, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS bare (text BLOB)")
        together.wait()
        for _ in range(turns):
            begun = time.perf_counter()
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("INSERT INTO bare VALUES (zeroblob(?))", (BARE_BYTES,))
                connection.execute("COMMIT")
            except sqlite3.OperationalError as error:
                written.errors.append(str(error))
            written.seconds.append(time.perf_counter() - begun)
    return written


def hold_lock(path: str, seconds: float, ready: Any) -> None:
    """Hold the write lock of a file for some seconds."""
    with opened(path) as memory, memory._services.storage.transaction():
        ready.set()
        time.sleep(seconds)


def resident() -> int:
    """Return the bytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
