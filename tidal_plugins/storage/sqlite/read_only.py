"""Read a store that belongs to another program, without leaving a trace [Anamnesis G5].

Reading a file in WAL mode the usual way makes its log and the log's index, or writes into that index. The
connection here lives as long as one reading and depends on the state of the file:

* *at rest*, nobody has the file open and no log is left: opened as immutable, without any lock;
* *in use*, by another process, or left so by one that died: the log is read through its index, which stays read-only;
* *left behind*, a log without an index, such as a copy: the log is read into memory.

Where this process itself has the file open, it is read beside that.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tidal_plugins.errors import Busy, Closed, NotADatabase, ReadOnly, StorageError
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.engine import SQLiteStorage
from tidal_plugins.storage.sqlite.file_locks import FILE_LOCKS
from tidal_plugins.storage.sqlite.schema import has_schema
from tidal_plugins.storage.sqlite.translation import translated

if TYPE_CHECKING:
    import apsw

ATTEMPTS = 3
"""How often a file that changes meanwhile is read before ``Busy`` is raised."""

_SHARED = "mode=ro"
_AT_REST = "mode=ro&immutable=1"
_IN_USE = "mode=ro&readonly_shm=1"
_LEFT_BEHIND = f"mode=ro&vfs={'win32' if os.name == 'nt' else 'unix'}-none"
_UNLOCKED = (_AT_REST, _LEFT_BEHIND)

T = TypeVar("T")


class _Seen(NamedTuple):
    """The identity, sizes and times of a file and its log, which show whether they changed."""

    path: str
    inode: tuple[int, int]
    file: tuple[int, int]
    log: tuple[int, int] | None
    indexed: bool


class _Openings(Connections):
    """Connections that live as long as one opening each."""

    at_once = False

    @contextmanager
    def opened(self) -> Iterator[tuple[_Seen, str]]:
        """Give this thread a connection for as long as it is inside."""
        with FILE_LOCKS.reading(self.path, self._busy_timeout) as alone:
            seen = _look(self.path)
            how = _way(seen, alone)
            connection = _open(seen.path, how, self._busy_timeout)
            self._let_wait(connection)
            self._by_thread[threading.get_ident()] = connection
            try:
                yield seen, how
            finally:
                self._by_thread.pop(threading.get_ident(), None)
                connection.close()

    def _check_file(self, connection: apsw.Connection, seconds: float = 0.0) -> None:
        """Accept a file that was replaced: each opening looks which one it is."""

    def _open(self) -> apsw.Connection:
        raise Closed(f"{self.path} belongs to somebody else: it is read inside while_open()")


class ReadOnlySQLite(SQLiteStorage):
    """Reads an SQLite file of another program inside :meth:`while_open`, and never writes it."""

    _connections = _Openings
    _db: _Openings

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        timeout: float = 1.0,
        query_deadline: float = 2.0,
        vector_cache_bytes: int = 256 * 1024 * 1024,
    ) -> None:
        self._seen: _Seen | None = None
        self._one = threading.Lock()
        super().__init__(
            path, busy_timeout=timeout, query_deadline=query_deadline, vector_cache_bytes=vector_cache_bytes
        )

    def while_open(self, read: Callable[[], T]) -> T:
        """Return what ``read`` makes of the file, whose methods of this object it may call.

        One thread at a time. Raises ``StorageError`` where the file cannot be read: there is none, it is no memory,
        it is of another version, it is locked, or it keeps changing.
        """
        with self._one:
            for _ in range(ATTEMPTS):
                with self._db.opened() as (seen, how):
                    self._recognise(seen, how)
                    try:
                        result = read()
                    except StorageError:
                        if self._steady(seen, how):
                            raise
                    else:
                        if self._steady(seen, how):
                            return result
        raise Busy(f"{self.path} was written to whenever it was read; try again")

    def forked(self) -> None:
        self._one = threading.Lock()
        super().forked()

    def _steady(self, seen: _Seen, how: str) -> bool:
        return how not in _UNLOCKED or seen == _look(self.path)

    def _recognise(self, seen: _Seen, how: str) -> None:
        """Drop the vectors in memory if the file may be another one now: only a log shows the rows added since."""
        before, self._seen = self._seen, seen
        if before and (before.inode != seen.inode or (how in _UNLOCKED and before != seen)):
            self._held.forget()


def _look(path: str) -> _Seen:
    real = os.path.realpath(path)  # the log stands beside the file itself, not beside a link to it
    try:
        file = Path(real).stat()  # never opened but by SQLite: closing it would give up the locks of this process
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(file.st_mode):  # opening a pipe waits for who writes into it
        raise NotADatabase(f"{path} is no file; name the file of a memory")
    log = _stat(real + "-wal")
    indexed = _stat(real + "-shm") is not None
    return _Seen(
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


def _way(seen: _Seen, alone: bool) -> str:
    if seen.log and seen.indexed:
        return _IN_USE if alone else _SHARED
    return _LEFT_BEHIND if seen.log and seen.log[0] else _AT_REST


def _open(path: str, how: str, timeout: float) -> apsw.Connection:
    import apsw
    import sqlite_vec

    with _for_reading(path), translated(path):
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(f"{Path(path).as_uri()}?{how}", flags=flags)
        try:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.set_busy_timeout(int(timeout * 1000))
            if how == _LEFT_BEHIND:
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # SQLite keeps the log's index in memory then
            connection.execute("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF")
            _check_version(connection, path)
            connection.enable_load_extension(True)
            connection.load_extension(sqlite_vec.loadable_path())
            connection.enable_load_extension(False)
        except BaseException:
            connection.close()
            raise
    return connection


def _check_version(connection: apsw.Connection, path: str) -> None:
    if not has_schema(connection):
        raise NotADatabase(f"{path} is empty: no memory was ever opened there")


@contextmanager
def _for_reading(path: str) -> Iterator[None]:
    try:
        yield
    except ReadOnly as error:
        raise StorageError(f"{path} cannot be opened for reading; check its permissions") from error
