"""Blocks of statements: the transactions and snapshots of each thread, on connections of a pool."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from math import inf
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import Busy, Closed, QueryTimeout, ReadOnly, StorageError
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.blocks import Block
from tidal_plugins.storage.postgres.numbers import number_of, path_of
from tidal_plugins.storage.postgres.opening import connected, local, session
from tidal_plugins.storage.postgres.pool import MOST, Pool
from tidal_plugins.storage.postgres.translation import TOO_LONG, is_lost, shown_url, translated, translation

if TYPE_CHECKING:
    import psycopg

ALL = "all"
"""Stands for every scope where a statement is about the whole store."""

SLOW_SHARE = 0.1
"""Share of its deadline from which on a question is slow."""

_JOINED, _ENDED = nullcontext(), "an earlier error has ended this transaction, nothing of it was written; begin anew"
_FORKED = "this process was forked inside a transaction, which its parent ends; begin one here"

_BEGIN = {True: "BEGIN ISOLATION LEVEL READ COMMITTED", False: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}
_SET = "SELECT set_config('tidal.scope', %s, true), set_config('statement_timeout', %s, true)"
_LOCK = "SELECT path FROM tidal_scopes WHERE scope = %s FOR UPDATE"
_ADD = "INSERT INTO tidal_scopes (scope, path) VALUES (%s, %s) ON CONFLICT (scope) DO NOTHING"
_COUNT = """
    UPDATE tidal_corpus SET passages = passages + %s, words = words + %s, vectors = vectors + %s, renewed = renewed + %s
    WHERE shard = %s
"""

Statement = tuple[str, Sequence[Any]]
"""SQL with its parameters."""


class Limit(Block):
    """A deadline of a thread's questions: ``end`` is a time of the monotonic clock."""

    def __init__(self, end: float, around: Limit | None) -> None:
        super().__init__(writes=False)
        self.end, self.around = end, around


class Work(Block):
    """An open transaction or snapshot. It has a connection from its first statement on."""

    def __init__(self, writes: bool) -> None:
        super().__init__(writes)
        self.connection: psycopg.Connection[Any] | None = None
        self.begun = False
        self.failed: StorageError | None = None
        self.settings: tuple[str, Limit | None] | None = None
        self.locked: set[Scope] = set()
        self.kept: dict[Hashable, Any] = {}
        """Results of a snapshot that it may be asked for again; what a transaction knows and nobody else can change."""
        self.counts: dict[int, list[int]] = {}
        """What a transaction adds to the figures of the whole store, by shard. It is written last, just before the end,
        so that writers of other scopes wait for none."""

    def fail(self, error: Exception) -> None:
        """Let whatever follows fail, with the same error if the whole may be repeated."""
        self.failed = error if isinstance(error, Busy) and error.overruled else StorageError(_ENDED)

    def count(self, scope: Scope, *added: int) -> None:
        """Add to the numbers of passages, words, vectors and renewed vectors of the whole store."""
        counts = self.counts.setdefault(number_of(scope) % SHARDS, [0, 0, 0, 0])
        counts[:] = [known + more for known, more in zip(counts, added, strict=True)]


SHARDS = 64
"""Rows over which the figures of the whole store are spread, so that writers of other scopes rarely meet."""


class Connections:
    """Runs statements of a store. Each names its scope, for which alone the server then shows rows."""

    def __init__(self, url: str, *, durable: bool, busy_timeout: float, read_only: bool, most: int = MOST) -> None:
        self.path, self.read_only = shown_url(url), read_only
        self._closed, self.slow, self.timeouts, self.statements = False, 0, 0, 0
        self._local = threading.local()
        self.last_write = object()
        """Another object after each transaction of this process, whether or not it changed anything."""

        self._session = session(durable=durable, busy_timeout=busy_timeout, read_only=read_only)
        self._pool = Pool(lambda: connected(url, self.path, self._session), most, max(busy_timeout, 1.0))

    # blocks

    def transaction(self) -> AbstractContextManager[None]:
        """Run a block as one transaction, or join the one that is open. It locks each scope when it first reads or
        writes something of it, until it ends; of the documents about the whole store those alone that it names."""
        self.check_open()
        if self.read_only:
            raise ReadOnly(f"{self.path} was opened for reading only; open it without read_only= to write")
        outer = self.work
        if outer is None:
            return Work(writes=True).made_by(self._run)  # type: ignore[arg-type]
        if not outer.writes:
            raise StorageError("a write cannot begin inside a snapshot; begin the transaction first")
        _ = self.current  # raises what has ended it
        return _JOINED

    def snapshot(self) -> AbstractContextManager[None]:
        """Let the reads inside see one state. Joins what is open."""
        self.check_open()
        return _JOINED if self.work is not None else Work(writes=False).made_by(self._run)  # type: ignore[arg-type]

    @property
    def work(self) -> Work | None:
        """Return the open block of this thread."""
        work: Work | None = getattr(self._local, "work", None)
        return work if work is not None and work.open else None

    @property
    def current(self) -> Work:
        """Return the open block of this thread, which must be there."""
        work = self.work
        if work is None:
            raise StorageError("a statement needs a transaction or a snapshot around it")
        if work.failed:
            raise work.failed
        return work

    @property
    def writing(self) -> bool:
        """Return whether this thread is inside a transaction."""
        work = self.work
        return work is not None and work.writes

    # statements

    def rows(self, scope: Scope | str, sql: str, *parameters: Any) -> list[Any]:
        """Return the rows of a statement about one scope, or ``ALL``."""
        return self.last(scope, (sql, parameters))

    def last(self, scope: Scope | str, *statements: Statement) -> list[Any]:
        """Run statements in one round trip. Return the rows of the last one."""
        return list(self._execute(scope, statements).fetchall())

    def one(self, scope: Scope | str, sql: str, *parameters: Any) -> Any:
        """Return the first column of the first row, or ``None``."""
        row = self._execute(scope, [(sql, parameters)]).fetchone()
        return row and row[0]

    def run(self, scope: Scope | str, *statements: Statement) -> int:
        """Run statements in one round trip. Return how many rows the last one touched."""
        return self._execute(scope, statements).rowcount if statements else 0

    def lock(self, scope: Scope) -> None:
        """Let nobody else write to a scope before the transaction ends. Its row is added if there is none yet."""
        work = self.current
        if not work.writes or scope in work.locked:
            return
        lock = (_LOCK, [number_of(scope)])
        if (path := self._send(work, scope, [lock]).fetchone()) is None:
            path = self._send(work, scope, [(_ADD, [number_of(scope), path_of(scope)]), lock]).fetchone()
        if path is None or path[0] != path_of(scope):
            raise StorageError("two scopes have the same number, which happens once in 2^63: name this one differently")
        work.locked.add(scope)

    def kept(self, scope: Scope | str, sql: str, *parameters: Any) -> list[Any]:
        """Return the rows of a query, which are kept as long as the snapshot. They are few and small."""
        work = self.current
        key = (scope, sql, *map(str, parameters))
        if work.writes:
            return self.rows(scope, sql, *parameters)
        if key not in work.kept:
            work.kept[key] = self.rows(scope, sql, *parameters)
        found: list[Any] = work.kept[key]
        return list(found)

    def flush(self) -> None:
        """Write what the transaction adds to the figures of the whole store now, and not at its end."""
        counts, self.current.counts = self.current.counts, {}
        self.run(ALL, *_counted(counts))

    @contextmanager
    def lent(self) -> Iterator[psycopg.Connection[Any]]:
        """Give a connection for statements that stand outside of a block."""
        self.check_open()
        connection = self._pool.take()
        try:
            with translated(self.path):
                yield connection
        finally:
            self._give_back(connection)

    # deadlines

    def deadline(self, seconds: float) -> AbstractContextManager[None]:
        """Stop this thread's questions after that many seconds, or when the deadline around this one ends."""
        around = self.limit
        limit = Limit(min(time.monotonic() + seconds, inf if around is None else around.end), around)
        return limit.made_by(lambda _: self._limited(limit, seconds))

    @property
    def limit(self) -> Limit | None:
        """Return the innermost deadline of this thread."""
        limit: Limit | None = getattr(self._local, "limit", None)
        while limit and not limit.open:
            limit = limit.around
        return limit

    # the end

    def close(self) -> None:
        """Close the connections that are free. One in use is closed at the end of its block."""
        self._closed = True
        self._pool.drop()

    def forked(self) -> None:
        """Start anew in a child process. A transaction that is open is its parent's to end."""
        work, self._local = self.work, threading.local()
        self._pool.forked(work and work.connection)
        if work is not None:
            work.connection, work.failed = None, StorageError(_FORKED) if work.writes else None

    def check_open(self) -> None:
        """Raise ``Closed`` if the store was closed."""
        if self._closed:
            raise Closed(f"the memory at {self.path} was closed; open it again with TidalMemory(url)")

    @contextmanager
    def _run(self, work: Work) -> Iterator[None]:
        self._local.work = work
        try:
            yield
            self.check_open()
            self._end(work)
        finally:
            self._local.work = None
            if work.writes:
                self.last_write = object()
            connection, work.connection = work.connection, None
            if connection is not None:
                self._give_back(connection)

    def _end(self, work: Work) -> None:
        if work.failed:
            raise work.failed
        if work.connection is None or not work.begun:
            return
        with translated(self.path):
            if not (counts := _counted(work.counts)):
                work.connection.execute("COMMIT")
                return
            with work.connection.pipeline():
                for sql, parameters in counts:
                    work.connection.execute(sql, parameters)
                work.connection.execute("COMMIT")

    def _give_back(self, connection: psycopg.Connection[Any]) -> None:
        from psycopg.pq import TransactionStatus

        usable = not self._closed
        with suppress(Exception):
            status = connection.info.transaction_status
            if status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                connection.execute("ROLLBACK")
            usable = usable and connection.info.transaction_status == TransactionStatus.IDLE
        self._pool.give_back(connection, usable=usable and not connection.closed)

    def _execute(self, scope: Scope | str, statements: Sequence[Statement]) -> Any:
        self.check_open()
        work = self.current
        if isinstance(scope, tuple):
            self.lock(scope)
        return self._send(work, scope, statements)

    def _send(self, work: Work, scope: Scope | str, statements: Sequence[Statement]) -> Any:
        """Run statements in one round trip, after those that the block needs before. Return the last one's cursor.

        A connection that turns out to be lost when a block begins is replaced, once.
        """
        import psycopg

        first = not work.begun
        try:
            return self._sent(work, scope, statements)
        except psycopg.Error as error:
            if first and is_lost(error) and work.connection is not None:
                connection, work.connection, work.begun, work.settings = work.connection, None, False, None
                self._pool.give_back(connection, usable=False)
                self._pool.drop()
                with translated(self.path):
                    return self._sent(work, scope, statements)
            if error.sqlstate == "57014":
                self.timeouts += 1
            work.fail(raised := translation(self.path, error))
            raise raised from error
        except UnicodeEncodeError as error:
            if work.begun:
                work.fail(error)
            with translated(self.path):
                raise

    def _sent(self, work: Work, scope: Scope | str, statements: Sequence[Statement]) -> Any:
        connection = work.connection = work.connection or self._pool.take()
        ahead = [] if work.begun else [(_BEGIN[work.writes], ()), *local(connection, self._session)]
        wanted = (scope if isinstance(scope, str) else str(number_of(scope)), None if work.writes else self.limit)
        if wanted != work.settings:
            ahead.append((_SET, [wanted[0], self._left(wanted[1])]))
        elif wanted[1] is not None:
            self._left(wanted[1])
        sent = [*ahead, *statements]
        self.statements += len(statements)
        if len(sent) == 1:
            found = connection.execute(*sent[0], binary=True)
        else:
            with connection.pipeline():
                found = [connection.execute(*one, binary=True) for one in sent][-1]
        work.begun, work.settings = True, wanted
        return found

    def _left(self, limit: Limit | None) -> str:
        """Return the milliseconds that are left of a deadline, ``"0"`` without one. Raises ``QueryTimeout``."""
        if limit is None:
            return "0"
        left = limit.end - time.monotonic()
        if left <= 0:
            self.timeouts += 1
            raise QueryTimeout(TOO_LONG)
        return str(max(1, int(left * 1000)))

    @contextmanager
    def _limited(self, limit: Limit, seconds: float) -> Iterator[None]:
        self._local.limit, begun = limit, time.monotonic()
        try:
            yield
        finally:
            self._local.limit = limit.around
            self.slow += limit.around is None and time.monotonic() - begun > SLOW_SHARE * seconds


def _counted(counts: dict[int, list[int]]) -> list[Statement]:
    """Return statements that add to the figures of the whole store, always in the same order of rows."""
    return [(_COUNT, [*added, shard]) for shard, added in sorted(counts.items()) if any(added)]
