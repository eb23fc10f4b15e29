"""Read a store without writing to it, also one that belongs to another program, and leave no trace [Anamnesis G5].

The file is opened for each reading and closed after it: so it shows what others have written meanwhile, and this
process may open it for writing between two readings. Reading a file in WAL mode the usual way makes its log and the
log's index, or writes into that index. So the way of opening depends on the state of the file:

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
from contextlib import AbstractContextManager, contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeVar

import apsw

from tidal_plugins.errors import Busy, Closed, ReadOnly, StorageError
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.columns.cache import Mark
from tidal_plugins.storage.columns.tables import Arrays
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.engine import EXACT_VECTORS, SQLiteStorage
from tidal_plugins.storage.sqlite.locks import FILE_LOCKS
from tidal_plugins.storage.sqlite.opening import (
    CIPHERS,
    OS,
    PLACES,
    Key,
    checked_schema,
    is_damaged,
    is_sound,
    is_to_be_examined,
    translated,
    uncheck,
    unlock,
    vfs,
)
from tidal_plugins.storage.sqlite.schema import OlderSchema
from tidal_plugins.storage.transactions import Block, Limit

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


def open_for_reading(path: str, way: str, timeout: float, key: Key | None, *, older: bool = False) -> apsw.Connection:
    """Open a connection that cannot write. Raises ``StorageError``, also for an earlier schema unless it may be
    ``older``."""
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
            if not _complete(connection, path, key, older):
                raise StorageError(f"{path} is empty: no memory was ever opened there")
            connection.execute(f"{PLACES}; PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
    return connection


def _complete(connection: apsw.Connection, path: str, key: Key | None, older: bool) -> bool:
    """Return whether the schema is there, also if its pages are damaged. All are read unchecked then."""
    try:
        return checked_schema(connection, path, key)
    except OlderSchema:
        if not older:
            raise
        connection.execute("ROLLBACK")
        return True
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


ATTEMPTS = 3
"""How often a file that changes meanwhile is read before ``Busy`` is raised."""

T = TypeVar("T")


class _Changed(Busy):
    """A file was changed while it was read without locks."""


class _Opening(Block):
    """One opening of a thread."""

    def __init__(self) -> None:
        super().__init__(writes=False)
        self.seen: FileState | None = None
        self.way = ""


class _Openings(Connections):
    """Connections that live as long as one opening each. ``renewed`` is called when the file may be another one."""

    at_once = False
    older = False
    renewed: Callable[[], None]

    def __init__(self, path: str | PathLike[str], *, synchronous: str, busy_timeout: float, key: Key | None = None):
        self._seen: FileState | None = None
        self._sound: tuple[FileState | None, bool] | None = None
        self._one = threading.Lock()
        super().__init__(path, synchronous=synchronous, busy_timeout=busy_timeout, key=key)

    def opened(self) -> AbstractContextManager[None]:
        """Give this thread a connection for as long as it is inside, or let it keep the one that it has.

        One thread at a time. Raises ``Busy`` at the end if the file was changed meanwhile and no lock had kept it as
        it was.
        """
        opening = _Opening()
        return opening.made_by(lambda _: self._opened(opening))

    def transaction(self, timeout: float | None = None) -> AbstractContextManager[None]:
        raise self._refused()

    def turn(self) -> AbstractContextManager[None]:
        raise self._refused()

    @contextmanager
    def unsynced(self) -> Iterator[None]:
        with self.transaction():
            yield

    def forked(self) -> None:
        self._one = threading.Lock()
        super().forked()

    def _refused(self) -> ReadOnly:
        return ReadOnly(
            f"{self.path} was opened read-only and is not written to; open it without read_only=True to write"
        )

    @contextmanager
    def _opened(self, opening: _Opening) -> Iterator[None]:
        if self._opening is not None:
            yield
            return
        self._check_open()
        with self._one, FILE_LOCKS.reading(self.path, self._busy_timeout) as alone:
            opening.seen = seen = look(self.path)
            opening.way = way = seen.way(alone)
            self._recognise(seen, way)
            self._drop()  # an exception at an odd place may have left one
            self._local.opening = opening
            try:
                self._open()
                yield
            except StorageError as error:
                self._check_steady(seen, way, error)
                raise
            finally:
                self._drop()
            self._check_steady(seen, way)

    @contextmanager
    def _snapshot(self, block: Block) -> Iterator[None]:
        with self.opened(), super()._snapshot(block):
            yield

    @contextmanager
    def _limited(self, limit: Limit, seconds: float) -> Iterator[None]:
        with self.opened(), super()._limited(limit, seconds):
            yield

    @property
    def _opening(self) -> _Opening | None:
        """Return the opening that this thread is inside."""
        opening: _Opening | None = getattr(self._local, "opening", None)
        return opening if opening is not None and opening.open else None

    def _open(self) -> apsw.Connection:
        opening = self._opening
        if opening is None or opening.seen is None:
            raise Closed(f"{self.path} is opened for each reading: read it inside while_open() or a snapshot")
        connection = open_for_reading(opening.seen.path, opening.way, self._busy_timeout, self.key, older=self.older)
        try:
            unchecked = connection.pragma("checksum_verification") == "0"  # a page failed: nobody looks which others do
            with translated(self.path):
                self.unsound = unchecked or not self._is_sound(connection, opening)
        except BaseException:
            connection.close(True)
            raise
        self._prepare(connection)
        self._by_thread[threading.current_thread()] = connection
        return connection

    def _is_sound(self, connection: apsw.Connection, opening: _Opening) -> bool:
        """Return whether the pages of the file make up its tables. It is examined once for each state of it."""
        if self._sound is None or self._sound[0] != opening.seen:
            self._sound = opening.seen, not is_to_be_examined(self.path) or is_sound(connection, self.path)
        return self._sound[1]

    def _drop(self) -> None:
        """Close the connection of this thread."""
        connection = self._by_thread.pop(threading.current_thread(), None)
        if connection is not None:
            connection.close(True)

    def _check_file(self, connection: apsw.Connection, seconds: float = 0.0) -> None:
        """Accept a file that was replaced: each opening looks which one it is."""

    def _check_steady(self, seen: FileState, way: str, error: StorageError | None = None) -> None:
        if not seen.was_read(way, look(self.path)):
            raise _Changed(f"{self.path} was written to while it was read; try again") from error

    def _recognise(self, seen: FileState, way: str) -> None:
        """Drop the vectors in memory if the file may be another one now: only a log shows the rows added since."""
        before, self._seen = self._seen, seen
        if before and seen.is_new(way, before):
            self.renewed()


class ReadOnlySQLite(SQLiteStorage):
    """Reads an SQLite file and never writes it. The file is opened for each snapshot, and closed after it.

    One of an earlier schema may be ``older`` for who copies it, or reads its documents and counts alone.
    """

    _connections = _Openings
    _db: _Openings

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        timeout: float = 1.0,
        query_deadline: float = 2.0,
        exact_vectors_up_to: int = EXACT_VECTORS,
        column_cache_bytes: int = 256 * 1024 * 1024,
        key: Key | None = None,
        older: bool = False,
    ) -> None:
        super().__init__(
            path,
            busy_timeout=timeout,
            query_deadline=query_deadline,
            exact_vectors_up_to=exact_vectors_up_to,
            column_cache_bytes=column_cache_bytes,
            key=key,
        )
        self._db.renewed, self._db.older = self._held.forget, older

    def while_open(self, read: Callable[[], T]) -> T:
        """Return what ``read`` makes of the file with the methods of this object, in one opening.

        Raises ``StorageError`` where the file cannot be read: there is none, it is no memory, it is of another version,
        it is locked, or it keeps changing.
        """
        for _ in range(ATTEMPTS):
            with suppress(_Changed), self._db.opened():
                return read()
        raise Busy(f"{self.path} was written to whenever it was read; try again")

    def _save(self, scope: Scope, arrays: Arrays, mark: Mark) -> None:
        """Save nothing."""

    def copy_to(self, path: str, *, damaged: bool = False) -> None:
        self.while_open(lambda: super(ReadOnlySQLite, self).copy_to(path, damaged=damaged))
