"""Points that say again what a newer one says."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tidal_plugins.dossiers.points import Point, is_denied
from tidal_plugins.english.values import values
from tidal_plugins.model.entry import FACT, SYNTHESIS

ALIKE = 0.75
"""Share of the words of the shorter of two statements that both have, from which on they say the same."""


def same(point: Point, other: Point) -> bool:
    """Return whether two points say the same: they share nearly all words of the shorter one, and deny alike."""
    fewer = min(len(point.words), len(other.words))
    if not fewer or len(point.words & other.words) < ALIKE * fewer:
        return False
    return is_denied(point) == is_denied(other)


def distinct(newest_first: Sequence[Point]) -> list[Point]:
    """Return the points without those that a newer one says again, with the same values.

    What a person said is not replaced by what an agent or a document says, and neither is a document.
    """
    kept = _Kept()
    for point in newest_first:
        if not any(same(point, newer) and _may_replace(newer, point) for newer in kept.near(point)):
            kept.add(point)
    return kept.points


class _Kept:
    """The points that are kept, by their words and by their values.

    A list of hundreds of tasks that differ in a number shares nearly all words, so words are only counted.
    """

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._with_word = defaultdict[str, list[int]](list)
        self._with_value = defaultdict[str, set[int]](set)

    def add(self, point: Point) -> None:
        for word in point.words:
            self._with_word[word].append(len(self.points))
        for value in _values(point.raw):
            self._with_value[value].add(len(self.points))
        self.points.append(point)

    def near(self, point: Point) -> Iterator[Point]:
        """Yield the points that have the values of another one and, where it has none, most of its words."""
        if held := _values(point.raw):
            places = set.intersection(*(self._with_value[value] for value in held))
        else:
            shared = Counter[int]()
            for word in point.words:
                shared.update(self._with_word[word])
            places = {place for place, count in shared.items() if self._is_enough(count, point, place)}
        return (self.points[place] for place in places if not point.stems.isdisjoint(self.points[place].stems))

    def _is_enough(self, count: int, point: Point, place: int) -> bool:
        return count >= ALIKE * min(len(point.words), len(self.points[place].words))


def _may_replace(newer: Point, older: Point) -> bool:
    made = newer.entry.channel == SYNTHESIS  # it stands for what it was made from
    if newer.entry.kind != older.entry.kind and older.entry.kind != FACT and not made:
        return False
    return older.by_agent or not newer.by_agent


@lru_cache(maxsize=1 << 13)
def _values(text: str) -> frozenset[str]:
    return frozenset(value.text.lower() for value in values(text))
