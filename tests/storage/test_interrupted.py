"""Exceptions at any line of the storage layer, as a signal handler may raise them: Ctrl-C, a soft time limit."""

from __future__ import annotations

import itertools
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tidal_plugins import HashingEmbedder, Settings, TidalMemory
from tidal_plugins.storage import sqlite
from tidal_plugins.storage.base import Line, Where
from tidal_plugins.storage.shorthands import write_document
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing import HERE, NOON

FOLDER = str(Path(sqlite.__file__).parent)
SETTINGS = Settings(graph={"enabled": False, "supersession": False})

Place = tuple[str, int]

FULL = 2
"""SQLite's number for commits that are synced to disk."""


class Interrupted(BaseException):
    """Stands for what a signal handler raises."""


@contextmanager
def traced(see: Callable[[Place], None]) -> Iterator[None]:
    """Call ``see`` before each line of the storage layer."""

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(FOLDER):
            return None
        if event == "line":
            see((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def lines_of(work: Callable[[], object]) -> dict[Place, int]:
    """Return the lines that ``work`` runs, and how often it runs each."""
    seen: dict[Place, int] = {}
    with traced(lambda line: seen.update({line: seen.get(line, 0) + 1})):
        work()
    return seen


def locks(line: Place) -> bool:
    """Return whether a line is a ``with`` over a lock. Leaving that is one step of the interpreter, which tracing
    shows as a line and where no signal handler runs."""
    return linecache.getline(*line).strip().startswith(("with self._lock:", "with _lock:", "with self._one:"))


def interrupt(work: Callable[[], object], line: Place, time: int) -> BaseException | None:
    """Run ``work`` and raise before it runs a line for that time. Returns what it raised."""
    left = time

    def see(here: Place) -> None:
        nonlocal left
        left -= here == line
        if here == line and left == 0:
            raise Interrupted

    try:
        with traced(see):
            work()
    except BaseException as error:
        return error
    return None


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[TidalMemory]:
    with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), settings=SETTINGS) as memory:
        memory.remember([f"the ferry to island {n} leaves at {n} o'clock" for n in range(9)])
        yield memory


@pytest.fixture
def other(memory: TidalMemory) -> Iterator[TidalMemory]:
    with TidalMemory(memory.path, embedder=HashingEmbedder(), settings=SETTINGS) as other:
        yield other


def recorded(memory: TidalMemory) -> None:
    memory.record("the harbour master is called Ines", "Noted.", thread="harbour")


NUMBERS = itertools.count()


def recalled(memory: TidalMemory) -> None:
    memory.recall("when does the ferry leave?")


def listed(memory: TidalMemory) -> None:
    """Ask a question, which has a deadline around its snapshots."""
    memory.episodes.list(limit=1)


def forgotten(memory: TidalMemory) -> None:
    memory.forget(memory.remember(f"the lighthouse is striped {next(NUMBERS)} times").id)  # each text is forgotten once


def read_as_one(memory: TidalMemory) -> None:
    storage = memory._services.storage
    with storage.snapshot():
        list(storage.find(memory.scope, Where()))


def failed(memory: TidalMemory) -> None:
    """Raise inside a transaction, so that the lines that roll back run too."""
    storage = memory._services.storage
    with pytest.raises(ZeroDivisionError), storage.transaction():
        write_document(storage, memory.scope, "notes", "note", 1)
        raise ZeroDivisionError


def reopened(memory: TidalMemory) -> None:
    """Open a connection, as a thread does that has none."""
    with SQLiteStorage(memory.path).snapshot():
        pass


@pytest.mark.slow
@pytest.mark.parametrize("work", [recorded, recalled, listed, forgotten, read_as_one, failed, reopened])
def test_an_exception_at_any_line_leaves_no_transaction_open(
    memory: TidalMemory, other: TidalMemory, work: Callable[[TidalMemory], None]
) -> None:
    work(memory)
    lines = lines_of(lambda: work(memory))
    assert len(lines) > 20
    kept = []
    for number, (line, times) in enumerate(sorted(lines.items())):
        kept.append(interrupt(lambda: work(memory), line, times if number % 2 and not locks(line) else 1))
        where = f"{line}: {''.join(traceback.format_exception(kept[-1]))}"
        stored = memory.remember(f"buoy {number} is green")
        assert other.get(stored.id) == stored, where
        told = other.remember(f"buoy {number} rings")
        assert memory.get(told.id) == told, where
    assert sum(isinstance(error, Interrupted) for error in kept) > len(lines) // 3  # after a write other lines may run
    texts = {f"buoy {number} {does}" for number in range(len(lines)) for does in ("is green", "rings")}
    for each in (memory, other):
        assert texts <= {hit.entry.text for hit in each.recall("which buoy is green or rings?", limit=1000)}


def test_an_exception_at_any_line_of_a_claim_leaves_later_writes_synced(tmp_path: Path) -> None:
    with closing(SQLiteStorage(tmp_path / "agent.db")) as storage:
        seqs = storage.append_log(HERE, "jobs", [Line("key", NOON, 1)])

        def claim() -> None:
            storage.claim_log(HERE, "jobs", seqs, by="worker", now=NOON, until=NOON + timedelta(minutes=1))

        claim()
        for line in sorted(lines_of(claim)):
            interrupt(claim, line, 1)
            with storage.transaction():
                assert storage._db.one("PRAGMA synchronous") == FULL, line
            claim()
