"""Loading a graph: it becomes evidence from its source, with its history, beside what is known here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.formats.portable import Portable
from tidal_plugins.graph.indexing.stale import mark_stale
from tidal_plugins.graph.records.entities import MENTIONED, Named, Place, bare, entity_id, name_entities
from tidal_plugins.graph.records.merging import join, merged
from tidal_plugins.graph.records.relations import (
    EVER,
    EVIDENCE,
    Triple,
    Validity,
    add_evidence,
    begin,
    chain,
    new_row,
    piece,
    unused,
    with_confidence,
)
from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Scope, derive_id
from tidal_plugins.model.graph import WORD, Applied, Entity, Mention, Relation
from tidal_plugins.model.link import Link
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage, WhereLinks
from tidal_plugins.tuning import GraphTuning

IMPORT = "import:"
"""Prefix of a source's name where an episode's id would stand."""


def load(storage: Storage, scope: Scope, graph: Portable, source: str, settings: GraphTuning, now: datetime) -> Applied:
    """Load a graph in one transaction, whole or not at all. Loading it again changes nothing."""
    _check(graph, settings)
    with storage.transaction():
        loader = _Loader(storage, scope, source, settings, now)
        ids = {entity.id: loader.entity(entity) for entity in graph.entities}
        versions: dict[str, list[Relation]] = {}
        for relation in graph.relations:
            if relation.superseded_at is not None:
                versions.setdefault(relation.id, []).append(relation)
        current = [relation for relation in graph.relations if relation.superseded_at is None]
        found = [loader.relation(one, ids, versions.get(one.id, ())) for one in current]
        loader.settle({ids[one.subject] for one in current})
        mark_stale(storage, scope, now, entities=ids.values(), relations=found)
    return Applied(tuple(dict.fromkeys(ids.values())), tuple(dict.fromkeys(found)))


def loaded_from(storage: Storage, scope: Scope, source: str) -> list[Link]:
    """Return the mentions and the evidence that came from a source."""
    return storage.links(scope, WhereLinks(targets=[IMPORT + source], kinds=[MENTIONED, EVIDENCE]))


class _Loader:
    def __init__(self, storage: Storage, scope: Scope, source: str, settings: GraphTuning, now: datetime) -> None:
        self._storage = storage
        self._scope = scope
        self._source = source
        self._functional = settings.functional
        self._now = now
        self._merged = merged(storage, scope)

    def entity(self, entity: Entity) -> str:
        """Store an entity with its aliases, and return its id here."""
        id_ = self._named(entity, entity.name)
        for alias in entity.aliases:
            other = self._named(entity, alias)
            if self._merged.root(other) != self._merged.root(id_):
                join(self._storage, self._scope, id_, other, self._now, known=self._merged)
        return id_

    def relation(self, one: Relation, ids: Mapping[str, str], versions: Sequence[Relation]) -> str:
        """Store a relation with its earlier versions, unless it is known with that beginning, and return its id."""
        said = Triple(ids[one.subject], one.predicate, ids[one.object], one.negated)
        rows = chain(self._storage, self._scope, said)
        row = next((row for row in rows if begin(row) == (one.valid_from or EVER)), None)
        if row is None:
            row = self._new(one, said, rows)
            self._storage.put_links(self._scope, [row, *(_version(self._scope, row, each) for each in versions)])
        place = self._place(one.valid_from or one.recorded_at)
        times = one.valid_from, one.valid_until
        if add_evidence(
            self._storage, self._scope, piece(self._scope, row, place, (0, 0), one.confidence, self._now, times)
        ):
            self._storage.put_links(self._scope, with_confidence(self._storage, self._scope, [row]))
        return row.id

    def settle(self, subjects: set[str]) -> None:
        """End known and loaded relations where they contradict each other."""
        validity = Validity(self._storage, self._scope, self._functional, self._merged, self._now)
        validity.refit(validity.states(self._merged.all_members(subjects)))

    def _named(self, entity: Entity, name: str) -> str:
        id_ = entity_id(self._scope, Mention(name, entity.type, entity.category, 0, 1))
        named = {id_: Named(id_, bare(name), entity.type, entity.category)}
        for at in (entity.first_seen, entity.last_seen):
            name_entities(self._storage, self._scope, named, self._place(at), self._now)
        return id_

    def _new(self, one: Relation, said: Triple, rows: Sequence[Link]) -> Link:
        id_, recorded_at = unused(self._scope, said, rows), min(one.recorded_at, self._now)
        times = (one.valid_from, one.valid_until, recorded_at)
        row = new_row(id_, said, self._functional, *times, opened=to_micros(recorded_at))
        return replace(row, anchored_at=self._now)

    def _place(self, at: datetime) -> Place:
        return Place(IMPORT + self._source, None, None, None, self._source, at, self._source)


def _version(scope: Scope, row: Link, one: Relation) -> Link:
    return replace(
        row,
        id=derive_id(scope, "version", row.id, to_micros(one.recorded_at)),
        weight=one.confidence,
        valid_from=one.valid_from,
        valid_until=one.valid_until,
        recorded_at=one.recorded_at,
        superseded_at=one.superseded_at,
        expires_at=one.superseded_at,
        metadata={**row.metadata, "of": row.id},
    )


def _check(graph: Portable, settings: GraphTuning) -> None:
    for entity in graph.entities:
        for name in (entity.name, *entity.aliases):
            if not bare(name) or len(name) > settings.max_name:
                raise InvalidInput(f"an entity's name has 1 to {settings.max_name} characters, got {shown(name)}")
        if not WORD.fullmatch(entity.type):
            raise InvalidInput(f"an entity's type is a word in lower case, got {shown(entity.type)}")
    for relation in graph.relations:
        if not WORD.fullmatch(relation.predicate):
            raise InvalidInput(f"a predicate is words in snake_case, got {shown(relation.predicate)}")
