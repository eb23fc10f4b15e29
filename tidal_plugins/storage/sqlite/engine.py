"""The SQLite engine: the parts of the contract over one file."""

from __future__ import annotations

import logging
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Literal

from tidal_plugins.errors import Corrupt
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.measures import Measures
from tidal_plugins.storage.sqlite.backup import BackupStore
from tidal_plugins.storage.sqlite.checks import CheckStore
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.encryption import Key, check_key
from tidal_plugins.storage.sqlite.entries import SQLiteEntries
from tidal_plugins.storage.sqlite.log_mark import is_lost, log_bytes
from tidal_plugins.storage.sqlite.pages import is_damaged
from tidal_plugins.storage.sqlite.parts import SQLiteDocuments, SQLiteLinks, SQLiteListing, SQLiteLog
from tidal_plugins.storage.sqlite.scopes import Scopes
from tidal_plugins.storage.sqlite.search import SQLiteSearch

logger = logging.getLogger(__name__)

EXACT_VECTORS = 25_000
"""Vectors of a scope that are held as they are, 38 MB of 384 dimensions. To compare 25,000 took 1.5 ms, and 100,000
5.8 ms; a search of 100,000 by codes took 2.5 ms, of which 1.1 went to the codes and most of the rest to reading
(measured)."""

SCRUB_SECONDS = 1.0
"""Time for which emptying the log waits for readers; it holds up writers meanwhile."""


class SQLiteStorage(
    SQLiteEntries,
    SQLiteSearch,
    SQLiteLinks,
    SQLiteLog,
    SQLiteDocuments,
    CheckStore,
    BackupStore,
    SQLiteListing,
    Storage,
):
    """Stores a memory in one SQLite file.

    ``durability="full"`` syncs every commit to disk: what was acknowledged survives a power cut. ``"fast"`` leaves
    the sync to checkpoints: nothing tears, but a power cut may take the last commits (a killed process does not).
    ``"none"`` never syncs: after a power cut the file may be damaged.
    A scope with more passages than ``exact_vectors_up_to`` is searched by sign codes, and the best are compared with
    the stored vectors. ``column_cache_bytes`` bounds what all scopes together hold in memory. ``key`` returns the key
    of an encrypted file.
    """

    _connections: type[Connections] = Connections

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        durability: Literal["full", "fast", "none"] = "full",
        busy_timeout: float = 30.0,
        query_deadline: float = 2.0,
        exact_vectors_up_to: int = EXACT_VECTORS,
        column_cache_bytes: int = 256 * 1024 * 1024,
        key: Key | None = None,
    ) -> None:
        if key is not None:
            check_key(key)
        synchronous = {"full": "FULL", "fast": "NORMAL", "none": "OFF"}[durability]
        connections = partial(self._connections, path, synchronous=synchronous, busy_timeout=busy_timeout, key=key)
        self._scopes, self._figures = Scopes(), {}
        try:
            self._db = connections()
        except Corrupt as error:
            if not is_damaged(error.__cause__):
                raise
            self._db = connections(checked=False)
            self._renew_checksums(error)
            self._db = connections()
        self.path, self.key = self._db.path, key
        self._open(exact_vectors_up_to, column_cache_bytes, query_deadline)

    def _renew_checksums(self, error: Corrupt) -> None:
        """Give each page its checksum anew, and close the file. Raises ``error`` if more than checksums is wrong."""
        try:
            if self.examine().faults:
                raise error
            with self._db.turn():
                self._db.run("VACUUM")
        finally:
            self._db.close()
        logger.warning("%s was written by another program: the checksums of its pages were made anew", self._db.path)

    def measures(self) -> Measures:
        def size(path: str) -> int:
            try:
                return Path(path).stat().st_size  # never opened but by SQLite
            except OSError:
                return 0

        with self.snapshot():
            lost = is_lost(self._db.get(), self._db.path)
        return Measures(size(self._db.path), log_bytes(self._db.path), self._db.slow, self._db.timeouts, lost)

    def scrub(self) -> bool:
        with self.transaction():
            self._db.run("INSERT INTO keywords (keywords) VALUES ('optimize')")
            self._db.run("DROP TABLE IF EXISTS old_vectors")
        with self._db.turn():
            self._db.run("VACUUM")  # secure_delete leaves copies behind where pages were rebalanced
        with self._db.lock_timeout(SCRUB_SECONDS):
            busy = self._db.one("PRAGMA wal_checkpoint(TRUNCATE)")
        self._held.forget()
        self._db.forget()
        return not busy
