"""The SQLite schema."""

from __future__ import annotations

from collections.abc import Mapping

import apsw

from tidal_plugins.errors import StorageError
from tidal_plugins.storage.sql.schema import BYTES, INDEXES, NUMBER, REAL, TEXT, columns
from tidal_plugins.storage.sqlite.log_mark import SCHEMA_BITS

APPLICATION_ID = 0x7464616C  # "tdal": tells our files from those of other programs
VERSION = 12
"""12: vectors are halves, with their signs beside them."""

FIRST = 10
"""The earliest schema that a file is migrated from."""

OF_SCOPES = ("volumes", "links", "log", "documents", "earlier_documents", "gone", "saved_columns")
"""The tables, beside that of the entries, whose rows belong to a scope. What belongs to an entry goes with it."""


_TYPES = {TEXT: "TEXT", NUMBER: "INTEGER", REAL: "REAL", BYTES: "BLOB"}

TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2")
"""How the keyword index analyses words."""


def vectors_table(name: str) -> str:
    """Return SQL for a table of vectors, with that of their signs: those of the schema, or what takes their place."""
    return f"""
        CREATE TABLE IF NOT EXISTS {name} (
            passage INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE,
            scope INTEGER NOT NULL,
            vector BLOB NOT NULL,               -- float16, its largest value 1
            checksum INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE IF NOT EXISTS {signs_table(name)} (
            passage INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE,
            scope INTEGER NOT NULL,
            signs BLOB NOT NULL,                -- a bit for each value of the vector: whether it is greater than 0
            UNIQUE (scope, passage, signs)      -- a first search reads these alone
        ) STRICT;
    """


def signs_table(vectors: str) -> str:
    """Return the name of the table of the signs of a table of vectors."""
    return vectors.replace("vectors", "signs")


_SCHEMA = f"""
CREATE TABLE scopes (
    key INTEGER PRIMARY KEY,                -- a hash of the path
    path TEXT NOT NULL UNIQUE,              -- JSON array of segments
    erasures INTEGER NOT NULL DEFAULT 0,    -- grows when entries go or are replaced
    changes INTEGER NOT NULL DEFAULT 0      -- grows whenever entries are stored or changed
) STRICT;

-- one row: how many passages the keyword index holds, and how many words they have together
CREATE TABLE corpus (passages INTEGER NOT NULL, words INTEGER NOT NULL) STRICT;
INSERT INTO corpus VALUES (0, 0);

CREATE TABLE entries (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL REFERENCES scopes,
    {columns("entries", _TYPES)},
    changed INTEGER NOT NULL DEFAULT 0,     -- the change of its scope at which it was written last
    UNIQUE (scope, id)
) STRICT;

-- how many entries there are, and how long their texts are together; kept by triggers
CREATE TABLE volumes (
    scope INTEGER NOT NULL REFERENCES scopes, {columns("volumes", _TYPES)}
) STRICT, WITHOUT ROWID;
CREATE TRIGGER entry_added AFTER INSERT ON entries BEGIN
    INSERT INTO volumes VALUES (new.scope, new.kind, new.channel, 1, length(new.text))
    ON CONFLICT DO UPDATE SET entries = entries + 1, characters = characters + excluded.characters;
END;
CREATE TRIGGER entry_gone AFTER DELETE ON entries BEGIN
    UPDATE volumes SET entries = entries - 1, characters = characters - length(old.text)
    WHERE scope = old.scope AND kind = old.kind AND channel = old.channel;
END;
CREATE TRIGGER entry_changed AFTER UPDATE OF kind, text, channel ON entries BEGIN
    UPDATE volumes SET entries = entries - 1, characters = characters - length(old.text)
    WHERE scope = old.scope AND kind = old.kind AND channel = old.channel;
    INSERT INTO volumes VALUES (new.scope, new.kind, new.channel, 1, length(new.text))
    ON CONFLICT DO UPDATE SET entries = entries + 1, characters = characters + excluded.characters;
END;

CREATE TABLE passages (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    {columns("passages", _TYPES)},
    FOREIGN KEY (entry) REFERENCES entries ON DELETE CASCADE
) STRICT;
CREATE INDEX passages_by_entry ON passages (entry);

-- apart from the passages, which every search looks up: without vectors they are small and stay in the page cache
{vectors_table("vectors")}

-- rowid is the passage's key; the words are analysed before they come here, so no content is kept to rebuild from.
-- Each word begins with its scope's mark: how rare a word is counts within a scope, and no scope reads another's.
CREATE VIRTUAL TABLE keywords USING fts5 (
    terms, content = '', contentless_delete = 1, tokenize = '{" ".join(TOKENIZER)}'
);

-- which entries went or were replaced by each of the last erasures of a scope, so that readers drop these alone
CREATE TABLE gone (
    scope INTEGER NOT NULL REFERENCES scopes,
    erasure INTEGER NOT NULL,
    entries TEXT NOT NULL,                  -- JSON array of keys
    checksum INTEGER NOT NULL,
    PRIMARY KEY (scope, erasure)
) STRICT, WITHOUT ROWID;

-- which pieces of the columns of scopes are saved: those of entries from one key to another, as of some change
CREATE TABLE saved_columns (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL REFERENCES scopes,
    first INTEGER NOT NULL, last INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    centre INTEGER NOT NULL,                -- a checksum of what codes are about; 0 without codes
    checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX saved_columns_by_scope ON saved_columns (scope, first, last);
CREATE TABLE saved_pieces (
    key INTEGER PRIMARY KEY REFERENCES saved_columns ON DELETE CASCADE,
    columns BLOB NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;

CREATE TABLE links (
    key INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes,
    {columns("links", _TYPES)},
    UNIQUE (scope, id)
) STRICT;

CREATE TABLE log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again
    scope INTEGER NOT NULL REFERENCES scopes,
    {columns("log", _TYPES)}
) STRICT;
CREATE INDEX log_by_name ON log (scope, name, seq);

CREATE TABLE documents (
    scope INTEGER NOT NULL REFERENCES scopes,
    {columns("documents", _TYPES)},
    PRIMARY KEY (scope, collection, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE earlier_documents (
    scope INTEGER NOT NULL REFERENCES scopes,
    {columns("documents", _TYPES)},
    PRIMARY KEY (scope, collection, key, version)
) STRICT, WITHOUT ROWID;
{INDEXES.format("")}
"""

_HAS_TABLES = "SELECT EXISTS (SELECT 1 FROM sqlite_schema)"
STATEMENTS = "SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL AND name NOT LIKE 'keywords!_%' ESCAPE '!'"
"""SQL for the statements of the schema, without those that the keyword index makes by itself."""


class OlderSchema(StorageError):
    """A file has an earlier schema, from which there are steps to this one."""


def version_of(connection: apsw.Connection) -> int:
    """Return the version of the schema that a file says it has, 0 for none."""
    return int(connection.pragma("user_version")) & SCHEMA_BITS


def has_schema(connection: apsw.Connection) -> bool:
    """Return whether the file has the schema; an empty file has none. Nothing is changed.

    Raises ``StorageError`` for another program's file, and for one of another version of this library, as
    ``OlderSchema`` if it can be brought to this one.
    Call it inside a transaction: another process may be creating the schema.
    """
    version = version_of(connection)
    application = int(connection.pragma("application_id"))
    if application != APPLICATION_ID and (application or version or connection.execute(_HAS_TABLES).get):
        raise StorageError(
            f"{connection.filename} is an SQLite database of another program; give the memory a file of its own"
        )
    said = f"{connection.filename} has schema version {version}, this library reads {VERSION}"
    if version > VERSION:
        raise StorageError(f"{said}; upgrade tidal-plugins")
    if 0 < version < FIRST:
        raise StorageError(f"{said} and goes back to {FIRST}; record into a new file")
    if 0 < version < VERSION:
        raise OlderSchema(
            f"{said}; open it once for writing (tidal init does), without storage={{'migrate': False}}: it is "
            "brought up to date then, after a copy was made beside it"
        )
    return version == VERSION


def altered(found: Mapping[str, str]) -> list[str]:
    """Return the names of tables, indexes and triggers that are not among the ``STATEMENTS`` of a file as
    :func:`create` makes them. Others may be there, too."""
    # A table that took the place of another one bears its name in quotes.
    return [name for name, sql in made(STATEMENTS) if found.get(name, "").replace(f'"{name}"', name, 1) != sql]


def made(query: str, *values: str) -> list[tuple[str, ...]]:
    """Return what a query for statements finds in a new file."""
    empty = apsw.Connection(":memory:")
    try:
        create(empty)
        return list(empty.execute(query, values))
    finally:
        empty.close()


def create(connection: apsw.Connection) -> None:
    """Create the schema where there is none. Call it inside ``BEGIN IMMEDIATE``: two processes may open a new file at
    once."""
    if not has_schema(connection):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(_SCHEMA)
        connection.execute(f"PRAGMA user_version = {VERSION}")
