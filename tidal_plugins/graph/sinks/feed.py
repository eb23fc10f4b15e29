"""The whole graph of a scope as a sink gets it: entities, episodes and relations with their evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tidal_plugins.graph.lookup import Episodes
from tidal_plugins.graph.phrases import sentence
from tidal_plugins.graph.records.entities import MENTIONED, Node, nodes, said_at
from tidal_plugins.graph.records.merging import Merged, merged
from tidal_plugins.graph.records.relations import COUNTED, DENIAL, EVIDENCE, KINDS, predicate, relation_id
from tidal_plugins.model.clock import from_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.graph import Evidence
from tidal_plugins.model.link import Link
from tidal_plugins.model.sink import SinkEntity, SinkEpisode, SinkRelation, Status
from tidal_plugins.scoring.text import normal
from tidal_plugins.secrets.finding import masked
from tidal_plugins.storage.base import Storage, WhereLinks


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
