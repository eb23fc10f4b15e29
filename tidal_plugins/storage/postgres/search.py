"""Search a PostgreSQL database: its columns, which a snapshot reads and saved pieces hold, its words, and its vectors.

What pieces hold, and when they are dropped, is as in the SQLite engine. Vectors are renewed as a new generation, which
gathers beside the one in use, and replaces it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Outdated, Renewal
from tidal_plugins.storage.columns.binary import as_stored
from tidal_plugins.storage.columns.cache import Mark, Range
from tidal_plugins.storage.columns.pieces import Piece, unpacked
from tidal_plugins.storage.columns.postings import Posting, distinct
from tidal_plugins.storage.columns.tables import Arrays, EntryRow
from tidal_plugins.storage.damage import vector_checksum
from tidal_plugins.storage.postgres.connections import ALL, ANY, SHARDS, Connections, Statement
from tidal_plugins.storage.postgres.dialect import NUMBERS, POSTGRES, token_number, tokens
from tidal_plugins.storage.postgres.schema import GONE_SUM
from tidal_plugins.storage.postgres.store import PostgresBase, figures, lock_read
from tidal_plugins.storage.rows import from_json, number_of
from tidal_plugins.storage.sql.search import NUMBERS as ENTRY_NUMBERS
from tidal_plugins.storage.sql.search import SearchStore, StoredSource

_IN_USE = """
    SELECT t.generation, t.dimensions, (SELECT sum(vectors)::bigint FROM tidal_corpus) FROM tidal_state t
"""
_SHARE = """
    SELECT generation, dimensions FROM tidal_state WHERE (SELECT sum(vectors) FROM tidal_corpus) > 0 FOR SHARE
"""
_KEPT = "state of the vectors"
_STATE = "SELECT generation, new_dimensions FROM tidal_state FOR UPDATE"
_TOTALS = "SELECT sum(renewed)::bigint, sum(vectors)::bigint FROM tidal_corpus"
_SCOPES = f"""
    SELECT v.passage, v.scope, EXISTS (
        SELECT 1 FROM tidal_vectors n WHERE n.scope = v.scope AND n.generation = %s AND n.passage = v.passage
    ) FROM tidal_vectors v WHERE v.generation = %s AND v.passage = {NUMBERS}
"""
_STORE = """
    INSERT INTO tidal_vectors (scope, generation, passage, vector, checksum)
    SELECT u.scope, %s, u.passage, u.vector, u.checksum
    FROM unnest(%s::bigint[], %s::bigint[], %b::bytea[], %s::bigint[]) u (scope, passage, vector, checksum)
    ON CONFLICT (scope, generation, passage) DO UPDATE SET vector = excluded.vector, checksum = excluded.checksum
"""
_MISSING = """
    SELECT p.key, s.path, e.id, p.start, p."end" FROM tidal_vectors v
    JOIN tidal_passages p ON p.scope = v.scope AND p.key = v.passage
    JOIN tidal_entries e ON e.scope = p.scope AND e.key = p.entry JOIN tidal_scopes s ON s.scope = v.scope
    WHERE v.generation = %s AND NOT EXISTS (
        SELECT 1 FROM tidal_vectors n WHERE n.scope = v.scope AND n.generation = %s AND n.passage = v.passage
    ) ORDER BY v.passage LIMIT %s
"""
_DROP_NEW = "DELETE FROM tidal_vectors WHERE generation = %s"
_SWITCH = (
    ("UPDATE tidal_state SET generation = generation + 1, dimensions = new_dimensions, new_dimensions = 0", ()),
    ("UPDATE tidal_corpus SET vectors = renewed, renewed = 0", ()),
    ("DELETE FROM tidal_columns", ()),
)
_REMOVE = """
    WITH old AS (SELECT scope, generation, passage FROM tidal_vectors WHERE generation < %s ORDER BY passage LIMIT %s)
    DELETE FROM tidal_vectors v USING old o
    WHERE v.scope = o.scope AND v.generation = o.generation AND v.passage = o.passage
"""
_LEFT = "SELECT count(*) FROM tidal_vectors WHERE generation < %s"


def vector_size(db: Connections) -> int:
    """Return how many dimensions the vectors of the store have, 0 if there are none."""
    _, dimensions, vectors = db.kept(ANY, _IN_USE)[0]
    return _size(db, dimensions, vectors)


def sharing(db: Connections, size: int | None) -> list[Statement]:
    """Return the statement whose rows :func:`generation_for` wants before vectors of a size are written."""
    return [] if size is None or _KEPT in db.current.kept else [(_SHARE, ())]


def generation_for(db: Connections, size: int | None, found: Sequence[Sequence[tuple[int, int]]]) -> int:
    """Return the generation in which vectors of a size are to be written, or raise ``InvalidInput``.

    No other generation takes its place before the transaction ends.
    """
    if size is None:
        return 0
    if found and found[0]:
        db.current.kept[_KEPT] = found[0][0]
    elif found:  # there are no vectors yet
        db.rows(ANY, "SELECT 1 FROM tidal_state FOR UPDATE")
        generation, dimensions, vectors = db.rows(ANY, _IN_USE)[0]  # as it is now that nobody else changes it
        if not _size(db, dimensions, vectors):
            db.later(ANY, ("UPDATE tidal_state SET dimensions = %s", [size]))
            dimensions = size
        db.current.kept[_KEPT] = generation, dimensions
    generation, dimensions = locked_state(db)
    check_size(size, dimensions)
    return generation


def locked_state(db: Connections) -> tuple[int, int]:
    """Return the generation of the vectors and their size, and let no renewal change either before the transaction
    ends."""
    work = db.current
    if _KEPT not in work.kept:
        work.kept[_KEPT] = db.rows(ANY, "SELECT generation, dimensions FROM tidal_state FOR SHARE")[0]
    found: tuple[int, int] = work.kept[_KEPT]
    return found


def check_size(size: int, expected: int) -> None:
    """Raise ``InvalidInput`` for a vector of another size than that of the store's. All vectors have one size."""
    if expected and size != expected:
        raise InvalidInput(f"a vector has {size} dimensions, not {expected} as the store's")


def _size(db: Connections, dimensions: int, vectors: int) -> int:
    added = sum(count[2] for count in db.current.counts.values())
    return dimensions if vectors + added else 0


def renew(db: Connections, units: Mapping[int, NDArray[np.float32]], most: int, anew: bool) -> Renewal:
    """Store new vectors, and put all of them in place once none is missing. Call it inside a transaction."""
    lock_read(db)  # before the state, as every writer takes them
    db.flush()
    [(generation, dimensions)] = db.rows(ALL, _STATE)  # no other renewal, and no vector of a put, until this one ends
    if anew:
        reset = ("UPDATE tidal_state SET new_dimensions = 0", ())
        db.run(ALL, (_DROP_NEW, [generation + 1]), ("UPDATE tidal_corpus SET renewed = 0", ()), reset)
        dimensions = 0
    db.run(ALL, (_REMOVE, [generation, most]))
    _store(db, units, generation, dimensions if _totals(db)[0] else 0)
    done, total = _totals(db)
    if done == total:
        if total:
            db.run(ALL, *_SWITCH)
            db.current.kept.clear()
        return Renewal((), done, total, total)
    rows = db.rows(ALL, _MISSING, generation, generation + 1, most)
    missing = [Outdated(key, tuple(from_json(path)), *span) for key, path, *span in rows]
    return Renewal(missing, done, total, int(db.one(ALL, _LEFT, generation)))


def remove_replaced(db: Connections) -> None:
    """Remove all vectors that were replaced. Call it inside a transaction."""
    [(generation, _)] = db.rows(ALL, _STATE)
    db.run(ALL, ("DELETE FROM tidal_vectors WHERE generation < %s", [generation]))


def _store(db: Connections, units: Mapping[int, NDArray[np.float32]], generation: int, dimensions: int) -> None:
    sizes = {len(unit) for unit in units.values()} | ({dimensions} if dimensions else set())
    if len(sizes) > 1:
        raise InvalidInput(f"new vectors have one size, got {', '.join(map(str, sorted(sizes)))}")
    known = db.rows(ALL, _SCOPES, generation + 1, generation, list(units)) if units else []
    if not known:
        return
    rows: list[tuple[Any, ...]] = []
    halves = as_stored([units[key] for key, _, _ in known])
    for (key, scope, _), (vector, _) in zip(known, halves, strict=True):
        rows.append((scope, key, vector, vector_checksum(key, scope, vector)))
    new = Counter(scope % SHARDS for _, scope, stored in known if not stored)
    add = "UPDATE tidal_corpus SET renewed = renewed + %s WHERE shard = %s"
    size = ("UPDATE tidal_state SET new_dimensions = %s", [sizes.pop()])
    store = (_STORE, [generation + 1, *map(list, zip(*rows, strict=True))])
    db.run(ALL, store, *((add, [count, shard]) for shard, count in sorted(new.items())), size)


def _totals(db: Connections) -> tuple[int, int]:
    [(done, total)] = db.rows(ALL, _TOTALS)
    return done, total


AT_ONCE = 8
"""Pieces that are read at a time, some 10 MB: a large scope should not be in memory twice."""

_PIECES = """
    SELECT first, last, changes, centre, checksum, columns FROM tidal_columns
    WHERE scope = %s AND first > %s ORDER BY first LIMIT %s
"""
_CHANGED = "SELECT key FROM tidal_entries WHERE scope = %s AND changed > %s ORDER BY key"
_NEWER = "SELECT 1 FROM tidal_columns WHERE scope = %s AND first <= %s AND last >= %s AND changes >= %s LIMIT 1"
_DROP = "DELETE FROM tidal_columns WHERE scope = %s AND first <= %s AND last >= %s"
_DROP_DAMAGED = "DELETE FROM tidal_columns WHERE scope = %s AND first = %s AND checksum = %s"
_ADD = """
    INSERT INTO tidal_columns (scope, first, last, changes, centre, columns, checksum)
    VALUES (%s, %s, %s, %s, %s, %b, %s)
"""
_MARK = "UPDATE tidal_columns SET changes = %s, checksum = %s WHERE scope = %s AND first = %s AND checksum = %s"

_LOW = (1 << 32) - 1

logger = logging.getLogger(__name__)


class Saved(NamedTuple):
    """A piece: the first and the last key of its entries, and the change as of which they are."""

    first: int
    last: int
    changes: int
    centre: int
    checksum: int
    """Of the columns in its lower 32 bits, of the numbers above in the others."""

    def holds(self, scope: int, columns: bytes) -> bool:
        """Return whether the piece is as it was written."""
        return checksum_of(scope, *self[:-1], sum_of(columns)) == self.checksum

    def marked(self, scope: int, changes: int) -> int:
        """Return the checksum of this piece as of another change."""
        return checksum_of(scope, self.first, self.last, changes, self.centre, self.checksum & _LOW)


def sum_of(columns: bytes) -> int:
    """Return the checksum of the columns of a piece."""
    return crc32(columns)


def checksum_of(scope: int, first: int, last: int, changes: int, centre: int, columns: int) -> int:
    """Return the checksum of a piece, of whose columns the checksum is given."""
    return crc32(f"{scope} {first} {last} {changes} {centre}".encode()) >> 1 << 32 | columns


GENERATIONS = 1 << 40
"""Erasures of a scope that one generation of vectors may see: a mark counts both."""

BATCH = 4096
"""Rows that are read at a time."""

DENSE = 8
"""Numbers for each passage up to which vectors are read as a range: entries, passages and links share their numbers. Of
24,000 vectors it takes some two thirds of the time that reading them one by one takes (measured)."""

_ENTRIES = f"""
    SELECT id, e.key, kind, channel, role, speaker, thread, source, nullif(tags, '[]'), {ENTRY_NUMBERS}
    FROM tidal_entries e WHERE e.scope = %s AND {{wanted}} AND e.key > %s ORDER BY e.key LIMIT {BATCH}
"""
# The keys come first, by an array: a join with ORDER BY and LIMIT walks over all passages of the scope.
_PASSAGE_KEYS = """
    SELECT k.key FROM tidal_passages k WHERE k.scope = %s AND k.key > %s
    AND k.entry = ANY (ARRAY (SELECT e.key FROM tidal_entries e WHERE e.scope = %s AND {wanted}))
"""
# Each key is looked up by itself. A join that the server is free to plan reads all entries and vectors of the scope for
# three new passages where it knows too little of the tables: 38 ms of 10,000 entries.
_PASSAGES = """
    SELECT p.key, p.entry, p.start, p."end", p.words, v.vector, p.checksum, v.checksum, e.id
    FROM (SELECT %s::bigint, %s::bigint) asked (generation, scope) CROSS JOIN unnest({keys}) wanted (key)
    CROSS JOIN LATERAL (SELECT * FROM tidal_passages p WHERE p.scope = asked.scope AND p.key = wanted.key OFFSET 0) p
    CROSS JOIN LATERAL (SELECT e.id FROM tidal_entries e WHERE e.scope = asked.scope AND e.key = p.entry OFFSET 0) e
    LEFT JOIN LATERAL (
        SELECT v.vector, v.checksum FROM tidal_vectors v
        WHERE v.scope = asked.scope AND v.generation = asked.generation AND v.passage = wanted.key OFFSET 0
    ) v ON true
    ORDER BY p.key
"""
_FIRST_PASSAGES = _PASSAGES.format(keys=f"ARRAY ({_PASSAGE_KEYS} ORDER BY k.key LIMIT {BATCH})")
_FOUND = f"""
    AND e.key IN (
        SELECT p.entry FROM tidal_words w JOIN tidal_passages p ON p.scope = w.scope AND p.key = w.passage
        WHERE w.scope = %s AND w.token = {NUMBERS}
    )
"""
_UNITS = "SELECT passage, vector, checksum FROM tidal_vectors WHERE scope = %s AND generation = %s AND passage {}"
_LAST = "SELECT coalesce(max(key), 0) FROM tidal_entries WHERE scope = %s"
_POSTINGS = """
    SELECT a.place, w.passage, w.times FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) a (place, token, last)
    JOIN tidal_words w ON w.scope = %s AND w.token = a.token AND w.passage > a.last
"""


@dataclass(frozen=True)
class ScopeSource(StoredSource[Saved]):
    """One scope in a database: all of it, or what has any of some words."""

    db: Connections
    scope: Scope
    terms: Sequence[str] | None = None

    dialect = POSTGRES

    @property
    def number(self) -> int:  # type: ignore[override]
        return number_of(self.scope)

    def mark(self) -> Mark:
        found = figures(self.db, self.scope)
        return Mark(found.changes, found.generation * GENERATIONS + found.erasures)

    def gone_after(self, erasures: int) -> Collection[int] | None:
        found = figures(self.db, self.scope)
        generation, since = divmod(erasures, GENERATIONS)
        if generation != found.generation:
            return None
        sql = f"SELECT entries FROM tidal_gone WHERE scope = %s AND erasure > %s AND checksum = {GONE_SUM}"
        noted = self._rows(sql, self.number, since)
        return {key for (keys,) in noted for key in keys} if len(noted) == found.erasures - since else None

    def entries_after(self, changes: int, gaps: Sequence[Range]) -> Iterable[EntryRow]:
        wanted, parameters = self._wanted(changes, gaps)
        sql, after = _ENTRIES.format(wanted=wanted), 0
        while True:  # a large scope comes in several statements
            rows = self._rows(sql, self.number, *parameters, after)
            yield from rows
            if len(rows) < BATCH:
                return
            after = rows[-1][1]

    def passages(self, changes: int, gaps: Sequence[Range], key: int) -> Iterable[Any]:
        """Yield the rows of passages by their key, in one statement if they are few, else in several."""
        wanted, parameters = self._wanted(changes, gaps)
        number, generation = self.number, figures(self.db, self.scope).generation
        first = self._rows(_FIRST_PASSAGES.format(wanted=wanted), generation, number, number, key, number, *parameters)
        yield from first
        if len(first) < BATCH:
            return
        sql, part = _PASSAGE_KEYS.format(wanted=wanted), _PASSAGES.format(keys="%s::bigint[]")
        keys = sorted(key for (key,) in self._rows(sql, number, first[-1][0], number, *parameters))
        for start in range(0, len(keys), BATCH):
            yield from self._rows(part, generation, number, keys[start : start + BATCH])

    def vectors(self, keys: Sequence[int]) -> Iterable[tuple[int, bytes, int]]:
        generation, first, last = figures(self.db, self.scope).generation, min(keys, default=0), max(keys, default=0)
        if last - first < DENSE * len(keys):
            return self._rows(_UNITS.format("BETWEEN %s AND %s"), self.number, generation, first, last)
        return self._rows(_UNITS.format(f"= {NUMBERS}"), self.number, generation, list(keys))

    def last_entry(self) -> int:
        return int(self._rows(_LAST, self.number)[0][0])

    def query(self, sql: str, *values: Any) -> list[Any]:
        return self._rows(POSTGRES.sql(sql), *values)

    def postings(self, asked: Sequence[tuple[str, Posting | None]]) -> NDArray[np.int64]:
        numbers = [token_number(tokens(word)) for word, _ in asked]
        last = [known.last if known else 0 for _, known in asked]
        found = self._rows(_POSTINGS, list(range(len(asked))), numbers, last, self.number)
        return np.array(found, np.int64).reshape(-1, 3)

    def corpus(self) -> tuple[int, int]:
        return figures(self.db, self.scope)[:2]

    def is_current(self, mark: Mark) -> bool:
        self.db.lock(self.scope)
        locked_state(self.db)
        return super().is_current(mark)

    def pieces(self) -> Iterator[tuple[Saved, Piece | None]]:
        after = -1
        while rows := self._rows(_PIECES, self.number, after, AT_ONCE) if self.terms is None else ():
            for *row, columns in rows:
                saved = Saved(*row)
                after, piece = saved.first, unpacked(columns) if saved.holds(self.number, columns) else None
                if piece is None:
                    logger.error("saved columns are damaged: they are read from the entries instead")
                yield saved, piece
            if len(rows) < AT_ONCE:
                return

    def changed_after(self, changes: int) -> list[int]:
        return [key for (key,) in self._rows(_CHANGED, self.number, changes)]

    def drop(self, pieces: Sequence[Saved]) -> None:
        self.db.run(self.scope, *((_DROP_DAMAGED, [self.number, each.first, each.checksum]) for each in pieces))

    def keep(self, first: int, last: int, changes: int, centre: int, data: bytes) -> None:
        if not self._rows(_NEWER, self.number, last, first, changes):
            row = (self.number, first, last, changes, centre)
            added = [*row, data, checksum_of(*row, sum_of(data))]
            self.db.run(self.scope, (_DROP, [self.number, last, first]), (_ADD, added))

    def mark_as_of(self, pieces: Sequence[Saved], changes: int) -> None:
        marked = ((row, row.marked(self.number, changes)) for row in pieces)
        statements = ((_MARK, [changes, sum_, self.number, row.first, row.checksum]) for row, sum_ in marked)
        self.db.run(self.scope, *statements)

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self.db.rows(self.scope, sql, *values)

    def _wanted(self, changes: int, gaps: Sequence[Range]) -> tuple[str, list[Any]]:
        between = [(max(first, 0), last) for first, last in gaps if first <= last]
        sql = f"(e.changed > %s{' OR e.key BETWEEN %s AND %s' * len(between)})"
        parameters: list[Any] = [changes, *(end for gap in between for end in gap)]
        if self.terms is None:
            return sql, parameters
        wanted = [token_number(tokens(word)) for word in distinct(self.terms)]
        return sql + _FOUND, [*parameters, self.number, wanted]


class PostgresSearch(PostgresBase, SearchStore):
    """Searches a database."""

    def _source(self, scope: Scope, *, terms: Sequence[str] | None = None, vectors: bool = True) -> ScopeSource:
        return ScopeSource(self._db, scope, terms)

    def _save(self, scope: Scope, arrays: Arrays, mark: Mark) -> None:
        if not self._db.read_only:
            super()._save(scope, arrays, mark)

    def _check_size(self, unit: NDArray[np.float32]) -> None:
        check_size(len(unit), vector_size(self._db))

    def _renew(self, units: Mapping[int, NDArray[np.float32]], most: int, anew: bool) -> Renewal:
        return renew(self._db, units, most, anew)
