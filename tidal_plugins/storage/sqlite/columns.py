"""The columns of an SQLite file: read through an open snapshot, and searched beside its keyword index."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import Corrupt
from tidal_plugins.storage.checksums import passage_checksum, vector_checksum
from tidal_plugins.storage.columns.arrays import Arrays
from tidal_plugins.storage.columns.packing import Piece
from tidal_plugins.storage.columns.postings import Posting, distinct
from tidal_plugins.storage.columns.source import Mark, Range
from tidal_plugins.storage.columns.tables import EARLIEST, ENTRY, LATEST, EntryRow, PassageRow
from tidal_plugins.storage.columns.units import matrix
from tidal_plugins.storage.columns.view import Found
from tidal_plugins.storage.damage import ENTRIES, PASSAGES, VECTORS, note
from tidal_plugins.storage.entries import Where
from tidal_plugins.storage.sql.search import StoredColumns
from tidal_plugins.storage.sqlite.base import figures, mark
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.dialect import SQLITE
from tidal_plugins.storage.sqlite.gone import gone_after
from tidal_plugins.storage.sqlite.saving import saved_pieces
from tidal_plugins.storage.sqlite.schema import TOKENIZER
from tidal_plugins.storage.values import to_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.storage.columns.arrays import Rows

_REALS = {"importance": 0.0, "valence": 0.0, "weight": -1.0, "half_life": 1.0}
_TIMES = [name for name, kind in ENTRY.items() if kind == "i8" and name != "key"]
_MISSING = dict.fromkeys(_TIMES, LATEST) | {"valid_from": EARLIEST} | _REALS
# Damage may make NULL, a text or another kind of number of a value, and arrays of the whole scope hold it.
_NUMBERS = ", ".join(
    f"CAST(ifnull({name}, {_MISSING[name]}) AS {'REAL' if name in _REALS else 'INTEGER'})"
    for name in ENTRY
    if name in _MISSING
)
# LIMIT keeps SQLite from leaving the order of the keys out, and from sorting whole rows by it instead.
_ENTRIES = f"""
    SELECT id, e.key, kind, channel, role, speaker, thread, source, nullif(tags, '[]'), {_NUMBERS} FROM (
        SELECT key FROM entries e WHERE scope = ?1 AND {{wanted}} ORDER BY key LIMIT -1
    ) k CROSS JOIN entries e ON e.key = k.key
"""
_PASSAGES = """
    SELECT p.key, p.entry, p.start, p."end", p.words, v.vector, p.checksum, v.checksum, e.id FROM (
        SELECT p.key FROM entries e CROSS JOIN passages p ON p.entry = e.key AND p.key > ?3
        WHERE e.scope = ?1 AND {wanted} ORDER BY p.key LIMIT -1
    ) k CROSS JOIN passages p ON p.key = k.key CROSS JOIN entries e ON e.key = p.entry
    LEFT JOIN {vectors} v ON v.passage = p.key
"""
_FOUND = """
    AND e.key IN (SELECT o.entry FROM keywords w CROSS JOIN passages o ON o.key = w.rowid WHERE keywords MATCH {query})
"""
_NO_VECTORS = "(SELECT NULL AS passage, NULL AS vector, NULL AS checksum WHERE FALSE)"
LAST_ENTRY = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'entries'"
_UNITS = "SELECT v.passage, v.vector, v.checksum FROM json_each(?) j CROSS JOIN vectors v ON v.passage = j.value"
_NEWER = """
    SELECT j.value ->> 0, k.rowid, times(keywords) FROM json_each(?) j CROSS JOIN keywords k
    WHERE k.keywords MATCH j.value ->> 1 AND k.rowid > j.value ->> 2
"""
_WHOLE = """
    SELECT j.value ->> 0, (SELECT group_concat(v.doc) FROM temp.keyword_places v WHERE v.term = j.value ->> 1)
    FROM json_each(?) j
"""
"""SQL for the passages that have words, after some key, with how often each has them; and for all that have a word as
the index holds it, each as often as it has it, in a text: that takes a seventh of the time, but cannot begin at a key.
"""


@dataclass(frozen=True, slots=True)
class ScopeSource:
    """One scope of an open snapshot, as the origin of columns: all of it, or what a query of keywords finds there."""

    db: Connections
    scope: int
    vectors: bool = True
    query: str | None = None

    def mark(self) -> Mark:
        _, _, erasures, changes = figures(self.db, self.scope)
        return Mark(changes or 0, erasures or 0)

    def gone_after(self, erasures: int) -> Collection[int] | None:
        return gone_after(self.db, self.scope, erasures)

    def saved(self) -> Iterable[tuple[Range, int, Piece]]:
        for saved, piece in saved_pieces(self.db, self.scope) if self.vectors and self.query is None else ():
            yield (saved.first, saved.last), saved.changes, piece

    def entries_after(self, changes: int, gaps: Sequence[Range]) -> Iterable[EntryRow]:
        sql = _ENTRIES.format(wanted=self._wanted(gaps, "?3"))
        return self.db.readable(ENTRIES, sql, self.scope, changes, *self._queries())

    def passages_after(self, changes: int, gaps: Sequence[Range], key: int) -> Iterable[PassageRow]:
        vectors = "vectors" if self.vectors else _NO_VECTORS
        sql = _PASSAGES.format(vectors=vectors, wanted=self._wanted(gaps, "?4"))
        for row in self.db.readable(PASSAGES, sql, self.scope, changes, key, *self._queries()):
            passage, entry, start, end, words, vector, stored, of_vector, id_ = row
            if vector is not None and vector_checksum(passage, self.scope, vector) != of_vector:
                note(VECTORS, id_)
                vector = None
            if passage_checksum(self.scope, passage, id_, start, end, words) == stored:
                yield PassageRow(passage, entry, start, end, words, vector)
            else:
                note(PASSAGES, id_)

    def units(self, keys: NDArray[np.int64]) -> NDArray[np.float32]:
        found = stored_units(self.db, self.scope, keys.tolist())
        empty = bytes(max(map(len, found.values()), default=0))
        return matrix([found.get(key, empty) for key in keys.tolist()], len(empty) // 4)

    def _wanted(self, gaps: Sequence[Range], query: str) -> str:
        between = "".join(f" OR e.key BETWEEN {first} AND {last}" for first, last in gaps if first <= last)
        # Without a plus SQLite would look up each range by itself, among the entries of all scopes.
        after = f"+(e.changed > ?2{between})" if between else "e.changed > ?2"
        return after if self.query is None else after + _FOUND.format(query=query)

    def _queries(self) -> tuple[str, ...]:
        return () if self.query is None else (self.query,)


class SQLiteColumns(StoredColumns):
    """The columns of a scope in a file."""

    dialect = SQLITE

    def __init__(
        self, arrays: Arrays, db: Connections, scope: int, deadline: float, last: int | None, broken: Corrupt | None
    ) -> None:
        super().__init__(arrays, db, scope, deadline, last)
        self._db, self._broken = db, broken  # why the vectors cannot be read

    def nearest(self, unit: NDArray[np.float32], k: int, where: Where) -> Found:
        self._check_vectors()
        return super().nearest(unit, k, where)

    def cosines(self, unit: NDArray[np.float32], rows: Rows) -> tuple[NDArray[np.float64], Rows]:
        self._check_vectors()
        return super().cosines(unit, rows)

    def units(self, passages: Rows) -> NDArray[np.float32]:
        self._check_vectors()
        return super().units(passages)

    def _query(self, sql: str, *values: Any) -> list[Any]:
        return self._db.all_readable(ENTRIES, SQLITE.sql(sql), *values)

    def _stored_units(self, keys: Sequence[int]) -> dict[int, bytes]:
        return stored_units(self._db, self._number, keys)

    def _postings(self, asked: Sequence[tuple[str, Posting | None]]) -> NDArray[np.int64]:
        return read_postings(self._db, self._number, asked)

    def _corpus(self) -> tuple[int, int]:
        return figures(self._db, self._number)[:2]

    def _check_vectors(self) -> None:
        if self._broken is not None:
            raise self._broken


def stored_units(db: Connections, scope: int, keys: Sequence[int]) -> dict[int, bytes]:
    """Return the vectors of passages by key, without the damaged ones."""
    found = db.all_readable(VECTORS, _UNITS, to_json(list(keys)))
    return {key: vector for key, vector, sum_ in found if sum_ == vector_checksum(key, scope, vector)}


def expression(scope: int, words: Sequence[str]) -> str:
    """Return an FTS5 query for any of the words, each quoted and marked as this scope's."""
    return " OR ".join(quoted(mark(scope) + word) for word in distinct(words)) or '""'


def read_postings(db: Connections, scope: int, asked: Sequence[tuple[str, Posting | None]]) -> NDArray[np.int64]:
    """Return what the index has beyond the known postings of words, in two statements at most.

    FTS5 finds the passages of a word fast, and takes nine tenths of a search to look up the length of each. Columns
    hold the lengths, so only passages and numbers are read here.
    """
    import numpy as np

    words = [mark(scope) + word for word, _ in asked]
    tokens = [None if known else token for token, (_, known) in zip(_tokens(db, words), asked, strict=True)]
    whole = [(place, token) for place, token in enumerate(tokens) if token]
    newer = [
        (place, quoted(word), known.last if known else 0)
        for place, (word, token, (_, known)) in enumerate(zip(words, tokens, asked, strict=True))
        if not token
    ]
    parts = [np.array(db.rows(_NEWER, to_json(newer)), np.int64).reshape(-1, 3)] if newer else []
    if whole:
        parts += [_counted(*row) for row in db.rows(_WHOLE, to_json(whole))]
    return np.concatenate(parts)


def quoted(word: str) -> str:
    """Return a word as a phrase of FTS5's query language."""
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'


def _tokens(db: Connections, words: Sequence[str]) -> list[str | None]:
    """Return words as the index holds them, ``None`` for one that it holds as several."""
    import apsw

    analysed = db.get().fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))
    found = []
    for word in words:
        tokens: Any = analysed(word.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
        found.append(tokens[0][0] if len(tokens) == 1 else None)
    return found


def _counted(place: int, passages: str | None) -> NDArray[np.int64]:
    """Return a row of a place, a key and a number of times for each passage in a text, which are in order."""
    import numpy as np

    keys = np.fromstring(passages or "", np.int64, sep=",")
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return np.column_stack([np.full(len(first), place), keys[first], np.diff(first, append=len(keys))])
