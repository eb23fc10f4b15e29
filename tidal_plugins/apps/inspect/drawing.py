"""Drawings: numbers, and what lies around one thing, as shapes that a template puts into SVG.

A class, and no style, gives a shape its colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import atan2, cos, degrees, pi, sin
from typing import NamedTuple

COLOURS = 8

WIDTH, HEIGHT = 600.0, 150.0
"""Size of the room for a curve, in units of its SVG."""


RING = 170
"""The distance from ring to ring."""

ROOM = 190
"""The room for a name beyond the outermost nodes."""

LONG, SHORT = 24, 18
"""Letters of a name, and of one that has nodes behind it."""


class Segment(NamedTuple):
    """A part of a stacked bar, in percent of its room. ``colour`` is the number of a class."""

    name: str
    value: float
    x: float
    width: float
    colour: int


class Point(NamedTuple):
    """A point of a curve. ``inside`` says whether it is drawn full."""

    x: float
    y: float
    told: str
    inside: bool


def extent(bars: Iterable[Mapping[str, float]]) -> tuple[float, float]:
    """Return how far several bars reach to the left and to the right, so that they have one scale."""
    low, high = 0.0, 0.0
    for bar in bars:
        low = min(low, sum(part for part in bar.values() if part < 0))
        high = max(high, sum(part for part in bar.values() if part > 0))
    return (low, high) if high > low else (0.0, 1.0)


def stacked(parts: Mapping[str, float], room: tuple[float, float], colours: Mapping[str, int]) -> list[Segment]:
    """Return parts one after another: those above zero to the right of it, the others to the left."""
    low, high = room
    share, right, left = 100 / (high - low), -low, -low
    found = []
    for name, value in parts.items():
        if value >= 0:
            start, right = right, right + value
        else:
            start = left = left + value
        found.append(Segment(name, value, start * share, abs(value) * share, colours.get(name, COLOURS - 1)))
    return found


def height(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """Return the place of a value between two bounds, from the top of the room for a curve."""
    return HEIGHT - (min(max(value, low), high) - low) / (high - low) * HEIGHT


def curve(values: Sequence[tuple[float, str, bool]], low: float = 0.0, high: float = 1.0) -> list[Point]:
    """Return values, each with its words and whether it is drawn full, as points at equal distances."""
    step = WIDTH / max(1, len(values) - 1)
    return [
        Point(place * step, height(value, low, high), told, full) for place, (value, told, full) in enumerate(values)
    ]


def line(points: Sequence[Point]) -> str:
    """Return points as those of a polyline."""
    return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in points)


class Node(NamedTuple):
    """Something to draw: its id, a name, where a click leads, the id that it hangs on, and how strongly it does.

    ``told`` says how it hangs on that, in a word and in a sentence. ``inward`` says that this leads from it.
    """

    id: str
    name: str
    link: str
    parent: str = ""
    strength: float = 1.0
    told: tuple[str, str] = ("", "")
    inward: bool = False


class Placed(NamedTuple):
    """A node with its place, its ring, the place of the one that it hangs on, and how many letters its name may have.

    ``turn`` is the angle of its name, so that names do not lie on each other; ``left`` says that it ends there.
    """

    node: Node
    x: float
    y: float
    ring: int
    from_x: float
    from_y: float
    letters: int
    turn: float
    left: bool


class Drawing(NamedTuple):
    """Placed nodes, and the part of the plane that they take: its left and upper edge, its width and height."""

    nodes: Sequence[Placed]
    view: tuple[float, float, float, float]


def drawn(nodes: Sequence[Node]) -> Drawing:
    """Return nodes around the first of them. Each hangs on an earlier one, or else on the first."""
    ways: dict[str, tuple[int, ...]] = {nodes[0].id: ()}  # by id, the places of the nodes that lead to one, and its own
    for place, node in enumerate(nodes[1:], 1):
        ways[node.id] = (*ways.get(node.parent, ()), place)
    behind = {way[:-1] for way in ways.values() if way}
    leaves = sorted(way for way in ways.values() if way not in behind)

    def point(way: tuple[int, ...]) -> tuple[float, float]:
        below = [place for place, leaf in enumerate(leaves) if leaf[: len(way)] == way]
        angle = 2 * pi * (sum(below) / len(below) + 0.5) / len(leaves) - pi / 2
        return round(RING * len(way) * cos(angle), 1), round(RING * len(way) * sin(angle), 1)

    def placed(node: Node) -> Placed:
        way = ways[node.id]
        (x, y), letters = point(way), SHORT if way in behind else LONG
        turn = degrees(atan2(y, x))
        left = abs(turn) > 90
        return Placed(node, x, y, len(way), *point(way[:-1]), letters, round(turn - 180 if left else turn, 1), left)

    reach = RING * max(map(len, leaves)) + ROOM
    found = [placed(node) for node in nodes]
    ends = [one.y * (1 + ROOM / (RING * max(1, one.ring))) for one in found]  # of the names
    top, bottom = min(-RING / 3, *ends), max(RING / 3, *ends)
    return Drawing(found, (-reach, round(top), 2 * reach, round(bottom - top)))
