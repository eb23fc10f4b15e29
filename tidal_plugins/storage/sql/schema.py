"""The columns and indexes that every SQL engine has, written once. Engines add keys, and what only they have."""

from __future__ import annotations

from collections.abc import Mapping

from tidal_plugins.patterns import lazy_re

TEXT, NUMBER, REAL, BYTES = "text", "bigint", "float8", "bytea"
"""The types of columns."""

COLUMNS = {
    "entries": """
        id {text} NOT NULL, kind {text} NOT NULL, text {text} NOT NULL,
        thread {text}, episode {text}, position {bigint}, speaker {text}, role {text}, source {text},
        channel {text} NOT NULL, trust {float8} NOT NULL, importance {float8} NOT NULL,
        occurred_at {bigint} NOT NULL, recorded_at {bigint} NOT NULL, valid_from {bigint}, valid_until {bigint},
        valence {float8}, arousal {float8}, emotions {text}, tags {text} NOT NULL, metadata {text} NOT NULL,
        admission {text},
        secrets {text},                         -- where they are; nothing if it was never searched for them
        checksum {bytea} NOT NULL,              -- over the columns above: they never change in place
        weight {float8}, anchored_at {bigint}, half_life {float8},
        cold_at {bigint}, archived_at {bigint}, expires_at {bigint},
        summary_checksum {bytea} NOT NULL       -- over these and the id
    """,
    "volumes": """
        kind {text} NOT NULL, channel {text} NOT NULL, entries {bigint} NOT NULL, characters {bigint} NOT NULL,
        PRIMARY KEY (scope, kind, channel)
    """,
    "passages": """
        entry {bigint} NOT NULL, start {bigint} NOT NULL, "end" {bigint} NOT NULL, words {bigint} NOT NULL,
        checksum {bigint} NOT NULL              -- with the id of its entry
    """,
    "links": """
        id {text} NOT NULL, kind {text} NOT NULL,
        source {text} NOT NULL, target {text} NOT NULL,     -- ids of entries, or of anything else
        weight {float8} NOT NULL, anchored_at {bigint},
        expires_at {bigint} NOT NULL,           -- the greatest number there is: never
        valid_from {bigint}, valid_until {bigint}, recorded_at {bigint} NOT NULL, superseded_at {bigint},
        metadata {text} NOT NULL, checksum {bytea} NOT NULL
    """,
    "log": """
        name {text} NOT NULL, key {text} NOT NULL, at {bigint} NOT NULL, value {text} NOT NULL,
        checksum {bytea} NOT NULL,              -- over the columns above
        held_by {text}, held_until {bigint}     -- the last claim
    """,
    "documents": """
        collection {text} NOT NULL, key {text} NOT NULL, value {text} NOT NULL, version {bigint} NOT NULL,
        checksum {bytea} NOT NULL
    """,
}
"""The columns of tables after the number of the scope and the key, with the marks of their types."""

INDEXES = """
CREATE INDEX {0}entries_by_time ON {0}entries (scope, kind, occurred_at);
CREATE INDEX {0}entries_by_thread ON {0}entries (scope, thread, occurred_at) WHERE thread IS NOT NULL;
CREATE INDEX {0}entries_by_episode ON {0}entries (scope, episode) WHERE episode IS NOT NULL;
CREATE INDEX {0}entries_by_source ON {0}entries (scope, source) WHERE source IS NOT NULL;
CREATE INDEX {0}entries_by_speaker ON {0}entries (scope, speaker) WHERE speaker IS NOT NULL;
CREATE INDEX {0}entries_by_change ON {0}entries (scope, changed);
CREATE INDEX {0}entries_by_cooling ON {0}entries (scope, cold_at) WHERE anchored_at < cold_at;
-- From either end the strongest links come first, read off the index alone, however many a node has.
CREATE INDEX {0}links_by_source ON {0}links (scope, source, kind, expires_at, weight);
CREATE INDEX {0}links_by_target ON {0}links (scope, target, kind, expires_at, weight);
CREATE INDEX {0}links_by_expiry ON {0}links (scope, kind, expires_at, weight);
CREATE INDEX {0}log_by_key ON {0}log (scope, key, name, seq);
"""
"""SQL for the indexes. A prefix stands before the names of tables."""

_TYPED = lazy_re(r"(\w+) \{(\w+)\}")


def columns(table: str, types: Mapping[str, str]) -> str:
    """Return the columns of a table, with the types of an engine."""
    return COLUMNS[table].format(**types)


def types_of(table: str) -> dict[str, str]:
    """Return the type of each column of a table, in order."""
    return {match[1]: match[2] for match in _TYPED.finditer(COLUMNS[table])}
