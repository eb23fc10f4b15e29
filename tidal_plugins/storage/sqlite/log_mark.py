"""A mark in the file that its log holds commits, by which a log that was deleted after a crash is noticed.

Commits stand in the log (WAL) until a checkpoint moves them into the file. Without its log, SQLite takes the file for
complete. So before the first commit that only the log holds, a mark is set and moved into the file, and that commit
takes it back. Any program that reads the log, or moves it into the file, then sees no mark. A mark beside no log shows
that the file lacks commits.

The marks are bits of SQLite's ``user_version``, above the version of the schema. One is set just before the log is
moved into the file, which costs one more commit each time, of one page. Other commits cost nothing more.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress

import apsw

from tidal_plugins.storage.sqlite.locks import LockWait

FOLLOWS = 1 << 16
"""A log with commits belongs to the file."""

LOST = 1 << 17
"""The file was opened without the log that belonged to it."""

SCHEMA_BITS = FOLLOWS - 1
"""The bits of the version of the schema."""

HEADER_BYTES = 32
"""The length of a log without any commit."""

LONG = 1000
"""Pages after which the log is moved into the file: SQLite's own default."""

FIRST_RETRY = 8
"""Pages after which a moving that a reader or another process held up is tried again: fewer than a turn writes, which
are some 35. The next is tried after twice as many, up to ``LONG``."""

FULL = 6_000
"""Pages from which on the log is to begin anew, 24 MiB: SQLite begins it anew by itself only if no reader is in it at
that moment. With eight processes there always was one, and the log of 1,600 turns had 133 MiB."""

STEP = 1_000
"""Pages by which the log grows until the next attempt, after one that a reader kept from succeeding."""

OUTGROWN = 16_384
"""Pages from which on a log is too long, 64 MiB: without a reader that stays it is a third of that."""

READERS = 0.1
"""Seconds for which an attempt waits for readers. No process writes meanwhile."""

logger = logging.getLogger(__name__)


class LogMark:
    """Sets the mark whenever a log begins anew, and keeps the log short."""

    def __init__(self) -> None:
        self._announced = 0
        """The pages of the log when it was last moved into the file, as far as its readers allowed."""
        self._wait = LONG
        """The pages until it is moved again."""
        self._full = FULL
        """The pages at which it is to begin anew."""
        self._told = 0
        """The pages that it had when somebody was last told that it is too long."""

    def is_due(self, connection: apsw.Connection) -> bool:
        """Return whether the log is long, or the file holds every commit, so that the next one begins a log.

        While it cannot be told it is not due: the next write asks again.
        """
        try:
            pages, moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        except apsw.BusyError:  # another process puts the log of a killed one in order, and SQLite does not wait here
            return False
        if pages < self._announced:
            self._announced = 0  # it has begun anew
        return pages == moved or pages - self._announced >= self._wait

    def announce(self, connection: apsw.Connection, wait: LockWait) -> int:
        """Write into the file that its log holds commits, and move the log into it. The next transaction takes the
        mark back.

        Return the pages of a log that a reader keeps from beginning anew, when it has become too long, and whenever it
        has doubled since; else 0.

        A reader of an earlier state may keep the mark from the file, and the loss of the log is not noticed until a
        later try.
        """
        connection.execute("BEGIN IMMEDIATE")
        _set(connection, _version(connection) | FOLLOWS)
        connection.execute("COMMIT")
        pages = moved = -1
        with suppress(apsw.BusyError):  # another process is moving it
            pages, moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        if pages >= self._full:
            self._full = pages + STEP
            _begin_anew(connection, wait)
        elif pages < FULL:
            self._full = FULL
        self._announced = max(pages, self._announced)
        if pages == moved >= 0:
            self._wait = LONG
        else:
            self._wait = min(2 * self._wait, LONG) if self._wait < LONG else FIRST_RETRY
        return self._outgrown(pages) if moved < pages else 0

    def _outgrown(self, pages: int) -> int:
        if pages < max(OUTGROWN, 2 * self._told):
            self._told = self._told if pages >= OUTGROWN else 0
            return 0
        self._told = pages
        return pages


def _begin_anew(connection: apsw.Connection, wait: LockWait) -> None:
    """Wait for the readers of the log. New ones read the file alone, since all of the log was moved into it."""
    before, wait.seconds = wait.seconds, READERS
    try:
        with suppress(apsw.BusyError):
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    finally:
        wait.seconds = before


def take_back(connection: apsw.Connection) -> None:
    """Take back the mark, if it is set, inside the open transaction or in one of its own."""
    if not _version(connection) & FOLLOWS:
        return
    if connection.in_transaction:
        _set(connection, _version(connection) & ~FOLLOWS)
        return
    connection.execute("BEGIN IMMEDIATE")
    _set(connection, _version(connection) & ~FOLLOWS)
    connection.execute("COMMIT")


def settle(connection: apsw.Connection, path: str) -> None:
    """Look for the log when a file is opened. If it is gone, log an error and set the mark ``LOST``."""
    if not (_version(connection) & FOLLOWS and is_lost(connection, path)):
        return  # a mark beside a log is that of a transaction which has just begun, or was killed then
    connection.execute("BEGIN IMMEDIATE")
    lost = is_lost(connection, path) and not _version(connection) & LOST
    if lost:
        _set(connection, _version(connection) | LOST)
    take_back(connection)
    connection.execute("COMMIT")
    if lost:
        logger.error("%s was opened without its log %s-wal: the writes that the log held are lost", path, path)


def is_lost(connection: apsw.Connection, path: str) -> bool:
    """Return whether the file was opened without its log, then or now."""
    version = _version(connection)
    return bool(version & LOST) or bool(version & FOLLOWS and log_bytes(path) <= HEADER_BYTES)


def forgive(connection: apsw.Connection) -> None:
    """Take back the mark ``LOST``. Call it inside a transaction."""
    if _version(connection) & LOST:
        _set(connection, _version(connection) & ~LOST)


def _version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def _set(connection: apsw.Connection, version: int) -> None:
    connection.pragma("user_version", version)


def log_bytes(path: str) -> int:
    """Return the size of the log beside the file that a path or a link leads to, 0 if there is none."""
    try:
        return os.stat(os.path.realpath(path) + "-wal").st_size  # noqa: PTH116 (never opened but by SQLite)
    except OSError:
        return 0
