"""Time calls, and the bare commit that each write is measured beside."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


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
