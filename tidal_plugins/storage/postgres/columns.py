"""The columns of a scope in a PostgreSQL database: read through an open snapshot, and searched beside its words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.checksums import passage_checksum, vector_checksum
from tidal_plugins.storage.columns.arrays import Arrays
from tidal_plugins.storage.columns.packing import Piece
from tidal_plugins.storage.columns.postings import Posting, distinct
from tidal_plugins.storage.columns.source import Mark, Range
from tidal_plugins.storage.columns.tables import EARLIEST, ENTRY, LATEST, EntryRow, PassageRow
from tidal_plugins.storage.columns.units import matrix
from tidal_plugins.storage.damage import PASSAGES, VECTORS, note
from tidal_plugins.storage.keywords import tokens
from tidal_plugins.storage.postgres.base import figures
from tidal_plugins.storage.postgres.connections import Connections
from tidal_plugins.storage.postgres.dialect import NUMBERS, POSTGRES
from tidal_plugins.storage.postgres.numbers import number_of, token_number
from tidal_plugins.storage.postgres.saving import saved_pieces
from tidal_plugins.storage.postgres.schema import GONE_SUM
from tidal_plugins.storage.sql.search import StoredColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray


GENERATIONS = 1 << 40
"""Erasures of a scope that one generation of vectors may see: a mark counts both."""

BATCH = 4096
"""Rows that are read at a time."""

DENSE = 8
"""Numbers for each passage up to which vectors are read as a range: entries, passages and links share their numbers. Of
24,000 vectors it takes some two thirds of the time that reading them one by one takes (measured)."""

_REALS = {"importance": 0.0, "valence": 0.0, "weight": -1.0, "half_life": 1.0}
_TIMES = [name for name, kind in ENTRY.items() if kind == "i8" and name != "key"]
_MISSING = dict.fromkeys(_TIMES, LATEST) | {"valid_from": EARLIEST} | _REALS
_NUMBERS = ", ".join(
    f"coalesce({name}, {_MISSING[name]}::{'float8' if name in _REALS else 'bigint'})" if name != "valid_from"
    else f"coalesce({name}, '{EARLIEST}'::bigint)"
    for name in ENTRY
    if name in _MISSING
)  # fmt: skip
_ENTRIES = f"""
    SELECT id, e.key, kind, channel, role, speaker, thread, source, nullif(tags, '[]'), {_NUMBERS}
    FROM tidal_entries e WHERE e.scope = %s AND {{wanted}} AND e.key > %s ORDER BY e.key LIMIT {BATCH}
"""
# The keys come first, by an array: a join with ORDER BY and LIMIT walks over all passages of the scope.
_PASSAGE_KEYS = """
    SELECT k.key FROM tidal_passages k WHERE k.scope = %s AND k.key > %s
    AND k.entry = ANY (ARRAY (SELECT e.key FROM tidal_entries e WHERE e.scope = %s AND {wanted}))
"""
_PASSAGES = """
    SELECT p.key, p.entry, p.start, p."end", p.words, v.vector, p.checksum, v.checksum, e.id
    FROM tidal_passages p JOIN tidal_entries e ON e.scope = p.scope AND e.key = p.entry
    LEFT JOIN tidal_vectors v ON v.scope = p.scope AND v.generation = %s AND v.passage = p.key
    WHERE p.scope = %s AND p.key = {keys} ORDER BY p.key
"""
_FIRST_PASSAGES = _PASSAGES.format(keys=f"ANY (ARRAY ({_PASSAGE_KEYS} ORDER BY k.key LIMIT {BATCH}))")
_FOUND = f"""
    AND e.key IN (
        SELECT p.entry FROM tidal_words w JOIN tidal_passages p ON p.scope = w.scope AND p.key = w.passage
        WHERE w.scope = %s AND w.token = {NUMBERS}
    )
"""
_UNITS = "SELECT passage, vector, checksum FROM tidal_vectors WHERE scope = %s AND generation = %s AND passage {}"
_POSTINGS = """
    SELECT a.place, w.passage, w.times FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) a (place, token, last)
    JOIN tidal_words w ON w.scope = %s AND w.token = a.token AND w.passage > a.last
"""


@dataclass(frozen=True, slots=True)
class ScopeSource:
    """One scope of an open snapshot, as the origin of columns: all of it, or what has any of some words."""

    db: Connections
    scope: Scope
    terms: Sequence[str] | None = None

    def mark(self) -> Mark:
        found = figures(self.db, self.scope)
        return Mark(found.changes, found.generation * GENERATIONS + found.erasures)

    def gone_after(self, erasures: int) -> Collection[int] | None:
        found = figures(self.db, self.scope)
        generation, since = divmod(erasures, GENERATIONS)
        if generation != found.generation:
            return None
        sql = f"SELECT entries FROM tidal_gone WHERE scope = %s AND erasure > %s AND checksum = {GONE_SUM}"
        noted = self.db.rows(self.scope, sql, number_of(self.scope), since)
        return {key for (keys,) in noted for key in keys} if len(noted) == found.erasures - since else None

    def saved(self) -> Iterable[tuple[Range, int, Piece]]:
        return saved_pieces(self.db, self.scope) if self.terms is None else ()

    def entries_after(self, changes: int, gaps: Sequence[Range]) -> Iterable[EntryRow]:
        wanted, parameters = self._wanted(changes, gaps)
        sql, after = _ENTRIES.format(wanted=wanted), 0
        while True:  # a large scope comes in several statements
            rows = self.db.rows(self.scope, sql, number_of(self.scope), *parameters, after)
            yield from rows
            if len(rows) < BATCH:
                return
            after = rows[-1][1]

    def passages_after(self, changes: int, gaps: Sequence[Range], key: int) -> Iterable[PassageRow]:
        wanted, parameters = self._wanted(changes, gaps)
        number, generation = number_of(self.scope), figures(self.db, self.scope).generation
        for row in self._passages(wanted, generation, [number, *parameters], key):
            passage, entry, start, end, words, vector, stored, of_vector, id_ = row
            if vector is not None and vector_checksum(passage, number, vector) != of_vector:
                note(VECTORS, id_)
                vector = None
            if passage_checksum(number, passage, id_, start, end, words) == stored:
                yield PassageRow(passage, entry, start, end, words, vector)
            else:
                note(PASSAGES, id_)

    def units(self, keys: NDArray[np.int64]) -> NDArray[np.float32]:
        found = stored_units(self.db, self.scope, keys.tolist())
        empty = bytes(max(map(len, found.values()), default=0))
        return matrix([found.get(key, empty) for key in keys.tolist()], len(empty) // 4)

    def _passages(self, wanted: str, generation: int, parameters: Sequence[Any], after: int) -> Iterator[Any]:
        """Yield the rows of passages by their key, in one statement if they are few, else in several."""
        number = number_of(self.scope)
        first = self.db.rows(
            self.scope, _FIRST_PASSAGES.format(wanted=wanted), generation, number, number, after, *parameters
        )
        yield from first
        if len(first) < BATCH:
            return
        sql, part = _PASSAGE_KEYS.format(wanted=wanted), _PASSAGES.format(keys=NUMBERS)
        keys = sorted(key for (key,) in self.db.rows(self.scope, sql, number, first[-1][0], *parameters))
        for start in range(0, len(keys), BATCH):
            yield from self.db.rows(self.scope, part, generation, number, keys[start : start + BATCH])

    def _wanted(self, changes: int, gaps: Sequence[Range]) -> tuple[str, list[Any]]:
        between = [(max(first, 0), last) for first, last in gaps if first <= last]
        sql = f"(e.changed > %s{' OR e.key BETWEEN %s AND %s' * len(between)})"
        parameters: list[Any] = [changes, *(end for gap in between for end in gap)]
        if self.terms is None:
            return sql, parameters
        wanted = [token_number(tokens(word)) for word in distinct(self.terms)]
        return sql + _FOUND, [*parameters, number_of(self.scope), wanted]


class PostgresColumns(StoredColumns):
    """The columns of a scope in a database."""

    dialect = POSTGRES

    def __init__(self, arrays: Arrays, db: Connections, scope: Scope, deadline: float, last: int | None) -> None:
        super().__init__(arrays, db, number_of(scope), deadline, last)
        self._db, self._scope = db, scope

    def _query(self, sql: str, *values: Any) -> list[Any]:
        return self._db.rows(self._scope, POSTGRES.sql(sql), *values)

    def _stored_units(self, keys: Sequence[int]) -> dict[int, bytes]:
        return stored_units(self._db, self._scope, keys)

    def _postings(self, asked: Sequence[tuple[str, Posting | None]]) -> NDArray[np.int64]:
        numbers = [token_number(tokens(word)) for word, _ in asked]
        last = [known.last if known else 0 for _, known in asked]
        found = self._db.rows(self._scope, _POSTINGS, list(range(len(asked))), numbers, last, self._number)
        return np.array(found, np.int64).reshape(-1, 3)

    def _corpus(self) -> tuple[int, int]:
        return figures(self._db, self._scope)[:2]


def stored_units(db: Connections, scope: Scope, keys: Sequence[int]) -> dict[int, bytes]:
    """Return the vectors of passages by key, without the damaged ones."""
    number, generation = number_of(scope), figures(db, scope).generation
    first, last = min(keys, default=0), max(keys, default=0)
    if last - first < DENSE * len(keys):
        found = db.rows(scope, _UNITS.format("BETWEEN %s AND %s"), number, generation, first, last)
    else:
        found = db.rows(scope, _UNITS.format(f"= {NUMBERS}"), number, generation, list(keys))
    return {key: vector for key, vector, sum_ in found if sum_ == vector_checksum(key, number, vector)}
