"""SQLite connections: one per thread and process, with their transactions, and errors of the library's own tree."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import (
    Busy,
    Closed,
    Corrupt,
    DiskFull,
    InvalidInput,
    InvalidText,
    NotADatabase,
    QueryTimeout,
    ReadOnly,
    StorageError,
)
from tidal_plugins.storage.sqlite.encryption import Key
from tidal_plugins.storage.sqlite.file_locks import FILE_LOCKS
from tidal_plugins.storage.sqlite.opening import checked_path, open_file

if TYPE_CHECKING:
    import apsw


class Connections:
    """Hands every thread its own connection to one file.

    A child process after ``fork`` opens new ones, and first lets go of those it inherited: while they are open,
    SQLite takes the parent's locks for the child's own, and the child would write into a log that others delete.
    """

    at_once = True
    """Whether faults of a file show when this is made."""

    def __init__(
        self, path: str | os.PathLike[str], *, synchronous: str, busy_timeout: float, key: Key | None = None
    ) -> None:
        self.path = checked_path(path)
        self._key = key
        self._synchronous = synchronous
        self._busy_timeout = busy_timeout
        self._inherited: list[apsw.Connection] = []
        self._by_thread: dict[int, apsw.Connection] = {}
        self._lock = threading.Lock()
        self._local = threading.local()
        self._closed = False
        if self.at_once:
            self.get()

    def get(self) -> apsw.Connection:
        """Return this thread's connection, opening it when there is none."""
        connection = self._by_thread.get(threading.get_ident())
        return connection if connection is not None else self._open()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block as one transaction. It takes the write lock at once, or joins a transaction that is open."""
        connection = self.get()
        if self.writing:
            if not connection.in_transaction:
                raise StorageError("an earlier error has ended this transaction, nothing of it was written; begin anew")
            yield
            return
        if connection.in_transaction:
            raise StorageError("a write cannot begin inside a snapshot; begin the transaction first")
        try:
            with translated(self.path):
                connection.execute("BEGIN IMMEDIATE")
            self._local.writing = True
            yield
            with translated(self.path):
                connection.execute("COMMIT")
        except BaseException:
            self._roll_back(connection)
            raise
        finally:
            self._local.writing = False

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let the reads inside see one state. Joins a snapshot or transaction that is open."""
        connection = self.get()
        if connection.in_transaction:
            yield
            return
        with translated(self.path):
            connection.execute("BEGIN")
        try:
            yield
        finally:
            self._roll_back(connection)

    @property
    def encrypted(self) -> bool:
        """Return whether the file needs a key."""
        return self._key is not None

    @property
    def writing(self) -> bool:
        """Return whether this thread is inside a transaction."""
        return getattr(self._local, "writing", False)

    @contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Stop this thread's queries after that many seconds. They raise ``QueryTimeout``."""
        import apsw

        connection, end = self.get(), time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > end, 20_000)
        try:
            yield
        except Closed as error:  # SQLite tells that a query was stopped, not why
            if self._closed:
                raise
            raise QueryTimeout(f"a search took longer than {seconds} s; look for fewer words") from error
        finally:
            with suppress(apsw.ConnectionClosedError):
                connection.set_progress_handler(None)

    @contextmanager
    def lock_timeout(self, seconds: float) -> Iterator[None]:
        """Let this thread wait no longer than that for locks."""
        connection = self.get()
        connection.set_busy_timeout(int(seconds * 1000))
        try:
            yield
        finally:
            connection.set_busy_timeout(int(self._busy_timeout * 1000))

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

    def one(self, sql: str, *bindings: Any) -> Any:
        """Return the first column of the first row, or ``None``."""
        with translated(self.path):
            row = self.get().execute(sql, bindings).fetchone()
        return row and row[0]

    def close(self) -> None:
        """Close every connection. One that another thread is using is closed when that thread is done with it."""
        import apsw

        with self._lock:
            self._closed = True
            connections = list(self._by_thread.values())
            self._by_thread.clear()
        for connection in connections:
            try:
                connection.close()
            except apsw.ThreadingViolationError:
                connection.interrupt()
        FILE_LOCKS.closed(self.path, self)

    def forked(self) -> None:
        """Start anew in a child process."""
        self._lock = threading.Lock()  # the parent's may have been held by a thread that is not here
        self._local = threading.local()
        self._inherited += self._by_thread.values()
        self._by_thread = {}

    def _roll_back(self, connection: apsw.Connection) -> None:
        with translated(self.path):
            if connection.in_transaction:  # some errors have rolled back already
                connection.execute("ROLLBACK")

    def _open(self) -> apsw.Connection:
        threading.current_thread()  # makes a foreign thread known, so that its connection is not taken for an orphan
        with self._lock:
            self._check_open()
            self._close_inherited()
        with FILE_LOCKS.writing(self.path, self, self._busy_timeout), translated(self.path):
            connection = open_file(self.path, self._synchronous, self._busy_timeout, self._key)
        with self._lock:
            if self._closed:
                connection.close()
            self._check_open()
            self._close_orphans()
            self._by_thread[threading.get_ident()] = connection
        return connection

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"the memory at {self.path} was closed; open it again with TidalMemory(path)")

    def _close_orphans(self) -> None:
        alive = {thread.ident for thread in threading.enumerate()}
        for orphan in [ident for ident in self._by_thread if ident not in alive]:
            self._by_thread.pop(orphan).close()

    def _close_inherited(self) -> None:
        """Close the parent's connections, except in mid-transaction: rolling back would disturb what they share."""
        import apsw

        for connection in self._inherited:
            with suppress(apsw.Error):
                if not connection.in_transaction:
                    connection.close()


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise SQLite's errors as errors of this library, with a remedy each."""
    import apsw

    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise Busy(f"another process kept {path} locked for too long; try again, or raise busy_timeout") from error
    except apsw.FullError as error:
        raise DiskFull(f"no space left for {path}; nothing was written. Free some and try again") from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError) as error:
        raise ReadOnly(
            f"{path} cannot be opened for writing ({error}); check its permissions and its folder's"
        ) from error
    except apsw.NotADBError as error:
        raise NotADatabase(
            f"{path} is not an SQLite database, or it is encrypted; give the memory a file of its own, or key="
        ) from error
    except apsw.CorruptError as error:
        raise Corrupt(f"{path} is damaged ({error}); restore it from a backup") from error
    except (apsw.InterruptError, apsw.ConnectionClosedError) as error:
        raise Closed(f"the memory at {path} was closed while in use") from error
    except apsw.Error as error:
        raise StorageError(f"SQLite failed on {path}: {type(error).__name__}: {error}") from error
    except UnicodeDecodeError as error:
        raise Corrupt(f"{path} is damaged: it holds a text that is not UTF-8; restore it from a backup") from error
    except UnicodeEncodeError as error:
        raise InvalidText(f"a text holds a lone surrogate ({error.reason}); replace it before storing") from error
    except OverflowError as error:
        raise InvalidInput(f"a number is too large for SQLite ({error})") from error
