"""The SQLite engine: the parts of the contract over one file, or, for ``memory://``, over a temporary one.

A temporary file has a folder of its own, which goes when the store is closed. A process that is killed leaves its
folder behind, and the next opening removes it. A folder that is in use is known by a lock on it, which the system gives
up with the last process that holds it: the one that made it, or a child of that one. The number of a process would not
do, since another one may have it by now.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import weakref
from contextlib import suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from tidal_plugins.errors import Corrupt, StorageError
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.capabilities import Measures
from tidal_plugins.storage.sqlite.checks import CheckStore
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.copies import BackupStore
from tidal_plugins.storage.sqlite.entries import SQLiteEntries
from tidal_plugins.storage.sqlite.log_mark import is_lost, log_bytes
from tidal_plugins.storage.sqlite.opening import WAL_BYTES, Key, check_key, checked_path, is_damaged, is_to_be_examined
from tidal_plugins.storage.sqlite.schema import OlderSchema
from tidal_plugins.storage.sqlite.search import SQLiteSearch
from tidal_plugins.storage.sqlite.store import SQLiteDocuments, SQLiteLinks, SQLiteListing, SQLiteLog

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
    A scope with more passages than ``exact_vectors_up_to`` is searched by binary codes, and the best are compared with
    the stored vectors. ``column_cache_bytes`` bounds what all scopes together hold in memory. ``key`` returns the key
    of an encrypted file. A file of an earlier schema is brought to this one, unless ``migrate`` is false.
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
        migrate: bool = True,
    ) -> None:
        if key is not None:
            check_key(key)
        synchronous = {"full": "FULL", "fast": "NORMAL", "none": "OFF"}[durability]
        connections = partial(self._connections, path, synchronous=synchronous, busy_timeout=busy_timeout, key=key)
        self._scopes, self._figures, self._asked = set(), {}, {}
        try:
            self._db = connections()
        except OlderSchema:
            if not migrate:
                raise
            from tidal_plugins.storage.sqlite.migrations import migrate as bring_up_to_date

            bring_up_to_date(checked_path(path), key, busy_timeout)
            self._db = connections()
        except Corrupt as error:
            if not is_damaged(error.__cause__):
                raise
            self._db = connections(checked=False)
            self._renew_checksums(error)
            self._db = connections()
        try:
            if self._db.at_once and is_to_be_examined(self._db.path):
                self._db.examine()
        except BaseException:
            self._db.close()
            raise
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
        logger.warning(
            "%s was written by another program: the checksums of its pages were made anew; give it another file",
            self._db.path,
        )

    def verify(self) -> None:
        with self.snapshot():
            self._db.examine()

    def measures(self) -> Measures:
        def size(path: str) -> int:
            try:
                return Path(path).stat().st_size  # never opened but by SQLite
            except OSError:
                return 0

        log = log_bytes(self._db.path)
        readers = self._db.readers() if log > WAL_BYTES else ()
        with self.snapshot():
            lost = is_lost(self._db.get(), self._db.path)
        return Measures(size(self._db.path), log, self._db.slow, self._db.timeouts, lost, readers)

    def scrub(self) -> bool:
        with self.transaction():
            self._db.run("INSERT INTO keywords (keywords) VALUES ('optimize')")
            self._db.run("DROP TABLE IF EXISTS old_vectors; DROP TABLE IF EXISTS old_signs")
        with self._db.turn():
            self._db.run("VACUUM")  # secure_delete leaves copies behind where pages were rebalanced
        with self._db.lock_timeout(SCRUB_SECONDS):
            busy = self._db.one("PRAGMA wal_checkpoint(TRUNCATE)")
        self._held.forget()
        self._db.forget()
        return not busy


if sys.platform != "win32":
    import fcntl

MEMORY = "memory://"
"""The URL of a temporary store: a new and empty one, each time that it is opened."""

FOLDER = "tidal-memory-"
"""The beginning of the name of its folder."""

FILE = "memory.db"


class TemporarySQLite(SQLiteStorage):
    """Stores a memory in a temporary file, which is never synced to disk and goes when the store is closed.

    Child processes share it, until the process that opened it closes it. It takes the options of ``SQLiteStorage`` but
    ``durability`` and ``key``.
    """

    def __init__(self, **options: Any) -> None:
        try:
            folder, lock = _new_folder()
        except OSError as error:
            raise StorageError(f"{MEMORY} needs a temporary directory: {error.strerror}; set TMPDIR") from error
        self._remove = weakref.finalize(self, _remove, folder, lock, os.getpid())
        try:
            super().__init__(Path(folder, FILE), durability="none", **options)
        except BaseException:
            self._remove()
            raise
        self.path = MEMORY + Path(folder).name.removeprefix(FOLDER)

    def close(self) -> None:
        super().close()
        self._remove()


def _new_folder() -> tuple[str, int]:
    """Make a folder that nobody else may enter, and return it with its lock. Folders left behind are removed first."""
    root = os.path.abspath(tempfile.gettempdir())  # noqa: PTH100 (links stay as they are)
    for folder in _own_folders(root):
        with suppress(OSError):  # it is in use, or another process removes it
            _remove(folder, _lock(folder))
    while True:
        folder = tempfile.mkdtemp(prefix=FOLDER, dir=root)
        with suppress(BlockingIOError, FileNotFoundError):  # another process has taken it for one left behind
            return folder, _lock(folder)


def _own_folders(root: str) -> list[str]:
    """List the folders of temporary stores of this user."""
    user = os.geteuid() if sys.platform != "win32" else 0
    found = []
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(FOLDER) and entry.is_dir(follow_symlinks=False) and entry.stat().st_uid == user:
                found.append(entry.path)
    return found


def _lock(folder: str) -> int:
    """Take the lock of a folder. Raises ``OSError``: ``BlockingIOError`` if a process has it."""
    if sys.platform == "win32":  # where a file that is open cannot be removed
        return -1
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(folder)  # noqa: PTH116 (it may have been removed before it was locked)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _remove(folder: str, lock: int, maker: int | None = None) -> None:
    """Remove a folder and give up its lock. A child of the process that made it only lets go of it."""
    with suppress(OSError):
        if maker in (None, os.getpid()):
            for ending in ("", "-wal", "-shm", "-journal"):
                Path(folder, FILE + ending).unlink(missing_ok=True)
            os.rmdir(folder)  # noqa: PTH106 (nothing but our own files goes)
    if lock >= 0:
        os.close(lock)
