"""Passages in an SQLite file, with the indexes of keywords and vectors."""

from __future__ import annotations

from collections.abc import Sequence

from tidal_plugins.storage.checksums import passage_checksum, vector_checksum
from tidal_plugins.storage.rows import Row
from tidal_plugins.storage.sql.entries import Indexed
from tidal_plugins.storage.sqlite.base import mark
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.dialect import IDS
from tidal_plugins.storage.sqlite.gone import note_gone
from tidal_plugins.storage.values import to_json

_INSERT_PASSAGE = 'INSERT INTO passages (key, entry, start, "end", words, checksum) VALUES (?, ?, ?, ?, ?, ?)'
_LAST_PASSAGE = """
    SELECT max(coalesce(max(key), 0), coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'passages'), 0))
    FROM passages
"""
"""SQL for the last number that a passage had. Damage to SQLite's own note of it stops no write."""
_COUNT_IN = "UPDATE corpus SET passages = passages + ?, words = words + ?"
_COUNT_OUT = f"""
    UPDATE corpus SET (passages, words) = (
        SELECT corpus.passages - count(*) FILTER (WHERE p.words > 0), corpus.words - coalesce(sum(p.words), 0)
        FROM passages p WHERE p.entry IN {IDS}
    )
"""


def index(db: Connections, scope: int, entries: Sequence[Indexed]) -> None:
    """Add the passages of entries to the indexes of keywords and vectors."""
    found = [(one, passage, unit) for one in entries for passage, unit in zip(one.passages, one.units, strict=True)]
    if not found:
        return
    rows, vectors, keywords, total = list[Row](), list[Row](), list[Row](), 0
    prefix = mark(scope)
    numbers = db.next_numbers("passages", _LAST_PASSAGE, len(found))
    for key, (entry, passage, unit) in zip(numbers, found, strict=True):
        words = passage.terms.split()
        place = (passage.start, passage.end, len(words))
        rows.append((key, entry.key, *place, passage_checksum(scope, key, entry.id, *place)))
        if unit is not None:
            vector = unit.tobytes()
            vectors.append((key, scope, vector, vector_checksum(key, scope, vector)))
        if words:
            keywords.append((key, " ".join([prefix + word for word in words])))
            total += len(words)
    db.run_each(_INSERT_PASSAGE, rows)
    db.run_each("INSERT INTO vectors VALUES (?, ?, ?, ?)", vectors)
    db.run_each("INSERT INTO keywords (rowid, terms) VALUES (?, ?)", keywords)
    if keywords:
        db.run(_COUNT_IN, len(keywords), total)


def unindex(db: Connections, scope: int, entries: Sequence[int]) -> None:
    """Remove the passages of entries from all indexes."""
    keys = to_json(list(entries))
    db.run(_COUNT_OUT, keys)
    note_gone(db, scope, entries)
    db.run(f"DELETE FROM keywords WHERE rowid IN (SELECT key FROM passages WHERE entry IN {IDS})", keys)
    db.run(f"DELETE FROM passages WHERE entry IN {IDS}", keys)
