"""Of all that is shouted, one statement stands in a text: a raised voice must not crowd out the others."""

from __future__ import annotations

from collections.abc import Iterable

from tidal_plugins.dossiers.points import Point
from tidal_plugins.english.shouting import is_shouted, shouts


def one_shout(points: Iterable[Point], *, told: bool = False) -> list[Point]:
    """Return points without those that are shouted, but for the first of these; ``told`` if one stands elsewhere."""
    kept: list[Point] = []
    for point in points:
        if not is_loud(point):
            kept.append(point)
        elif not told:
            told = True
            kept.append(point)
    return kept


def is_loud(point: Point) -> bool:
    """Return whether a point, or most of what its entry says, is shouted."""
    return shouts(point.raw) or is_shouted(point.entry.text)
