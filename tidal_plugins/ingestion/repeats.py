"""What was said before: an exact repetition strengthens it, a near duplicate is linked to it; nothing is merged.

A repetition says the same words (case and space folded) in the same voice: of the same kind, speaker, role, source and
channel, valid alike, with the same metadata. Its entry is stored like any other, so that its episode stays whole and
forgetting stays exact; but only the first one is indexed for search.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from tidal_plugins.errors import Corrupt
from tidal_plugins.ingestion.writer import Writer, reinforced
from tidal_plugins.model.entry import KINDS, Entry, Scope, derive_id
from tidal_plugins.model.graph import CHANNEL
from tidal_plugins.model.link import Link
from tidal_plugins.scoring.text import normal
from tidal_plugins.storage.base import Record, Where, WhereLinks
from tidal_plugins.storage.shorthands import set_tiers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIRST = "first"
"""Kind of the link from a hash of what was said, and how, to the entry that said it first."""
REPEAT = "repeat"
"""Kind of the link from a repetition to the first entry."""
NEAR = "near"
"""Kind of the link from an entry to one that is nearly the same; its weight is their cosine."""

CLOSEST = 3
"""Neighbours that are looked at, for each new entry."""

logger = logging.getLogger(__name__)


class Neighbour(NamedTuple):
    id: str
    cosine: float


Neighbours = Mapping[str, Sequence[Neighbour]]
"""By the id of a new entry: the nearest entries that were there before, nearest first."""


def neighbours(writer: Writer, scope: Scope, groups: Sequence[Sequence[Record]]) -> Neighbours:
    """Return what each new entry comes near to, among what is stored and the groups before its own.

    A group is stored at once, such as the entries of a turn. A long text is compared by its first passage. Takes no
    lock; nothing is looked for where the settings ask for neither near duplicates nor the gate.
    """
    if writer.settings.ingestion.near is None and not writer.settings.gate.enabled:
        return {}
    found: dict[str, list[Neighbour]] = {}
    earlier: dict[str, NDArray[np.float32]] = {}
    vectors = [_vectors(group) for group in groups]
    stored = _stored(writer, scope, {id_: vector for new in vectors for id_, vector in new.items()})
    for new in vectors:
        for id_, vector in new.items():
            near = [*stored[id_], *_among(earlier, vector)]
            found[id_] = sorted(near, key=lambda item: -item.cosine)[:CLOSEST]
        earlier |= new
    return found


def add(writer: Writer, scope: Scope, records: Iterable[Record], near: Neighbours, now: datetime) -> set[str]:
    """Store new entries and return the ids of repetitions: those strengthen the first one, and are found by id alone.

    Call it inside a transaction, with what :func:`neighbours` returned.
    """
    again: set[str] = set()
    for record in records:
        first = _first(writer, scope, record.entry)
        if first is None:
            writer.storage.put(scope, [record])
            _mark_first(writer, scope, record.entry, now)
            _link_near(writer, scope, record.entry, near.get(record.entry.id, ()), now)
        elif writer.storage.put(scope, [Record(record.entry)]):
            writer.storage.put_links(scope, [_repeat(scope, record.entry.id, first.id, now)])
            tier = reinforced(first, writer.settings.use.used, now, writer.settings, used=True)
            set_tiers(writer.storage, scope, {first.id: tier} if tier else {})
            again.add(record.entry.id)
    return again


def firsts(writer: Writer, scope: Scope, ids: Collection[str]) -> dict[str, str]:
    """Return, for those of ``ids`` that are repetitions, the ids of the entries that they repeat."""
    return {link.source: link.target for link in writer.storage.links(scope, WhereLinks(sources=ids, kinds=[REPEAT]))}


def heirs(writer: Writer, scope: Scope, doomed: Collection[str]) -> set[str]:
    """Return, for each of ``doomed`` that others repeat, the id of the first of these: it is to be found instead."""
    links = writer.storage.links(scope, WhereLinks(targets=doomed, kinds=[REPEAT]))
    return set({link.target: link.source for link in reversed(links) if link.source not in doomed}.values())


def succeed(writer: Writer, scope: Scope, doomed: Collection[str], heirs: Iterable[Record], now: datetime) -> None:
    """Let repetitions take the place of what they repeat, as warm as that was: it is the one that they strengthened.
    Call it inside the transaction, before ``doomed`` go."""
    links = writer.storage.links(scope, WhereLinks(targets=doomed, kinds=[REPEAT]))
    first = {link.source: link.target for link in links}
    known = writer.storage.summaries(scope, set(first.values()))
    for heir in heirs:
        old = first.get(heir.entry.id)
        others = [link.source for link in links if link.target == old and link.source not in (heir.entry.id, *doomed)]
        tier = known[old].tier if old in known else heir.entry.tier
        writer.storage.put(scope, [replace(heir, entry=replace(heir.entry, tier=tier))], replace=True)
        writer.storage.erase_links(scope, WhereLinks(sources=[heir.entry.id], kinds=[REPEAT]))
        writer.storage.put_links(scope, [_repeat(scope, other, heir.entry.id, now) for other in others])
        _mark_first(writer, scope, heir.entry, now)


def _stored(writer: Writer, scope: Scope, vectors: Mapping[str, NDArray[np.float32]]) -> dict[str, list[Neighbour]]:
    where = Where(kinds=KINDS, not_channels=[CHANNEL])
    try:
        found = [writer.storage.nearest(scope, vector, CLOSEST, where) for vector in vectors.values()]
    except Corrupt as error:  # what is new can be stored all the same
        logger.error("near duplicates are not looked for: %s", error)
        found = [[] for _ in vectors]
    return {
        id_: [Neighbour(match.id, match.score) for match in matches if match.id != id_]
        for id_, matches in zip(vectors, found, strict=True)
    }


def _among(earlier: Mapping[str, NDArray[np.float32]], vector: NDArray[np.float32]) -> list[Neighbour]:
    import numpy as np

    cosines = np.vecdot(np.stack(list(earlier.values())), vector).tolist() if earlier else []
    return [Neighbour(id_, cosine) for id_, cosine in zip(earlier, cosines, strict=True)]


def _vectors(group: Iterable[Record]) -> dict[str, NDArray[np.float32]]:
    """The vectors of first passages, by id."""
    firsts = {record.entry.id: record.passages[0].vector for record in group if record.passages}
    return {id_: vector for id_, vector in firsts.items() if vector is not None}


def _first(writer: Writer, scope: Scope, entry: Entry) -> Entry | None:
    links = writer.storage.links(scope, WhereLinks(sources=[_mark(writer, entry)], kinds=[FIRST]), limit=1)
    try:
        return next(iter(writer.storage.get(scope, [link.target for link in links]).values()), None)
    except Corrupt as error:  # then this one takes its place
        logger.error("a damaged entry was said again: %s", error)
        return None


def _mark_first(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> None:
    mark = _mark(writer, entry)
    writer.storage.put_links(scope, [Link(f"{FIRST}:{mark}", FIRST, mark, entry.id, now)])


def _mark(writer: Writer, entry: Entry) -> str:
    """A keyed hash of what is said and how, which means nothing without the store's own key."""
    metadata = {name: value for name, value in entry.metadata.items() if name != "message"}
    voice = (entry.kind, entry.speaker, entry.role, entry.source, entry.channel, entry.trust)
    said = [normal(entry.text), *voice, entry.valid_from, entry.valid_until, metadata]
    data = json.dumps(said, default=str, sort_keys=True).encode()
    return "said:" + blake2b(data, key=writer.key, digest_size=12).hexdigest()


def _repeat(scope: Scope, repetition: str, first: str, now: datetime) -> Link:
    return Link(derive_id(scope, REPEAT, repetition), REPEAT, repetition, first, now)


def _link_near(writer: Writer, scope: Scope, entry: Entry, near: Sequence[Neighbour], now: datetime) -> None:
    least = writer.settings.ingestion.near
    alike = {item.id: item.cosine for item in near if least is not None and item.cosine >= least}
    there = writer.storage.summaries(scope, list(alike))  # some may have been forgotten meanwhile
    links = [Link(derive_id(scope, NEAR, entry.id, id_), NEAR, entry.id, id_, now, alike[id_]) for id_ in there]
    writer.storage.put_links(scope, links)
