"""Shares the lines of a section among threads and sources, so that none crowds out the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tidal_plugins.dossiers.points import Point
from tidal_plugins.patterns import lazy_re

SHARE = 0.5
"""Share of the lines of a section that one thread, or one source, takes as long as others have lines for it: the same
as that of facts."""
_NUMBER = lazy_re(r"\d+")


def shared(points: Sequence[Point], most: int) -> list[Point]:
    """Return at most ``most`` points in their order. Of those of one thread that differ only in numbers one counts.

    A thread has more than its share only where the others leave room.
    """
    shapes = dict[tuple[str, str], Point]()
    for point in points:
        shapes.setdefault(_shape(point), point)
    distinct = list(shapes.values())
    each, taken = max(1, round(SHARE * most)), Counter[str]()
    within, over = list[Point](), list[Point]()
    for point in distinct:
        taken[place(point)] += 1
        (within if taken[place(point)] <= each else over).append(point)
    kept = {id(point) for point in [*within, *over][:most]}
    return [point for point in distinct if id(point) in kept]


def mixed(kinds: Sequence[Sequence[Point]]) -> list[Point]:
    """Return points of several kinds in turn, so that each kind has its share of a section."""
    found: list[Point] = []
    for turn in range(max(map(len, kinds), default=0)):
        found += [points[turn] for points in kinds if turn < len(points)]
    return found


def is_among(point: Point, shown: Iterable[Point]) -> bool:
    """Return whether a point, whole, in part or with other numbers, is among those that are shown."""
    return any(
        _shape(other) == _shape(point)
        or (other.entry.id == point.entry.id and (other.raw in point.raw or point.raw in other.raw))
        for other in shown
    )


def place(point: Point) -> str:
    """Return the thread or the source of a point, or its entry where it has neither."""
    return point.entry.thread or point.entry.source or point.entry.id


def _shape(point: Point) -> tuple[str, str]:
    return place(point), _NUMBER.sub("#", point.plain)
