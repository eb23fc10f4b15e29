"""Time calls, and the bare commit that each write is measured beside; and measure the memory of this process."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

PEAK, NOW = "VmHWM", "VmRSS"
"""The names that Linux gives to the most memory that a process has held, and to what it holds."""


def timed(call: Callable[[Any], object], items: Iterable[Any]) -> list[float]:
    """Return the milliseconds of each call."""
    times = []
    for item in items:
        start = time.perf_counter()
        call(item)
        times.append(1000 * (time.perf_counter() - start))
    return times


def bare_commit(path: Path) -> Callable[[str], object]:
    """Return a call that commits one row durably: the least that any write costs on this disk."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE bare (text TEXT)"):
        connection.execute(statement)
    return lambda text: connection.execute("INSERT INTO bare VALUES (?)", (text,))


def held_bytes(which: str = NOW) -> int | None:
    """Return the memory that this process holds, or has held at most, in bytes; ``None`` if the system does not say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith(which))
    return 1024 * int(line.split()[1])  # getrusage would count the parent's memory too
