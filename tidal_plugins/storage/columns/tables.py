"""The arrays of one scope, which grow as entries are stored, and the order of entries in their threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.cached import cached_property
from tidal_plugins.storage.columns.binary import Codes, room
from tidal_plugins.storage.damage import Damaged

Passes = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"A function that returns for rows of entries whether a filter lets them through."
Rows = NDArray[np.int64]
EARLIEST, LATEST = -(2**63), 2**63 - 1
"""Stand for a time that is missing: it lies before, or after, all others."""

ENTRY = {
    "key": "i8", "kind": "i4", "channel": "i4", "role": "i4", "speaker": "i4", "thread": "i4", "source": "i4",
    "tags": "i4", "importance": "f4",
    "occurred_at": "i8", "recorded_at": "i8", "valid_from": "i8", "valid_until": "i8", "valence": "f4",
    "weight": "f8", "anchored_at": "i8", "half_life": "f8", "cold_at": "i8", "archived_at": "i8", "expires_at": "i8",
}  # fmt: skip
"""The columns of an entry, by name, in the order of the rows that an engine gives. Times are in microseconds.

A time that is missing is ``LATEST``, of ``valid_from`` ``EARLIEST``. An entry without affect has the valence 0, and one
without a tier the weight −1. ``tags`` is a JSON array as one name; no tags are none."""

OF_PASSAGES = {"first_passage": "i4", "count": "i4", "words": "i4"}
"""What an entry's passages say of it: the row of the first of them, how many there are, and their analysed words."""

PASSAGE = {"key": "i8", "entry": "i4", "start": "i4", "end": "i4", "words": "i4", "unit": "i4"}
"""The columns of a passage: ``entry`` is the row of its entry, ``unit`` that of its vector, −1 without one."""

NAMED = ("kind", "channel", "role", "speaker", "thread", "source", "tags")
"""The columns of an entry whose values are names, as numbers; −1 stands for none."""

CHANGING = (
    "importance", "valence", "weight", "anchored_at", "half_life", "cold_at", "archived_at", "expires_at",
)  # fmt: skip
"""The columns of an entry that change in place."""

FEW = 16
"""Ids up to which it is faster to read one after the other than all at once (measured)."""

EntryRow = tuple[Any, ...]
"""The id of an entry, followed by its columns."""


class PassageRow(NamedTuple):
    """A passage as an engine gives it: the key of its entry, and its vector as float32 of length 1, if it has one."""

    key: int
    entry: int
    start: int
    end: int
    words: int
    unit: bytes | None


class Names:
    """Numbers names, each once."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = {None: -1}
        self._names: list[str] = []

    def number(self, name: str | None) -> int:
        """Return the number of a name, which it gets if it has none."""
        number = self._numbers.get(name)
        if number is None and name is not None:
            number = self._numbers[name] = len(self._names)
            self._names.append(name)
        return -1 if number is None else number

    def known(self, names: Iterable[str | None]) -> list[int]:
        """Return the numbers of those names that have one."""
        return [number for name in names if (number := self._numbers.get(name)) is not None]

    def __getitem__(self, number: int) -> str | None:
        return self._names[number] if number >= 0 else None


class Table:
    """Arrays of one length, by name.

    A row is written once, beyond the rows of earlier views, so that these need no lock; but those of ``CHANGING``
    columns change in place. A column whose rows are all the same, as those of a time that nothing has, takes no room.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        self.rows = 0
        self._arrays = {name: np.empty(0, kind) for name, kind in fields.items()}

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values() if not _is_constant(array))

    def extend(self, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
        """Append rows: every column, all equally long."""
        end = self.rows + len(columns["key"])
        for name, array in self._arrays.items():  # each by itself: a copy of all at once would take twice the room
            if end > self.rows:
                self._arrays[name] = self._extended(array, np.asarray(columns[name], array.dtype), end)
        self.rows = end

    def _extended(self, array: NDArray[Any], values: NDArray[Any], end: int) -> NDArray[Any]:
        first = array[0] if self.rows else values[0]
        if (not self.rows or _is_constant(array)) and (values == first).all():
            return np.broadcast_to(np.array(first, array.dtype), (end,))
        if _is_constant(array) or end > len(array):
            array = self._copied(array, end)
        array[self.rows : end] = values
        return array

    def _copied(self, array: NDArray[Any], end: int) -> NDArray[Any]:
        copied = np.empty(room(end), array.dtype)
        copied[: self.rows] = array[: self.rows]
        return copied

    def change(self, rows: NDArray[np.int64], columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
        """Write new values into rows."""
        for name, values in columns.items():
            if _is_constant(self._arrays[name]):
                self._arrays[name] = self._copied(self._arrays[name], self.rows)
            self._arrays[name][rows] = values

    def view(self) -> dict[str, NDArray[Any]]:
        """Return the arrays, as long as they are now."""
        return {name: array[: self.rows] for name, array in self._arrays.items()}

    def taken(self, rows: NDArray[np.int64]) -> Table:
        """Return a new table of some rows, in that order."""
        new = Table({name: array.dtype.str for name, array in self._arrays.items()})
        new.extend({name: array[rows] for name, array in self.view().items()})
        return new


def _is_constant(array: NDArray[Any]) -> bool:
    """Return whether an array stands for one value."""
    return array.strides == (0,)


class Ids(Sequence[str]):
    """The ids of entries by row, as bytes one behind the other: a ``str`` for each would take three times the room.

    What was appended later is not seen through an earlier ``view``.
    """

    def __init__(self) -> None:
        self._ends, self._bytes, self._rows = np.zeros(1, np.int64), np.empty(0, np.uint8), 0

    def extend(self, ids: Iterable[str]) -> None:
        """Append ids."""
        encoded = [id_.encode("utf-8", "surrogatepass") for id_ in ids]
        self.append(np.fromiter(map(len, encoded), np.int64, len(encoded)), np.frombuffer(b"".join(encoded), np.uint8))

    def append(self, lengths: NDArray[np.int64], characters: NDArray[np.uint8]) -> None:
        """Append ids that are given as the lengths of their UTF-8 and as its bytes."""
        begin, rows = int(self._ends[self._rows]), self._rows + len(lengths)
        end = begin + len(characters)
        if rows >= len(self._ends):
            self._ends = np.concatenate([self._ends, np.empty(room(rows + 1) - len(self._ends), np.int64)])
        if end > len(self._bytes):
            self._bytes = np.concatenate([self._bytes, np.empty(room(end) - len(self._bytes), np.uint8)])
        self._bytes[begin:end] = characters
        self._ends[self._rows + 1 : rows + 1] = begin + np.cumsum(lengths)
        self._rows = rows

    def view(self) -> Ids:
        """Return the ids, as many as there are now."""
        view = Ids()
        view._ends, view._bytes, view._rows = self._ends, self._bytes, self._rows
        return view

    def part(self, first: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the ids of some rows as :meth:`append` takes them."""
        ends = self._ends[first : end + 1]
        return np.diff(ends), self._bytes[ends[0] : ends[-1]]

    def taken(self, rows: NDArray[np.int64]) -> Ids:
        """Return the ids of some rows, in that order."""
        new = Ids()
        for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1) if len(rows) else ():
            new.append(*self.part(int(run[0]), int(run[-1]) + 1))
        return new

    def __len__(self) -> int:
        return self._rows

    @property
    def nbytes(self) -> int:
        return self._ends.nbytes + self._bytes.nbytes

    def at(self, rows: NDArray[np.int64]) -> list[str]:
        """Return the ids of some rows."""
        if len(rows) <= FEW:
            return [self[row] for row in rows.tolist()]
        starts, lengths = self._ends[rows], self._ends[rows + 1] - self._ends[rows]
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1]) + np.repeat(starts - ends + lengths, lengths)
        joined = self._bytes[places].tobytes()
        if not joined.isascii():
            return [self[row] for row in rows.tolist()]
        text, cuts = joined.decode("ascii"), [0, *ends.tolist()]
        return [text[start:end] for start, end in pairwise(cuts)]

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(self._rows))]
        if row >= self._rows:
            raise IndexError(row)
        return self._bytes[self._ends[row] : self._ends[row + 1]].tobytes().decode("utf-8", "surrogatepass")


UNSORTED = 2048
"""New entries from which on all are sorted anew, or a 64th of all if these are more."""


class Threads(Protocol):
    """The columns that say where entries stand in their threads, by key."""

    @property
    def key(self) -> NDArray[np.int64]: ...

    @property
    def kind(self) -> NDArray[np.int32]: ...

    @property
    def thread(self) -> NDArray[np.int32]: ...

    @property
    def occurred_at(self) -> NDArray[np.int64]: ...


class Near(NamedTuple):
    """Entries that stand near others in their threads: ``other`` stands ``places`` after ``row``, or before it."""

    row: NDArray[np.int64]
    other: NDArray[np.int64]
    places: NDArray[np.int64]


class _Sorted(NamedTuple):
    """The first ``rows`` entries in the order of thread, kind, time and key. ``place`` is where each row stands."""

    rows: int
    order: NDArray[np.int32]
    place: NDArray[np.int32]
    threads: NDArray[np.int32]


class ThreadOrder:
    """Finds the entries before and after others in their threads."""

    def __init__(self) -> None:
        self._sorted: _Sorted | None = None
        self._lock = threading.Lock()

    def near(self, arrays: Threads, rows: NDArray[np.int64], reach: int, passes: Passes) -> Near:
        """Return what stands at most ``reach`` places from each of ``rows``, counting only what passes."""
        held = self._brought(arrays)
        rows = rows[arrays.thread[rows] >= 0]
        mixed = np.isin(arrays.thread[rows], arrays.thread[held.rows :])
        found, left = _adjacent(arrays, held, rows[~mixed], reach, passes)
        slow = [*left.tolist(), *rows[mixed].tolist()]
        parts = [found, *(_adjacent_to(arrays, held, row, reach, passes) for row in slow)]
        return Near(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _brought(self, arrays: Threads) -> _Sorted:
        held, count = self._sorted, len(arrays.key)
        if held is None or held.rows > count or count - held.rows > max(UNSORTED, held.rows // 64):
            with self._lock:
                order = np.lexsort((arrays.key, arrays.occurred_at, arrays.kind, arrays.thread)).astype(np.int32)
                place = np.empty(count, np.int32)
                place[order] = np.arange(count, dtype=np.int32)
                held = self._sorted = _Sorted(count, order, place, arrays.thread[order])
        return held


def _adjacent(
    arrays: Threads, held: _Sorted, rows: NDArray[np.int64], reach: int, passes: Passes
) -> tuple[Near, NDArray[np.int64]]:
    """Return what stands beside entries whose threads are all sorted, and the rows for which more must be looked at,
    since a neighbour does not pass."""
    steps = np.array([step for step in range(-reach, reach + 1) if step], np.int64)
    at = held.place[rows][:, None] + steps
    other = held.order[at.clip(0, max(held.rows - 1, 0))] if held.rows else at
    own = rows[:, None]
    beside = [(at >= 0), (at < held.rows), arrays.thread[other] == arrays.thread[own]]
    inside = np.logical_and.reduce([*beside, arrays.kind[other] == arrays.kind[own]])
    fit = np.ones(len(rows), bool)
    if inside.any():
        passed = np.ones(inside.shape, bool)
        passed[inside] = passes(other[inside])
        fit = np.logical_and.reduce(passed, axis=1)
    kept = inside & fit[:, None]
    places = np.broadcast_to(steps, kept.shape)
    return Near(np.broadcast_to(own, kept.shape)[kept], other[kept], places[kept]), rows[~fit]


def _adjacent_to(arrays: Threads, held: _Sorted, row: int, reach: int, passes: Passes) -> Near:
    """Return what stands beside one entry, among all of its thread."""
    thread, kind = arrays.thread[row], arrays.kind[row]
    low, high = np.searchsorted(held.threads, thread, "left"), np.searchsorted(held.threads, thread, "right")
    known = np.concatenate([held.order[low:high], held.rows + np.flatnonzero(arrays.thread[held.rows :] == thread)])
    known = known[arrays.kind[known] == kind]
    known = known[np.logical_or(passes(known), known == row)]
    known = known[np.lexsort((arrays.key[known], arrays.occurred_at[known]))]
    at = int(np.flatnonzero(known == row)[0])
    before, after = known[max(0, at - reach) : at], known[at + 1 : at + 1 + reach]
    places = np.concatenate([np.arange(-len(before), 0), np.arange(1, len(after) + 1)])
    other = np.concatenate([before, after])
    return Near(np.full(len(other), row), other, places)


@dataclass(frozen=True, eq=False)
class Arrays:
    """The columns of a scope. They are shared: read only.

    Those of ``ENTRY`` and ``OF_PASSAGES`` have one row for each entry, by key; ``passages`` has those of ``PASSAGE``,
    by key. ``units`` are vectors of length 1, by the row that ``passages`` gives them; ``None`` if only their ``codes``
    are held. ``damaged`` are rows that were left out.
    """

    names: Names
    ids: Ids
    key: NDArray[np.int64]
    kind: NDArray[np.int32]
    channel: NDArray[np.int32]
    role: NDArray[np.int32]
    speaker: NDArray[np.int32]
    thread: NDArray[np.int32]
    source: NDArray[np.int32]
    tags: NDArray[np.int32]
    importance: NDArray[np.float32]
    occurred_at: NDArray[np.int64]
    recorded_at: NDArray[np.int64]
    valid_from: NDArray[np.int64]
    valid_until: NDArray[np.int64]
    valence: NDArray[np.float32]
    weight: NDArray[np.float64]
    anchored_at: NDArray[np.int64]
    half_life: NDArray[np.float64]
    cold_at: NDArray[np.int64]
    archived_at: NDArray[np.int64]
    expires_at: NDArray[np.int64]
    first_passage: NDArray[np.int32]
    count: NDArray[np.int32]
    words: NDArray[np.int32]
    passages: Mapping[str, NDArray[Any]]
    units: NDArray[np.float32] | None
    codes: Codes | None
    dimensions: int
    damaged: Sequence[Damaged]
    order: ThreadOrder
    notes: dict[str, Any]
    """What readers know of the entries, by name: it is shared, and lasts as long as no entry goes or is replaced."""

    @property
    def rows(self) -> int:
        """Return how many entries there are."""
        return len(self.key)

    @cached_property
    def vectored(self) -> NDArray[np.int32]:
        """Return the rows of the passages that have a vector, by its row."""
        return np.flatnonzero(self.passages["unit"] >= 0).astype(np.int32)


def places_of(known: NDArray[np.int64], keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where keys are among those known, which are sorted, and which of them are there."""
    if not len(known):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
    places = np.searchsorted(known, keys).clip(max=len(known) - 1)
    return places, known[places] == keys
