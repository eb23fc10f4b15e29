"""Blocks of statements: the transactions and snapshots of each thread, on connections of a pool."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from math import inf
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import Closed, QueryTimeout, ReadOnly, StorageError
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.postgres.numbers import number_of, path_of
from tidal_plugins.storage.postgres.opening import connected, local, session
from tidal_plugins.storage.postgres.pool import MOST_CONNECTIONS, Pool
from tidal_plugins.storage.postgres.translation import TOO_LONG, is_lost, shown_url, translated, translation
from tidal_plugins.storage.postgres.work import ANY, Limit, Statement, Work

if TYPE_CHECKING:
    import psycopg

SLOW_SHARE = 0.1
"""Share of its deadline from which on a question is slow."""

LINES = 4
"""Numbers of lines that a transaction draws at least once it has stored entries: a turn is noted in several logs."""

_JOINED = nullcontext()

_BEGIN = {True: "BEGIN ISOLATION LEVEL READ COMMITTED", False: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}
_SET = "SELECT set_config('tidal.scope', %s, true), set_config('statement_timeout', %s, true)"
_LOCK = "SELECT path FROM tidal_scopes WHERE scope = %s FOR UPDATE"
_ADD = "INSERT INTO tidal_scopes (scope, path) VALUES (%s, %s) ON CONFLICT (scope) DO NOTHING"
_LINES = "SELECT nextval('tidal_lines') FROM generate_series(1, %s)"


class Connections:
    """Runs statements of a store. Each names its scope, for which alone the server then shows rows."""

    def __init__(
        self, url: str, *, durable: bool, busy_timeout: float, read_only: bool, most: int = MOST_CONNECTIONS
    ) -> None:
        self.path, self.read_only = shown_url(url), read_only
        self._closed, self.slow, self.timeouts, self.trips = False, 0, 0, 0
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
        if outer.failed:
            raise outer.failed
        return _JOINED

    def snapshot(self) -> AbstractContextManager[None]:
        """Let the reads inside see one state. Joins what is open."""
        self.check_open()
        return _JOINED if self.work is not None else Work(writes=False).made_by(self._run)  # type: ignore[arg-type]

    def question(self) -> AbstractContextManager[None]:
        """Let one statement read, in the block that is open, or in none."""
        self.check_open()
        if self.work is not None:
            return _JOINED
        return Work(writes=False, single=True).made_by(self._run)  # type: ignore[arg-type]

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
        """Return the rows of a statement about one scope, about ``ALL``, or about what ``ANY`` scope may see."""
        return self.each(scope, (sql, parameters))[0]

    def each(self, scope: Scope | str, *statements: Statement) -> list[list[Any]]:
        """Run statements in one round trip. Return the rows of each, none for one that returns no rows."""
        return [found.fetchall() if found.description else [] for found in self._execute(scope, statements)]

    def one(self, scope: Scope | str, sql: str, *parameters: Any) -> Any:
        """Return the first column of the first row, or ``None``."""
        row = self._execute(scope, [(sql, parameters)])[0].fetchone()
        return row and row[0]

    def run(self, scope: Scope | str, *statements: Statement) -> int:
        """Run statements in one round trip. Return how many rows the last one touched."""
        count: int = self._execute(scope, statements)[-1].rowcount
        return count

    def later(self, scope: Scope | str, *statements: Statement) -> None:
        """Run statements together with the next one whose result is needed, or with the end of the block."""
        self._ready(scope).later.extend((scope, statement) for statement in statements)

    def lock(self, scope: Scope) -> None:
        """Let nobody else write to a scope before the transaction ends. Its row is added if there is none yet."""
        work = self.current
        if not work.writes or scope in work.locked:
            return
        number, path = number_of(scope), path_of(scope)
        lock = (_LOCK, [number])
        if (row := self._send(work, scope, [lock])[0].fetchone()) is None:
            row = self._send(work, scope, [(_ADD, [number, path]), lock])[1].fetchone()
        if row is None or row[0] != path:
            raise StorageError("two scopes have the same number, which happens once in 2^63: name this one differently")
        work.locked[scope] = []

    def lines(self, scope: Scope, count: int) -> list[int]:
        """Return new numbers for lines of a scope's logs, each above all that were given before."""
        self.lock(scope)  # first: a number that was drawn before would stand below those of the writer waited for
        work = self.current
        drawn = work.locked[scope]
        if (more := count - len(drawn)) > 0:
            drawn += sorted(number for (number,) in self.rows(scope, _LINES, max(more, LINES if work.counts else 0)))
        taken, drawn[:count] = drawn[:count], []
        return taken

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
        self.later(ANY, *self.current.counted())

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
    def bounded(self) -> bool:
        """Return whether this thread's questions have a deadline."""
        return self.limit is not None

    @property
    def limit(self) -> Limit | None:
        """Return the innermost deadline of this thread."""
        limit: Limit | None = getattr(self._local, "limit", None)
        while limit is not None and not limit.open:
            limit = limit.around
        return limit

    # the end

    def close(self) -> None:
        """Close the connections that are free. One in use is closed at the end of its block."""
        self._closed = True
        self._pool.close()

    def forked(self) -> None:
        """Start anew in a child process. A transaction that is open is its parent's to end."""
        work, self._local = self.work, threading.local()
        self._pool.forked(work and work.connection)
        if work is not None:
            work.forked()

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
        if not work.begun and not work.later:
            return
        with translated(self.path):
            self._sent(work, ANY, [*work.counted(), ("COMMIT", ())])

    def _give_back(self, connection: psycopg.Connection[Any]) -> None:
        from psycopg.pq import TransactionStatus

        usable = not self._closed
        with suppress(Exception):
            status = connection.info.transaction_status
            if status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                connection.execute("ROLLBACK")
            usable = usable and connection.info.transaction_status == TransactionStatus.IDLE
        self._pool.give_back(connection, usable=usable and not connection.closed)

    def _execute(self, scope: Scope | str, statements: Sequence[Statement]) -> Sequence[Any]:
        return self._send(self._ready(scope), scope, statements)

    def _ready(self, scope: Scope | str) -> Work:
        """Return the open block, in which a statement about a scope may run: a transaction has locked it."""
        self.check_open()
        work = self.current
        if isinstance(scope, tuple):
            self.lock(scope)
        return work

    def _send(self, work: Work, scope: Scope | str, statements: Sequence[Statement]) -> Sequence[Any]:
        """Run statements in one round trip, after those that the block needs before. Return their cursors.

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

    def _sent(self, work: Work, scope: Scope | str, statements: Sequence[Statement]) -> Sequence[Any]:
        connection = work.connection = work.connection or self._pool.take()
        left, settings = 0 if work.writes else self._left(), work.settings
        begins = not work.begun and not work.single
        sent = [(_BEGIN[work.writes], ()), *local(connection, self._session)] if begins else list[Statement]()
        for place, statement in (*work.later, *((scope, statement) for statement in statements)):
            shown = place if isinstance(place, str) else str(number_of(place))
            if settings is None or shown not in (settings[0], ANY) or not _is_near(left, settings[1]):
                settings = (shown, left)
                sent.append((_SET, [shown, str(left)]))
            sent.append(statement)
        self.trips += 1
        if len(sent) == 1:
            found = [connection.execute(*sent[0], binary=True)]
        else:
            with connection.pipeline():
                found = [connection.execute(*one, binary=True) for one in sent]
        work.begun, work.settings, work.later = not work.single, None if work.single else settings, []
        return found[len(found) - len(statements) :]

    def _left(self) -> int:
        """Return the milliseconds that are left of the deadline, 0 without one. Raises ``QueryTimeout``."""
        if (limit := self.limit) is None:
            return 0
        left = limit.end - time.monotonic()
        if left <= 0:
            self.timeouts += 1
            raise QueryTimeout(TOO_LONG)
        return max(1, int(left * 1000))

    @contextmanager
    def _limited(self, limit: Limit, seconds: float) -> Iterator[None]:
        self._local.limit, begun = limit, time.monotonic()
        try:
            yield
        finally:
            self._local.limit = limit.around
            self.slow += limit.around is None and time.monotonic() - begun > SLOW_SHARE * seconds


def _is_near(left: int, given: int) -> bool:
    """Return whether a time that was given to statements need not be set anew."""
    return abs(left - given) <= left // 4
