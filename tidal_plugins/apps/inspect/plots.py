"""Plots: numbers as shapes that a template puts into SVG. A class, and no style, gives a shape its colour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

COLOURS = 8

WIDTH, HEIGHT = 600.0, 150.0
"""Size of the room for a curve, in units of its SVG."""


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
