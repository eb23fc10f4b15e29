"""Reads from a replica that follows the server, once it has what this process wrote."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tidal_plugins.errors import InvalidInput, StorageError
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.capabilities import within_deadline
from tidal_plugins.storage.postgres.connections import ALL, Connections
from tidal_plugins.storage.postgres.engine import PostgresStorage
from tidal_plugins.storage.shorthands import SALT, read_meta, salt

RETRY_SECONDS = 10.0
"""Seconds for which a replica that cannot be read is left alone."""

_WRITTEN = """
    SELECT pg_wal_lsn_diff(
        CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
            ELSE pg_current_wal_flush_lsn() END,
        '0/0')::bigint
"""
_REPLAYED = """
    SELECT pg_wal_lsn_diff(
        CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_wal_replay_lsn(), '0/0') ELSE pg_current_wal_lsn() END,
        '0/0')::bigint
"""

logger = logging.getLogger(__name__)


def _read(name: str) -> Callable[..., Any]:
    """Return a method that reads from the engine of the open snapshot, or from the one that is chosen for it."""

    def read(self: ReplicaReads, *arguments: Any, **options: Any) -> Any:
        with self.snapshot():
            return getattr(self.engine, name)(*arguments, **options)

    return read


class ReplicaReads:
    """The reading methods of a store, each answered by the replica if it has all that this process wrote, else by the
    primary server. The reads of one snapshot are answered by one of the two.

    The replica is opened when it is first read. One that fails when a snapshot begins is left alone for a while.
    """

    def __init__(self, primary: PostgresStorage, open_replica: Callable[[], PostgresStorage]) -> None:
        self._primary, self._open = primary, open_replica
        self._positions: Positions | None = None
        self._local, self._later, self._one = threading.local(), 0.0, threading.Lock()

    get, summaries, adjacent, find = _read("get"), _read("summaries"), _read("adjacent"), _read("find")
    scopes, statistics, columns = _read("scopes"), _read("statistics"), _read("columns")
    nearest, matching = _read("nearest"), _read("matching")
    links, frontier, read_log, documents = _read("links"), _read("frontier"), _read("read_log"), _read("documents")

    @property
    def path(self) -> str:
        """Return the URL of the primary server, without secrets."""
        return self._primary.path

    @property
    def engine(self) -> Storage:
        """Return the engine that the open snapshot of this thread reads."""
        engine: Storage = self._local.engine
        return engine

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let the reads inside see one state of one server. Joins what is open."""
        if getattr(self._local, "engine", None) is not None:
            yield
            return
        with ExitStack() as stack:
            self._local.engine = self._begin(stack)
            try:
                yield
            finally:
                self._local.engine = None

    def close(self) -> None:
        """Close the connections to the replica. The primary is the caller's to close."""
        with self._one:
            positions, self._positions = self._positions, None
        if positions is not None:
            positions.replica.close()

    def _begin(self, stack: ExitStack) -> Storage:
        """Begin a snapshot of the engine that is to be read, and return it."""
        if time.monotonic() >= self._later:
            try:
                positions = self._opened()
                if positions.caught_up():
                    return _entered(stack, positions.replica)
            except StorageError as error:
                self._later = time.monotonic() + RETRY_SECONDS
                logger.warning("the read replica is left alone for %g s: %s", RETRY_SECONDS, error)
        return _entered(stack, self._primary)

    def _opened(self) -> Positions:
        """Return the positions of both servers. Raises ``InvalidInput`` if the replica holds another memory."""
        with self._one:
            if self._positions is None:
                replica = self._open()
                if read_meta(replica, SALT) not in (None, salt(self._primary)):
                    replica.close()
                    raise InvalidInput(
                        f"read_url= leads to {replica.path}, which holds another memory than {self.path}; name a "
                        "replica of that server"
                    )
                self._positions = Positions(self._primary, replica)
            return self._positions


class Positions:
    """Compares what this process wrote, as a place in the server's log of changes, with the place of the replica.

    The primary is asked again only after this process wrote. The replica is asked each time, which also shows whether
    it is there: one that was started anew may be further behind than it was before.
    """

    def __init__(self, primary: PostgresStorage, replica: PostgresStorage) -> None:
        self.replica = replica
        self._theirs, self._ours = replica._db, primary._db
        self._asked_after, self._written = object(), 0
        self._one = threading.Lock()

    def caught_up(self) -> bool:
        """Return whether the replica has all that this process wrote. Raises ``StorageError``."""
        with self._one:
            write = self._ours.last_write  # taken first: a write that follows is asked about the next time
            if write is not self._asked_after:
                self._written = _position(self._ours, _WRITTEN)
                self._asked_after = write
            written = self._written
        return _position(self._theirs, _REPLAYED) >= written


def _entered(stack: ExitStack, engine: Storage) -> Storage:
    stack.enter_context(within_deadline(engine))
    stack.enter_context(engine.snapshot())
    return engine


def _position(connections: Connections, sql: str) -> int:
    with connections.snapshot():
        return int(connections.one(ALL, sql))
