"""The PostgreSQL schema: every table is keyed and partitioned by scope, and shows rows of the scope that is set, and
those about the whole store.

Before version 1.0 of this library, a database of another schema is refused and not migrated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import ReadOnly, StorageError
from tidal_plugins.storage.documents import STORE
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.postgres.translation import translated

if TYPE_CHECKING:
    import psycopg

VERSION = 3
"""2: lines of logs have claims, so that several processes share the work that waits in a log."""

PARTITIONS = 16
"""Partitions of each table of a new database."""

LOCK = 0x7464616C
"""The number of the advisory lock under which the schema is created: "tdal"."""

PATH = 500
"""Characters of a scope's path that are indexed: a value of an index has 2,704 bytes at most."""

_T = 'text COLLATE "C"'  # the order of characters, which every engine has

TABLES = {
    "tidal_scopes": f"""
        path {_T} NOT NULL,                     -- JSON array of segments
        erasures bigint NOT NULL DEFAULT 0,     -- grows when entries go or are replaced
        changes bigint NOT NULL DEFAULT 0,      -- grows whenever entries are stored or changed
        PRIMARY KEY (scope)
    """,
    "tidal_entries": f"""
        key bigint NOT NULL,
        id {_T} NOT NULL, kind {_T} NOT NULL, text {_T} NOT NULL,
        thread {_T}, episode {_T}, position bigint, speaker {_T}, role {_T}, source {_T},
        channel {_T} NOT NULL, trust float8 NOT NULL, importance float8 NOT NULL,
        occurred_at bigint NOT NULL, recorded_at bigint NOT NULL, valid_from bigint, valid_until bigint,
        valence float8, arousal float8, emotions {_T},
        tags {_T} NOT NULL, metadata {_T} NOT NULL,
        checksum bytea NOT NULL,                -- over the columns above: they never change in place
        weight float8, anchored_at bigint, half_life float8, cold_at bigint, archived_at bigint, expires_at bigint,
        summary_checksum bytea NOT NULL,        -- over these, and what ranking reads of those above
        changed bigint NOT NULL,                -- the change of its scope at which it was written last
        tagged text[] NOT NULL,                 -- tags, and metadata as JSON texts, for filters
        facets text[] NOT NULL,
        PRIMARY KEY (scope, key),
        UNIQUE (scope, id)
    """,
    "tidal_volumes": f"""
        kind {_T} NOT NULL, channel {_T} NOT NULL, entries bigint NOT NULL, characters bigint NOT NULL,
        PRIMARY KEY (scope, kind, channel)
    """,
    "tidal_passages": """
        key bigint NOT NULL, entry bigint NOT NULL, start bigint NOT NULL, "end" bigint NOT NULL,
        words bigint NOT NULL,
        tokens bigint[] NOT NULL,               -- the words that the keyword index has of it
        checksum bigint NOT NULL,               -- with the id of its entry
        PRIMARY KEY (scope, key)
    """,
    # The vectors in use have the generation of the row of tidal_state: a renewal writes the next one beside them.
    "tidal_vectors": """
        generation bigint NOT NULL, passage bigint NOT NULL,
        vector bytea NOT NULL,                  -- float32, normalised
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
        id {_T} NOT NULL, kind {_T} NOT NULL, source {_T} NOT NULL, target {_T} NOT NULL,
        weight float8 NOT NULL, anchored_at bigint, expires_at bigint NOT NULL,
        valid_from bigint, valid_until bigint, recorded_at bigint NOT NULL, superseded_at bigint,
        metadata {_T} NOT NULL, checksum bytea NOT NULL,
        facets text[] NOT NULL,
        PRIMARY KEY (scope, id)
    """,
    "tidal_log": f"""
        seq bigint NOT NULL, name {_T} NOT NULL, key {_T} NOT NULL, at bigint NOT NULL, value {_T} NOT NULL,
        checksum bytea NOT NULL,                -- over the columns above
        held_by {_T}, held_until bigint,        -- the last claim
        PRIMARY KEY (scope, name, seq)
    """,
    "tidal_documents": f"""
        collection {_T} NOT NULL, key {_T} NOT NULL, value {_T} NOT NULL, version bigint NOT NULL,
        checksum bytea NOT NULL,
        PRIMARY KEY (scope, collection, key)
    """,
    "tidal_earlier_documents": f"""
        collection {_T} NOT NULL, key {_T} NOT NULL, version bigint NOT NULL, value {_T} NOT NULL,
        checksum bytea NOT NULL,
        PRIMARY KEY (scope, collection, key, version)
    """,
}
"""The columns of each table, after ``scope``."""

GONE_SUM = "md5(erasure::text || ' ' || entries::text)"
"""SQL for the checksum of a row of ``tidal_gone``."""

OF_SCOPES = ("volumes", "links", "log", "documents", "earlier_documents", "gone", "columns")
"""The tables, beside that of the entries, whose rows belong to a scope. What belongs to an entry goes with it."""

UNSAMPLED = {
    "tidal_entries": "text emotions tags metadata tagged facets".split(),
    "tidal_links": "metadata facets".split(),
    "tidal_log": ["value"],
    "tidal_documents": ["value"],
    "tidal_earlier_documents": ["value"],
}
"""Columns of which the planner keeps no statistics: those are copies of values, which a forgetting does not reach."""

_INDEXES = f"""
CREATE INDEX tidal_scopes_by_path ON tidal_scopes (left(path, {PATH}));
CREATE INDEX tidal_entries_by_time ON tidal_entries (scope, kind, occurred_at);
CREATE INDEX tidal_entries_by_thread ON tidal_entries (scope, thread, occurred_at) WHERE thread IS NOT NULL;
CREATE INDEX tidal_entries_by_episode ON tidal_entries (scope, episode) WHERE episode IS NOT NULL;
CREATE INDEX tidal_entries_by_source ON tidal_entries (scope, source) WHERE source IS NOT NULL;
CREATE INDEX tidal_entries_by_speaker ON tidal_entries (scope, speaker) WHERE speaker IS NOT NULL;
CREATE INDEX tidal_entries_by_change ON tidal_entries (scope, changed);
CREATE INDEX tidal_entries_by_cooling ON tidal_entries (scope, cold_at) WHERE anchored_at < cold_at;
CREATE INDEX tidal_passages_by_entry ON tidal_passages (scope, entry);
CREATE INDEX tidal_links_by_source ON tidal_links (scope, source, kind, expires_at, weight);
CREATE INDEX tidal_links_by_target ON tidal_links (scope, target, kind, expires_at, weight);
CREATE INDEX tidal_links_by_expiry ON tidal_links (scope, kind, expires_at, weight);
CREATE INDEX tidal_log_by_key ON tidal_log (scope, key, name, seq);
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
    for table, columns in TABLES.items():
        parts.append(f"CREATE TABLE {table} (scope bigint NOT NULL, {columns}) PARTITION BY HASH (scope);")
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


def prepare(connection: psycopg.Connection[Any], path: str, partitions: int, *, read_only: bool) -> None:
    """Create the schema where there is none, or check that it is of this version."""
    with translated(path):
        if _is_there(connection, path):
            return
        if read_only:
            raise ReadOnly(f"there is no memory at {path} yet; open it once without read_only=")
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            if not _is_there(connection, path):
                connection.execute(statements(partitions).encode())


def _is_there(connection: psycopg.Connection[Any], path: str) -> bool:
    """Return whether the schema is there. Raises ``StorageError``."""
    found = connection.execute(_FIND).fetchone()
    state, scopes = found if found is not None else (False, False)
    if not state and not scopes:
        return False
    if not state or not scopes:
        raise StorageError(f"{path} has tables of this library's names that are not its own; use another database")
    row = connection.execute("SELECT version FROM tidal_state").fetchone()
    version = int(row[0]) if row else 0
    if version > VERSION:
        raise StorageError(f"{path} has schema version {version}, this library reads {VERSION}; upgrade tidal-plugins")
    if version < VERSION:
        raise StorageError(f"{path} has schema version {version}, this library reads {VERSION}; use a new database")
    return True
