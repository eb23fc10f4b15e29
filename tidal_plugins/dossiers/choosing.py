"""Chooses the points that a document on a topic has room for: those that say most of it, the newest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tidal_plugins.dossiers.points import Point
from tidal_plugins.dossiers.sources import Material
from tidal_plugins.dossiers.topic import Topic
from tidal_plugins.english.chatter import reports
from tidal_plugins.model.dossier import HEADINGS, Part
from tidal_plugins.scoring.units import rarity

OVERHEAD = 18
"""Tokens of the date and the citation of a line."""
_ASIDE = 0.3
"""Worth of a point that has no word of the topic, as a share of that of one that has them all. At 1 one of the 14
briefs of the development stories fails. Other values of the numbers below rewrite 1 to 6 of them and fail none."""
_BESIDE = 0.5
"""Share of the topic that a point counts with that stands in a turn which is about the topic."""
_PARTS: Mapping[Part, float] = {"now": 1.0, "decided": 1.2, "open": 1.2, "done": 1.0, "earlier": 0.5, "documents": 0.8}
"""Worth of a point by its part: what was decided and what is open says most, plans whose day is over least."""
MANY, _ASIDES = 12, 4
"""Points that a document has with those which have no word of the topic, and how many of these there are at least."""
BEGINNING = 4
"""Sentences of a document that are quoted at most."""
_ANSWERED = 0.5
"""Worth of what an agent says without reporting work, as a share of that of what a person says. In conversations with
assistants its texts to order, slogans and advice, would take most lines."""
_CHANGED = 1.3
"""Worth of a point that replaces an earlier value."""


def chosen(
    found: Sequence[Point], topic: str, material: Material, *, max_tokens: int, count: Callable[[str], int]
) -> list[Point]:
    """Return the points of some material that fit ``max_tokens``, by part and the newest first, as they are given."""
    asked, weights = Topic.of(topic), rarity([point.stems for point in found])
    shares = [asked.share(point.stems, weights) for point in found]
    beside = [_BESIDE * (point.turn in material.direct) for point in found]
    values = [
        material.worth.get(point.entry.id, 0.0)
        * (_ASIDE + (1 - _ASIDE) * max(share, near))
        * _PARTS[point.part]
        * (_CHANGED if point.was else 1.0)
        * (_ANSWERED if point.by_agent and not reports(point.raw) else 1.0)
        for point, share, near in zip(found, shares, beside, strict=True)
    ]
    taken, room, asides, direct, times = set[int](), max_tokens, 0, 0, Counter[str]()
    best = sorted(range(len(found)), key=lambda place: -values[place])
    for place in best:
        point = found[place]
        cost = count(point.text) + (0 if times[point.entry.id] else OVERHEAD)
        aside = point.turn not in material.direct
        if cost <= room and not (aside and asides >= max(_ASIDES, MANY - direct)):
            asides += aside
            direct += not aside and point.part != "documents"
            taken.add(place)
            times[point.entry.id] += 1
            room -= cost
    order = list(HEADINGS)
    return sorted((found[place] for place in sorted(taken)), key=lambda point: order.index(point.part))


def passages(found: Sequence[Point], topic: str) -> list[Point]:
    """Return the points without those of documents that do not answer: of each, what has a word of the topic stays.

    Where only the heading of a document has one, or nothing has, its beginning stays.
    """
    asked = Topic.of(topic).stems
    sections: dict[str, list[Point]] = {}
    for point in found:
        if point.part == "documents":
            sections.setdefault(point.entry.id, []).append(point)
    kept = {id(point) for said in sections.values() for point in _answering(said, asked)}
    return [point for point in found if point.part != "documents" or id(point) in kept]


def _answering(said: Sequence[Point], asked: frozenset[str]) -> Sequence[Point]:
    answering = [point for point in said[1:] if asked & point.stems]
    return answering[:BEGINNING] or said[:BEGINNING]
