"""Read a store without writing to it, also one that belongs to another program, and leave no trace [Anamnesis G5].

The file is opened for each reading and closed after it, in the way that its state asks for: so it shows what others
have written meanwhile, and this process may open it for writing between two readings.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from os import PathLike
from typing import TYPE_CHECKING, TypeVar

from tidal_plugins.errors import Busy, Closed, ReadOnly, StorageError
from tidal_plugins.storage.blocks import Block
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.encryption import Key
from tidal_plugins.storage.sqlite.engine import EXACT_VECTORS, SQLiteStorage
from tidal_plugins.storage.sqlite.file_locks import FILE_LOCKS
from tidal_plugins.storage.sqlite.file_state import FileState, look, open_for_reading
from tidal_plugins.storage.sqlite.statements import Limit

if TYPE_CHECKING:
    import apsw

    from tidal_plugins.storage.columns.arrays import Arrays
    from tidal_plugins.storage.columns.source import Mark

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
    renewed: Callable[[], None]

    def __init__(self, path: str | PathLike[str], *, synchronous: str, busy_timeout: float, key: Key | None = None):
        self._seen: FileState | None = None
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
    def _limit_queries(self, limit: Limit, seconds: float) -> Iterator[None]:
        with self.opened(), super()._limit_queries(limit, seconds):
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
        connection = open_for_reading(opening.seen.path, opening.way, self._busy_timeout, self.key)
        self.unchecked = connection.pragma("checksum_verification") == "0"
        self._prepare(connection)
        self._by_thread[threading.get_ident()] = connection
        return connection

    def _drop(self) -> None:
        """Close the connection of this thread."""
        connection = self._by_thread.pop(threading.get_ident(), None)
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
    """Reads an SQLite file and never writes it. The file is opened for each snapshot, and closed after it."""

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
    ) -> None:
        super().__init__(
            path,
            busy_timeout=timeout,
            query_deadline=query_deadline,
            exact_vectors_up_to=exact_vectors_up_to,
            column_cache_bytes=column_cache_bytes,
            key=key,
        )
        self._db.renewed = self._held.forget

    def while_open(self, read: Callable[[], T]) -> T:
        """Return what ``read`` makes of the file with the methods of this object, in one opening.

        Raises ``StorageError`` where the file cannot be read: there is none, it is no memory, it is of another version,
        it is locked, or it keeps changing.
        """
        for _ in range(ATTEMPTS):
            with suppress(_Changed), self._db.opened():
                return read()
        raise Busy(f"{self.path} was written to whenever it was read; try again")

    def _save(self, scope: int, arrays: Arrays, mark: Mark) -> None:
        """Save nothing."""

    def copy_to(self, path: str, *, damaged: bool = False) -> None:
        self.while_open(lambda: super(ReadOnlySQLite, self).copy_to(path, damaged=damaged))
