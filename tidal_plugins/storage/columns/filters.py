"""Filters over columns: the parts of one that are about a column, and those that only an engine's tables decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import Corrupt
from tidal_plugins.model.clock import to_micros
from tidal_plugins.storage.entries import Where
from tidal_plugins.storage.values import from_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.storage.columns.arrays import Arrays, Rows

STRANGE = ("ids", "episodes", "positions", "metadata", "exclude")
"""The parts of a filter that are about no column."""

FEW = 8
"""Numbers up to which one comparison after the other is faster than a search."""

_NOTHING = Where()


def passing(arrays: Arrays, rows: Rows, where: Where) -> NDArray[np.bool_]:
    """Return which entries pass the parts of a filter that are about columns."""
    import numpy as np

    ok = np.ones(len(rows), bool)
    named = {"kind": where.kinds, "thread": where.threads, "speaker": where.speakers, "source": where.sources}
    for column, names in named.items():
        if names is not None:
            ok &= among(getattr(arrays, column)[rows], arrays.names.known(names))
    if where.not_channels:
        ok &= ~among(arrays.channel[rows], arrays.names.known(where.not_channels))
    if where.tags is not None:
        ok &= _tagged(arrays, rows, frozenset(where.tags))
    if where.least_importance is not None:
        ok &= arrays.importance[rows] >= where.least_importance
    for passed in _in_time(arrays, rows, where):
        ok &= passed
    return ok


def strange(where: Where) -> dict[str, Any]:
    """Return by name the parts of a filter that are about no column, if they ask for anything."""
    return {name: value for name in STRANGE if (value := getattr(where, name)) != getattr(_NOTHING, name)}


def among(column: NDArray[np.int32], numbers: Sequence[int]) -> NDArray[np.bool_]:
    """Return where a column has one of some numbers."""
    import numpy as np

    if len(numbers) > FEW:
        return np.isin(column, np.array(numbers, np.int32))
    found = np.zeros(len(column), bool)
    for number in numbers:
        found |= column == number
    return found


def _tagged(arrays: Arrays, rows: Rows, tags: frozenset[str]) -> NDArray[np.bool_]:
    """Return which entries have any of some tags."""
    import numpy as np

    column = arrays.tags[rows]
    there = (np.flatnonzero(np.bincount(column + 1)) - 1).tolist()
    return among(column, [number for number in there if not tags.isdisjoint(_tags(arrays.names[number]))])


@lru_cache(maxsize=1 << 16)
def _tags(text: str | None) -> frozenset[str]:
    """Return the tags of an entry; none of a damaged one."""
    try:
        found = from_json(text or "[]")
    except Corrupt:
        return frozenset()
    return frozenset(tag for tag in found if isinstance(tag, str)) if isinstance(found, list) else frozenset()


def _in_time(arrays: Arrays, rows: Rows, where: Where) -> Iterator[NDArray[np.bool_]]:
    if where.since is not None:
        yield arrays.occurred_at[rows] >= to_micros(where.since)
    if where.until is not None:
        yield arrays.occurred_at[rows] < to_micros(where.until)
    if where.known_at is not None:
        yield arrays.recorded_at[rows] <= to_micros(where.known_at)
    if where.due_by is not None:
        cold = arrays.cold_at[rows]
        yield (arrays.anchored_at[rows] < cold) & (cold <= to_micros(where.due_by))
    if where.active_at is not None:
        now = to_micros(where.active_at)
        yield (arrays.valid_from[rows] <= now) & (arrays.valid_until[rows] > now)
        if not where.include_archived:
            yield (arrays.archived_at[rows] > now) & (arrays.expires_at[rows] > now)
