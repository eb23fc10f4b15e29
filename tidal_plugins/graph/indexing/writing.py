"""Writing a batch into the graph: entities, relations and their evidence [SIYA §3.3]."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from tidal_plugins.graph.indexing.batches import MessagePart, Said, WriteBatch
from tidal_plugins.graph.indexing.stale import mark_stale
from tidal_plugins.graph.records.entities import Place, name_entities
from tidal_plugins.graph.records.merging import merged
from tidal_plugins.graph.records.relations import (
    Times,
    Triple,
    add_evidence,
    known_among,
    new_row,
    numbered,
    piece,
    with_confidence,
)
from tidal_plugins.graph.records.validity import Validity
from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.graph import Applied, Assertion
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import GraphTuning


def apply(storage: Storage, scope: Scope, batch: WriteBatch, now: datetime, settings: GraphTuning) -> Applied:
    """Write a batch in one transaction, mark the changed entities and relations as stale, and return their ids.

    Joins a transaction that is open. Writing the same batch again changes nothing.
    """
    with storage.transaction():
        writer = _BatchWriter(storage, scope, settings.functional, now)
        for part in batch.parts:
            writer.write(part)
        mark_stale(storage, scope, now, entities=writer.entities, relations=writer.relations)
    return Applied(tuple(writer.entities), tuple(writer.relations))


class _BatchWriter:
    """Writes parts inside one transaction, and keeps the ids of the entities and relations that changed."""

    def __init__(self, storage: Storage, scope: Scope, functional: Collection[str], now: datetime) -> None:
        self.entities: dict[str, None] = {}
        self.relations: dict[str, None] = {}
        self._storage = storage
        self._scope = scope
        self._functional = functional
        self._now = now
        self._merged = merged(storage, scope)
        self._validity = Validity(storage, scope, functional, self._merged, now)

    def write(self, part: MessagePart) -> None:
        named = {item.id: item for item in part.named}
        self.entities |= dict.fromkeys(name_entities(self._storage, self._scope, named, part.place, self._now))
        for said in self._assert_new(part.place, part.said):
            self._assert(part.place, *said)

    def _assert_new(self, place: Place, all_said: Sequence[Said]) -> list[Said]:
        """Write at once what was never said before and can contradict nothing; return the rest."""
        known = known_among(self._storage, self._scope, {one for said, _ in all_said for one in (said, said.denied)})
        links: list[Link] = []
        others = []
        for said, assertion in all_said:
            if self._may_contradict(said) or said in known or said.denied in known:
                others.append((said, assertion))
            else:
                known.add(said)
                links += self._first(said, place, assertion)
        self._storage.put_links(self._scope, links)
        return others

    def _may_contradict(self, said: Triple) -> bool:
        """Return whether anything but its exact denial may contradict it: merged entities may deny it, too."""
        alone = self._merged.alone(said.subject) and self._merged.alone(said.object)
        return said.predicate in self._functional or not alone

    def _first(self, triple: Triple, place: Place, said: Assertion) -> tuple[Link, Link]:
        """Return the links of a new relation and of its evidence."""
        times = (said.valid_from or place.at, said.valid_until, self._now)
        opened, id_ = to_micros(self._now), numbered(self._scope, triple, 0)
        row = new_row(id_, triple, self._functional, *times, opened=opened, confidence=said.confidence)
        self.relations[row.id] = None
        return row, piece(self._scope, row, place, (said.start, said.end), said.confidence, self._now, _stated(said))

    def _assert(self, place: Place, triple: Triple, said: Assertion) -> None:
        times = (said.valid_from or place.at, said.valid_until, place.at)
        row, changed = self._validity.hold(triple, *times, confidence=said.confidence)
        evidence = piece(self._scope, row, place, (said.start, said.end), said.confidence, self._now, _stated(said))
        fresh = add_evidence(self._storage, self._scope, evidence)
        if fresh and changed != {row.id}:  # else it is new, and this is all its evidence
            [heavier] = with_confidence(self._storage, self._scope, [row])
            self._storage.put_links(self._scope, [replace(heavier, anchored_at=self._now)])
            changed.add(row.id)
        self.relations |= dict.fromkeys(sorted(changed))


def _stated(said: Assertion) -> Times:
    return said.valid_from, said.valid_until
