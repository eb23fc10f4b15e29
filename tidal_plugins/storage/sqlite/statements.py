"""SQL on the connection of this thread, with errors of the library's own tree."""

from __future__ import annotations

import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import Closed, QueryTimeout
from tidal_plugins.storage.blocks import Block
from tidal_plugins.storage.damage import PAGES, UNKNOWN, note
from tidal_plugins.storage.sqlite.pages import is_damaged, unchecked
from tidal_plugins.storage.sqlite.translation import translated
from tidal_plugins.storage.sqlite.write_queue import LockWait

if TYPE_CHECKING:
    import apsw


SLOW_SHARE = 0.1
"""Share of its deadline from which on a question is slow: 0.2 s by default, which a person notices."""

PROGRESS_STEPS = 20_000
"""Steps of SQLite's machine between two looks at the clock: about a millisecond."""


class Limit(Block):
    """A deadline of a thread's queries. ``end`` is a time of the monotonic clock, ``around`` the deadline outside."""

    def __init__(self, end: float, around: Limit | None) -> None:
        super().__init__(writes=False)
        self.end = end
        self.around = around


class Statements(ABC):
    """Runs statements on the connection of the thread that calls."""

    path: str
    unchecked = False
    """Whether pages are read whose checksums fail."""
    _closed: bool
    _busy_timeout: float
    slow: int
    """Questions that took more than ``SLOW_SHARE`` of their deadline."""
    timeouts: int
    """Questions that took longer than their deadline."""
    _local: threading.local
    _limited: weakref.WeakKeyDictionary[apsw.Connection, Limit]
    """The deadlines of their queries."""
    _waits: weakref.WeakKeyDictionary[apsw.Connection, LockWait]

    @abstractmethod
    def get(self) -> apsw.Connection:
        """Return this thread's connection."""

    def run(self, sql: str, *bindings: Any) -> None:
        with translated(self.path):
            self.get().execute(sql, bindings)

    def run_each(self, sql: str, bindings: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row of bindings."""
        with translated(self.path):
            self.get().executemany(sql, bindings)

    def rows(self, sql: str, *bindings: Any) -> list[Any]:
        with translated(self.path):
            return self.get().execute(sql, bindings).fetchall()

    def stream(self, sql: str, *bindings: Any) -> Iterator[Any]:
        """Yield rows as SQLite finds them, for a caller that may stop early or cannot hold them all."""
        with translated(self.path):
            yield from self.get().execute(sql, bindings)

    def one(self, sql: str, *bindings: Any) -> Any:
        """Return the first column of the first row, or ``None``."""
        with translated(self.path):
            row = self.get().execute(sql, bindings).fetchone()
        return row and row[0]

    def deadline(self, seconds: float) -> AbstractContextManager[None]:
        """Stop this thread's queries after that many seconds, or when the deadline around this one ends. They raise
        ``QueryTimeout``."""
        around = self._limit
        limit = Limit(min(time.monotonic() + seconds, inf if around is None else around.end), around)
        return limit.made_by(lambda _: self._limit_queries(limit, seconds))

    def all_readable(self, table: str, sql: str, *bindings: Any) -> list[Any]:
        """Return the rows of a query, as :meth:`readable` yields them."""
        import apsw

        with translated(self.path):
            try:
                rows = self.get().execute(sql, bindings).fetchall()
                self._note_unchecked()
                return rows
            except (UnicodeDecodeError, apsw.IOError):
                return list(self.readable(table, sql, *bindings))

    def readable(self, table: str, sql: str, *bindings: Any) -> Generator[Any, None, None]:
        """Yield the rows of a query as SQLite finds them. One that holds a text that is not UTF-8 is left out
        and noted.

        A damaged page is noted, and read all the same: use it for rows that have checksums of their own. A transaction,
        which would write by what it finds, raises ``Corrupt``. Whoever does not read to the end closes it.
        """
        import apsw

        with translated(self.path):
            connection, read = self.get(), 0
            try:
                for row in _decodable(connection.execute(sql, bindings), table):
                    yield row
                    read += 1
                self._note_unchecked()
                return
            except apsw.IOError as error:
                if self.writing or not is_damaged(error):
                    raise
            note(PAGES, UNKNOWN)
            with unchecked(connection):
                rest = list(islice(_decodable(connection.execute(sql, bindings), table), read, None))
            yield from rest

    def _note_unchecked(self) -> None:
        if self.unchecked:  # a page failed when the file was opened, and nobody looks which others do
            note(PAGES, UNKNOWN)

    @property
    @abstractmethod
    def writing(self) -> bool:
        """Return whether this thread is inside a transaction."""

    @property
    def bounded(self) -> bool:
        """Return whether this thread's queries have a deadline."""
        return self._limit is not None

    @property
    def _limit(self) -> Limit | None:
        """Return the innermost deadline of this thread that has not been lifted."""
        limit: Limit | None = getattr(self._local, "limit", None)
        while limit is not None and not limit.open:
            limit = limit.around
        return limit

    @contextmanager
    def _limit_queries(self, limit: Limit, seconds: float) -> Iterator[None]:
        connection, begun = self.get(), time.monotonic()
        try:
            self._set_limit(connection, limit)
            yield
        except Closed as error:  # SQLite tells that a query was stopped, not why
            if self._closed:
                raise
            self.timeouts += 1
            raise QueryTimeout(
                f"a query took longer than {seconds:g} s; ask for less, with fewer words, a smaller limit or depth, or "
                "raise Settings.storage.query_deadline"
            ) from error
        finally:
            self.slow += limit.around is None and time.monotonic() - begun > SLOW_SHARE * seconds
            self._set_limit(connection, limit.around)

    def _set_limit(self, connection: apsw.Connection, limit: Limit | None) -> None:
        import apsw

        handler = None if limit is None else lambda: time.monotonic() > limit.end
        if limit is not None:
            self._limited[connection] = limit
        with suppress(apsw.ConnectionClosedError):
            connection.set_progress_handler(handler, PROGRESS_STEPS)
        if limit is None:
            self._limited.pop(connection, None)
        self._local.limit = limit

    @contextmanager
    def lock_timeout(self, seconds: float) -> Iterator[None]:
        """Let this thread wait no longer than that for locks."""
        wait = self._waits[self.get()]
        try:
            wait.seconds = seconds
            yield
        finally:
            wait.seconds = self._busy_timeout


def _decodable(rows: Iterator[Any], table: str) -> Iterator[Any]:
    while True:
        try:
            row = next(rows, None)
        except UnicodeDecodeError:
            note(table, UNKNOWN)
            continue
        if row is None:
            return
        yield row
