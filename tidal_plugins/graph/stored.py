"""The graph of one scope as the store holds it: entities with their names, relations with their episodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidal_plugins.graph.card import sentence
from tidal_plugins.graph.records.entities import MENTIONED, Node, cited, newest, nodes, said_at
from tidal_plugins.graph.records.merging import merged
from tidal_plugins.graph.records.relations import DENIAL, EVIDENCE, STANDING, predicate, relation_id
from tidal_plugins.model.clock import from_micros, hours_between
from tidal_plugins.model.entry import Link, Scope
from tidal_plugins.model.graph import Edge, Entity, Relation
from tidal_plugins.scoring.decay import faded
from tidal_plugins.scoring.text import normal
from tidal_plugins.storage.base import Storage, WhereLinks
from tidal_plugins.tuning import Weights, tunable


@dataclass(frozen=True, kw_only=True)
class GraphTuning(Weights, group="graph"):
    """[SIYA §3.3]."""

    half_life: float = tunable(180.0, gt=0)
    """Days in which the confidence of a relation falls by half if nothing confirms it."""
    relation_threshold: float = tunable(0.45, gt=0, le=1)
    """Chance from which on a relation of talk is kept. Lower ones keep more: at 0.1 eight times as many, most of which
    are wrong."""
    floor: float = tunable(0.3, ge=0, le=1)
    """Confidence below which it does not fade."""
    similarity: float = tunable(0.92, gt=0, le=1)
    """Likeness of two names from which on merging their entities is proposed."""
    functional: tuple[str, ...] = (
        "is",
        "has_status",
        "lives_in",
        "works_at",
        "has_version",
        "located_in",
        "prefers_over",
        "age_is",
        "appointment",
        "deadline",
    )
    """Predicates that give a subject one object at a time: a new one closes the one before. Of ``is`` only what
    excludes each other does, as «up» and «down»; a name may be ``defined_in`` two files, and be called from many."""
    slice: int = tunable(50, gt=0)
    """Entities and assertions of an episode that are written at a time: nobody else can write for some 50 ms then; a
    long episode with thousands of them takes seconds in all."""


class StoredGraph:
    """The graph on documents and links, as it is at ``now``.

    ``edges`` returns the relations at ``nodes``, at most ``each`` at every node, the most confident first. They are
    valid and believed at these times, and have one of ``predicates`` (``None``: any). With ``inward``, the node is
    their object. Negated relations are no edges. ``entities`` and ``relations`` return the known ones by id.

    Merged entities are one in all results, under the id of the one that they go by. Each result names the episodes of
    its ``each`` newest mentions or most confident pieces of evidence (``None``: all). Make and use it inside one
    snapshot.
    """

    def __init__(
        self, storage: Storage, scope: Scope, settings: GraphTuning, now: datetime, *, each: int | None
    ) -> None:
        self.merged = merged(storage, scope)
        self._storage = storage
        self._scope = scope
        self._settings = settings
        self._now = now
        self._each = each

    def edges(
        self,
        nodes: Collection[str],
        *,
        predicates: Collection[str] | None,
        inward: bool,
        valid_at: datetime,
        believed_at: datetime,
        each: int,
    ) -> list[Edge]:
        members = self.merged.all_members(nodes)
        found: list[Edge] = []
        for one in [None] if predicates is None else dict.fromkeys(predicates):
            said = {} if one is None else {"predicate": one}
            where = WhereLinks(metadata=said, valid_at=valid_at, known_at=believed_at)
            found += self._inward(members, where, each) if inward else self._both_ways(members, where, each)
        return [edge for edge in found if edge.node != edge.other]

    def entities(self, ids: Collection[str]) -> dict[str, Entity]:
        groups = {id_: self.merged.members(id_) for id_ in ids}
        everyone = dict.fromkeys(member for group in groups.values() for member in group)
        known, links = nodes(self._storage, self._scope, everyone), self._cited(everyone, MENTIONED)
        return {
            id_: _entity(group[0], [known[m] for m in group], [link for m in group for link in links.get(m, ())])
            for id_, group in groups.items()
            if group[0] in known
        }

    def relations(self, ids: Collection[str], believed_at: datetime) -> dict[str, Relation]:
        rows = self._storage.links(self._scope, WhereLinks(ids=ids, known_at=believed_at))
        rows_by_id = {row.id: row for row in rows}
        for row in self._storage.links(self._scope, WhereLinks(ids=set(ids) - rows_by_id.keys())):
            where = WhereLinks(
                sources=[row.source], targets=[row.target], metadata={"of": row.id}, known_at=believed_at
            )
            for version in self._storage.links(self._scope, where):
                rows_by_id[row.id] = version
        return dict(zip(rows_by_id, self.shown(list(rows_by_id.values())), strict=True))

    def shown(self, rows: Sequence[Link]) -> list[Relation]:
        """Return the relations that links stand for; links may be earlier versions."""
        evidence = self._cited({relation_id(row) for row in rows}, EVIDENCE)
        return [self._relation(row, evidence.get(relation_id(row), ())) for row in rows]

    def stated(self, relations: Iterable[Relation]) -> set[str]:
        """Return the ids of those relations for which nothing but an agent's own statements speaks."""
        evidence = self._cited({relation.id for relation in relations}, EVIDENCE)
        return {id_ for id_, links in evidence.items() if all(link.metadata.get("reader") == "agent" for link in links)}

    def sentences(self, relations: Iterable[Relation]) -> dict[str, str]:
        """Return relations in words, by id; a relation whose subject or object is gone is left out."""
        given = list(relations)
        known = nodes(self._storage, self._scope, {end for one in given for end in (one.subject, one.object)})
        return {
            one.id: sentence(known[one.subject].name, one.predicate, known[one.object].name, negated=one.negated)
            for one in given
            if one.subject in known and one.object in known
        }

    def _relation(self, row: Link, evidence: Iterable[Link]) -> Relation:
        episodes, threads = cited(evidence)
        return Relation(
            id=relation_id(row),
            subject=self.merged.root(row.source),
            predicate=predicate(row),
            object=self.merged.root(row.target),
            confidence=self._faded(row.weight, row.anchored_at or row.recorded_at),
            valid_from=row.valid_from,
            valid_until=row.valid_until,
            recorded_at=row.recorded_at,
            superseded_at=row.superseded_at,
            episodes=episodes,
            threads=threads,
            negated=row.kind == DENIAL,
        )

    def _faded(self, confidence: float, since: datetime | None) -> float:
        days = hours_between(since or self._now, self._now) / 24
        return faded(confidence, days, half_life=self._settings.half_life, floor=self._settings.floor)

    def _both_ways(self, members: Collection[str], where: WhereLinks, each: int) -> list[Edge]:
        steps = self._storage.frontier(self._scope, members, STANDING, each=each, where=where)
        root = self.merged.root
        return [
            Edge(root(s.node), root(s.other), s.forward, s.link, self._faded(s.weight, s.anchored_at)) for s in steps
        ]

    def _inward(self, members: Collection[str], where: WhereLinks, each: int) -> list[Edge]:
        where = WhereLinks(
            targets=members,
            kinds=STANDING,
            metadata=where.metadata,
            valid_at=where.valid_at,
            known_at=where.known_at,
        )
        rows = self._storage.links(self._scope, where, limit=each * len(members), strongest_first=True)
        root = self.merged.root
        return [Edge(root(r.target), root(r.source), False, r.id, self._faded(r.weight, r.anchored_at)) for r in rows]

    def _cited(self, ids: Collection[str], kind: str) -> dict[str, list[Link]]:
        found: dict[str, list[Link]] = {}
        for link in newest(self._storage, self._scope, ids, kind, self._each):
            found.setdefault(link.source, []).append(link)
        return found


def _entity(id_: str, group: Sequence[Node], mentions: Collection[Link]) -> Entity:
    """Return a group of merged entities as one, named as the first; the others give it their names."""
    name = group[0].name
    aliases = {normal(node.name): node.name for node in group}
    aliases.pop(normal(name))
    episodes, threads = cited(mentions)
    first_seen = from_micros(min(node.first for node in group))
    return Entity(
        id=id_,
        name=name,
        type=group[0].type,
        category=group[0].category,
        aliases=tuple(aliases.values()),
        episodes=episodes,
        threads=threads,
        first_seen=first_seen,
        last_seen=max(map(said_at, mentions), default=first_seen),  # all mentions may be damaged
    )
