"""SQLite connections: one per thread and process, with their statements, transactions and snapshots.

A file that is deleted or replaced lives on without a name for those who have it open. They would go on to write into
it, and what they acknowledge would be gone when they close it. The log and its index stand for themselves: without them
other processes make new ones, and the commits of each side are lost to the other. So each transaction looks whether the
files at the path are those that were opened.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import islice
from math import inf
from typing import Any, NamedTuple

import apsw

from tidal_plugins.errors import Closed, QueryTimeout, StorageError
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.damage import PAGES, UNKNOWN, note
from tidal_plugins.storage.sqlite.locks import FILE_LOCKS, LockWait, queue_of
from tidal_plugins.storage.sqlite.log_mark import LogMark, log_bytes, take_back
from tidal_plugins.storage.sqlite.opening import (
    Key,
    checked_path,
    is_damaged,
    is_sound,
    let_compare,
    let_count,
    open_file,
    translated,
    unchecked,
)
from tidal_plugins.storage.sqlite.readers import Reading, processes
from tidal_plugins.storage.transactions import Block, Deadlines, Limit

logger = logging.getLogger(__name__)

_Inode = tuple[int, int] | None


class FileIdentity(NamedTuple):
    """The real path of a file, and its device and inode with those of its log and of the log's index; ``None`` for
    one that is not there."""

    real: str
    file: _Inode
    log: _Inode
    log_index: _Inode

    @classmethod
    def of(cls, path: str) -> FileIdentity:
        """Return what is at a path now."""
        real = os.path.realpath(path)  # the log stands beside the file itself, not beside a link to it
        return cls(real, _inode(real), _inode(f"{real}-wal"), _inode(f"{real}-shm"))

    def check(self, path: str) -> None:
        """Raise ``StorageError`` if the files at a path are not these."""
        self.check_file(path)
        for inode, part in ((self.log, f"{self.real}-wal"), (self.log_index, f"{self.real}-shm")):
            if _inode(part) != inode:
                raise _replaced(part)

    def check_file(self, path: str) -> None:
        """Raise ``StorageError`` if the file at a path is not this one, whatever its log is."""
        if _inode(path) != self.file:
            raise _replaced(path)


def _inode(path: str) -> _Inode:
    try:
        found = os.stat(path)  # noqa: PTH116 (at every transaction, so cheaply)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _replaced(path: str) -> StorageError:
    return StorageError(
        f"{path} was {'replaced' if _inode(path) else 'deleted or moved'} while it was open: nothing more is read or "
        "written. Close the memory in every process, put the file in order, and open it again"
    )


PROGRESS_STEPS = 20_000
"""Steps of SQLite's machine between two looks at the clock: about a millisecond."""


READ_UNCHECKED = 0.05
"""Seconds for which reads go on without looking again whether the file was replaced: a recall reads some dozens of
times, and a look took 32 µs on the machine of development. A write always looks."""


_JOINED = nullcontext()
"""Stands for a block inside another one, which ends nothing."""

MOST_KEPT = 64
"""Results that a thread keeps of one state of the file; a recall keeps five."""


class Connections(Deadlines):
    """Hands every thread its own connection to one file.

    A child process after ``fork`` opens new ones, and first lets go of those it inherited: while they are open,
    SQLite takes the parent's locks for the child's own, and the child would write into a log that others delete.
    """

    unsound = False
    """Whether pages are known to be damaged that no checksum tells: what is not found may have been there."""
    at_once = True
    """Whether faults of a file show when this is made."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: str,
        busy_timeout: float,
        key: Key | None = None,
        checked: bool = True,
    ) -> None:
        self.path = checked_path(path)
        self.key = key
        self._checks_pages = checked
        self._synchronous = synchronous
        self._busy_timeout = busy_timeout
        self._inherited: list[apsw.Connection] = []
        self._by_thread: dict[threading.Thread, apsw.Connection] = {}  # an ident is given again to a later thread
        self._lock = threading.Lock()
        self._local = threading.local()
        self._waits: weakref.WeakKeyDictionary[apsw.Connection, LockWait] = weakref.WeakKeyDictionary()
        self._files: weakref.WeakKeyDictionary[apsw.Connection, FileIdentity] = weakref.WeakKeyDictionary()
        self._checked: weakref.WeakKeyDictionary[apsw.Connection, float] = weakref.WeakKeyDictionary()
        self._deadlines: weakref.WeakKeyDictionary[apsw.Connection, Limit] = weakref.WeakKeyDictionary()
        self._unsynced: weakref.WeakKeyDictionary[apsw.Connection, Block] = weakref.WeakKeyDictionary()
        self._kept: weakref.WeakKeyDictionary[apsw.Connection, tuple[int, dict[Hashable, Any]]]
        self._kept = weakref.WeakKeyDictionary()
        self._first: FileIdentity | None = None
        self._queue = queue_of(self.path)
        self._mark = LogMark()
        self._reading = Reading()
        self._closed = False
        if self.at_once:
            self.get()

    def get(self) -> apsw.Connection:
        """Return this thread's connection, opening it when there is none.

        A transaction that an exception left open at an odd place is rolled back.
        """
        connection = self._by_thread.get(threading.current_thread())
        if connection is None:
            return self._open()
        if self._block is not None:
            return connection
        with translated(self.path):
            left_open = connection.in_transaction
        return self._renew(connection) if left_open else connection

    def transaction(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Run a block as one transaction. It takes the write lock at once, or joins a transaction that is open.

        It waits for the lock for ``timeout`` seconds, or as long as all others do.
        """
        outer = self._block
        if outer is not None:
            self._check_joined(outer)
            return _JOINED
        seconds = self._busy_timeout if timeout is None else timeout
        return Block(writes=True).made_by(lambda block: self._transaction(block, seconds))

    def unsynced(self) -> AbstractContextManager[None]:
        """Let a transaction inside end before it is on disk: a power cut may undo it, and harms nothing else. Inside of
        another transaction this changes nothing."""
        return Block(writes=False).made_by(self._unsync)

    def snapshot(self) -> AbstractContextManager[None]:
        """Let the reads inside see one state. Joins a snapshot or transaction that is open."""
        if self._block is not None:
            self.get()
            return _JOINED
        return Block(writes=False).made_by(self._snapshot)

    def turn(self) -> AbstractContextManager[None]:
        """Keep other threads of this process from writing, for a statement that needs no transaction around it."""
        return Block(writes=False).made_by(self._turn)

    @property
    def writing(self) -> bool:
        """Return whether this thread is inside a transaction."""
        block = self._block
        return block is not None and block.writes

    @property
    def created(self) -> set[Scope]:
        """Return the scopes that the open transaction has added or mended."""
        return self._block.created if self._block is not None else set()

    @property
    def ahead(self) -> dict[tuple[int, str, str], tuple[Any, ...] | None]:
        """Return the rows of documents that the open transaction has read ahead."""
        block = self._block
        return block.ahead if block is not None and block.writes else {}

    def given(self, last: Mapping[str, int]) -> None:
        """Take note of the last numbers that rows had, by table, as the open transaction has read them."""
        if self._block is not None:
            self._block.last = {**last, **self._block.last}

    def next_numbers(self, table: str, last: str, count: int) -> range:
        """Return numbers for new rows of a table. Call it inside the transaction that stores them.

        ``last`` is SQL for the last number that a row had, which is asked once in a transaction.
        """
        given = self._block.last if self._block is not None else {}
        first = 1 + (given[table] if table in given else int(self.one(last) or 0))
        given[table] = first + count - 1
        return range(first, first + count)

    def kept(self) -> dict[Hashable, Any] | None:
        """Return what this thread keeps of the state that its open snapshot sees; ``None`` outside of one that has
        read something, and in a transaction.

        A thread may keep small results of queries here. They last until anybody writes to the file.
        """
        block, connection = self._block, self.get()
        if block is None or block.writes or connection.txn_state("main") != apsw.SQLITE_TXN_READ:
            return None
        version, (known, kept) = connection.data_version(), self._kept.get(connection, (None, {}))
        if known != version or len(kept) > MOST_KEPT:
            kept = {}
            self._kept[connection] = version, kept
        return kept

    def forget(self) -> None:
        """Drop what threads keep of the file."""
        self._kept = weakref.WeakKeyDictionary()

    def examine(self) -> None:
        """Look whether the pages of the file make up its tables and indexes; if not, all readings tell from now on."""
        with translated(self.path):
            self.unsound = not is_sound(self.get(), self.path)

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

    def all_readable(self, table: str, sql: str, *bindings: Any) -> list[Any]:
        """Return the rows of a query, as :meth:`readable` yields them."""
        with translated(self.path):
            try:
                rows = self.get().execute(sql, bindings).fetchall()
                self._note_unsound()
                return rows
            except (UnicodeDecodeError, apsw.IOError):
                return list(self.readable(table, sql, *bindings))

    def readable(self, table: str, sql: str, *bindings: Any) -> Generator[Any, None, None]:
        """Yield the rows of a query as SQLite finds them. One that holds a text that is not UTF-8 is left out
        and noted.

        A damaged page is noted, and read all the same: use it for rows that have checksums of their own. A transaction,
        which would write by what it finds, raises ``Corrupt``. Whoever does not read to the end closes it.
        """
        with translated(self.path):
            connection, read = self.get(), 0
            try:
                for row in _decodable(connection.execute(sql, bindings), table):
                    yield row
                    read += 1
                self._note_unsound()
                return
            except apsw.IOError as error:
                if self.writing or not is_damaged(error):
                    raise
            note(PAGES, UNKNOWN)
            with unchecked(connection):
                rest = list(islice(_decodable(connection.execute(sql, bindings), table), read, None))
            yield from rest

    def readers(self) -> tuple[str, ...]:
        """Name who reads the file now: threads of this process but this one, and, on Linux, other processes."""
        held = [holder for holder in FILE_LOCKS.holders(self.path) if isinstance(holder, Connections)]
        return (*(name for each in held for name in each._reading.threads()), *processes(self.path))

    @contextmanager
    def lock_timeout(self, seconds: float) -> Iterator[None]:
        """Let this thread wait no longer than that for locks."""
        wait = self._waits[self.get()]
        try:
            wait.seconds = seconds
            yield
        finally:
            wait.seconds = self._busy_timeout

    def close(self) -> None:
        """Close every connection. One that another thread is using is closed when that thread is done with it."""
        with self._lock:
            self._closed = True
            connections = list(self._by_thread.values())
            self._by_thread.clear()
        for connection in connections:
            try:
                self._close(connection)
            except apsw.ThreadingViolationError:
                connection.interrupt()
        FILE_LOCKS.closed(self.path, self)

    def forked(self) -> None:
        """Start anew in a child process."""
        self._lock = threading.Lock()  # the parent's may have been held by a thread that is not here
        self._local = threading.local()
        self._reading = Reading()
        self._inherited += self._by_thread.values()
        self._by_thread = {}

    @property
    def _block(self) -> Block | None:
        """Return the outermost block of this thread that is open."""
        block: Block | None = getattr(self._local, "block", None)
        return block if block is not None and block.open else None

    @contextmanager
    def _transaction(self, block: Block, timeout: float) -> Iterator[None]:
        self.get()
        with self._queue.turn(block, self.path, timeout) as left:
            connection = self._begin(block)
            try:
                self._waits[connection].seconds = left
                with translated(self.path):
                    if self._mark.is_due(connection):
                        self._check_file(connection)
                        self._warn(self._mark.announce(connection, self._waits[connection]))
                    connection.execute("BEGIN IMMEDIATE")
                    take_back(connection)
                self._waits[connection].seconds = self._busy_timeout
                self._check_file(connection)
                yield
                with translated(self.path):
                    connection.execute("COMMIT")
                self._check_file(connection)
            finally:
                self._roll_back(connection)

    @contextmanager
    def _unsync(self, block: Block) -> Iterator[None]:
        connection = self.get()
        if self._block is not None or self._synchronous == "OFF":
            yield
            return
        self._unsynced[connection] = block
        with translated(self.path):
            connection.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            if (
                self._by_thread.get(threading.current_thread()) is connection
            ):  # else another one took its place, or none
                connection.execute(f"PRAGMA synchronous = {self._synchronous}")
                self._unsynced.pop(connection, None)

    @contextmanager
    def _snapshot(self, block: Block) -> Iterator[None]:
        connection = self._begin(block)
        try:
            self._check_file(connection, READ_UNCHECKED)
            with translated(self.path):
                connection.execute("BEGIN")
            self._reading.begin()
            yield
        except StorageError:
            self._check_file(connection)  # reading fails in odd ways once another log stands in the place of this one
            raise
        finally:
            self._roll_back(connection)
            self._reading.end()

    @contextmanager
    def _turn(self, block: Block) -> Iterator[None]:
        with self._queue.turn(block, self.path, self._busy_timeout):
            self._check_file(self.get())
            yield

    def _note_unsound(self) -> None:
        if self.unsound:
            note(PAGES, UNKNOWN, log=False)  # which was done when the file was examined

    @contextmanager
    def _limited(self, limit: Limit, seconds: float) -> Iterator[None]:
        connection = self.get()
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
            self._set_limit(connection, limit.around)

    def _set_limit(self, connection: apsw.Connection, limit: Limit | None) -> None:
        handler = None if limit is None else lambda: time.monotonic() > limit.end
        if limit is not None:
            self._deadlines[connection] = limit
        with suppress(apsw.ConnectionClosedError):
            connection.set_progress_handler(handler, PROGRESS_STEPS)
        if limit is None:
            self._deadlines.pop(connection, None)
        self._local.limit = limit

    def _warn(self, pages: int) -> None:
        """Log that the log has outgrown its size, with who reads it, unless it has not."""
        if pages:
            logger.warning(
                "the log of %s has grown to %d MB, since somebody goes on reading an earlier state; in it now: %s",
                self.path,
                log_bytes(self.path) // 1_000_000,
                "; ".join(self.readers()) or "nobody that can be told here",
            )

    def _check_joined(self, outer: Block) -> None:
        """Raise ``StorageError`` unless a transaction may join the open block."""
        connection = self.get()
        if not outer.writes:
            raise StorageError("a write cannot begin inside a snapshot; begin the transaction first")
        if not connection.in_transaction:
            raise StorageError("an earlier error has ended this transaction, nothing of it was written; begin anew")

    def _begin(self, block: Block) -> apsw.Connection:
        """Return this thread's connection for an outermost block, clean of what an exception may have left."""
        connection = self.get()
        with translated(self.path):
            # A query that was not read to its end, a deadline that was not lifted, or commits that are not synced.
            left = self._deadlines.get(connection), self._unsynced.get(connection)
            lapsed = any(one is not None and not one.open for one in left)
            if lapsed or connection.txn_state("main") != apsw.SQLITE_TXN_NONE:
                connection = self._renew(connection)
        self._waits[connection].seconds = self._busy_timeout
        self._local.block = block
        return connection

    def _roll_back(self, connection: apsw.Connection) -> None:
        with translated(self.path):
            if connection.in_transaction:  # else it was committed, or an error has rolled back already
                connection.execute("ROLLBACK")

    def _check_file(self, connection: apsw.Connection, seconds: float = 0.0) -> None:
        """Raise ``StorageError`` if the file is not the one that was opened, unless that was seen so lately."""
        now = time.monotonic()
        if now - self._checked.get(connection, -inf) >= seconds:
            self._checked.pop(connection, None)
            self._files[connection].check(self.path)
            self._checked[connection] = now

    def _open(self) -> apsw.Connection:
        with self._lock:
            self._check_open()
            self._close_inherited()
        new = self._first is None
        try:
            with FILE_LOCKS.writing(self.path, self, self._busy_timeout), translated(self.path):
                connection = open_file(
                    self.path,
                    self._synchronous,
                    self._busy_timeout,
                    self.key,
                    create_file=new,
                    checked=self._checks_pages,
                )
        except StorageError:
            if self._first is not None:
                self._first.check_file(self.path)  # it was deleted
            raise
        self._files[connection] = files = FileIdentity.of(self.path)
        self._first = self._first or files
        self._first.check_file(self.path)
        self._prepare(connection)
        with self._lock:
            if self._closed:
                connection.close()
            self._check_open()
            self._close_orphans()
            self._by_thread[threading.current_thread()] = connection
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        """Let a connection wait for the locks of other processes, count words and compare signs."""
        let_count(connection)
        let_compare(connection)
        self._waits[connection] = wait = LockWait(self._busy_timeout)
        connection.set_busy_handler(wait)

    def _close(self, connection: apsw.Connection, *, force: bool = False) -> None:
        """Close a connection. The last one takes the log along, unless that may belong to another file by now."""
        files = self._files.get(connection)
        if files is not None and files != FileIdentity.of(self.path):
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        elif not connection.in_transaction:
            with suppress(apsw.Error):  # a write that failed may have left the mark, and its log goes now
                take_back(connection)
        connection.close(force)

    def _renew(self, connection: apsw.Connection) -> apsw.Connection:
        """Close a connection with all that is unfinished on it, which rolls back, and open another one."""
        self._by_thread.pop(threading.current_thread(), None)
        self._close(connection, force=True)
        return self._open()

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"the memory at {self.path} was closed; open it again with TidalMemory(path)")

    def _close_orphans(self) -> None:
        for orphan in [thread for thread in self._by_thread if not thread.is_alive()]:
            self._close(self._by_thread.pop(orphan))

    def _close_inherited(self) -> None:
        """Close the parent's connections, except in mid-transaction: rolling back would disturb what they share."""
        for connection in self._inherited:
            with suppress(apsw.Error):
                if not connection.in_transaction:
                    connection.close()


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
