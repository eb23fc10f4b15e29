"""The state of an SQLite file, and how it is opened for reading in that state, without leaving a trace.

Reading a file in WAL mode the usual way makes its log and the log's index, or writes into that index. So it depends on
the state of the file:

* *at rest*, nobody has the file open and no log is left: opened as immutable, without any lock;
* *in use*, by another process, or left so by one that died: the log is read through its index, which stays read-only;
* *left behind*, a log without an index, such as a copy: the log is read into memory.

Where this process itself has the file open, it is read beside that.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tidal_plugins.errors import ReadOnly, StorageError
from tidal_plugins.storage.sqlite.encryption import Key, unlock
from tidal_plugins.storage.sqlite.opening import PLACES, checked_schema
from tidal_plugins.storage.sqlite.pages import CIPHERS, OS, is_damaged, uncheck, vfs
from tidal_plugins.storage.sqlite.translation import translated

if TYPE_CHECKING:
    import apsw

_SHARED = "mode=ro"
_AT_REST = "mode=ro&immutable=1"
_IN_USE = "mode=ro&readonly_shm=1"
_LEFT_BEHIND = f"mode=ro&vfs=%s{OS}-none"  # without checksums of pages, which are a VFS of their own

_Figures = tuple[int, int]


class FileState(NamedTuple):
    """The identity, sizes and times of a file and its log, which show whether they changed."""

    path: str
    inode: _Figures
    file: _Figures
    log: _Figures | None
    indexed: bool

    def way(self, alone: bool) -> str:
        """Return how to open the file. ``alone`` says that nothing else in this process has it open."""
        if self.log and self.indexed:
            return _IN_USE if alone else _SHARED
        return _LEFT_BEHIND if self.log and self.log[0] else _AT_REST

    def was_read(self, way: str, after: FileState) -> bool:
        """Return whether a reading that ended ``after`` has seen one state. Only a reading without locks may not."""
        if way == _AT_REST:  # who opens the file meanwhile makes a log, and changes the file itself later
            return (self.inode, self.file) == (after.inode, after.file)
        return way != _LEFT_BEHIND or self == after

    def is_new(self, way: str, before: FileState) -> bool:
        """Return whether the file may hold other rows than it did ``before``, beside those that were added."""
        return before.inode != self.inode or (way in (_AT_REST, _LEFT_BEHIND) and before != self)


def look(path: str) -> FileState:
    """Return the state of a file. Raises ``StorageError`` for one that cannot be read."""
    real = os.path.realpath(path)  # the log stands beside the file itself, not beside a link to it
    try:
        file = Path(real).stat()  # never opened but by SQLite: closing it would give up the locks of this process
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(file.st_mode):  # opening a pipe waits for who writes into it
        raise StorageError(f"{path} is no file; name the file of a memory")
    log = _stat(real + "-wal")
    indexed = _stat(real + "-shm") is not None
    return FileState(
        real,
        (file.st_dev, file.st_ino),
        (file.st_size, file.st_mtime_ns),
        log and (log.st_size, log.st_mtime_ns),
        indexed,
    )


def _stat(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except OSError:
        return None


def open_for_reading(path: str, way: str, timeout: float, key: Key | None) -> apsw.Connection:
    """Open a connection that cannot write. Raises ``StorageError``."""
    import apsw
    import sqlite_vec

    with _for_reading(path), translated(path):
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(f"{Path(path).as_uri()}?{_named(way, key)}", flags=flags, vfs=vfs(key))
        try:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.set_busy_timeout(int(timeout * 1000))
            if key is not None:
                unlock(connection, key)
            if way == _LEFT_BEHIND:
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # SQLite keeps the log's index in memory then
            connection.execute("PRAGMA trusted_schema = OFF")
            if not _complete(connection, path, key):
                raise StorageError(f"{path} is empty: no memory was ever opened there")
            connection.enable_load_extension(True)
            connection.load_extension(sqlite_vec.loadable_path())
            connection.enable_load_extension(False)
            connection.execute(f"{PLACES}; PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
    return connection


def _complete(connection: apsw.Connection, path: str, key: Key | None) -> bool:
    """Return whether the schema is there, also if its pages are damaged. All are read unchecked then."""
    import apsw

    try:
        return checked_schema(connection, path, key)
    except apsw.IOError as error:
        if not is_damaged(error):
            raise
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    uncheck(connection)
    return checked_schema(connection, path, key)


def _named(way: str, key: Key | None) -> str:
    return way % ("" if key is None else CIPHERS) if way == _LEFT_BEHIND else way


@contextmanager
def _for_reading(path: str) -> Iterator[None]:
    try:
        yield
    except ReadOnly as error:
        raise StorageError(f"{path} cannot be opened for reading; check its permissions") from error
