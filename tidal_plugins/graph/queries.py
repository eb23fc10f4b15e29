"""Queries: entities and relations by names, ids and episodes, their neighbours and paths, their times and evidence
[SIYA §3.3]."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.graph.records.entities import (
    MENTIONED,
    called,
    last_seen_first,
    mentions,
    nodes,
    said_at,
    sharing,
    stands_in,
)
from tidal_plugins.graph.records.relations import EVIDENCE, KINDS, evidence_of, relation_id
from tidal_plugins.graph.stored import GraphTuning, StoredGraph
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import EPISODE, Link, Scope, bare_id
from tidal_plugins.model.exchange import Episode, Message
from tidal_plugins.model.graph import DEPENDENCIES, Category, Edge, Entity, Evidence, Neighbour, Relation
from tidal_plugins.secrets.finding import mask, secrets
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import Storage, Where, WhereLinks
from tidal_plugins.storage.capabilities import question
from tidal_plugins.validation import MAX_ROWS, check_int, check_page, items, label, page_of

MAX_CITED = 5
"""Episodes that an entity or a relation names when many are listed; one that is asked for names all."""


MAX_EACH = 50
"""Relations, the surest ones, that a walk follows from an entity."""


Episodes = Callable[[Collection[str]], Mapping[str, Episode]]
"""Returns the episodes found, by id."""


class Span(NamedTuple):
    """A link to an episode, and the part of its message that supports it."""

    link: Link
    start: int
    end: int
    confidence: float


def quoted(spans: Iterable[Span], episodes: Episodes, limit: int | None = None, after: int = 0) -> list[Evidence]:
    """Return a page of evidence with its words from the episodes, the newest first."""
    ordered = sorted(spans, key=lambda span: (said_at(span.link), span.link.target, span.start), reverse=True)
    ordered = page_of(ordered, limit, after)
    known = episodes({span.link.target for span in ordered})
    return [_evidence(span, known.get(span.link.target)) for span in ordered]


def _evidence(span: Span, episode: Episode | None) -> Evidence:
    said, position = span.link.metadata, span.link.metadata["position"]
    there = episode is not None and position is not None and position < len(episode.messages)
    said_there = _id_text(episode.messages[position], said.get("call")) if episode and there else ""
    return Evidence(
        episode=span.link.target,
        thread=said["thread"],
        entry=said["entry"],
        start=span.start,
        end=span.end,
        quote=mask(said_there, secrets(said_there), span.start, span.end),
        at=said_at(span.link),
        confidence=span.confidence,
        reader=said.get("reader", "rules"),
    )


def _id_text(message: Message, call: int | None) -> str:
    """Return the text of a message, or of the arguments of one of its calls."""
    if call is None:
        return message.text
    return message.tool_calls[call].text if call < len(message.tool_calls) else ""


@dataclass(frozen=True, slots=True)
class View:
    """The part of a graph that a walk sees: the relations of these predicates, valid and believed at these times."""

    store: StoredGraph
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


MAX_DEPTH = 10
"""The largest depth of a path or a neighbourhood."""


class GraphQueries:
    """The knowledge of one scope, as entities and relations.

    Name an entity by its name or an alias, in any case, or by its id. Times are aware datetimes; without them a query
    asks for what is true and believed now. Merged entities are one. A list names the ``cited`` newest episodes of each
    entity, and those of the most confident evidence of each relation; ``entity`` and ``relation`` name all.

    Every method has an async twin whose name begins with ``a``. Unknown names and ids raise ``NotFound``.
    """

    def __init__(
        self,
        storage: Storage,
        scope: Scope,
        clock: Callable[[], datetime],
        settings: GraphTuning,
        episodes: Episodes,
    ) -> None:
        """Initialise the queries. ``episodes`` returns episodes by id, for the words of the evidence."""
        self._storage = storage
        self._scope = scope
        self._clock = clock
        self._settings = settings
        self._episodes = episodes

    # entities

    @question
    def entity(self, name: str, *, type: str | None = None) -> Entity:
        """Return an entity by its name or id, with all its episodes and threads.

        If several have the name, the one that is written so comes first, then a technical one, then the one with the
        most episodes. ``type`` picks one.
        """
        with self._storage.snapshot():
            return self._chosen(self._graph(each=None), name, type)

    @question
    def entities(
        self,
        *,
        type: str | None = None,
        category: Category | None = None,
        episode: str | None = None,
        thread: str | None = None,
        limit: int | None = None,
    ) -> list[Entity]:
        """List entities, last seen first: all, or those of a type, a category, an episode or a thread."""
        most = _most(limit)
        with self._storage.snapshot():
            graph, among = self._graph(), None
            if episode is not None or thread is not None:
                among = graph.merged.all_members(self._said_in(episode, thread, MENTIONED))
            known = nodes(self._storage, self._scope, among)
            chosen = [
                id_
                for id_, node in known.items()
                if type in (None, node.type) and category in (None, node.category) and graph.merged.root(id_) == id_
            ]
            newest = last_seen_first(self._storage, self._scope, chosen)
            return list(graph.entities(newest[:most]).values())

    @question
    def search(self, text: str, limit: int = 10) -> list[Entity]:
        """Return the entities whose names share most words with ``text``, best first. Calls no model."""
        with self._storage.snapshot():
            found = {id_: shared.likeness for id_, shared in sharing(self._storage, self._scope, _text(text)).items()}
            return self._best(found, limit)

    @question
    def named(self, text: str, limit: int = 10) -> list[Entity]:
        """Return the entities whose whole names occur in ``text``, the longest names first."""
        with self._storage.snapshot():
            covered = sharing(self._storage, self._scope, _text(text))
            likely = [id_ for id_, shared in covered.items() if shared.coverage > 0.5]
            known = nodes(self._storage, self._scope, likely)
            found = {id_: float(len(node.name)) for id_, node in known.items() if stands_in(node.name, text)}
            return self._best(found, limit)

    @question
    def mentions(self, entity: str) -> list[Evidence]:
        """Return where an entity is named, newest first, verbatim."""
        with self._storage.snapshot():
            graph = self._graph()
            links = mentions(self._storage, self._scope, graph.merged.members(self._root(graph, entity)))
        spans = [Span(link, start, end, 1.0) for link in links for start, end in link.metadata["spans"]]
        return quoted(spans, self._episodes)

    # relations

    @question
    def relation(self, id: str) -> Relation:
        """Return a relation by its id, as it is believed now, with all its episodes and threads."""
        with self._storage.snapshot():
            return self._graph(each=None).shown([self._row(id)])[0]

    @question
    def relations(
        self,
        *,
        about: str | None = None,
        subject: str | None = None,
        object: str | None = None,
        predicate: str | None = None,
        episode: str | None = None,
        thread: str | None = None,
        valid_at: datetime | None = None,
        believed_at: datetime | None = None,
        limit: int | None = None,
        after: int = 0,
    ) -> list[Relation]:
        """List relations, the most confident first, including denials.

        ``about`` restricts them to those with an entity at either end, ``episode`` and ``thread`` to those said there;
        ``after`` passes over so many of the first.
        """
        most, passed = _most(limit), check_int(after, "after", 0, MAX_ROWS)
        with self._storage.snapshot():
            graph = self._graph()
            ends = [
                None if name is None else graph.merged.members(self._root(graph, name))
                for name in (about, subject, object)
            ]
            where = WhereLinks(
                ids=None if episode is None and thread is None else self._said_in(episode, thread),
                kinds=KINDS,
                ends=ends[0],
                sources=ends[1],
                targets=ends[2],
                metadata={} if predicate is None else {"predicate": predicate},
                valid_at=self._time(valid_at, "valid_at"),
                known_at=self._time(believed_at, "believed_at"),
            )
            upto = None if most is None else min(most + passed, sys.maxsize)
            rows = self._storage.links(self._scope, where, limit=upto, strongest_first=True)
            return sorted(graph.shown(rows[passed:]), key=lambda relation: -relation.confidence)

    @question
    def timeline(self, entity: str, *, limit: int | None = None, after: int = 0) -> list[Relation]:
        """Return all that was ever believed of an entity, by when it began to be true, then by when it was learned.

        A relation comes once for each version of its times or truth. Versions that are no longer believed have a
        ``superseded_at``. At most ``limit`` are returned, and ``after`` passes over so many of the first.
        """
        most, passed = check_page(limit, after)
        with self._storage.snapshot():
            graph = self._graph()
            where = WhereLinks(ends=graph.merged.members(self._root(graph, entity)), kinds=KINDS)
            rows = self._storage.links(self._scope, where)
            rows.sort(key=lambda row: (row.valid_from or row.recorded_at, row.recorded_at, relation_id(row)))
            return graph.shown(page_of(rows, most, passed))

    @question
    def evidence(self, relation: Relation | str, *, limit: int | None = None, after: int = 0) -> list[Evidence]:
        """Return where a relation was said, newest first, in the words of the episode: a page, or all of it."""
        most, passed = check_page(limit, after)
        with self._storage.snapshot():
            row = self._row(relation.id if isinstance(relation, Relation) else relation)
            links = evidence_of(self._storage, self._scope, row.id)
        spans = [Span(link, link.metadata["start"], link.metadata["end"], link.weight) for link in links]
        return quoted(spans, self._episodes, most, passed)

    @question
    def sentence(self, relation: Relation | str) -> str:
        """Return a relation in words, such as «checkout depends on billing»."""
        found = relation if isinstance(relation, Relation) else self.relation(_given(relation))
        said = self.sentences([found])
        if found.id not in said:
            raise NotFound(f"what the relation {shown(found.id)} is between is gone from scope {self._scope}")
        return said[found.id]

    @question
    def sentences(self, relations: Iterable[Relation]) -> dict[str, str]:
        """Return relations in words, by id; a relation whose subject or object is gone is left out."""
        given = items(relations, "relations")
        if not all(isinstance(one, Relation) for one in given):
            raise InvalidInput("relations are those that graph.relations returns; graph.relation(id) returns one")
        with self._storage.snapshot():
            return self._graph().sentences(given)

    # walks

    @question
    def neighbours(
        self,
        id: str,
        depth: int = 1,
        predicate: str | None = None,
        *,
        valid_at: datetime | None = None,
        believed_at: datetime | None = None,
        limit: int = 50,
    ) -> list[Neighbour]:
        """Return the entities within ``depth`` relations of an entity, the nearest first, then by confidence.

        Only the most confident relations of each entity are followed. Denials are not followed.
        """
        predicates = None if predicate is None else [predicate]
        depth, limit = check_int(depth, "depth", 0, MAX_DEPTH), check_int(limit, "limit", 0)
        with self._view(valid_at, believed_at, MAX_EACH, predicates) as (view, graph):
            return reach(view, self._root(graph, id), depth, limit)

    @question
    def impact(
        self,
        id: str,
        *,
        predicates: Collection[str] = DEPENDENCIES,
        depth: int | None = None,
        valid_at: datetime | None = None,
        believed_at: datetime | None = None,
        limit: int = 1_000,
    ) -> list[Neighbour]:
        """Return the entities that a change of an entity would affect, because they depend on it, directly or not.

        A change of a file or a class is one of what it contains. Each comes with the path of its dependence, starting
        at the changed entity; the nearest come first.
        """
        each = check_int(limit, "limit", 0)
        with self._view(valid_at, believed_at, each, _words(predicates), inward=True) as (view, graph):
            depth = None if depth is None else check_int(depth, "depth", 0)
            return affected(view, self._root(graph, id), depth, each)

    @question
    def path(
        self,
        a: str,
        b: str,
        *,
        depth: int = 6,
        valid_at: datetime | None = None,
        believed_at: datetime | None = None,
    ) -> list[Relation] | None:
        """Return the relations on a shortest path between two entities, in either direction, or ``None``.

        The path from an entity to itself is empty. Only the most confident relations of each entity are followed.
        """
        with self._view(valid_at, believed_at, MAX_EACH) as (view, graph):
            ends = self._root(graph, a), self._root(graph, b)
            return connect(view, *ends, check_int(depth, "depth", 0, MAX_DEPTH))

    aentity = in_thread(entity)
    aentities = in_thread(entities)
    asearch = in_thread(search)
    anamed = in_thread(named)
    amentions = in_thread(mentions)
    arelation = in_thread(relation)
    arelations = in_thread(relations)
    atimeline = in_thread(timeline)
    aevidence = in_thread(evidence)
    asentence = in_thread(sentence)
    asentences = in_thread(sentences)
    aneighbours = in_thread(neighbours)
    aimpact = in_thread(impact)
    apath = in_thread(path)

    # names and ids

    def _chosen(self, graph: StoredGraph, name: str, type_: str | None = None) -> Entity:
        """Return the entity of this name or id.

        The one that is written so comes first (``order`` is not ``Order``), then a technical one, then the one with
        the most episodes.
        """
        found = graph.entities(self._ids(graph, name))
        chosen = [entity for entity in found.values() if type_ in (None, entity.type)]
        if not chosen:
            raise NotFound(
                f"no entity {shown(name)} in scope {shown_scope(self._scope)}; graph.search finds similar names"
            )
        return max(
            chosen,
            key=lambda entity: (entity.name == name, entity.category == "technical", len(entity.episodes), entity.id),
        )

    def _root(self, graph: StoredGraph, name: str) -> str:
        """Return the id of the entity of this name or id."""
        ids = self._ids(graph, name)
        return ids[0] if len(ids) == 1 else self._chosen(graph, name).id

    def _row(self, id_: str) -> Link:
        """Return the link of a relation as it is believed now. Raises ``NotFound``."""
        found = self._storage.links(self._scope, WhereLinks(ids=[id_], kinds=KINDS)) if isinstance(id_, str) else []
        if not found:
            raise NotFound(f"no relation {shown(id_)} in scope {shown_scope(self._scope)}")
        return found[0]

    def _said_in(self, episode: str | None, thread: str | None, kind: str = EVIDENCE) -> set[str]:
        """Return the ids of everything that an episode or a thread mentions or is evidence of."""
        told = set() if episode is None else {bare_id(episode)}
        if thread is not None:
            entries = self._storage.find(self._scope, Where(kinds={EPISODE}, threads={str(label(thread, "thread"))}))
            ids = {entry.id for entry in entries}
            told = ids if episode is None else told & ids
        return {link.source for link in self._storage.links(self._scope, WhereLinks(targets=told, kinds=[kind]))}

    def _ids(self, graph: StoredGraph, name: str) -> list[str]:
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput(f"an entity is given by its name or id, got {shown(name)}")
        known = [name] if nodes(self._storage, self._scope, [name]) else called(self._storage, self._scope, name)
        return list(dict.fromkeys(map(graph.merged.root, known)))

    def _graph(self, *, each: int | None = -1) -> StoredGraph:
        each = MAX_CITED if each == -1 else each
        return StoredGraph(self._storage, self._scope, self._settings, self._clock(), each=each)

    @contextmanager
    def _view(
        self,
        valid_at: datetime | None,
        believed_at: datetime | None,
        each: int,
        predicates: Collection[str] | None = None,
        *,
        inward: bool = False,
    ) -> Iterator[tuple[View, StoredGraph]]:
        with self._storage.snapshot():
            graph = self._graph()
            times = self._time(valid_at, "valid_at"), self._time(believed_at, "believed_at")
            yield View(graph, *times, each, predicates, inward), graph

    def _best(self, found: Mapping[str, float], limit: int) -> list[Entity]:
        graph, scores = self._graph(), dict[str, float]()
        for id_, score in found.items():
            root = graph.merged.root(id_)
            scores[root] = max(score, scores.get(root, 0.0))
        best = sorted(scores, key=lambda id_: (-scores[id_], id_))[: check_int(limit, "limit", 0)]
        return list(graph.entities(best).values())

    def _time(self, given: datetime | None, name: str) -> datetime:
        return self._clock() if given is None else aware(given, name)


def entities_of(graph: GraphQueries, relations: Iterable[Relation]) -> dict[str, Entity]:
    """Return the subjects and objects of relations, by id, in one batch; those that are gone are left out."""
    ids = {end for one in relations for end in (one.subject, one.object)}
    with graph._storage.snapshot():
        return graph._graph().entities(ids)


def _most(limit: int | None) -> int | None:
    return None if limit is None else min(check_int(limit, "limit", 0), sys.maxsize)


def _given(id_: object) -> str:
    if not isinstance(id_, str):
        raise InvalidInput(f"a relation is given itself or by its id, got {shown(id_)}")
    return id_


def _text(text: str) -> str:
    if not isinstance(text, str):
        raise InvalidInput(f"give a text to look for, got {shown(text)}")
    return text


def _words(predicates: Collection[str]) -> list[str]:
    return list(items(predicates, "predicates"))
