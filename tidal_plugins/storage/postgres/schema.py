"""The PostgreSQL schema: every table is keyed and partitioned by scope, and shows rows of the scope that is set, and
those about the whole store.
"""

from __future__ import annotations

import logging
from typing import Any

import psycopg

from tidal_plugins.errors import ReadOnly, StorageError
from tidal_plugins.storage.base import STORE
from tidal_plugins.storage.postgres.dialect import translated
from tidal_plugins.storage.rows import number_of
from tidal_plugins.storage.sql.schema import BYTES, INDEXES, NUMBER, REAL, TEXT, columns

logger = logging.getLogger(__name__)

VERSION = 7
"""7: vectors are halves."""

FIRST = 5
"""The earliest schema that a database is migrated from."""

PARTITIONS = 16
"""Partitions of each table of a new database."""

LOCK = 0x7464616C
"""The number of the advisory lock under which the schema is created: "tdal"."""

PATH = 500
"""Characters of a scope's path that are indexed: a value of an index has 2,704 bytes at most."""

_T = 'text COLLATE "C"'  # the order of characters, which every engine has
_TYPES = {TEXT: _T, **{type_: type_ for type_ in (NUMBER, REAL, BYTES)}}

TABLES = {
    "tidal_scopes": f"""
        path {_T} NOT NULL,                     -- JSON array of segments
        erasures bigint NOT NULL DEFAULT 0,     -- grows when entries go or are replaced
        changes bigint NOT NULL DEFAULT 0,      -- grows whenever entries are stored or changed
        PRIMARY KEY (scope)
    """,
    "tidal_entries": f"""
        key bigint NOT NULL,
        {columns("entries", _TYPES)},
        changed bigint NOT NULL,                -- the change of its scope at which it was written last
        tagged text[] NOT NULL,                 -- tags, and metadata as JSON texts, for filters
        facets text[] NOT NULL,
        PRIMARY KEY (scope, key),
        UNIQUE (scope, id)
    """,
    "tidal_volumes": columns("volumes", _TYPES),
    "tidal_passages": f"""
        key bigint NOT NULL,
        {columns("passages", _TYPES)},
        tokens bigint[] NOT NULL,               -- the words that the keyword index has of it
        PRIMARY KEY (scope, key)
    """,
    # The vectors in use have the generation of the row of tidal_state: a renewal writes the next one beside them.
    "tidal_vectors": """
        generation bigint NOT NULL, passage bigint NOT NULL,
        vector bytea NOT NULL,                  -- float16, its largest value 1
        checksum bigint NOT NULL,
        PRIMARY KEY (scope, generation, passage)
    """,
    # Words by numbers: the index alone answers a search, also under row-level security.
    "tidal_words": """
        token bigint NOT NULL, passage bigint NOT NULL, times integer NOT NULL,
        PRIMARY KEY (scope, token, passage) INCLUDE (times)
    """,
    "tidal_gone": """
        erasure bigint NOT NULL, entries bigint[] NOT NULL, checksum text NOT NULL,
        PRIMARY KEY (scope, erasure)
    """,
    "tidal_columns": """
        first bigint NOT NULL, last bigint NOT NULL, changes bigint NOT NULL, centre bigint NOT NULL,
        columns bytea NOT NULL, checksum bigint NOT NULL,
        PRIMARY KEY (scope, first)
    """,
    "tidal_links": f"""
        key bigint NOT NULL DEFAULT nextval('tidal_keys'),
        {columns("links", _TYPES)},
        facets text[] NOT NULL,
        PRIMARY KEY (scope, id)
    """,
    "tidal_log": f"seq bigint NOT NULL, {columns('log', _TYPES)}, PRIMARY KEY (scope, name, seq)",
    "tidal_documents": f"{columns('documents', _TYPES)}, PRIMARY KEY (scope, collection, key)",
    "tidal_earlier_documents": f"{columns('documents', _TYPES)}, PRIMARY KEY (scope, collection, key, version)",
}
"""The columns of each table, after ``scope``."""

GONE_SUM = "md5(erasure::text || ' ' || entries::text)"
"""SQL for the checksum of a row of ``tidal_gone``."""

OF_SCOPES = ("volumes", "links", "log", "documents", "earlier_documents", "gone", "columns")
"""The tables, beside that of the entries, whose rows belong to a scope. What belongs to an entry goes with it."""

UNSAMPLED = {
    "tidal_entries": "text emotions tags metadata admission secrets tagged facets".split(),
    "tidal_links": "metadata facets".split(),
    "tidal_log": ["value"],
    "tidal_documents": ["value"],
    "tidal_earlier_documents": ["value"],
}
"""Columns of which the planner keeps no statistics: those are copies of values, which a forgetting does not reach."""

_INDEXES = f"""
CREATE INDEX tidal_scopes_by_path ON tidal_scopes (left(path, {PATH}));
CREATE INDEX tidal_passages_by_entry ON tidal_passages (scope, entry);
{INDEXES.format("tidal_")}
"""

_STORE = """
CREATE SEQUENCE tidal_keys;
CREATE SEQUENCE tidal_lines;                   -- the numbers of lines of logs, without others between them
CREATE TABLE tidal_state (
    version integer NOT NULL,                   -- of the schema
    generation bigint NOT NULL DEFAULT 0,       -- of the vectors in use
    dimensions bigint NOT NULL DEFAULT 0, new_dimensions bigint NOT NULL DEFAULT 0
);
CREATE TABLE tidal_corpus (
    shard integer PRIMARY KEY, passages bigint NOT NULL DEFAULT 0, words bigint NOT NULL DEFAULT 0,
    vectors bigint NOT NULL DEFAULT 0, renewed bigint NOT NULL DEFAULT 0
);
INSERT INTO tidal_corpus (shard) SELECT generate_series(0, 63);
"""

# The settings are read once for a query, not for each row. What is about the whole store is shown with every scope.
_POLICY = """
ALTER TABLE {0} ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_scope ON {0} USING (
    scope = (SELECT CASE WHEN current_setting('tidal.scope', true) ~ '^[0-9]+$'
        THEN current_setting('tidal.scope', true)::bigint END)
    OR scope = {1} OR (SELECT current_setting('tidal.scope', true)) = 'all'
);
"""

_FIND = "SELECT to_regclass('tidal_state')::oid IS NOT NULL, to_regclass('tidal_scopes')::oid IS NOT NULL"


def statements(partitions: int = PARTITIONS) -> str:
    """Return SQL that creates the schema."""
    parts, store = [_STORE], number_of(STORE)
    for table, own in TABLES.items():
        parts.append(f"CREATE TABLE {table} (scope bigint NOT NULL, {own}) PARTITION BY HASH (scope);")
        parts += [
            f"CREATE TABLE {table}_{number} PARTITION OF {table}"
            f" FOR VALUES WITH (MODULUS {partitions}, REMAINDER {number});"
            for number in range(partitions)
        ]
        parts.append(_POLICY.format(table, store))
        # Who reads a partition by its own name is held by its own policy.
        parts += [_POLICY.format(f"{table}_{number}", store) for number in range(partitions)]
    for table, names in UNSAMPLED.items():
        parts.append(f"ALTER TABLE {table} {', '.join(f'ALTER {name} SET STATISTICS 0' for name in names)};")
    return "\n".join([*parts, _INDEXES, f"INSERT INTO tidal_state (version) VALUES ({VERSION});"])


def prepare(connection: psycopg.Connection[Any], path: str, partitions: int, *, read_only: bool, migrate: bool) -> None:
    """Create the schema where there is none, bring an earlier one to this version, or check that it is of this one.

    All is one transaction. It makes no copy: that is for ``pg_dump``, before.
    """
    with translated(path):
        found = _version(connection, path)
        if found == VERSION:
            return
        if read_only and found is None:
            raise ReadOnly(f"there is no memory at {path} yet; open it once without read_only=")
        if found is not None and (read_only or not migrate):
            raise StorageError(
                f"{path} has schema version {found}, this library reads {VERSION}; make a copy by pg_dump, and open it "
                "once for writing (tidal init does), without storage={'migrate': False}: it is brought up to date then"
            )
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            found = _version(connection, path)  # another process may have been quicker
            if found is None:
                connection.execute(statements(partitions).encode())
                return
            from tidal_plugins.storage.postgres.migrations import STEPS

            for version in range(found, VERSION):
                STEPS[version](connection)
                logger.warning("%s goes from schema %d to %d", path, version, version + 1)
            connection.execute("UPDATE tidal_state SET version = %s", [VERSION])


def _version(connection: psycopg.Connection[Any], path: str) -> int | None:
    """Return the version of the schema, ``None`` if there is none. Raises ``StorageError`` for one that has no way
    here."""
    found = connection.execute(_FIND).fetchone()
    state, scopes = found if found is not None else (False, False)
    if not state and not scopes:
        return None
    if not state or not scopes:
        raise StorageError(f"{path} has tables of this library's names that are not its own; use another database")
    row = connection.execute("SELECT version FROM tidal_state").fetchone()
    version = int(row[0]) if row else 0
    said = f"{path} has schema version {version}, this library reads {VERSION}"
    if version > VERSION:
        raise StorageError(f"{said}; upgrade tidal-plugins")
    if version < FIRST:
        raise StorageError(f"{said} and goes back to {FIRST}; use a new database")
    return version
