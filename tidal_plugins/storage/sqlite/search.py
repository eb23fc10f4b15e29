"""Search an SQLite file: its columns, which a snapshot reads and saved pieces hold, and its keyword index.

**Saved pieces.** A piece holds the columns of the entries of a range of keys, as they were at some change, so that a
process need not read every row when it first searches. A reader reads as rows what changed since, and what no piece
holds. A piece is deleted in the transaction in which one of its entries goes or is replaced. So the file holds nothing
of what was forgotten, and a piece that is lost or damaged costs no more than time.

**What is gone.** The entries that went or were replaced lately are noted by key alone: a reader drops them, and need
not load a scope anew.

**Renewal.** New vectors gather in a table of their own, which then replaces the other.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from zlib import crc32

import apsw
import numpy as np
from numpy.typing import NDArray

from tidal_plugins.errors import Corrupt, InvalidInput
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Outdated, Renewal
from tidal_plugins.storage.columns.binary import as_stored, size_of
from tidal_plugins.storage.columns.cache import Mark, Range
from tidal_plugins.storage.columns.pieces import Piece, unpacked
from tidal_plugins.storage.columns.postings import Posting, distinct
from tidal_plugins.storage.columns.tables import EntryRow
from tidal_plugins.storage.columns.view import Columns
from tidal_plugins.storage.damage import ENTRIES, PASSAGES, UNKNOWN, VECTORS, note, vector_checksum
from tidal_plugins.storage.rows import Row, from_json, to_json
from tidal_plugins.storage.sql.entries import KEPT, MOST_GONE
from tidal_plugins.storage.sql.search import NUMBERS, SearchStore, StoredSource
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.dialect import SQLITE
from tidal_plugins.storage.sqlite.schema import TOKENIZER, signs_table, vectors_table
from tidal_plugins.storage.sqlite.store import SQLiteBase, figures, mark, mend_rows

SAVED = "SELECT key, scope, first, last, changes, centre, checksum FROM saved_columns"
"""SQL for what is said of saved pieces, the columns of :class:`Saved`."""

_PIECE = "SELECT columns, checksum FROM saved_pieces WHERE key = ?"
_CHANGED = "SELECT key FROM entries INDEXED BY entries_by_change WHERE scope = ? AND changed > ? ORDER BY key"
_NEWER_PIECE = "SELECT 1 FROM saved_columns WHERE scope = ? AND first <= ? AND last >= ? AND changes >= ? LIMIT 1"
_DROP = "DELETE FROM saved_columns WHERE scope = ? AND first <= ? AND last >= ?"
_ADD = """
    INSERT INTO saved_columns (scope, first, last, changes, centre, checksum) VALUES (?, ?, ?, ?, ?, 0) RETURNING key
"""
_ADD_PIECE = "INSERT INTO saved_pieces VALUES (?, ?, ?)"
_MARK = "UPDATE saved_columns SET changes = ?, checksum = ? WHERE key = ? AND checksum IS ?"
_WITH = """
    DELETE FROM saved_columns WHERE key IN (
        SELECT s.key FROM json_each(?) j CROSS JOIN saved_columns s
        ON s.scope = ? AND s.first <= j.value AND s.last >= j.value
    )
"""

ASKED = 3
"""How often a scope is searched in the file until its columns are read, in the background. They take as long as some
dozens of such searches."""

WAIT = 1.0
"""Seconds for which saving waits for another one that writes, before it is left for another time. Closing a memory
waits for it, so it must not wait as long as a write does."""

logger = logging.getLogger(__name__)


class Saved(NamedTuple):
    """A row about a saved piece: the first and the last key of its entries, and the change as of which they are."""

    key: int
    scope: int
    first: int
    last: int
    changes: int
    centre: int
    checksum: int

    def piece(self, db: Connections) -> bytes | None:
        """Return the bytes of the piece, or ``None`` if the row or they are damaged or not there."""
        with suppress(Corrupt):  # no more than time is lost
            for columns, sum_ in db.rows(_PIECE, self.key) if _saved_checksum(*self[:-1]) == self.checksum else ():
                if isinstance(columns, bytes) and crc32(columns, self.key) == sum_:
                    return columns
        logger.error("saved columns are damaged: they are read from the entries instead")
        return None


def _saved_checksum(key: int, scope: int, first: int, last: int, changes: int, centre: int) -> int:
    return crc32(f"{key} {scope} {first} {last} {changes} {centre}".encode("utf-8", "surrogatepass"))


_ERASED = "UPDATE scopes SET erasures = ifnull(erasures, 0) + 1 WHERE key = ? RETURNING erasures"
_NOTE = "INSERT OR REPLACE INTO gone VALUES (?, ?, ?, ?)"
_TRIM = "DELETE FROM gone WHERE scope = ? AND erasure <= ?"
_SINCE = "SELECT erasure, entries, checksum FROM gone WHERE scope = ? AND erasure > ?"
_NUMBER = "SELECT erasures - ?2 FROM scopes WHERE key = ?1"


def note_gone(db: Connections, scope: int, entries: Sequence[int]) -> None:
    """Let the erasures of a scope rise, note which entries went or were replaced, and drop what is saved of them."""
    db.run(_WITH, to_json(list(entries)), scope)
    erasures = int(db.one(_ERASED, scope) or 0)
    if erasures and len(entries) <= MOST_GONE:
        keys = to_json(list(entries))
        db.run(_NOTE, scope, erasures, keys, gone_checksum(scope, erasures, keys))
        db.run(_TRIM, scope, erasures - KEPT)


def gone_checksum(scope: int, erasure: int, entries: str) -> int:
    """Return the checksum of a row."""
    return crc32(f"{scope} {erasure} {entries}".encode("utf-8", "surrogatepass"))


# LIMIT keeps SQLite from leaving the order of the keys out, and from sorting whole rows by it instead.
_ENTRIES = f"""
    SELECT id, e.key, kind, channel, role, speaker, thread, source, nullif(tags, '[]'), {NUMBERS} FROM (
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


@dataclass(frozen=True)
class ScopeSource(StoredSource[Saved]):
    """One scope in a file: all of it, with or without its vectors, or what a query of keywords finds there."""

    db: Connections
    number: int
    with_vectors: bool = True
    words: str | None = None

    dialect = SQLITE

    def mark(self) -> Mark:
        _, _, erasures, changes = figures(self.db, self.number)
        return Mark(changes or 0, erasures or 0)

    def gone_after(self, erasures: int) -> Collection[int] | None:
        try:
            noted, number = self.db.rows(_SINCE, self.number, erasures), self.db.one(_NUMBER, self.number, erasures)
        except Corrupt:
            return None
        if len(noted) != number or any(gone_checksum(self.number, *row[:-1]) != row[-1] for row in noted):
            return None
        return {key for _, keys, _ in noted for key in from_json(keys)}

    def entries_after(self, changes: int, gaps: Sequence[Range]) -> Iterable[EntryRow]:
        sql = _ENTRIES.format(wanted=self._wanted(gaps, "?3"))
        for row in self.db.readable(ENTRIES, sql, self.number, changes, *self._queries()):
            if isinstance(row[0], str):
                yield row
            else:  # a row of another table, on a page that took the place of another one
                note(ENTRIES, UNKNOWN)

    def passages(self, changes: int, gaps: Sequence[Range], key: int) -> Iterable[Any]:
        vectors = "vectors" if self.with_vectors else _NO_VECTORS
        sql = _PASSAGES.format(vectors=vectors, wanted=self._wanted(gaps, "?4"))
        return self.db.readable(PASSAGES, sql, self.number, changes, key, *self._queries())

    def vectors(self, keys: Sequence[int]) -> Iterable[tuple[int, bytes, int]]:
        return self.db.all_readable(VECTORS, _UNITS, to_json(list(keys)))

    def last_entry(self) -> int:
        return int(self.db.one("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'entries'"))

    def query(self, sql: str, *values: Any) -> list[Any]:
        return self.db.all_readable(ENTRIES, SQLITE.sql(sql), *values)

    def postings(self, asked: Sequence[tuple[str, Posting | None]]) -> NDArray[np.int64]:
        return read_postings(self.db, self.number, asked)

    def corpus(self) -> tuple[int, int]:
        return figures(self.db, self.number)[:2]

    def pieces(self) -> Iterator[tuple[Saved, Piece | None]]:
        if self.with_vectors and self.words is None:
            for row in self.db.all_readable("saved_columns", f"{SAVED} WHERE scope = ? ORDER BY first", self.number):
                saved = Saved(*row)
                data = saved.piece(self.db)
                yield saved, None if data is None else unpacked(data)

    def changed_after(self, changes: int) -> list[int]:
        return [key for (key,) in self.db.rows(_CHANGED, self.number, changes)]

    def drop(self, pieces: Sequence[Saved]) -> None:
        self.db.run_each("DELETE FROM saved_columns WHERE key = ?", [(saved.key,) for saved in pieces])

    def keep(self, first: int, last: int, changes: int, centre: int, data: bytes) -> None:
        if not self.db.one(_NEWER_PIECE, self.number, last, first, changes):
            self.db.run(_DROP, self.number, last, first)
            row = (self.number, first, last, changes, centre)
            key = int(self.db.one(_ADD, *row))
            self.db.run(_MARK, changes, _saved_checksum(key, *row), key, 0)
            self.db.run(_ADD_PIECE, key, data, crc32(data, key))

    def mark_as_of(self, pieces: Sequence[Saved], changes: int) -> None:
        sums = [_saved_checksum(*saved[:4], changes, saved.centre) for saved in pieces]
        rows = [(changes, sum_, saved.key, saved.checksum) for saved, sum_ in zip(pieces, sums, strict=True)]
        self.db.run_each(_MARK, rows)

    def _wanted(self, gaps: Sequence[Range], query: str) -> str:
        between = "".join(f" OR e.key BETWEEN {first} AND {last}" for first, last in gaps if first <= last)
        # Without a plus SQLite would look up each range by itself, among the entries of all scopes.
        after = f"+(e.changed > ?2{between})" if between else "e.changed > ?2"
        return after if self.words is None else after + _FOUND.format(query=query)

    def _queries(self) -> tuple[str, ...]:
        return () if self.words is None else (self.words,)


def expression(scope: int, words: Sequence[str]) -> str:
    """Return an FTS5 query for any of the words, each quoted and marked as this scope's."""
    return " OR ".join(quoted(mark(scope) + word) for word in distinct(words)) or '""'


def read_postings(db: Connections, scope: int, asked: Sequence[tuple[str, Posting | None]]) -> NDArray[np.int64]:
    """Return what the index has beyond the known postings of words, in two statements at most.

    FTS5 finds the passages of a word fast, and takes nine tenths of a search to look up the length of each. Columns
    hold the lengths, so only passages and numbers are read here.
    """
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
    analysed = db.get().fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))
    found = []
    for word in words:
        tokens: Any = analysed(word.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
        found.append(tokens[0][0] if len(tokens) == 1 else None)
    return found


def _counted(place: int, passages: str | None) -> NDArray[np.int64]:
    """Return a row of a place, a key and a number of times for each passage in a text, which are in order."""
    keys = np.fromstring(passages or "", np.int64, sep=",")
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return np.column_stack([np.full(len(first), place), keys[first], np.diff(first, append=len(keys))])


_SCOPES = "SELECT passage, scope FROM vectors WHERE passage IN (SELECT value FROM json_each(?))"
_COUNT = "SELECT (SELECT count(*) FROM new_vectors), (SELECT count(*) FROM vectors)"
_NEW = "SELECT vector FROM new_vectors LIMIT 1"
_LAST = "SELECT coalesce(max(passage), 0) FROM new_vectors"
_MISSING = """
    SELECT p.key, s.path, e.id, p.start, p."end" FROM vectors v
    CROSS JOIN passages p ON p.key = v.passage CROSS JOIN entries e ON e.key = p.entry
    CROSS JOIN scopes s ON s.key = v.scope
    WHERE v.passage > ? AND NOT EXISTS (SELECT 1 FROM new_vectors n WHERE n.passage = v.passage)
    ORDER BY v.passage LIMIT ?
"""
# To drop the old table would hold up writers for as long as SQLite overwrites it: it is emptied bit by bit later.
_SWITCH = """
    DROP TABLE IF EXISTS old_vectors;
    DROP TABLE IF EXISTS old_signs;
    ALTER TABLE vectors RENAME TO old_vectors;
    ALTER TABLE signs RENAME TO old_signs;
    ALTER TABLE new_vectors RENAME TO vectors;
    ALTER TABLE new_signs RENAME TO signs;
    DELETE FROM saved_columns;
    UPDATE scopes SET erasures = ifnull(erasures, 0) + 1;
"""
_REPLACED = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'old_vectors')"
_REMOVE = "DELETE FROM old_vectors WHERE passage IN (SELECT passage FROM old_vectors ORDER BY passage LIMIT ?)"


def renew(db: Connections, vectors: Mapping[int, NDArray[np.float32]], most: int, anew: bool) -> Renewal:
    """Store new vectors, and put all of them in place once none is missing. Call it inside a transaction."""
    if anew:
        db.run("DROP TABLE IF EXISTS new_vectors; DROP TABLE IF EXISTS new_signs")
        mend_rows(db)  # a vector whose scope is not found would be missing for ever
    db.run(vectors_table("new_vectors"))
    replaced = _removed(db, most)
    sizes = {len(unit) for unit in vectors.values()} | {size_of(vector) for (vector,) in db.rows(_NEW)}
    if len(sizes) > 1:
        raise InvalidInput(f"new vectors have one size, got {', '.join(map(str, sorted(sizes)))}")
    known = db.rows(_SCOPES, to_json(list(vectors)))
    store_vectors(db, "new_vectors", known, [vectors[key] for key, _ in known])
    [(done, total)] = db.rows(_COUNT)  # there is no new vector but of a passage that has one
    if done == total:
        db.run(_SWITCH)
        return Renewal((), done, total, total)
    # They are renewed in the order of their keys: only what was stored in another order lies further back.
    rows = db.rows(_MISSING, db.one(_LAST), most) or db.rows(_MISSING, 0, most)
    return Renewal([Outdated(key, tuple(from_json(path)), *span) for key, path, *span in rows], done, total, replaced)


def _removed(db: Connections, most: int) -> int:
    """Remove vectors that were replaced; return how many are left."""
    if not db.one(_REPLACED):
        return 0
    db.run(_REMOVE, most)
    left = int(db.one("SELECT count(*) FROM old_vectors"))
    if not left:
        db.run("DROP TABLE old_vectors; DROP TABLE old_signs")
    return left


def store_vectors(
    db: Connections, table: str, passages: Sequence[tuple[int, int]], units: Sequence[NDArray[np.float32]]
) -> None:
    """Store the vectors of passages, each by its key and its scope, with their signs."""
    rows, signs = list[Row](), list[Row]()
    for (key, scope), (vector, sign) in zip(passages, as_stored(units), strict=True):
        rows.append((key, scope, vector, vector_checksum(key, scope, vector)))
        signs.append((key, scope, sign))
    db.run_each(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?)", rows)
    db.run_each(f"INSERT OR REPLACE INTO {signs_table(table)} VALUES (?, ?, ?)", signs)


class SQLiteSearch(SQLiteBase, SearchStore):
    """Searches the indexes of an SQLite file."""

    _asked: dict[Scope, int]
    """How often scopes were asked whose columns are not held."""

    def columns(self, scope: Scope, *, whole: bool = True) -> Columns:
        if not self._db.writing:
            asked = self._asked.get(scope, 0)
            whole = whole or self._held.holds(scope) or (asked >= ASKED and not self._saving.busy)
            self._asked[scope] = asked + 1
            if asked + 1 == ASKED and not whole:
                self._saving.run(lambda: self._catch_up(scope))
        if whole:
            self._asked.pop(scope, None)
            return super().columns(scope)
        from tidal_plugins.storage.sqlite.seek import SoughtColumns

        return SoughtColumns(self._db, self._source(scope), self._bounded, _dimensions(self._db))

    def _source(self, scope: Scope, *, terms: Sequence[str] | None = None, vectors: bool = True) -> ScopeSource:
        key = self._key(scope)
        words = None if terms is None else expression(key, terms)
        return ScopeSource(self._db, key, vectors and terms is None, words)

    def _brief(self) -> AbstractContextManager[None]:
        return self._db.transaction(WAIT)

    def _check_size(self, unit: NDArray[np.float32]) -> None:
        check_size(self._db, [unit])

    def _renew(self, units: Mapping[int, NDArray[np.float32]], most: int, anew: bool) -> Renewal:
        return renew(self._db, units, most, anew)


def check_size(db: Connections, units: Iterable[NDArray[np.float32] | None]) -> None:
    """Raise ``InvalidInput`` for a vector of another size than the first. All vectors of a store have one size."""
    expected = _dimensions(db)
    for unit in units:
        if unit is not None and len(unit) != (expected := expected or len(unit)):
            raise InvalidInput(f"a vector has {len(unit)} dimensions, not {expected} as the store's")


def _dimensions(db: Connections) -> int:
    """Return the size of the store's vectors, as the first intact one has it, or 0 if there is none."""
    for limit in (1, -1):
        with closing(db.readable(VECTORS, "SELECT * FROM vectors LIMIT ?", limit)) as rows:
            for passage, scope, vector, stored in rows:
                if stored == vector_checksum(passage, scope, vector):
                    return size_of(vector)
    return 0
