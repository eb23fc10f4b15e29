"""Passages in an SQLite file, with the indexes of keywords and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidal_plugins.storage.base import Passage
from tidal_plugins.storage.checksums import passage_checksum, vector_checksum
from tidal_plugins.storage.sqlite.base import mark
from tidal_plugins.storage.sqlite.conditions import IDS
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.translation import translated
from tidal_plugins.storage.values import to_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Unit = NDArray[np.float32] | None

CHANGED = "UPDATE scopes SET erasures = ifnull(erasures, 0) + 1 WHERE key = ?"
"""SQL by which the erasures of a scope rise."""

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


def index(
    db: Connections, scope: int, entry: tuple[str, int], passages: Sequence[Passage], units: Sequence[Unit]
) -> None:
    """Add the passages of an entry, which is named by its id and its key, to the indexes of keywords and vectors."""
    connection, (id_, entry_key) = db.get(), entry
    count = total = 0
    with translated(db.path):
        first = int(db.one(_LAST_PASSAGE) or 0) + 1 if passages else 0
        for key, (passage, unit) in enumerate(zip(passages, units, strict=True), first):
            words = len(passage.terms.split())
            stored = passage_checksum(scope, key, id_, passage.start, passage.end, words)
            connection.execute(_INSERT_PASSAGE, (key, entry_key, passage.start, passage.end, words, stored))
            if unit is not None:
                vector = unit.tobytes()
                row = (key, scope, vector, vector_checksum(key, scope, vector))
                connection.execute("INSERT INTO vectors VALUES (?, ?, ?, ?)", row)
            if words:
                terms = " ".join(mark(scope) + word for word in passage.terms.split())
                connection.execute("INSERT INTO keywords (rowid, terms) VALUES (?, ?)", (key, terms))
                count, total = count + 1, total + words
        if count:
            connection.execute(_COUNT_IN, (count, total))


def unindex(db: Connections, scope: int, entries: Sequence[int]) -> None:
    """Remove the passages of entries from all indexes."""
    keys = to_json(list(entries))
    db.run(_COUNT_OUT, keys)
    db.run(CHANGED, scope)
    db.run(f"DELETE FROM keywords WHERE rowid IN (SELECT key FROM passages WHERE entry IN {IDS})", keys)
    db.run(f"DELETE FROM passages WHERE entry IN {IDS}", keys)
