"""Rings: places for what lies around one thing, ring by ring, as numbers that a template draws with."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import NamedTuple

RING, MARGIN = 150, 110
"""The distance from ring to ring, and the room for names beyond the last one."""


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
    """Placed nodes, the first in the middle, in a square of ``size``."""

    nodes: Sequence[Placed]
    size: int


def drawn(nodes: Sequence[Node]) -> Drawing:
    """Return nodes around the first of them. Each hangs on an earlier one, or else on the first."""
    ways: dict[str, tuple[int, ...]] = {nodes[0].id: ()}  # by id, the places of the nodes that lead to one, and its own
    for place, node in enumerate(nodes[1:], 1):
        ways[node.id] = (*ways.get(node.parent, ()), place)
    leaves = sorted(way for way in ways.values() if not any(other[:-1] == way for other in ways.values() if other))
    half = RING * max(map(len, leaves)) + MARGIN

    def point(way: tuple[int, ...]) -> tuple[float, float]:
        below = [place for place, leaf in enumerate(leaves) if leaf[: len(way)] == way]
        angle = 2 * pi * sum(below) / len(below) / len(leaves)
        return round(half + RING * len(way) * cos(angle), 1), round(half + RING * len(way) * sin(angle), 1)

    placed = [Placed(node, *point(ways[node.id]), *point(ways[node.id][:-1])) for node in nodes]
    return Drawing(placed, 2 * half)
