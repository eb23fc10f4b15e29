"""The graph as other graph engines get it: what a sink is known to have, and what changed or is gone since."""

from __future__ import annotations

import secrets as randomness
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, TypeVar

from tidal_plugins.errors import ComponentError, Conflict, TidalError
from tidal_plugins.graph.card import sentence
from tidal_plugins.graph.queries import Episodes
from tidal_plugins.graph.records.entities import MENTIONED, Node, nodes, said_at
from tidal_plugins.graph.records.merging import Merged, merged
from tidal_plugins.graph.records.relations import COUNTED, DENIAL, EVIDENCE, KINDS, predicate, relation_id
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.model.clock import from_micros
from tidal_plugins.model.entry import Link, Scope, derive_id
from tidal_plugins.model.exchange import Episode
from tidal_plugins.model.graph import (
    Evidence,
    Mirrored,
    SinkBatch,
    SinkEntity,
    SinkEpisode,
    SinkIds,
    SinkRelation,
    Status,
)
from tidal_plugins.protocols import GraphSink
from tidal_plugins.scoring.text import normal
from tidal_plugins.secrets.finding import masked
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage, WhereLinks
from tidal_plugins.storage.damage import whole
from tidal_plugins.storage.shorthands import read_document, salt, secret, write_document

HEAD = "head"
"""Key of the document that says who is at it. Other keys have a colon."""

FORM = 1
"""Number of the form in which sinks write. Another number makes every sink write everything anew."""

UNCONFIRMED = ""
"""The digest of what a sink has in a state that is not known."""

Key = tuple[str, str]
"""A kind, such as ``entities``, and an id."""


class Watermark:
    """What one sink has of one scope.

    The latest process to :meth:`begin` goes on; another one that is still at it gets ``Conflict`` at its next step.
    """

    def __init__(self, storage: Storage, scope: Scope, sink: str) -> None:
        self._storage = storage
        self._scope = scope
        self._sink = sink
        self._collection = f"graph-sink {sink}"
        self._run = randomness.token_hex(8)

    def begin(self) -> dict[Key, str]:
        """Take over, and return the known digests."""
        with self._storage.transaction():
            write_document(self._storage, self._scope, self._collection, HEAD, self._run)
            documents = self._storage.documents(self._scope, self._collection)
        return {_key(one.key): str(one.value) for one in documents if one.key != HEAD}

    def digest(self, item: object) -> str:
        """Return a digest of what a sink gets, which tells nothing without the key of the store."""
        return blake2b(f"{FORM} {item!r}".encode(), key=secret(self._storage), digest_size=12).hexdigest()

    def note(self, written: Mapping[Key, str], removed: Collection[Key] = ()) -> None:
        """Note what the sink has now, or is about to get or to lose, and forget what it no longer has."""
        with self._storage.transaction():
            head = read_document(self._storage, self._scope, self._collection, HEAD)
            if head is None or head.value != self._run:
                raise Conflict(
                    f"another process began to mirror to {shown(self._sink)} meanwhile; let one do it at a time"
                )
            values = {_name(key): digest for key, digest in written.items()}
            self._storage.write_documents(self._scope, self._collection, values)
            self._storage.erase_documents(self._scope, self._collection, [_name(key) for key in removed])


def _name(key: Key) -> str:
    return ":".join(key)


def _key(name: str) -> Key:
    kind, _, id_ = name.partition(":")
    return kind, id_


@dataclass(frozen=True, slots=True)
class Feed:
    """A graph as it is now, by ids."""

    entities: dict[str, SinkEntity] = field(default_factory=dict)
    episodes: dict[str, SinkEpisode] = field(default_factory=dict)
    relations: dict[str, SinkRelation] = field(default_factory=dict)


def feed(storage: Storage, scope: Scope, now: datetime, episodes: Episodes | None) -> Feed:
    """Return the graph of a scope. Call it inside a snapshot.

    ``episodes`` returns episodes by id, for their texts; without it the texts are left out.
    """
    known, together = nodes(storage, scope), merged(storage, scope)
    mentions = storage.links(scope, WhereLinks(kinds=[MENTIONED]))
    pieces = storage.links(scope, WhereLinks(kinds=[EVIDENCE]))
    entities = _entities(known, together, mentions)
    rows = [
        row
        for row in storage.links(scope, WhereLinks(kinds=KINDS))
        if together.root(row.source) in entities and together.root(row.target) in entities
    ]
    return Feed(
        entities,
        _episodes(mentions, pieces, together, {row.id for row in rows}, episodes),
        _relations(rows, _by_source(pieces), known, together, now),
    )


def _entities(known: Mapping[str, Node], together: Merged, mentions: Iterable[Link]) -> dict[str, SinkEntity]:
    last: dict[str, datetime] = {}
    for link in mentions:
        root = together.root(link.source)
        last[root] = max(said_at(link), last.get(root, said_at(link)))
    found = {}
    for id_, node in known.items():
        if together.root(id_) == id_ and id_ in last:
            group = [known[member] for member in together.members(id_) if member in known]
            aliases = {normal(one.name): one.name for one in group if normal(one.name) != normal(node.name)}
            first = from_micros(min(one.first for one in group))
            names = tuple(aliases.values())
            found[id_] = SinkEntity(id_, node.name, node.type, node.category, names, first, last[id_])
    return found


def _episodes(
    mentions: Iterable[Link], pieces: Iterable[Link], together: Merged, relations: set[str], episodes: Episodes | None
) -> dict[str, SinkEpisode]:
    """Return the episodes that mention an entity or are evidence of a relation."""
    named: dict[str, set[str]] = {}
    supports: dict[str, set[str]] = {}
    places: dict[str, Link] = {}
    for link in mentions:
        named.setdefault(link.target, set()).add(together.root(link.source))
        _earlier(places, link)
    for link in pieces:
        if link.source in relations:
            supports.setdefault(link.target, set()).add(link.source)
            _earlier(places, link)
    texts = {} if episodes is None else {id_: _text(one) for id_, one in episodes(places.keys()).items()}
    return {
        id_: SinkEpisode(
            id=id_,
            thread=link.metadata["thread"],
            at=said_at(link),
            mentions=tuple(sorted(named.get(id_, ()))),
            relations=tuple(sorted(supports.get(id_, ()))),
            text=texts.get(id_, ""),
        )
        for id_, link in places.items()
    }


def _earlier(places: dict[str, Link], link: Link) -> None:
    """Keep the earliest link to each episode, which tells its thread and its time."""
    if link.target not in places or (said_at(link), link.id) < (said_at(places[link.target]), places[link.target].id):
        places[link.target] = link


def _relations(
    rows: Iterable[Link], pieces: Mapping[str, list[Link]], known: Mapping[str, Node], together: Merged, now: datetime
) -> dict[str, SinkRelation]:
    found = {}
    for row in rows:
        subject, object_, negated = together.root(row.source), together.root(row.target), row.kind == DENIAL
        found[row.id] = SinkRelation(
            id=row.id,
            relation=relation_id(row),
            subject=subject,
            predicate=predicate(row),
            object=object_,
            negated=negated,
            status=_status(row, now),
            fact=sentence(known[subject].name, predicate(row), known[object_].name, negated=negated),
            confidence=row.weight,
            confirmed_at=row.anchored_at or row.recorded_at,
            valid_from=row.valid_from,
            valid_until=row.valid_until,
            recorded_at=row.recorded_at,
            superseded_at=row.superseded_at,
            evidence=tuple(map(_evidence, pieces.get(relation_id(row), ()))),
        )
    return found


def _status(row: Link, now: datetime) -> Status:
    if row.superseded_at is not None:
        return "superseded"
    if row.kind == DENIAL:
        return "denied"
    if row.valid_until is not None and row.valid_until <= now:
        return "ended"
    return "planned" if row.valid_from is not None and row.valid_from > now else "holds"


def _by_source(pieces: Iterable[Link]) -> dict[str, list[Link]]:
    """Return the pieces of evidence of each relation that make up its confidence, newest first."""
    found: dict[str, list[Link]] = {}
    for link in pieces:
        found.setdefault(link.source, []).append(link)
    for id_, links in found.items():
        strongest = sorted(links, key=lambda link: (-link.weight, link.id))[:COUNTED]
        found[id_] = sorted(strongest, key=lambda link: (said_at(link), link.id), reverse=True)
    return found


def _evidence(link: Link) -> Evidence:
    said = link.metadata
    places = (link.target, said["thread"], said["entry"], said["start"], said["end"])
    return Evidence(*places, quote="", at=said_at(link), confidence=link.weight)


def _text(episode: Episode) -> str:
    """Return the messages of an episode, each after its speaker, with secrets masked."""
    text = "\n".join(f"{one.speaker or one.role}: {one.text}" for one in episode.messages if one.text)
    return masked(text)


BATCH = 500
"""Things that a sink gets in one transaction."""

THINGS = ("entities", "episodes", "relations")
"""The kinds of things in the order in which they are written; they are removed in the opposite one."""

R = TypeVar("R")


def mirror(
    storage: Storage, scope: Scope, sink: GraphSink, episodes: Episodes, now: datetime, *, full: bool
) -> Mirrored:
    """Let a sink have the graph of a scope as it is now, and return what that took.

    The sink is asked for the ids that it has, and the watermark tells in which state it has them; with ``full`` no
    state counts as known. Raises ``ComponentError`` if the engine fails. What was confirmed until then stays, and the
    next call goes on.
    """
    watermark, graph = Watermark(storage, scope, sink.name), derive_id(scope, "graph-sink", salt(storage))
    known = watermark.begin()
    held = _ask(sink, lambda: sink.held(graph))
    if not isinstance(held, SinkIds):
        raise ComponentError(f"{shown(sink.name)} must return SinkIds from held, got {type(held).__name__}")
    there = {(kind, id_) for kind in THINGS for id_ in getattr(held, kind)}
    with whole(), storage.snapshot():
        now_known = feed(storage, scope, now, episodes if sink.with_texts else None)
    items: dict[Key, Any] = {(kind, id_): one for kind in THINGS for id_, one in getattr(now_known, kind).items()}
    digests = {key: watermark.digest(one) for key, one in items.items()}
    gone = [key for key in {**dict.fromkeys(known), **dict.fromkeys(sorted(there))} if key not in items]
    changed = [key for key in items if full or key not in there or known.get(key) != digests[key]]
    for keys, batch in _batches(SinkBatch(graph, "/".join(scope)), gone, changed, items):
        watermark.note(dict.fromkeys(keys, UNCONFIRMED))
        _ask(sink, lambda batch=batch: sink.apply(batch))  # type: ignore[misc]
        written = {key: digests[key] for key in keys if key in items}
        watermark.note(written, [key for key in keys if key not in items])
    counts = {kind: sum(key[0] == kind for key in changed) for kind in THINGS}
    return Mirrored(**counts, removed=len(there.difference(items)), unchanged=len(items) - len(changed))


def _batches(
    empty: SinkBatch, gone: Sequence[Key], changed: Sequence[Key], items: dict[Key, Any]
) -> Iterator[tuple[list[Key], SinkBatch]]:
    """Yield the keys and the content of each batch: first what goes, then what comes, each in the order of kinds."""
    for kind in reversed(THINGS):
        for keys in _portions([key for key in gone if key[0] == kind]):
            yield keys, replace(empty, removed=SinkIds(**{kind: frozenset(id_ for _, id_ in keys)}))
    for kind in THINGS:
        for keys in _portions([key for key in changed if key[0] == kind]):
            content: dict[str, Any] = {kind: tuple(items[key] for key in keys)}
            yield keys, replace(empty, **content)


def _portions(keys: list[Key]) -> Iterator[list[Key]]:
    yield from (keys[start : start + BATCH] for start in range(0, len(keys), BATCH))


def _ask(sink: GraphSink, ask: Callable[[], R]) -> R:
    try:
        return ask()
    except TidalError:
        raise
    except Exception as error:
        pass_interrupt(error)
        reason = masked(f"{type(error).__name__}: {error!s:.300}")
        raise ComponentError(f"{shown(sink.name)} did not take the graph: {reason}") from error
