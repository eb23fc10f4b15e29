"""Connections to a PostgreSQL server, and the transactions and snapshots of each thread on them.

``psycopg_pool`` connects in threads of its own and answers a wrong password or a server that is down with a timeout.
The pool here connects in the thread that asks, so that the error says what is wrong, and a child process starts with
none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from tidal_plugins.errors import Busy, Closed, InvalidInput, QueryTimeout, ReadOnly, StorageError
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.postgres.dialect import (
    TOO_LONG,
    adapt,
    is_ambiguous,
    is_lost,
    shown_url,
    translated,
    translation,
)
from tidal_plugins.storage.rows import number_of, path_of
from tidal_plugins.storage.transactions import Block, Deadlines, Limit

CONNECT_SECONDS = 10
"""Seconds that connecting may take, unless the URL has a ``connect_timeout``."""

# Without a generic plan the server plans most statements anew each time: a plan for known values leaves partitions out
# and looks cheaper, though the values of all of these statements name one scope, and the generic plan leaves them out
# when it runs.
# A pooler answers with a number of its own instead of that of the server's process: then nothing lasts longer than a
# transaction, since the next one may run on the connection of somebody else.
_SESSION = """
    WITH pooled (p) AS (SELECT pg_backend_pid() <> %s)
    SELECT set_config('lock_timeout', %s, pooled.p), set_config('synchronous_commit', %s, pooled.p),
        set_config('default_transaction_read_only', %s, pooled.p), set_config('jit', 'off', pooled.p),
        set_config('plan_cache_mode', 'force_generic_plan', pooled.p),
        set_config('client_min_messages', 'error', pooled.p), pooled.p, current_setting('server_encoding') FROM pooled
"""
_LOCAL = """
    SELECT set_config('lock_timeout', %s, true), set_config('synchronous_commit', %s, true),
        set_config('default_transaction_read_only', %s, true), set_config('jit', 'off', true),
        set_config('plan_cache_mode', 'force_generic_plan', true)
"""


def session(*, durable: bool, busy_timeout: float, read_only: bool) -> list[str]:
    """Return the values of the settings of a connection."""
    return [str(max(1, int(busy_timeout * 1000))), "on" if durable else "off", "on" if read_only else "off"]


def local(connection: psycopg.Connection[Any], settings: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """Return statements that begin a transaction with the settings, if the connection is one of a pooler."""
    return [(_LOCAL, settings)] if connection.prepare_threshold is None else []


def connected(url: str, path: str, settings: Sequence[str]) -> psycopg.Connection[Any]:
    """Return a new connection. ``path`` is the URL without its secrets. Raises ``StorageError``.

    Nothing is prepared on a connection of a pooler, which may lead to another server process each time.
    """
    if is_ambiguous(url):  # the client would take a part of the password for the host, and show it
        raise InvalidInput("the URL cannot be read; write @ / ? # in its password as %40 %2F %3F %23")
    with translated(path):
        try:
            given = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:  # its message shows the URL
            raise InvalidInput("the URL cannot be read; write postgresql://user:password@host/database") from None
        waits = {} if "connect_timeout" in given else {"connect_timeout": CONNECT_SECONDS}
        connection = psycopg.connect(url, autocommit=True, prepare_threshold=None, client_encoding="UTF8", **waits)
        try:
            adapt(connection)
            found = connection.execute(_SESSION, [connection.info.backend_pid, *settings]).fetchone()
            if found is None or found[-1] != "UTF8":
                raise StorageError(f"the database at {path} is not encoded in UTF-8; create one that is")
            if not found[-2]:
                connection.prepare_threshold = 1
        except BaseException:
            connection.close()
            raise
    return connection


MOST_CONNECTIONS = 16
"""Connections of a store at a time. A block that finds none free waits for one."""

IDLE = 300.0
"""Seconds after which a connection that nobody used is closed when another one is given back."""


class Pool:
    """Gives out connections, the one last used first."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]], most: int, timeout: float) -> None:
        self._connect, self._most, self._timeout = connect, most, timeout
        self._free: list[tuple[float, psycopg.Connection[Any]]] = []
        self._inherited: list[object] = []
        self._given, self._closed = 0, False
        self._changed = threading.Condition()

    def take(self) -> psycopg.Connection[Any]:
        """Return a free connection, or a new one. Raises ``Busy`` if all stay in use for too long."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._given < self._most, self._timeout):
                raise Busy(f"all {self._most} connections are in use; try again, or use fewer threads")
            self._given += 1
            if self._free:
                return self._free.pop()[1]
        try:
            return self._connect()
        except BaseException:
            self._returned()
            raise

    def give_back(self, connection: psycopg.Connection[Any], *, usable: bool) -> None:
        """Keep a connection for the next block, or close it."""
        now, old = time.monotonic(), []
        with self._changed:
            usable = usable and not self._closed
            if usable:
                self._free.append((now, connection))
                while self._free[0][0] < now - IDLE:
                    old.append(self._free.pop(0)[1])
        self._returned()
        for one in [*old, *([] if usable else [connection])]:
            with suppress(Exception):
                one.close()

    def close(self) -> None:
        """Close the connections that are free, and the others when they are given back."""
        with self._changed:
            self._closed = True
        self.drop()

    def drop(self) -> None:
        """Close the connections that are free, since the server was started anew."""
        with self._changed:
            free, self._free = self._free, []
        for _, connection in free:
            with suppress(Exception):
                connection.close()

    def forked(self, in_use: psycopg.Connection[Any] | None) -> None:
        """Start anew in a child process. What the parent has open is not closed: that would end it for the parent."""
        self._inherited += [*self._free, in_use]
        self._free, self._given, self._changed = [], 0, threading.Condition()

    def _returned(self) -> None:
        with self._changed:
            self._given -= 1
            self._changed.notify()


ALL = "all"
"""Stands for every scope where a statement is about the whole store."""

ANY = ""
"""Stands for the scope that is set already: every one may see the tables without scopes, and the rows of the store."""

SHARDS = 64
"""Rows over which the figures of the whole store are spread, so that writers of other scopes rarely meet."""

_ENDED = "an earlier error has ended this transaction, nothing of it was written; begin anew"
_FORKED = "this process was forked inside a transaction, which its parent ends; begin one here"

_COUNT = """
    UPDATE tidal_corpus SET passages = passages + %s, words = words + %s, vectors = vectors + %s, renewed = renewed + %s
    WHERE shard = %s
"""

Statement = tuple[str, Sequence[Any]]
"""SQL with its parameters."""


class Work(Block):
    """An open transaction, a snapshot, or a ``single`` question, which the server answers without ``BEGIN`` and
    ``COMMIT``. It has a connection from its first statement on."""

    def __init__(self, writes: bool, *, single: bool = False) -> None:
        super().__init__(writes)
        self.single = single
        self.connection: psycopg.Connection[Any] | None = None
        self.begun = False
        self.failed: StorageError | None = None
        """The error that whatever follows raises, since an earlier one has ended the transaction."""
        self.settings: tuple[str, int] | None = None
        """The scope that is set, and the milliseconds that a statement may take, 0 if there is no limit."""
        self.locked: dict[Scope, list[int]] = {}
        """The scopes that a transaction has locked, each with the numbers that were drawn for lines of its logs."""
        self.later: list[tuple[Scope | str, Statement]] = []
        """Statements that go with the next one whose result is needed, or with the end: a round trip less for each."""
        self.versions: dict[tuple[Scope, str, str], int] = {}
        """Versions of the documents that a transaction has read or written, by scope, collection and key."""
        self.kept: dict[Hashable, Any] = {}
        """Results of a snapshot that it may be asked for again; what a transaction knows and nobody else can change."""
        self.counts: dict[int, list[int]] = {}
        """What a transaction adds to the figures of the whole store, by shard. It is written last, just before the end,
        so that writers of other scopes wait for none."""

    def fail(self, error: Exception) -> None:
        """Let whatever follows fail, with the same error if the whole may be repeated."""
        self.failed = error if isinstance(error, Busy) and error.overruled else StorageError(_ENDED)

    def forked(self) -> None:
        """Leave the transaction to the parent of this process, with its connection."""
        self.connection, self.begun, self.later = None, False, []
        self.failed = StorageError(_FORKED) if self.writes else None

    def count(self, scope: Scope, *added: int) -> None:
        """Add to the numbers of passages, words, vectors and renewed vectors of the whole store."""
        counts = self.counts.setdefault(number_of(scope) % SHARDS, [0, 0, 0, 0])
        counts[:] = [known + more for known, more in zip(counts, added, strict=True)]

    def counted(self) -> list[Statement]:
        """Return statements that add to the figures of the whole store, always in the same order of rows."""
        counts, self.counts = self.counts, {}
        return [(_COUNT, [*added, shard]) for shard, added in sorted(counts.items()) if any(added)]


LINES = 4
"""Numbers of lines that a transaction draws at least once it has stored entries: a turn is noted in several logs."""

_JOINED = nullcontext()

_BEGIN = {True: "BEGIN ISOLATION LEVEL READ COMMITTED", False: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}
_SET = "SELECT set_config('tidal.scope', %s, true), set_config('statement_timeout', %s, true)"
# The row of a scope that is there is locked and stays as it is. That of another path would become one of none, which is
# an error: the statement needs nobody to look at its result.
_LOCK = """
    INSERT INTO tidal_scopes AS s (scope, path) VALUES (%s, %s)
    ON CONFLICT (scope) DO UPDATE SET path = NULL WHERE s.path <> excluded.path
"""
_LINES = "SELECT nextval('tidal_lines') FROM generate_series(1, %s)"


class Connections(Deadlines):
    """Runs statements of a store. Each names its scope, for which alone the server then shows rows."""

    def __init__(
        self, url: str, *, durable: bool, busy_timeout: float, read_only: bool, most: int = MOST_CONNECTIONS
    ) -> None:
        self.path, self.read_only = shown_url(url), read_only
        self._closed, self.trips = False, 0
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
        """Let nobody else write to a scope before the transaction ends: from the next statement on, before which the
        server waits for it. Its row is added if there is none yet."""
        work = self.current
        if work.writes and scope not in work.locked:
            work.locked[scope] = []
            work.later.append((scope, (_LOCK, [number_of(scope), path_of(scope)])))

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
        if not work.begun:
            self._send(work, ANY, [])  # a commit is not sent again where the connection turns out to be lost
        with translated(self.path):
            self._sent(work, ANY, [*work.counted(), ("COMMIT", ())])

    def _give_back(self, connection: psycopg.Connection[Any]) -> None:
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
        first = not work.begun
        try:
            try:
                return self._sent(work, scope, statements)
            except psycopg.Error as error:
                if not first or not is_lost(error) or work.connection is None:
                    raise
                connection, work.connection, work.begun, work.settings = work.connection, None, False, None
                self._pool.give_back(connection, usable=False)
                self._pool.drop()
                return self._sent(work, scope, statements)
        except psycopg.Error as error:
            if error.sqlstate == "57014":
                self.timeouts += 1
            work.fail(raised := translation(self.path, error))
            raise raised from error
        except UnicodeEncodeError as error:
            if work.begun or work.later:
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
        self._local.limit = limit
        try:
            yield
        finally:
            self._local.limit = limit.around


def _is_near(left: int, given: int) -> bool:
    """Return whether a time that was given to statements need not be set anew."""
    return abs(left - given) <= left // 4
