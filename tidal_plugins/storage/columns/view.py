"""The columns of one scope as one reader sees them: search by vectors, filters, neighbours, all on arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.errors import Corrupt, InvalidInput
from tidal_plugins.model.clock import to_micros
from tidal_plugins.storage.columns.binary import Codes, candidates
from tidal_plugins.storage.columns.tables import Arrays, Near, Rows, places_of
from tidal_plugins.storage.entries import Match, PassageVectors, Span, Where
from tidal_plugins.storage.rows import from_json

NON_COLUMNAR = ("ids", "episodes", "positions", "metadata", "exclude")
"""Fields of a filter without a column in memory."""

FEW = 8
"""Numbers up to which one comparison after the other is faster than a search."""

_NOTHING = Where()


def passing(arrays: Arrays, rows: Rows, where: Where) -> NDArray[np.bool_]:
    """Return which entries pass the parts of a filter that are about columns."""
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
    """Return by name the fields of a filter without a column in memory, if they ask for anything."""
    return {name: value for name in NON_COLUMNAR if (value := getattr(where, name)) != getattr(_NOTHING, name)}


def among(column: NDArray[np.int32], numbers: Sequence[int]) -> NDArray[np.bool_]:
    """Return where a column has one of some numbers."""
    if len(numbers) > FEW:
        return np.isin(column, np.array(numbers, np.int32))
    found = np.zeros(len(column), bool)
    for number in numbers:
        found |= column == number
    return found


def _tagged(arrays: Arrays, rows: Rows, tags: frozenset[str]) -> NDArray[np.bool_]:
    """Return which entries have any of some tags."""
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


class Found(NamedTuple):
    """Entries that a search found, best first: their rows, those of their best passages, and the scores of these."""

    entries: Rows
    passages: Rows
    scores: NDArray[np.float64]

    @classmethod
    def none(cls) -> Self:
        """Return that nothing was found."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


class Columns(ABC):
    """The columns of a scope in an open snapshot, which sees the entries up to the key ``last``, if one is given."""

    def __init__(self, arrays: Arrays, last: int | None = None) -> None:
        self.arrays = arrays
        self._last = last
        self._chosen: list[tuple[dict[str, Any], Rows | None, Rows | None]] = []
        self._asked: tuple[bytes, NDArray[np.float32]] | None = None

    @abstractmethod
    def matching(self, terms: Sequence[str], k: int, where: Where) -> Found:
        """Return the ``k`` entries whose best passage scores highest in BM25 for any of ``terms``, best first."""

    @abstractmethod
    def rows(self, ids: Sequence[str]) -> Rows:
        """Return the rows of entries by id, −1 for what is not there."""

    @abstractmethod
    def heads(self, rows: Rows) -> list[tuple[str, str]]:
        """Return the first ``HEAD`` and the last ``TAIL`` characters of the texts of entries."""

    @abstractmethod
    def emotions(self, rows: Rows) -> list[Mapping[str, float] | None]:
        """Return the emotions of entries, by name."""

    @abstractmethod
    def select(self, where: Where) -> Rows:
        """Return the keys of the entries that pass a filter, in any order."""

    def nearest(self, unit: NDArray[np.float32], k: int, where: Where) -> Found:
        """Return the ``k`` entries whose best passage has the highest cosine with ``unit``, best first.

        If only codes are held, these are the best of the candidates that codes give, compared exactly. Raises
        ``InvalidInput`` for a vector of another size.
        """
        arrays = self.arrays
        if arrays.dimensions and len(unit) != arrays.dimensions:
            raise InvalidInput(f"a vector has {len(unit)} dimensions, not {arrays.dimensions} as the store's")
        if not len(arrays.vectored):
            return Found.none()
        if arrays.codes is None:
            return self.best(arrays.vectored.astype(np.int64), self.cosines_of_all(unit), k, where)
        size = candidates(k, len(arrays.vectored))
        while True:
            passages = self._likely(arrays.codes, unit, size, where)
            found = self.best(passages, np.vecdot(self.units(passages), unit), k, where)
            if len(found.entries) == k or len(passages) < size:
                return found
            size *= 4  # several are of one entry

    def _likely(self, codes: Codes, unit: NDArray[np.float32], size: int, where: Where) -> Rows:
        """Return ``size`` of the passages that pass a filter, likely the nearest to ``unit``, or all that pass.

        The filter is looked up for the nearest alone. If few of them pass, it is looked up for all first.
        """
        vectored, entry = self.arrays.vectored, self.arrays.passages["entry"]
        rows = codes.nearest(unit, size, lambda rows: self.passes(entry[vectored[rows]].astype(np.int64), where))
        if len(rows) < min(size, len(vectored)):
            chosen = np.flatnonzero(self.passes(np.arange(self.arrays.rows), where)[entry[vectored]])
            rows = codes.nearest(unit, size, lambda rows: np.ones(len(rows), bool), chosen)
        return np.sort(vectored[rows]).astype(np.int64)

    def best(self, passages: Rows, scores: NDArray[np.floating[Any]], k: int, where: Where) -> Found:
        """Return the ``k`` entries with the highest scores of those that pass a filter, each with its best passage.

        It goes down the ranking in growing steps. If so few pass that it would go halfway, it filters all first. The
        first step is twice ``k``: a third of a conversation's entries are its episodes, which few filters let through.
        """
        entry, size = self.arrays.passages["entry"], 2 * k + 4
        while k > 0 and len(passages):
            order = top(scores, min(size, len(scores)))
            entries = entry[passages[order]].astype(np.int64)
            order = order[passed := self.passes(entries, where)]
            best: dict[int, int] = {}
            for place, row in enumerate(entries[passed].tolist()):
                best.setdefault(row, place)
            first = list(best.values())[:k]
            if len(first) == k or size >= len(scores):
                order = order[first]
                return Found(entries[passed][first], passages[order], scores[order].astype(np.float64))
            size *= 2 * k // max(len(first), 1)  # as many of what follows pass as of the first, or half as many
            if size > len(scores) // 2:
                kept = np.flatnonzero(self.passes(entry[passages].astype(np.int64), where))
                passages, scores = passages[kept], scores[kept]
        return Found.none()

    def cosines_of_all(self, unit: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of each vector in memory with ``unit``. Those of the last one are kept: one recall searches
        several times."""
        assert self.arrays.units is not None
        asked = unit.tobytes()
        if self._asked is not None and self._asked[0] == asked:
            return self._asked[1]
        # Row by row, not ``@``: a second BLAS thread gains half a millisecond and waits for many on a busy machine.
        cosines: NDArray[np.float32] = np.vecdot(self.arrays.units, unit)
        self._asked = asked, cosines
        return cosines

    def cosines(self, unit: NDArray[np.float32], rows: Rows) -> tuple[NDArray[np.float64], Rows]:
        """Return the highest cosine of each entry's passages with ``unit``, and the row of that passage.

        They are 0 and −1 for an entry without a vector.
        """
        if not len(rows):
            return np.zeros(0), np.empty(0, np.int64)
        place, passages = self.passages_of(rows)
        there = self.arrays.passages["unit"][passages] >= 0
        place, passages = place[there], passages[there]
        cosines, best = np.zeros(len(rows)), np.full(len(rows), -1, np.int64)
        if not len(passages):
            return cosines, best
        if self.arrays.units is None:
            scores = np.vecdot(self.units(passages), unit)
        else:
            scores = self.cosines_of_all(unit)[self.arrays.passages["unit"][passages]]
        if np.array_equal(place, np.arange(len(rows))):  # one each, as nearly every turn has
            return scores.astype(np.float64), passages
        order = np.lexsort((-scores, place))
        owners, first = np.unique(place[order], return_index=True)
        cosines[owners], best[owners] = scores[order[first]], passages[order[first]]
        return cosines, best

    def passages_of(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the rows of all passages of entries, each after the place of its entry in ``rows``."""
        counts = self.arrays.count[rows].astype(np.int64)
        place = np.repeat(np.arange(len(rows)), counts)
        within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
        return place, self.arrays.first_passage[rows][place] + within

    def units(self, passages: Rows) -> NDArray[np.float32]:
        """Return the vectors of passages that have one, by row."""
        assert self.arrays.units is not None
        units: NDArray[np.float32] = self.arrays.units[self.arrays.passages["unit"][passages]]
        return units

    def matches(self, found: Found) -> list[Match]:
        """Return what a search found, by id."""
        passages, ids = self.arrays.passages, self.ids(found.entries)
        spans = (passages[name][found.passages].tolist() for name in ("start", "end", "words"))
        return [Match(*values) for values in zip(ids, found.scores.tolist(), *spans, strict=True)]

    def vectors(self, rows: Rows) -> PassageVectors:
        """Return the vectors of all passages of entries, without those that have none."""
        place, passages = self.passages_of(rows)
        there = self.arrays.passages["unit"][passages] >= 0
        passages, place = passages[there], place[there]
        if not (intact := (units := self.units(passages)).any(axis=1)).all():
            passages, place, units = passages[intact], place[intact], units[intact]
        spans = (self.arrays.passages[name][passages].tolist() for name in ("start", "end", "words"))
        return PassageVectors([Span(*values) for values in zip(self.ids(rows[place]), *spans, strict=True)], units)

    def near(self, rows: Rows, reach: int, where: Where) -> Near:
        """Return what stands at most ``reach`` places from entries in their threads, counting only what passes."""
        return self.arrays.order.near(self.arrays, rows, reach, lambda some: self.passes(some, where))

    def ids(self, rows: Rows) -> list[str]:
        """Return the ids of entries."""
        return self.arrays.ids.at(rows)

    def passes(self, rows: Rows, where: Where) -> NDArray[np.bool_]:
        """Return which entries a filter lets through."""
        ok = passing(self.arrays, rows, where)
        if self._last is not None:
            ok &= self.arrays.key[rows] <= self._last
        accepted, rejected = self._strange(where)
        if accepted is not None:
            ok &= np.isin(rows, accepted)
        if rejected is not None:
            ok &= ~np.isin(rows, rejected)
        return ok

    def _strange(self, where: Where) -> tuple[Rows | None, Rows | None]:
        """Return the rows that pass a filter's fields without a column, and those that it excludes."""
        asked = strange(where)
        if not asked:
            return None, None
        for known, accepted, rejected in self._chosen:
            if known == asked:
                return accepted, rejected
        excluded, accepted, rejected = asked.get("exclude", ()), None, None
        if wanted := {name: value for name, value in asked.items() if name != "exclude"}:
            accepted = self.of_keys(self.select(Where(**wanted)))[0]
        if excluded:
            parts = [self.select(Where(ids=excluded)), self.select(Where(episodes=excluded))]
            rejected = np.concatenate([self.of_keys(keys)[0] for keys in parts])
        self._chosen.append((asked, accepted, rejected))
        return accepted, rejected

    def of_keys(self, keys: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        """Return the rows of those entries that have columns, and for each key whether its entry does."""
        places, there = places_of(self.arrays.key, keys)
        return places[there], there

    def passages_of_keys(self, keys: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        """Return the rows of those passages that have columns, and for each key whether its passage does."""
        places, there = places_of(self.arrays.passages["key"], keys)
        return places[there], there


def top(scores: NDArray[np.floating[Any]], count: int) -> NDArray[np.int64]:
    """Return the positions of the ``count`` highest scores, best first, ties in the order stored."""
    if count < len(scores):
        threshold = np.partition(scores, -count)[-count]
        chosen = np.flatnonzero(scores >= threshold)
    else:
        chosen = np.arange(len(scores))
    return chosen[np.argsort(-scores[chosen], kind="stable")][:count]
