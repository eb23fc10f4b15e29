"""Writing a batch into the graph: entities, relations and their evidence [SIYA §3.3]."""

from __future__ import annotations

from collections.abc import Collection
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
    chain,
    known_among,
    new_row,
    numbered,
    piece,
    with_confidence,
)
from tidal_plugins.graph.records.validity import Validity
from tidal_plugins.model.clock import MICROSECOND, to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.graph import STRUCTURE, Applied, Assertion
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import GraphTuning


def apply(storage: Storage, scope: Scope, batch: WriteBatch, now: datetime, settings: GraphTuning) -> Applied:
    """Write a batch in one transaction, mark the changed entities and relations as stale, and return their ids.

    How parsed code is built has no entries for recall, which would be by far the most of all: it is not marked.

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
        changed = name_entities(self._storage, self._scope, named, part.place, self._now)
        if not part.parsed:
            self.entities |= dict.fromkeys(changed)
        for said, assertion in self._assert_new(part):
            relations = self._assert(part.place, said, assertion)
            if not _unseen(part, said) or assertion.valid_until:  # what ends leaves recall, too
                self.relations |= dict.fromkeys(sorted(relations))

    def _assert_new(self, part: MessagePart) -> list[Said]:
        """Write at once what was never said before and can contradict nothing; return the rest."""
        all_said = part.said
        known = known_among(self._storage, self._scope, {one for said, _ in all_said for one in (said, said.denied)})
        links: list[Link] = []
        others = []
        for said, assertion in all_said:
            if assertion.ended or self._may_contradict(said) or said in known or said.denied in known:
                others.append((said, assertion))
            else:
                known.add(said)
                row, evidence = self._first(said, part.place, assertion)
                self.relations |= {} if _unseen(part, said) else {row.id: None}
                links += [row, evidence]
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
        return row, piece(self._scope, row, place, (said.start, said.end), said.confidence, self._now, _stated(said))

    def _assert(self, place: Place, triple: Triple, said: Assertion) -> set[str]:
        """Write what was said before or may contradict something, and return the ids of the relations that changed."""
        if said.ended and not chain(self._storage, self._scope, triple):
            row, evidence = self._first(triple, place, _over(said, place.at))
            self._storage.put_links(self._scope, [row, evidence])
            return {row.id}
        begins = self._begin(triple, said, place.at)
        row, changed = self._validity.hold(triple, begins, said.valid_until, place.at, confidence=said.confidence)
        evidence = piece(self._scope, row, place, (said.start, said.end), said.confidence, self._now, _stated(said))
        fresh = add_evidence(self._storage, self._scope, evidence)
        if fresh and changed != {row.id}:  # else it is new, and this is all its evidence
            [heavier] = with_confidence(self._storage, self._scope, [row])
            self._storage.put_links(self._scope, [replace(heavier, anchored_at=self._now)])
            changed.add(row.id)
        return changed

    def _begin(self, triple: Triple, said: Assertion, at: datetime) -> datetime:
        """Return since when a relation holds: one that is over, since it was known."""
        if said.valid_from or not said.ended:
            return said.valid_from or at
        known = [row.valid_from for row in chain(self._storage, self._scope, triple) if row.valid_from]
        return max((begin for begin in known if begin <= at), default=at)


def _unseen(part: MessagePart, said: Triple) -> bool:
    """Return whether a relation gets no entry for recall: how code is built is asked of the graph."""
    return part.parsed and said.predicate in STRUCTURE


def _over(said: Assertion, at: datetime) -> Assertion:
    """Return what is over and was not known before: since when it was true, nobody has said."""
    end = said.valid_until or at
    return replace(said, valid_from=said.valid_from or min(at, end - MICROSECOND), valid_until=end)


def _stated(said: Assertion) -> Times:
    return said.valid_from, said.valid_until
