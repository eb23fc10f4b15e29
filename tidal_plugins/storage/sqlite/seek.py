"""Search in an SQLite file without the columns of its scope: for a process that asks once or twice, and ends.

One statement compares the signs of all vectors of the scope with those of the query, by sqlite-vec, and the nearest are
compared by the vectors as they are stored. The keyword index tells which passages have a word, and how often; only the
lengths of those that may be among the best are read. Of all else, what is found is read, and no more.

The rows of such columns are in the order in which entries were found. A row stays the same as others are added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.errors import InvalidInput
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.columns.binary import CANDIDATES, PER_ENTRY, SHARE
from tidal_plugins.storage.columns.postings import distinct, frequency, rarity
from tidal_plugins.storage.columns.tables import (
    ENTRY,
    NAMED,
    OF_PASSAGES,
    PASSAGE,
    Arrays,
    Ids,
    Names,
    Near,
    Rows,
    Table,
    ThreadOrder,
)
from tidal_plugins.storage.columns.view import Found
from tidal_plugins.storage.damage import ENTRIES, PASSAGES, VECTORS, VOLUMES, note, passage_checksum
from tidal_plugins.storage.rows import to_json
from tidal_plugins.storage.sql.dialect import Condition, condition
from tidal_plugins.storage.sql.search import NUMBERS, StoredColumns, StoredSource
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.dialect import SQLITE

MORE = 2
"""Times as many passages are compared by their vectors as where codes are about the mean: of 100,000 vectors near those
of real sentences, 500 chosen by signs held .998 of the hundred nearest, and 250 chosen by codes .98 (measured)."""

WHOLE = 2_000
"""Passages of a small scope. All are compared by their vectors, so that a first answer is that of later ones."""

FIRST = 512
"""Passages with a word whose lengths are read at first; each time that these do not do, four times as many."""

SIGNS = "signs"
"""The name of their table, for what is noted of damage."""

_ENTRIES = f"""
    SELECT e.id, e.key, kind, channel, role, speaker, thread, source, nullif(tags, '[]'), {NUMBERS}
    FROM json_each(?) j CROSS JOIN entries e ON e.key = j.value WHERE e.scope = ?
"""
_PASSAGES = """
    SELECT p.key, p.entry, p.start, p."end", p.words, EXISTS (SELECT 1 FROM signs s WHERE s.passage = p.key),
    p.checksum, e.id FROM json_each(?) j CROSS JOIN entries e ON e.key = j.value
    CROSS JOIN passages p ON p.entry = e.key WHERE e.scope = ?
"""
_DISTANCE = "vec_distance_hamming(vec_bit(?), vec_bit(s.signs))"
_NEAREST = f"""
    SELECT s.passage FROM signs s WHERE s.scope = ? AND length(s.signs) = ? ORDER BY {_DISTANCE} LIMIT ?
"""
_PASSING = """
    SELECT p.key, p.entry, p.words FROM json_each(?) j CROSS JOIN passages p ON p.key = j.value
    CROSS JOIN entries e ON e.key = p.entry WHERE {}
"""
_NEAREST_PASSING = f"""
    SELECT p.key, p.entry FROM entries e CROSS JOIN passages p ON p.entry = e.key
    CROSS JOIN signs s ON s.passage = p.key WHERE length(s.signs) = ? AND {{}} ORDER BY {_DISTANCE} LIMIT ?
"""
_KEYS = "SELECT e.key FROM json_each(?) j CROSS JOIN entries e ON e.key = j.value WHERE {}"
_HELD = "SELECT entries FROM volumes WHERE scope = ?"
_PLACES = "SELECT key, thread, kind, occurred_at FROM entries WHERE key = ? AND thread IS NOT NULL"
_BESIDE = """
    SELECT e.key FROM entries e INDEXED BY entries_by_thread
    WHERE {} AND e.thread = ? AND e.kind = ? AND (e.occurred_at, e.key) {} (?, ?)
    ORDER BY e.occurred_at {}, e.key {} LIMIT ?
"""


class SoughtColumns(StoredColumns):
    """The columns of what is sought in a scope, and of nothing else. Use it inside the snapshot that it was made in."""

    def __init__(
        self,
        db: Connections,
        source: StoredSource[Any],
        deadline: Callable[[], AbstractContextManager[None]],
        dimensions: int,
    ) -> None:
        self._db, self._number, self._dimensions = db, source.number, dimensions
        self._names, self._ids, self._order = Names(), Ids(), ThreadOrder()
        self._entries, self._passages = Table(ENTRY | OF_PASSAGES), Table(PASSAGE)
        self._row_of: dict[int, int] = {}
        self._passage_of: dict[int, int] = {}
        self._notes: dict[str, Any] = {}
        super().__init__(self._view(), source, deadline)

    def nearest(self, unit: NDArray[np.float32], k: int, where: Where) -> Found:
        if len(unit) != (self._dimensions or len(unit)):
            raise InvalidInput(f"a vector has {len(unit)} dimensions, not {self._dimensions} as the store's")
        if not self._dimensions:  # none can be read
            self._dimensions = len(unit)
            self.arrays = self._view()
        signs, filter_ = np.packbits(unit > 0).tobytes(), self._filter(where)
        held = sum(number for (number,) in self._db.all_readable(VOLUMES, _HELD, self._number))
        size = max(WHOLE if held <= WHOLE else 0, MORE * (max(CANDIDATES, PER_ENTRY * k) + held // SHARE))
        with self._bounded():
            near = [key for (key,) in self._db.all_readable(SIGNS, _NEAREST, self._number, len(signs), signs, size)]
            passing = [row[:2] for row in self._passing(near, filter_)]
            if len(passing) < min(k, len(near)) and len(near) == size:  # the filter lets few of the nearest through
                sql = _NEAREST_PASSING.format(filter_.sql)
                passing = self._db.all_readable(ENTRIES, sql, len(signs), *filter_.parameters, signs, size)
            passing.sort()
            found = self._source.stored_units([key for key, _ in passing])
        self._units |= found
        damaged = self._read(entry for key, entry in passing if key not in found)
        for id_ in dict.fromkeys(self.ids(damaged[damaged >= 0])):
            note(VECTORS, id_)
        if not (passing := [(key, entry) for key, entry in passing if key in found]):
            return Found.none()
        keys = np.array(passing, np.int64).reshape(-1, 2)
        scores = np.vecdot(self._matrix(keys[:, 0].tolist()), unit)
        return self._best(keys[:, 0], keys[:, 1], scores, k)

    def matching(self, terms: Sequence[str], k: int, where: Where) -> Found:
        if not (words := distinct(terms) if k > 0 else []):
            return Found.none()
        with self._bounded():
            found = self._source.postings([(word, None) for word in words])
            place, keys, times = found[np.lexsort((found[:, 1], found[:, 0]))].T
            passages, total = self._source.corpus()
            mean = total / max(passages, 1) or 1.0
            weights = np.array(
                [rarity(passages, having) for having in np.bincount(place, minlength=len(words)).tolist()]
            )
            known, at = np.unique(keys, return_inverse=True)
            # A passage has at least as many words as were found in it, and counts the more the shorter it is.
            bounds = _scores(at, weights[place], times, np.bincount(at, times, len(known)), mean)
            order, filter_ = np.argsort(-bounds, kind="stable"), self._filter(where)
            lengths, owners = np.zeros(len(known)), np.full(len(known), -1)
            done, size = 0, FIRST
            while True:
                for key, entry, length in self._passing(known[order[done:size]].tolist(), filter_):
                    here = known.searchsorted(key)
                    lengths[here], owners[here] = length, entry
                chosen = np.flatnonzero(owners >= 0)
                within = owners[at] >= 0
                scores = _scores(at[within], weights[place[within]], times[within], lengths, mean, len(known))[chosen]
                best = self._first(owners[chosen], scores, k)
                if size >= len(known) or (len(best) == k and scores[best[-1]] >= bounds[order[size]]):
                    break
                done, size = size, 4 * size
        return self._best(known[chosen[best]], owners[chosen[best]], scores[best], k)

    def rows(self, ids: Sequence[str]) -> Rows:
        return self._read(self._keys_of(ids))

    def near(self, rows: Rows, reach: int, where: Where) -> Near:
        filter_, found = self._filter(where), list[tuple[int, int, int]]()
        for row, key in zip(rows.tolist(), self.arrays.key[rows].tolist(), strict=True):
            for key_, thread, kind, at in self._db.all_readable(ENTRIES, _PLACES, key):
                for sign, order in (("<", "DESC"), (">", "ASC")):
                    sql = _BESIDE.format(filter_.sql, sign, order, order)
                    beside = self._db.all_readable(ENTRIES, sql, *filter_.parameters, thread, kind, at, key_, reach)
                    step = -1 if sign == "<" else 1
                    found += ((row, other, step * place) for place, (other,) in enumerate(beside, 1))
        row, other, places = np.array(sorted(found, key=lambda each: (each[0], each[2])), np.int64).reshape(-1, 3).T
        other = self._read(other)
        return Near(row[other >= 0], other[other >= 0], places[other >= 0])

    def passes(self, rows: Rows, where: Where) -> NDArray[np.bool_]:
        filter_, keys = self._filter(where), self.arrays.key[rows]
        sql = _KEYS.format(filter_.sql)
        found = self._db.all_readable(ENTRIES, sql, to_json(keys.tolist()), *filter_.parameters)
        return np.isin(keys, np.array(found, np.int64).reshape(-1))

    def passages_of_keys(self, keys: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        places = np.array([self._passage_of.get(key, -1) for key in keys.tolist()], np.int64)
        return places[places >= 0], places >= 0

    def _filter(self, where: Where) -> Condition:
        found = condition(SQLITE, self._number, where)
        return Condition(SQLITE.sql(found.sql), found.parameters)

    def _passing(self, passages: Sequence[int], filter_: Condition) -> list[tuple[int, int, int]]:
        """Return those of some passages whose entries pass: the key, that of the entry, and the words of each."""
        sql = _PASSING.format(filter_.sql)
        return self._db.all_readable(ENTRIES, sql, to_json(list(passages)), *filter_.parameters)

    def _first(self, owners: Rows, scores: NDArray[np.floating[Any]], k: int) -> Rows:
        """Return the places of the best passages of the ``k`` best entries, best first."""
        order = np.argsort(-scores, kind="stable")
        _, first = np.unique(owners[order], return_index=True)
        return order[np.sort(first)[: max(k, 0)]]

    def _best(self, passages: Rows, owners: Rows, scores: NDArray[np.floating[Any]], k: int) -> Found:
        """Return the ``k`` best entries by their best passages, without those that are damaged."""
        best = self._first(owners, scores, k)
        rows = self._read(owners[best])
        at = np.array([self._passage_of.get(key, -1) for key in passages[best].tolist()], np.int64)
        intact = (rows >= 0) & (at >= 0)
        return Found(rows[intact], at[intact], scores[best][intact].astype(np.float64))

    def _read(self, keys: Iterable[int]) -> Rows:
        """Return the rows of entries by key, −1 for what is not there, and read those that are not among them yet."""
        keys = [int(key) for key in keys]
        if unknown := [key for key in dict.fromkeys(keys) if key >= 0 and key not in self._row_of]:
            asked = to_json(unknown)
            if rows := self._db.all_readable(ENTRIES, _ENTRIES, asked, self._number):
                self._add_entries(rows)
                self._add_passages(self._db.all_readable(PASSAGES, _PASSAGES, asked, self._number))
                self.arrays = self._view()
        return np.array([self._row_of.get(key, -1) for key in keys], np.int64)

    def _add_entries(self, rows: Sequence[Any]) -> None:
        ids, *values = zip(*rows, strict=True)
        columns: dict[str, Any] = dict(zip(ENTRY, values, strict=True))
        self._row_of.update(zip(columns["key"], range(self._entries.rows, self._entries.rows + len(ids)), strict=True))
        self._ids.extend(ids)
        nothing = dict.fromkeys(OF_PASSAGES, np.zeros(len(ids), np.int32))
        named = {name: np.array([*map(self._names.number, columns[name])], np.int32) for name in NAMED}
        self._entries.extend(columns | named | nothing)

    def _add_passages(self, rows: Sequence[Any]) -> None:
        intact = []
        for key, entry, start, end, words, has, stored, id_ in rows:
            if passage_checksum(self._number, key, id_, start, end, words) == stored and entry in self._row_of:
                intact.append((key, self._row_of[entry], start, end, words, has - 1))
            else:
                note(PASSAGES, id_)
        if not intact:
            return
        values = np.array(sorted(intact, key=lambda each: each[1]), np.int64).T
        first, columns = self._passages.rows, dict(zip(PASSAGE, values, strict=True))
        self._passage_of.update(zip(columns["key"].tolist(), range(first, first + len(intact)), strict=True))
        self._passages.extend(columns)
        own, at, count = np.unique(columns["entry"], return_index=True, return_counts=True)
        words = np.add.reduceat(columns["words"], at)
        self._entries.change(own, {"first_passage": first + at, "count": count, "words": words})

    def _view(self) -> Arrays:
        return Arrays(
            names=self._names,
            ids=self._ids.view(),
            **dict[str, Any](self._entries.view()),
            passages=self._passages.view(),
            units=None,
            codes=None,
            dimensions=self._dimensions,
            damaged=(),
            order=self._order,
            notes=self._notes,
        )


def _scores(at: Rows, weights: Any, times: Rows, lengths: Any, mean: float, count: int = 0) -> NDArray[np.float64]:
    """Return the BM25 of passages, of each the sum over its words. ``at`` are the places of passages."""
    found = np.bincount(at, weights * frequency(times, lengths[at], mean), max(count, len(lengths)))
    return np.asarray(found, np.float64)
