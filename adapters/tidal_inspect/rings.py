"""Rings: places for what lies around one thing, ring by ring, as numbers that a template draws with."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import NamedTuple

RING = 150
"""The distance from ring to ring."""

ROOM_X, ROOM_Y = 110, 40
"""The room for names beside the outermost nodes, and above and below them."""


class Node(NamedTuple):
    """Something to draw: its id, a name, where a click leads, the id that it hangs on, and how strongly it does."""

    id: str
    name: str
    link: str
    parent: str = ""
    strength: float = 1.0


class Placed(NamedTuple):
    """A node with its place, and the place of the one that it hangs on."""

    node: Node
    x: float
    y: float
    from_x: float
    from_y: float


class Drawing(NamedTuple):
    """Placed nodes, and the part of the plane that they take: its left and upper edge, its width and height."""

    nodes: Sequence[Placed]
    view: tuple[float, float, float, float]


def drawn(nodes: Sequence[Node]) -> Drawing:
    """Return nodes around the first of them. Each hangs on an earlier one, or else on the first."""
    ways: dict[str, tuple[int, ...]] = {nodes[0].id: ()}  # by id, the places of the nodes that lead to one, and its own
    for place, node in enumerate(nodes[1:], 1):
        ways[node.id] = (*ways.get(node.parent, ()), place)
    leaves = sorted(way for way in ways.values() if not any(other[:-1] == way for other in ways.values() if other))

    def point(way: tuple[int, ...]) -> tuple[float, float]:
        below = [place for place, leaf in enumerate(leaves) if leaf[: len(way)] == way]
        angle = 2 * pi * sum(below) / len(below) / len(leaves)
        return round(RING * len(way) * cos(angle), 1), round(RING * len(way) * sin(angle), 1)

    placed = [Placed(node, *point(ways[node.id]), *point(ways[node.id][:-1])) for node in nodes]
    left, right = min(one.x for one in placed) - ROOM_X, max(one.x for one in placed) + ROOM_X
    top, bottom = min(one.y for one in placed) - ROOM_Y, max(one.y for one in placed) + ROOM_Y
    return Drawing(placed, (left, top, right - left, bottom - top))
