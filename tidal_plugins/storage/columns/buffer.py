"""Columns held in memory, scope by scope: a reader loads what was written since it last looked, by whichever process.

The file stays the only truth, and nothing needs rebuilding after a crash.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from tidal_plugins.storage.columns.tables import (
    CHANGING,
    ENTRY,
    NAMED,
    OF_PASSAGES,
    PASSAGE,
    EntryRow,
    Names,
    PassageRow,
    Table,
    Units,
)
from tidal_plugins.storage.columns.threads import ThreadOrder
from tidal_plugins.storage.damage import Damaged, noticed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tidal_plugins.storage.columns.view import Arrays

BATCH = 4096
"""Rows that are read at a time."""

MOST_DAMAGED = 20
"""Damaged rows of a read that every reader of the columns is told of."""

T = TypeVar("T")


class Mark(NamedTuple):
    """How far columns were read: up to which change, and how often entries had been erased or replaced by then."""

    changes: int
    erasures: int


class Source(Protocol):
    """The origin of columns: one scope of an open snapshot."""

    def mark(self) -> Mark:
        """Return how far the scope has come."""

    def entries_after(self, changes: int) -> Iterable[EntryRow]:
        """Yield the entries that were stored or changed after that change, by key."""

    def passages_after(self, changes: int, key: int) -> Iterable[PassageRow]:
        """Yield the passages of such entries after that key, by key, without the damaged ones, which are noted."""


class ColumnCache:
    """Keeps the columns of the scopes used last; the vectors of all together take at most ``budget`` bytes."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
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
            if held is None or held.mark.erasures < mark.erasures:
                held = Buffer(self.budget, mark.erasures)
            arrays = held.read(source, mark)
            self._scopes[scope] = held
            while len(self._scopes) > 1 and sum(one.nbytes for one in self._scopes.values()) > self.budget:
                self._scopes.popitem(last=False)
            return arrays, held.mark.changes > mark.changes

    def anew(self, source: Source) -> Arrays:
        """Return the columns of a source, read from the beginning and kept nowhere."""
        mark = source.mark()
        return Buffer(self.budget, mark.erasures).read(source, mark)

    def forget(self) -> None:
        """Drop all columns. Later searches read them again."""
        self._scopes, self._lock = OrderedDict(), threading.Lock()

    @property
    def nbytes(self) -> int:
        """Return the size of the vectors that are held."""
        return sum(buffer.nbytes for buffer in self._scopes.values())


class Buffer:
    """Holds the columns of one scope."""

    def __init__(self, budget: int, erasures: int) -> None:
        self.mark = Mark(0, erasures)
        self._names, self._ids = Names(), list[str]()
        self._entries, self._passages = Table(ENTRY | OF_PASSAGES), Table(PASSAGE)
        self._units, self._order = Units(budget), ThreadOrder()
        self._damaged: dict[Damaged, None] = {}
        self._held: Arrays | None = None
        self._notes: dict[str, Any] = {}

    @property
    def nbytes(self) -> int:
        return self._units.nbytes

    def read(self, source: Source, mark: Mark) -> Arrays:
        """Read what was written since, and return the columns; the same object until there are others."""
        from tidal_plugins.storage.columns.view import Arrays

        if self._held is None or self.mark.changes < mark.changes:
            before, last = self.mark.changes, self._last(self._passages)
            with noticed() as damaged:
                for entries in _batches(source.entries_after(before)):
                    self._add_entries(entries)
                for passages in _batches(source.passages_after(before, last)):
                    self._add_passages(passages)
            self._damaged |= dict(islice(damaged.items(), MOST_DAMAGED))
            self.mark = mark
            self._held = Arrays(
                names=self._names,
                ids=self._ids,
                **dict[str, Any](self._entries.view()),
                passages=self._passages.view(),
                units=self._units.view(),
                dimensions=self._units.dimensions,
                damaged=tuple(self._damaged),
                order=self._order,
                notes=self._notes,
            )
        return self._held

    def _add_entries(self, rows: list[EntryRow]) -> None:
        import numpy as np

        last, known = self._last(self._entries), [row for row in rows if row[1] <= self._last(self._entries)]
        if known:
            columns = dict(zip(("id", *ENTRY), zip(*known, strict=True), strict=True))
            held, keys = self._entries.view()["key"], np.array(columns["key"], np.int64)
            places = np.searchsorted(held, keys)
            there = held[places] == keys  # else it was damaged when the others were read, and stays left out
            self._entries.change(places[there], {name: np.array(columns[name])[there] for name in CHANGING})
        if new := [row for row in rows if row[1] > last]:
            columns = dict(zip(("id", *ENTRY), zip(*new, strict=True), strict=True))
            number = self._names.number
            self._ids += columns["id"]
            self._entries.extend(
                {name: list(map(number, columns[name])) if name in NAMED else columns[name] for name in ENTRY}
                | {name: np.zeros(len(new), np.int32) for name in OF_PASSAGES}
            )

    def _add_passages(self, rows: list[PassageRow]) -> None:
        import numpy as np

        keys, entries, starts, ends, words, vectors = zip(*rows, strict=True)
        known, wanted = self._entries.view()["key"], np.array(entries, np.int64)
        places = np.searchsorted(known, wanted).clip(max=max(len(known) - 1, 0))
        there = known[places] == wanted if len(known) else np.zeros(len(wanted), bool)  # else its entry is damaged
        has = np.fromiter((vector is not None for vector in vectors), bool, len(vectors)) & there
        unit = np.where(has, self._units.rows + np.cumsum(has) - 1, -1)
        columns = {"key": keys, "entry": places, "start": starts, "end": ends, "words": words, "unit": unit}
        self._units.extend([vector for vector, held in zip(vectors, has.tolist(), strict=True) if held and vector])
        first, arrays = self._passages.rows, {name: np.asarray(values)[there] for name, values in columns.items()}
        self._passages.extend(arrays)
        self._count(arrays, first)

    def _count(self, passages: dict[str, NDArray[Any]], first: int) -> None:
        """Note of each entry which passages it has. They are one behind the other."""
        import numpy as np

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

    def _last(self, table: Table) -> int:
        return int(table.view()["key"][-1]) if table.rows else 0


def _batches(rows: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, BATCH)):
        yield batch
