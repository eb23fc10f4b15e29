"""SQL on the connection of this thread, with errors of the library's own tree."""

from __future__ import annotations

import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import Closed, QueryTimeout
from tidal_plugins.storage.sqlite.translation import translated
from tidal_plugins.storage.sqlite.write_queue import LockWait

if TYPE_CHECKING:
    import apsw


class Statements(ABC):
    """Runs statements on the connection of the thread that calls."""

    path: str
    _closed: bool
    _busy_timeout: float
    _limited: weakref.WeakSet[apsw.Connection]
    """Those whose queries have a deadline."""
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

    @contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Stop this thread's queries after that many seconds. They raise ``QueryTimeout``."""
        import apsw

        connection, end = self.get(), time.monotonic() + seconds
        try:
            self._limited.add(connection)
            connection.set_progress_handler(lambda: time.monotonic() > end, 20_000)
            yield
        except Closed as error:  # SQLite tells that a query was stopped, not why
            if self._closed:
                raise
            raise QueryTimeout(f"a search took longer than {seconds} s; look for fewer words") from error
        finally:
            with suppress(apsw.ConnectionClosedError):
                connection.set_progress_handler(None)
            self._limited.discard(connection)

    @contextmanager
    def lock_timeout(self, seconds: float) -> Iterator[None]:
        """Let this thread wait no longer than that for locks."""
        wait = self._waits[self.get()]
        try:
            wait.seconds = seconds
            yield
        finally:
            wait.seconds = self._busy_timeout
