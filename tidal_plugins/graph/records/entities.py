"""Entities as they are stored: names, a document for each, and a link to every message that names it [SIYA §3.3]."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from tidal_plugins.model.clock import EPOCH, to_micros
from tidal_plugins.model.entry import Link, Scope, derive_id
from tidal_plugins.model.graph import Category, Mention, Reader
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.storage.base import Storage, WhereLinks
from tidal_plugins.storage.shorthands import write_document

MAX_NAME = 200
"""Characters of an entity's name."""


ENTITY = "entity"
NAMED = "named"
"""Kind of the link from a name, or a word of it, to its entity. Its weight is 1 / words in the name."""

CASELESS = frozenset("package library service database tool language host".split())
"""Types of technical entities whose names are written in any case: Redis, redis."""

SPEAKER = frozenset("i me my mine myself".split())

ADDRESSED = frozenset("you your yours".split())

_QUOTES = {("`", "`"), ("'", "'"), ('"', '"'), ("“", "”"), ("‘", "’"), ("«", "»")}
MAX_ENDS = 6
"""Ends of a path, from the file's own name on, by which it is found: more folders are hardly ever said."""
_CANDIDATES = 200
"""Entities that one word may bring up; those with the shortest names come first."""


class Shared(NamedTuple):
    """The number of words that a name and a text share, and of different words in each."""

    words: int
    asked: int
    length: int

    @property
    def likeness(self) -> float:
        """Return the shared part of all words of both, in (0, 1]."""
        return 2 * self.words / (self.asked + self.length)

    @property
    def coverage(self) -> float:
        """Return the part of the name that stands in the text, in (0, 1]."""
        return self.words / self.length


def bare(name: str) -> str:
    """Return a name without surrounding quotation marks, empty brackets and extra space."""
    plain = " ".join(unicodedata.normalize("NFKC", name).split())
    while len(plain) > 2 and (plain[0], plain[-1]) in _QUOTES:
        plain = plain[1:-1].strip()
    return plain.removeprefix("./").removesuffix("()") or plain


def entity_id(scope: Scope, mention: Mention) -> str:
    """Return the id of the entity that a mention names, the same everywhere in the scope."""
    name = bare(mention.name)
    if mention.category == "technical":
        exact = name.casefold() if mention.type in CASELESS else name
        return derive_id(scope, ENTITY, "technical", exact)
    return derive_id(scope, ENTITY, mention.category, mention.type, normal(name))


def spoken(mention: Mention, speaker: str, addressed: str | None) -> str | None:
    """Return the name of a mentioned entity, or ``None`` if «you» is nobody known.

    «I» is the speaker, «you» the one ``addressed``, and «my sister» a relative of the speaker.
    """
    if mention.type != "person":
        return bare(mention.name)
    if is_in_talk(mention):
        return speaker if is_speaker(mention) else addressed
    owner, _, relative = mention.name.partition(" ")
    if relative and owner.casefold() in ("my", "our", "your"):
        whose = addressed if owner.casefold() == "your" else speaker
        return whose and f"{whose}'s {relative}"
    return bare(mention.name)


def is_speaker(mention: Mention) -> bool:
    return mention.type == "person" and mention.name.casefold() in SPEAKER


def is_in_talk(mention: Mention) -> bool:
    """Return whether a mention is the one who speaks or who is spoken to, named or not."""
    return is_speaker(mention) or (mention.type == "person" and mention.name.casefold() in ADDRESSED)


def stands_in(name: str, text: str) -> bool:
    """Return whether a name occurs in a text as words of its own, in any case."""
    return re.search(rf"(?<!\w){re.escape(normal(bare(name)))}(?!\w)", normal(text)) is not None


def index_names(storage: Storage, scope: Scope, names: Iterable[tuple[str, str, str]], now: datetime) -> None:
    """Index entities, given as ids with names and types, by their names and by the words of the names.

    A file is found by each end of its path, and what two files define by its bare name.
    """
    links = []
    for id_, name, type_ in names:
        words = dict.fromkeys(terms(name))
        for node in [*map(_whole, _shorter(name, type_)), *map(_word, words)]:
            key = derive_id(scope, NAMED, id_, node)
            links.append(Link(key, NAMED, node, id_, now, weight=1 / max(1, len(words))))
    storage.put_links(scope, links)


def unindex_names(storage: Storage, scope: Scope, ids: Collection[str]) -> None:
    storage.erase_links(scope, WhereLinks(targets=ids, kinds=[NAMED]))


def called(storage: Storage, scope: Scope, name: str) -> list[str]:
    """Return the ids of the entities that have this name, in any case."""
    return [link.target for link in storage.links(scope, WhereLinks(sources=[_whole(name)], kinds=[NAMED]))]


def sharing(storage: Storage, scope: Scope, text: str) -> dict[str, Shared]:
    """Return the entities whose names share words with a text, by id."""
    asked = dict.fromkeys(terms(text))
    shared: dict[str, Shared] = {}
    for step in storage.frontier(scope, [_word(word) for word in asked], [NAMED], each=_CANDIDATES):
        known = shared.get(step.other)
        shared[step.other] = Shared(1 + (known.words if known else 0), len(asked), round(1 / step.weight))
    return shared


def files_called(storage: Storage, scope: Scope, paths: Collection[str]) -> dict[str, list[str]]:
    """Return the ids of the entities that are called by these paths, or by longer ones that end with them."""
    wanted = {_whole(path): path for path in paths}
    ids: dict[str, list[str]] = {}
    for link in storage.links(scope, WhereLinks(sources=wanted, kinds=[NAMED])):
        ids.setdefault(wanted[link.source], []).append(link.target)
    return ids


def _shorter(name: str, type_: str) -> Iterable[str]:
    """Return a name and the shorter ones by which it is found."""
    if type_ == "file":
        parts = name.split("/")
        return [name, *("/".join(parts[-count:]) for count in range(1, min(len(parts), MAX_ENDS + 1)))]
    return [name, name.rpartition("::")[2]] if "::" in name and "/" in name else [name]


def _whole(name: str) -> str:
    return f"name:{normal(bare(name))}"


def _word(word: str) -> str:
    return f"part:{word}"


ENTITIES = "entities"
"""Collection of entities, by id."""

MENTIONED = "mentioned"
"""Kind of the link from an entity to an episode that names it.

Its weight is the time in seconds, so that the strongest links are the newest.
"""

VAGUE = frozenset({"concept", "symbol", "variable"})
"""Types that say little. Another type replaces them."""

IMPORT = "import:"
"""Prefix of a source's name where an episode's id would stand."""

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
