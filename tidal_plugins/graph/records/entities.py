"""Entities as they are stored: a document for each, and a link to every message that names it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from tidal_plugins.graph.records.names import index_names, unindex_names
from tidal_plugins.model.clock import EPOCH, to_micros
from tidal_plugins.model.entry import Scope, derive_id
from tidal_plugins.model.graph import Category, Reader
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import Storage, WhereLinks
from tidal_plugins.storage.shorthands import write_document

ENTITIES = "entities"
"""Collection of entities, by id."""

MENTIONED = "mentioned"
"""Kind of the link from an entity to an episode that names it.

Its weight is the time in seconds, so that the strongest links are the newest.
"""

VAGUE = frozenset({"concept", "symbol", "variable"})
"""Types that say little. Another type replaces them."""

SPANS = 20
"""Spans that are kept of one entity in one message."""


@dataclass(frozen=True, slots=True)
class Place:
    """A message in which something was said, with its speaker and its time."""

    episode: str
    position: int | None
    entry: str | None
    thread: str | None
    speaker: str
    at: datetime
    source: str | None = None
    """The other graph that it came from, where it did."""
    call: int | None = None
    """The call of the message in whose arguments it was said, where it was."""
    reader: Reader = "rules"
    """Who read it there."""

    def metadata(self) -> dict[str, Any]:
        known = {"position": self.position, "entry": self.entry, "thread": self.thread, "speaker": self.speaker}
        called = {} if self.call is None else {"call": self.call}
        read = {} if self.reader == "rules" else {"reader": self.reader}
        return known | called | read | ({"source": self.source} if self.source else {})


@dataclass(slots=True)
class Named:
    """An entity as one message names it, with the spans of its name."""

    id: str
    name: str
    type: str
    category: Category
    spans: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Node:
    """One document of ``ENTITIES``. ``first`` is the time of the first mention in microseconds."""

    name: str
    type: str
    category: Category
    first: int


def nodes(storage: Storage, scope: Scope, ids: Collection[str] | None = None) -> dict[str, Node]:
    return {document.key: Node(**document.value) for document in storage.documents(scope, ENTITIES, ids)}


def name_entities(storage: Storage, scope: Scope, named: Mapping[str, Named], place: Place, now: datetime) -> list[str]:
    """Store the entities that one message names, and return the ids of those that are new or have another type."""
    known = nodes(storage, scope, named)
    fresh, changed = [], []
    for id_, item in named.items():
        node = known.get(id_)
        told = _told(node, item, to_micros(place.at))
        if told != node:
            write_document(storage, scope, ENTITIES, id_, asdict(told))
        if node is None:
            fresh.append((id_, item.name, item.type))
        if node is None or node.type != told.type:
            changed.append(id_)
    index_names(storage, scope, fresh, now)
    storage.put_links(scope, [_mention(scope, item, place, now) for item in named.values()])
    return changed


def recount(storage: Storage, scope: Scope, ids: Collection[str]) -> tuple[set[str], set[str]]:
    """Make entities anew from their remaining mentions.

    Returns two sets of ids: the entities without a mention, which are removed, and those that have another name now.
    """
    left: dict[str, list[Link]] = {}
    for link in mentions(storage, scope, ids):
        left.setdefault(link.source, []).append(link)
    before = nodes(storage, scope, left)
    remade = {id_: _remade(node, left[id_]) for id_, node in before.items()}
    for id_, node in remade.items():
        write_document(storage, scope, ENTITIES, id_, asdict(node))
    gone = set(ids) - left.keys()
    storage.erase_documents(scope, ENTITIES, gone)
    unindex_names(storage, scope, gone)
    return gone, {id_ for id_, node in remade.items() if node.name != before[id_].name}


def mentions(storage: Storage, scope: Scope, ids: Collection[str]) -> list[Link]:
    """Return every link from these entities to the messages that name them."""
    return storage.links(scope, WhereLinks(sources=ids, kinds=[MENTIONED]))


def newest(storage: Storage, scope: Scope, ids: Collection[str], kind: str, each: int | None) -> list[Link]:
    """Return the links of a kind from every node: all, or the ``each`` strongest of every node."""
    where = WhereLinks(sources=ids, kinds=[kind])
    if each is not None:
        steps = storage.frontier(scope, ids, [kind], each=each)
        where = WhereLinks(ids=[step.link for step in steps])
    return storage.links(scope, where)


def last_seen_first(storage: Storage, scope: Scope, ids: Iterable[str]) -> list[str]:
    """Return entity ids sorted by their newest mention, the newest first."""
    steps = storage.frontier(scope, list(ids), [MENTIONED], each=1)
    return [step.node for step in sorted(steps, key=lambda step: (-step.weight, step.node))]


def said_at(link: Link) -> datetime:
    """Return when the message was said that a mention or a piece of evidence links to."""
    return link.valid_from or link.recorded_at


def cited(links: Iterable[Link]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the episodes and the threads that links lead to, each once, the newest first."""
    newest_first = sorted(links, key=lambda link: (said_at(link), link.target), reverse=True)
    threads = dict.fromkeys(str(link.metadata["thread"]) for link in newest_first if link.metadata["thread"])
    return tuple(dict.fromkeys(link.target for link in newest_first)), tuple(threads)


def _told(node: Node | None, item: Named, at: int) -> Node:
    """Return an entity as it is after a message that names it."""
    if node is None:
        return Node(item.name, item.type, item.category, at)
    type_ = item.type if node.type in VAGUE else node.type
    return Node(node.name, type_, node.category, min(node.first, at))


def _remade(node: Node, links: Sequence[Link]) -> Node:
    """Return an entity as its remaining mentions describe it; its forgotten names are dropped."""
    ordered = sorted(links, key=lambda link: (said_at(link), link.id))
    names = [str(link.metadata["name"]) for link in ordered]
    name = node.name if node.name in names else names[0]
    return Node(name, node.type, node.category, to_micros(said_at(ordered[0])))


def _mention(scope: Scope, item: Named, place: Place, now: datetime) -> Link:
    return Link(
        id=derive_id(scope, MENTIONED, item.id, place.episode, place.position, place.source),
        kind=MENTIONED,
        source=item.id,
        target=place.episode,
        recorded_at=now,
        weight=(place.at - EPOCH).total_seconds(),
        valid_from=place.at,
        metadata=place.metadata() | {"name": item.name, "spans": item.spans[:SPANS]},
    )
