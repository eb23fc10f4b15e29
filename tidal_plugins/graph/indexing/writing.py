"""Writing what was read in an episode into the graph, in portions that one short transaction can write [SIYA §3.3]."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tidal_plugins.graph.indexing.checking import Supported, renamed, renamed_ends, supported
from tidal_plugins.graph.indexing.stale import mark_stale
from tidal_plugins.graph.records.entities import Named, Place, entity_id, name_entities
from tidal_plugins.graph.records.merging import merged
from tidal_plugins.graph.records.relations import (
    Times,
    Triple,
    Validity,
    add_evidence,
    chain,
    known_among,
    new_row,
    numbered,
    piece,
    with_confidence,
)
from tidal_plugins.model.clock import MICROSECOND, to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.graph import STRUCTURE, Applied, Assertion, Mention, Reading
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import GraphTuning

Said = tuple[Triple, Assertion]


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A part of the mentions and assertions of one message; all mentions come before the assertions.

    Of what is ``parsed`` from code recall gets entries for a few relations only.
    """

    place: Place
    named: Sequence[Named] = ()
    said: Sequence[Said] = ()
    parsed: bool = False

    def __len__(self) -> int:
        return len(self.named) + len(self.said)


@dataclass(slots=True)
class WriteBatch:
    """Entities and assertions of an episode that one transaction writes."""

    parts: list[MessagePart] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self.parts))


def to_batches(
    scope: Scope, episode: Episode, readings: Sequence[Reading], settings: GraphTuning, paths: dict[str, str]
) -> tuple[list[WriteBatch], int]:
    """Return the readings of an episode as batches of at most ``settings.slice`` things, to be written in order.

    Files go by their whole paths in ``paths``. The second value counts the mentions and assertions that the texts do
    not support. Raises ``InvalidInput`` for a reading that is no extraction.
    """
    checked = [supported(episode, reading, settings) for reading in readings]
    checked = (
        [
            replace(one, mentions=renamed(one.mentions, paths), assertions=renamed_ends(one.assertions, paths))
            for one in checked
        ]
        if paths
        else checked
    )
    batches: list[WriteBatch] = []
    for found in checked:
        for part in _parts(scope, found, settings.slice):
            if not batches or len(batches[-1]) + len(part) > settings.slice:
                batches.append(WriteBatch())
            batches[-1].parts.append(part)
    return batches, sum(found.dropped for found in checked)


def _parts(scope: Scope, found: Supported, size: int) -> Iterator[MessagePart]:
    """Yield what one message names, including the ends of its assertions, and then its assertions."""
    known: dict[tuple[str, str, str], str] = {}

    def identify(mention: Mention) -> str:
        key = (mention.name, mention.type, mention.category)
        if key not in known:
            known[key] = entity_id(scope, mention)
        return known[key]

    named: dict[str, Named] = {}
    for mention in _all(found.mentions, found.assertions):
        id_ = identify(mention)
        item = named.setdefault(id_, Named(id_, mention.name, mention.type, mention.category))
        if (mention.start, mention.end) not in item.spans:
            item.spans.append((mention.start, mention.end))
    said = [(Triple(identify(a.subject), a.predicate, identify(a.object), a.negated), a) for a in found.assertions]
    items = list(named.values())
    place = found.place
    parsed, starts = found.parsed, (range(0, len(items), size), range(0, len(said), size))
    yield from (MessagePart(place, named=items[start : start + size], parsed=parsed) for start in starts[0])
    yield from (MessagePart(place, said=said[start : start + size], parsed=parsed) for start in starts[1])


def _all(mentions: Iterable[Mention], assertions: Iterable[Assertion]) -> Iterator[Mention]:
    yield from mentions
    for assertion in assertions:
        yield assertion.subject
        yield assertion.object


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
