"""The order of entries in their threads, kept so that a few new entries need no sorting of all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Passes = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
    """A function that returns for rows of entries whether a filter lets them through."""

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
    order: NDArray[np.int64]
    place: NDArray[np.int64]
    threads: NDArray[np.int32]


class ThreadOrder:
    """Finds the entries before and after others in their threads."""

    def __init__(self) -> None:
        self._sorted: _Sorted | None = None
        self._lock = threading.Lock()

    def near(self, arrays: Threads, rows: NDArray[np.int64], reach: int, passes: Passes) -> Near:
        """Return what stands at most ``reach`` places from each of ``rows``, counting only what passes."""
        import numpy as np

        held = self._brought(arrays)
        rows = rows[arrays.thread[rows] >= 0]
        mixed = np.isin(arrays.thread[rows], arrays.thread[held.rows :])
        found, left = _adjacent(arrays, held, rows[~mixed], reach, passes)
        slow = [*left.tolist(), *rows[mixed].tolist()]
        parts = [found, *(_adjacent_to(arrays, held, row, reach, passes) for row in slow)]
        return Near(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _brought(self, arrays: Threads) -> _Sorted:
        import numpy as np

        held, count = self._sorted, len(arrays.key)
        if held is None or held.rows > count or count - held.rows > max(UNSORTED, held.rows // 64):
            with self._lock:
                order = np.lexsort((arrays.key, arrays.occurred_at, arrays.kind, arrays.thread))
                place = np.empty(count, np.int64)
                place[order] = np.arange(count)
                held = self._sorted = _Sorted(count, order, place, arrays.thread[order])
        return held


def _adjacent(
    arrays: Threads, held: _Sorted, rows: NDArray[np.int64], reach: int, passes: Passes
) -> tuple[Near, NDArray[np.int64]]:
    """Return what stands beside entries whose threads are all sorted, and the rows for which more must be looked at,
    since a neighbour does not pass."""
    import numpy as np

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
    import numpy as np

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
