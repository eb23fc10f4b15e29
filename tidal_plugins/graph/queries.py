"""Queries: entities, their relations and paths, the times of relations, and their evidence [SIYA §3.3]."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.graph.lookup import Episodes, Lookup, Span, quoted
from tidal_plugins.graph.records.entities import MENTIONED, last_seen_first, mentions, nodes
from tidal_plugins.graph.records.names import sharing, stands_in
from tidal_plugins.graph.records.relations import KINDS, evidence_of, relation_id
from tidal_plugins.graph.stored import StoredGraph
from tidal_plugins.graph.walks import View, affected, connect, reach
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.graph import (
    DEPENDENCIES,
    Category,
    Entity,
    Evidence,
    Neighbour,
    Relation,
)
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage, WhereLinks
from tidal_plugins.storage.deadline import question
from tidal_plugins.tuning import GraphTuning
from tidal_plugins.validation import MAX_ROWS, check_int, check_page, items, page_of

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
        self._find = Lookup(storage, scope)
        self._episodes = episodes

    # entities

    @question
    def entity(self, name: str, *, type: str | None = None) -> Entity:
        """Return an entity by its name or id, with all its episodes and threads.

        If several have the name, the one that is written so comes first, then a technical one, then the one with the
        most episodes. ``type`` picks one.
        """
        with self._storage.snapshot():
            return self._find.entity(self._graph(each=None), name, type)

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
                among = graph.merged.all_members(self._find.said_in(episode, thread, MENTIONED))
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
            links = mentions(self._storage, self._scope, graph.merged.members(self._find.root(graph, entity)))
        spans = [Span(link, start, end, 1.0) for link in links for start, end in link.metadata["spans"]]
        return quoted(spans, self._episodes)

    # relations

    @question
    def relation(self, id: str) -> Relation:
        """Return a relation by its id, as it is believed now, with all its episodes and threads."""
        with self._storage.snapshot():
            return self._graph(each=None).shown([self._find.row(id)])[0]

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
                None if name is None else graph.merged.members(self._find.root(graph, name))
                for name in (about, subject, object)
            ]
            where = WhereLinks(
                ids=None if episode is None and thread is None else self._find.said_in(episode, thread),
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
            where = WhereLinks(ends=graph.merged.members(self._find.root(graph, entity)), kinds=KINDS)
            rows = self._storage.links(self._scope, where)
            rows.sort(key=lambda row: (row.valid_from or row.recorded_at, row.recorded_at, relation_id(row)))
            return graph.shown(page_of(rows, most, passed))

    @question
    def evidence(self, relation: Relation | str, *, limit: int | None = None, after: int = 0) -> list[Evidence]:
        """Return where a relation was said, newest first, in the words of the episode: a page, or all of it."""
        most, passed = check_page(limit, after)
        with self._storage.snapshot():
            row = self._find.row(relation.id if isinstance(relation, Relation) else relation)
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
        with self._view(valid_at, believed_at, self._settings.each, predicates) as (view, graph):
            return reach(view, self._find.root(graph, id), depth, limit)

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
            return affected(view, self._find.root(graph, id), depth, each)

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
        with self._view(valid_at, believed_at, self._settings.each) as (view, graph):
            ends = self._find.root(graph, a), self._find.root(graph, b)
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

    def _graph(self, *, each: int | None = -1) -> StoredGraph:
        each = self._settings.cited if each == -1 else each
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
