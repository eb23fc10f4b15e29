"""The size of the log (WAL): it begins anew before it grows large, also when many processes read and write at once.

SQLite copies the log into the file by itself, but begins it anew only if no reader is in it at that moment. With eight
processes there always was one, and the log of 1,600 turns had 133 MiB.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tidal_plugins.storage.sqlite.write_queue import LockWait

if TYPE_CHECKING:
    import apsw

COPIED: Final = 1_000
"""Pages from which on each commit copies the log into the file, as SQLite does by itself."""

FULL: Final = 24 * 1024 * 1024
"""Bytes from which on the log is to begin anew: some 300 turns of 80 kB. Then 64 MiB leave room for ten attempts."""

STEP: Final = 4 * 1024 * 1024
"""Bytes by which the log grows until the next attempt, after one that a reader kept from succeeding."""

READERS: Final = 0.1
"""Seconds for which an attempt waits for readers. No process writes meanwhile."""


class LogLimit:
    """SQLite's hook after each commit of one connection, in place of its own."""

    def __init__(self, wait: LockWait, page_bytes: int) -> None:
        self._wait = wait
        self._page_bytes = page_bytes
        self._next = FULL

    def __call__(self, connection: apsw.Connection, database: str, pages: int) -> int:
        """Copy the log, which has so many pages, and begin it anew if it is full. An error is left to the next commit,
        since this one is done."""
        import apsw

        log_bytes = pages * self._page_bytes
        if log_bytes < FULL:
            self._next = FULL
        with suppress(apsw.Error):
            if log_bytes >= self._next:
                self._next = log_bytes + STEP
                self._begin_anew(connection, database)
            elif pages >= COPIED:
                connection.wal_checkpoint(database, apsw.SQLITE_CHECKPOINT_PASSIVE)
        return apsw.SQLITE_OK

    def _begin_anew(self, connection: apsw.Connection, database: str) -> None:
        """Wait for the readers of the log. New ones read the file alone, since all of the log is copied by then."""
        import apsw

        before = self._wait.seconds
        try:
            self._wait.seconds = READERS
            connection.wal_checkpoint(database, apsw.SQLITE_CHECKPOINT_RESTART)
        finally:
            self._wait.seconds = before
