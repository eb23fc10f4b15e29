"""Columns held in memory, scope by scope: a reader loads what was written since it last looked, by whichever process.

The file stays the only truth, and nothing needs rebuilding after a crash.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.storage.columns.binary import Units, matrix, size_of
from tidal_plugins.storage.columns.pieces import SIZE, Piece
from tidal_plugins.storage.columns.tables import (
    CHANGING,
    ENTRY,
    LATEST,
    NAMED,
    OF_PASSAGES,
    PASSAGE,
    Arrays,
    EntryRow,
    Ids,
    Names,
    PassageRow,
    Table,
    ThreadOrder,
    places_of,
)
from tidal_plugins.storage.damage import Damaged, noticed


class Mark(NamedTuple):
    """How far columns were read: up to which change, and how often entries had been erased or replaced by then."""

    changes: int
    erasures: int


Range = tuple[int, int]
"""The first and the last key of entries."""


class Source(Protocol):
    """The origin of columns: one scope of an open snapshot."""

    def mark(self) -> Mark:
        """Return how far the scope has come."""

    def gone_after(self, erasures: int) -> Collection[int] | None:
        """Return the keys of the entries that were erased or replaced since, or ``None`` if that is not known."""

    def saved(self) -> Iterable[tuple[Range, int, Piece]]:
        """Yield the pieces of columns that are saved, by their keys: of which entries, and as of which change."""

    def entries_after(self, changes: int, gaps: Sequence[Range]) -> Iterable[EntryRow]:
        """Yield by key the entries that were stored or changed after that change, and all whose keys lie in gaps."""

    def passages_after(self, changes: int, gaps: Sequence[Range], key: int) -> Iterable[PassageRow]:
        """Yield the passages of such entries after that key, by key, without the damaged ones, which are noted."""

    def units(self, keys: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of passages by key, as rows of an array; 0 for those that are damaged."""


BATCH = 4096
"""Rows that are read at a time."""

MOST_DAMAGED = 20
"""Damaged rows of a read that every reader of the columns is told of."""

T = TypeVar("T")


class Buffer:
    """Holds the columns of one scope."""

    def __init__(self, exact: int, erasures: int) -> None:
        self.mark = Mark(0, erasures)
        self._names, self._ids = Names(), Ids()
        self._entries, self._passages = Table(ENTRY | OF_PASSAGES), Table(PASSAGE)
        self._units, self._order = Units(exact), ThreadOrder()
        self._damaged: dict[Damaged, None] = {}
        self._held: Arrays | None = None
        self._notes: dict[str, Any] = {}
        self._gap = False  # whether entries or passages may be missing that lie before the last
        self._as_rows = 0

    @property
    def nbytes(self) -> int:
        """Return the size of the columns."""
        return sum(part.nbytes for part in (self._ids, self._entries, self._passages, self._units))

    @property
    def damaged(self) -> bool:
        """Return whether rows were left out."""
        return bool(self._damaged)

    @property
    def entries(self) -> int:
        return self._entries.rows

    def unsaved(self) -> tuple[Arrays, Mark] | None:
        """Return the columns if so many were read as rows that they should be saved, and none of them is damaged."""
        if self._held is None or self._damaged or self._as_rows < SIZE:
            return None
        self._as_rows = 0
        return self._held, self.mark

    def without(self, gone: Collection[int], erasures: int) -> Buffer:
        """Return the columns without some entries, by key. Those that were replaced come back when it is read."""
        new = Buffer(self._units.exact, erasures)
        new.mark, new._names, new._gap = Mark(self.mark.changes, erasures), self._names, True
        stays = ~np.isin(self._entries.view()["key"], np.array(sorted(gone), np.int64))
        rows, passages = np.flatnonzero(stays), np.flatnonzero(stays[self._passages.view()["entry"]])
        new._ids, new._entries = self._ids.taken(rows), self._entries.taken(rows)
        new._take_passages(self, passages, np.cumsum(stays) - 1)
        return new

    def read(self, source: Source, mark: Mark) -> Arrays:
        """Read what was written since, and return the columns; the same object until there are others."""
        if self._held is None or self.mark.changes < mark.changes:
            before, gaps = self.mark.changes, list[Range]()
            if self.mark.changes == 0 and not self._entries.rows:
                before, gaps = self._restore(source)
                self._sort_passages()  # else what is read as rows is not found among them
            last = 0 if self._gap else self._last(self._passages)
            with noticed() as damaged:
                known = self._entries.rows
                for entries in _batches(source.entries_after(before, gaps)):
                    self._add_entries(entries, known)
                    self._as_rows += len(entries)
                self._sort_entries()
                known = self._passages.rows
                for passages in _batches(source.passages_after(before, gaps, last)):
                    self._add_passages(passages, known)
                self._sort_passages()
            if self._units.outgrown:
                held = self._passages.view()
                self._units = self._units.anew(held["key"][held["unit"] >= 0], source.units)
            self._damaged |= dict(islice(damaged.items(), MOST_DAMAGED))
            self.mark, self._gap = mark, False
            self._held = Arrays(
                names=self._names,
                ids=self._ids.view(),
                **dict[str, Any](self._entries.view()),
                passages=self._passages.view(),
                units=self._units.held(),
                codes=self._units.codes(),
                dimensions=self._units.dimensions,
                damaged=tuple(self._damaged),
                order=self._order,
                notes=self._notes,
            )
        return self._held

    def _restore(self, source: Source) -> tuple[int, list[Range]]:
        """Take over what is saved. Return as of which change that is, and the ranges of keys that it leaves out."""
        marks, gaps, end = list[int](), list[Range](), 0
        for (first, last), changes, piece in source.saved():
            if not marks and piece.centred > self._units.exact:
                self._units.about(piece.centre, piece.centred)
            marks.append(changes)
            if first >= end and self._add_piece(piece, source):
                gaps.append((end, first - 1))
                end = last + 1
        self._gap = bool(marks)
        return (min(marks), [*gaps, (end, LATEST)]) if marks else (0, [])

    def _add_piece(self, piece: Piece, source: Source) -> bool:
        """Append a saved piece, unless some of its vectors are damaged: then it is read as rows, which note them."""
        vectored = piece.vectored
        if self._units.centre is not None and np.array_equal(self._units.centre, piece.centre):
            self._units.append(piece.words)
        elif vectored.any():
            units = source.units(piece.passages["key"][vectored])
            if not units.any(axis=1).all():
                return False
            self._units.extend(units)
        numbers = np.array([*map(self._names.number, piece.names), -1], np.int32)
        first, begun, end = self._entries.rows, self._passages.rows, self._units.rows
        entries = {name: numbers[values] if name in NAMED else values for name, values in piece.entries.items()}
        nothing = np.zeros(len(piece.lengths), np.int32)
        self._ids.append(piece.lengths, piece.characters)
        self._entries.extend(entries | dict.fromkeys(OF_PASSAGES, nothing))
        unit = np.where(vectored, end - int(vectored.sum()) + np.cumsum(vectored) - 1, -1)
        passages = piece.passages | {"entry": piece.passages["entry"] + first, "unit": unit}
        self._passages.extend(passages)
        self._count(passages, begun)
        return True

    def _add_entries(self, rows: list[EntryRow], known: int) -> None:
        """Change the columns of those entries that are among the first ``known`` rows, and append the others."""
        ids, *values = zip(*rows, strict=True)
        columns = dict(zip(ENTRY, values, strict=True))
        keys = np.array(columns["key"], np.int64)
        places, there = places_of(self._entries.view()["key"][:known], keys)
        if there.any():
            self._entries.change(places[there], {name: np.array(columns[name])[there] for name in CHANGING})
        fresh = ~there if self._gap else keys > self._last(self._entries)  # else it was damaged, and stays left out
        if not fresh.any():
            return
        new = {
            name: np.fromiter(map(self._names.number, values), np.int32, len(ids))
            if name in NAMED
            else np.array(values)
            for name, values in columns.items()
        }
        self._ids.extend(id_ for id_, chosen in zip(ids, fresh.tolist(), strict=True) if chosen)
        nothing = {name: np.zeros(len(ids), np.int32) for name in OF_PASSAGES}
        self._entries.extend({name: values[fresh] for name, values in (new | nothing).items()})

    def _add_passages(self, rows: list[PassageRow], known: int) -> None:
        """Append the passages that are not among the first ``known`` rows and whose entries are there."""
        keys, entries, starts, ends, words, vectors = zip(*rows, strict=True)
        numbers = np.array(keys, np.int64)
        places, there = places_of(self._entries.view()["key"], np.array(entries, np.int64))  # else its entry is damaged
        if self._gap:
            there &= ~places_of(self._passages.view()["key"][:known], numbers)[1]
        has = np.fromiter((vector is not None for vector in vectors), bool, len(vectors)) & there
        unit = np.where(has, self._units.rows + np.cumsum(has) - 1, -1)
        columns = {"key": numbers, "entry": places, "start": starts, "end": ends, "words": words, "unit": unit}
        if found := [vector for vector, held in zip(vectors, has.tolist(), strict=True) if held and vector]:
            self._units.extend(matrix(found, size_of(found[0])))
        first, arrays = self._passages.rows, {name: np.asarray(values)[there] for name, values in columns.items()}
        self._passages.extend(arrays)
        self._count(arrays, first)

    def _count(self, passages: dict[str, NDArray[Any]], first: int) -> None:
        """Note of each entry which passages it has. They are one behind the other."""
        rows, at, counts = np.unique(passages["entry"], return_index=True, return_counts=True)
        words = np.bincount(np.searchsorted(rows, passages["entry"]), passages["words"], len(rows)).astype(np.int32)
        known = self._entries.view()
        begun = known["count"][rows] > 0  # in the batch before
        self._entries.change(
            rows,
            {
                "first_passage": np.where(begun, known["first_passage"][rows], first + at),
                "count": known["count"][rows] + counts,
                "words": known["words"][rows] + words,
            },
        )

    def _sort_entries(self) -> None:
        """Put entries in the order of their keys, if some came back that lie before the last."""
        keys = self._entries.view()["key"]
        if not self._gap or (keys[1:] > keys[:-1]).all():
            return
        order = np.argsort(keys)
        self._ids, self._entries = self._ids.taken(order), self._entries.taken(order)
        self._take_passages(self, np.arange(self._passages.rows), np.argsort(order))

    def _sort_passages(self) -> None:
        keys = self._passages.view()["key"]
        if self._gap and not (keys[1:] > keys[:-1]).all():
            self._take_passages(self, np.argsort(keys), np.arange(self._entries.rows))

    def _take_passages(self, other: Buffer, rows: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        """Have some passages of columns, in that order. ``places`` are the rows of entries now, by the former."""
        units = other._passages.view()["unit"][rows]
        self._units, self._passages = other._units.taken(units[units >= 0]), other._passages.taken(rows)
        passages, every = self._passages.view(), np.arange(self._passages.rows)
        numbers = np.where(units >= 0, np.cumsum(units >= 0) - 1, -1)
        self._passages.change(every, {"entry": places[passages["entry"]], "unit": numbers})
        passages = self._passages.view()
        self._entries.change(
            np.arange(self._entries.rows), dict.fromkeys(OF_PASSAGES, np.zeros(self._entries.rows, np.int32))
        )
        self._count(passages, 0)

    def _last(self, table: Table) -> int:
        return int(table.view()["key"][-1]) if table.rows else 0


def _batches(rows: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, BATCH)):
        yield batch


class ColumnCache:
    """Keeps the columns of the scopes used last, which together take at most ``budget`` bytes, or one scope alone.

    Of a scope it holds at most ``exact`` vectors as they are, and of one that has more only their codes.
    """

    def __init__(self, exact: int, budget: int) -> None:
        self.exact, self.budget = exact, budget
        self._scopes: OrderedDict[object, Buffer] = OrderedDict()
        self._lock = threading.Lock()

    def arrays(self, scope: object, source: Source) -> tuple[Arrays, bool]:
        """Return the scope's columns, and whether they are newer than the source.

        A snapshot that is older than an erasure which the cache has seen has columns of its own. Those that are newer
        may hold entries that were stored after the snapshot.
        """
        mark = source.mark()
        with self._lock:
            held = self._scopes.pop(scope, None)  # until it is complete: reading may be interrupted
            if held is not None and held.mark.erasures > mark.erasures:
                self._scopes[scope] = held
                return self.anew(source), False
            if held is not None and held.mark.erasures < mark.erasures:
                gone = source.gone_after(held.mark.erasures)
                held = None if gone is None or held.damaged else held.without(gone, mark.erasures)
            held = held or Buffer(self.exact, mark.erasures)
            arrays = held.read(source, mark)
            self._scopes[scope] = held
            while len(self._scopes) > 1 and self.nbytes > self.budget:
                self._scopes.popitem(last=False)
            return arrays, held.mark.changes > mark.changes

    def unsaved(self, scope: object) -> tuple[Arrays, Mark] | None:
        """Return columns that should be saved, as much of them was read as rows, or ``None``. Once for each time."""
        with self._lock:
            held = self._scopes.get(scope)
            return None if held is None else held.unsaved()

    def holds(self, scope: object) -> bool:
        """Return whether columns of a scope are held."""
        return scope in self._scopes

    def entries(self, scope: object) -> int:
        """Return how many entries' columns are held of a scope."""
        held = self._scopes.get(scope)
        return 0 if held is None else held.entries

    def anew(self, source: Source) -> Arrays:
        """Return the columns of a source, read from the beginning and kept nowhere."""
        mark = source.mark()
        return Buffer(self.exact, mark.erasures).read(source, mark)

    def forget(self) -> None:
        """Drop all columns. Later searches read them again."""
        self._scopes, self._lock = OrderedDict(), threading.Lock()

    @property
    def nbytes(self) -> int:
        """Return the size of the columns that are held."""
        return sum(buffer.nbytes for buffer in self._scopes.values())
