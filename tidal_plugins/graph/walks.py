"""Walks over the graph: neighbours, dependents and paths [SIYA §3.3].

A walk goes outward in rounds. Each round is one batch for all that the round before reached, and no entity is visited
twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tidal_plugins.model.graph import Edge, Neighbour, Relation
from tidal_plugins.protocols import GraphStore


@dataclass(frozen=True, slots=True)
class View:
    """The part of a graph that a walk sees: the relations of these predicates, valid and believed at these times."""

    store: GraphStore
    valid_at: datetime
    believed_at: datetime
    each: int
    predicates: Collection[str] | None = None
    inward: bool = False

    def edges(self, nodes: Collection[str]) -> Sequence[Edge]:
        return self.store.edges(
            nodes,
            predicates=self.predicates,
            inward=self.inward,
            valid_at=self.valid_at,
            believed_at=self.believed_at,
            each=self.each,
        )


Steps = dict[str, Edge | None]
"""By entity the edge on which it was first reached, and ``None`` for the origin."""


def reach(view: View, origin: str, depth: int | None, limit: int) -> list[Neighbour]:
    """Return at most ``limit`` entities within ``depth`` relations of one: nearest first, then by confidence."""
    steps: Steps = {origin: None}
    frontier, rounds = [origin], 0
    while frontier and (depth is None or rounds < depth) and len(steps) <= limit:
        frontier = _round(view, frontier, steps, limit + 1 - len(steps))
        rounds += 1
    return _neighbours(view, steps, [id_ for id_ in steps if id_ != origin])


def affected(view: View, origin: str, depth: int | None, limit: int) -> list[Neighbour]:
    """Return at most ``limit`` entities that depend on one, or on what it contains, within ``depth`` relations.

    Its own parts are no dependents. The parts of a dependent are: a class that extends a changed one is a changed one.
    """
    steps: Steps = {origin: None}
    own = _parts(view, [origin], steps, limit, whole=True)
    if own:
        own = [*own, *_parts(view, own, steps, limit, whole=True)]  # a file, its classes, their methods
    frontier, rounds = [origin, *own], 0
    while frontier and (depth is None or rounds < depth) and len(steps) - len(own) <= limit:
        frontier = _round(view, frontier, steps, limit + 1 - len(steps) + len(own))
        frontier = [*frontier, *_parts(view, frontier, steps, limit + 1 - len(steps) + len(own))]
        rounds += 1
    found = _neighbours(view, steps, [id_ for id_ in steps if id_ != origin and id_ not in own][:limit])
    return sorted(found, key=lambda each: each.distance)


def _parts(view: View, frontier: Sequence[str], steps: Steps, room: int, *, whole: bool = False) -> list[str]:
    """Add to ``steps`` what these entities contain, with ``whole`` also what is defined in them, and return its ids."""
    inside = replace(view, predicates=["contains"], inward=False)
    edges = [edge for edge in inside.edges(frontier) if edge.forward] if frontier else []
    if whole and frontier:
        edges += replace(view, predicates=["defined_in"]).edges(frontier)
    found = {edge.other: edge for edge in edges if edge.other not in steps}
    found = dict(list(found.items())[: max(0, room)])
    steps.update(found)
    return list(found)


def connect(view: View, a: str, b: str, depth: int) -> list[Relation] | None:
    """Return the relations of a shortest path of at most ``depth`` from ``a`` to ``b``, or ``None``."""
    sides: list[tuple[Steps, list[str]]] = [({a: None}, [a]), ({b: None}, [b])]
    if a == b:
        return []
    for _ in range(depth):
        side = min((0, 1), key=lambda number: len(sides[number][1]))
        steps, frontier = sides[side]
        frontier = _round(view, frontier, steps, None)
        sides[side] = (steps, frontier)
        meeting = [id_ for id_ in frontier if id_ in sides[1 - side][0]]
        if meeting:
            ids = [*_path(sides[0][0], meeting[0]), *reversed(_path(sides[1][0], meeting[0]))]
            known = view.store.relations(ids, view.believed_at)
            return [known[id_] for id_ in ids]
        if not frontier:
            return None
    return None


def _round(view: View, frontier: Sequence[str], steps: Steps, room: int | None) -> list[str]:
    """Add what lies one relation further to ``steps``, most confident first, and return the new ids."""
    place = {id_: number for number, id_ in enumerate(frontier)}
    edges = sorted(view.edges(frontier), key=lambda edge: (-edge.confidence, place[edge.node], edge.relation))
    reached: dict[str, Edge] = {}
    for edge in edges:
        if edge.other not in steps and (room is None or len(reached) < room):
            reached.setdefault(edge.other, edge)
    steps.update(reached)
    return list(reached)


def _path(steps: Mapping[str, Edge | None], id_: str) -> list[str]:
    """Return the ids of the relations from the origin of a walk to an entity."""
    found = []
    edge = steps[id_]
    while edge is not None:
        found.append(edge.relation)
        edge = steps[edge.node]
    return found[::-1]


def _neighbours(view: View, steps: Steps, ids: Iterable[str]) -> list[Neighbour]:
    paths = {id_: _path(steps, id_) for id_ in ids}
    entities = view.store.entities(paths)
    relations = view.store.relations({one for path in paths.values() for one in path}, view.believed_at)
    return [
        Neighbour(entities[id_], len(path), tuple(relations[one] for one in path))
        for id_, path in paths.items()
        if id_ in entities
    ]
