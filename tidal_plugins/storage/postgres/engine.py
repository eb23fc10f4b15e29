"""The PostgreSQL engine: the parts of the contract over one database."""

from __future__ import annotations

import time
from typing import Literal

from tidal_plugins.errors import ReadOnly
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.capabilities import Measures
from tidal_plugins.storage.postgres.checks import CheckStore
from tidal_plugins.storage.postgres.connections import ALL, Connections
from tidal_plugins.storage.postgres.entries import PostgresEntries
from tidal_plugins.storage.postgres.schema import PARTITIONS, TABLES, prepare
from tidal_plugins.storage.postgres.search import PostgresSearch, remove_replaced
from tidal_plugins.storage.postgres.store import PostgresDocuments, PostgresLinks, PostgresListing, PostgresLog

EXACT_VECTORS = 25_000
"""Vectors of a scope that are held in memory as they are; see the SQLite engine."""

SCRUB_SECONDS = 1.0
"""Time for which a scrub waits for readers of an older state."""

_NEXT = "SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text"
_READERS = """
    SELECT EXISTS (
        SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND backend_type = 'client backend' AND greatest(age(backend_xmin), age(backend_xid)) > age(%s::xid)
    )
"""
_MAY_VACUUM = """
    SELECT current_setting('server_version_num')::int >= 170000 AND has_table_privilege(c.oid, 'MAINTAIN')
    FROM pg_class c WHERE c.oid = to_regclass('tidal_entries')
"""
_OWNS = "SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c WHERE c.oid = to_regclass('tidal_entries')"
_BYTES = """
    SELECT coalesce(sum(pg_total_relation_size(i.inhrelid)), 0)::bigint FROM pg_inherits i
    WHERE i.inhparent = ANY (SELECT to_regclass(t) FROM unnest(%s::text[]) t)
"""


class PostgresStorage(
    PostgresEntries, PostgresSearch, PostgresLinks, PostgresLog, PostgresDocuments, CheckStore, PostgresListing, Storage
):
    """Stores a memory in a PostgreSQL database, which any number of processes on any machine may share.

    ``durability="fast"`` lets the server acknowledge a commit before it is on disk: nothing tears, but a crash of the
    server may take the last commits. ``busy_timeout`` bounds the wait for the lock of a scope. The other options are
    those of the SQLite engine. ``partitions`` counts for a new database alone. A database of an earlier schema
    is brought to this one, unless ``migrate`` is false.
    """

    def __init__(
        self,
        url: str,
        *,
        durability: Literal["full", "fast"] = "full",
        busy_timeout: float = 30.0,
        query_deadline: float = 2.0,
        exact_vectors_up_to: int = EXACT_VECTORS,
        column_cache_bytes: int = 256 * 1024 * 1024,
        read_only: bool = False,
        partitions: int = PARTITIONS,
        migrate: bool = True,
    ) -> None:
        self._db = Connections(url, durable=durability == "full", busy_timeout=busy_timeout, read_only=read_only)
        self.path, self.read_only = self._db.path, read_only
        self._figures = {}
        try:
            with self._db.lent() as connection:
                prepare(connection, self.path, partitions, read_only=read_only, migrate=migrate)
        except BaseException:
            self._db.close()
            raise
        self._open(exact_vectors_up_to, column_cache_bytes, query_deadline)

    def measures(self) -> Measures:
        with self.snapshot():
            size = int(self._db.one(ALL, _BYTES, list(TABLES)))
        return Measures(file_bytes=size, slow=self._db.slow, timeouts=self._db.timeouts)

    def scrub(self) -> bool:
        with self.transaction():
            remove_replaced(self._db)
        self._held.forget()
        self._figures.clear()
        with self.snapshot():
            allowed = self._db.one(ALL, _OWNS) or self._db.one(ALL, _MAY_VACUUM)
            following = self._db.one(ALL, _NEXT)  # who began after what has gone by now does not keep it
        if not allowed:
            raise ReadOnly(
                f"the role at {self.path} may not vacuum; grant it MAINTAIN on the tables (PostgreSQL 17 and later), "
                "or let their owner run VACUUM"
            )
        end, reading = time.monotonic() + SCRUB_SECONDS, True
        while reading and time.monotonic() < end:
            with self._db.lent() as connection:
                reading = bool(connection.execute(_READERS, [following]).fetchone()[0])
            if reading:
                time.sleep(0.02)
        with self._db.lent() as connection:  # outside of a transaction
            connection.execute(f"VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) {', '.join(TABLES)}")
        return not reading

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"
