"""Forgetting in the graph: removes what was learned from a text, and what nothing supports any more."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from tidal_plugins.graph.code.project import forget_code
from tidal_plugins.graph.indexing.entries import graph_entry_id
from tidal_plugins.graph.indexing.stale import ENTRIES, mark_stale
from tidal_plugins.graph.records.entities import MENTIONED, mentions, recount
from tidal_plugins.graph.records.merging import forget_merges, merged
from tidal_plugins.graph.records.relations import (
    EVIDENCE,
    KINDS,
    Validity,
    begin,
    earlier,
    remove,
    supported_by,
    with_confidence,
)
from tidal_plugins.model.entry import EPISODE, Entry, Link, Scope
from tidal_plugins.model.graph import Gone
from tidal_plugins.storage.base import Storage, WhereLinks


def forget_graph(
    storage: Storage, scope: Scope, to_delete: Collection[Entry], functional: Collection[str], now: datetime
) -> set[str]:
    """Remove from the graph what rests on entries that are about to be erased, and return the ids of its entries that
    go with it; those that hold all the same are written anew, without the forgotten parts. Call it inside the
    transaction that erases the entries.

    An entry that stands for a relation or an entity (``metadata["relation"]``, ``metadata["entity"]``) removes that
    with all its evidence, unless it is only erased because its episode is.
    """
    episodes = {entry.id for entry in to_delete if entry.kind == EPISODE}
    chosen = [entry for entry in to_delete if entry.episode not in episodes]
    relations = {str(entry.metadata["relation"]) for entry in chosen if "relation" in entry.metadata}
    entities = {str(entry.metadata["entity"]) for entry in chosen if "entity" in entry.metadata}
    messages = {(entry.episode, entry.position) for entry in to_delete if entry.episode}
    affected = {episode for episode, _ in messages if episode} | episodes
    links = storage.links(scope, WhereLinks(targets=affected, kinds=[MENTIONED, EVIDENCE]))
    removed = [link for link in links if link.target in episodes or (link.target, _position(link)) in messages]
    removed += _of_entities(storage, scope, entities)
    removed += storage.links(scope, WhereLinks(sources=relations, kinds=[EVIDENCE]))
    forget_code(storage, scope, affected)
    return erase_entries(storage, scope, remove_support(storage, scope, removed, functional, now))


def erase_entries(storage: Storage, scope: Scope, gone: Gone) -> set[str]:
    """Erase the entries of what lost support, and return their ids; those that hold all the same are written anew."""
    changed = {graph_entry_id(storage, scope, id_) for id_ in gone.entities | gone.relations | gone.lessened}
    storage.erase(scope, changed)
    storage.trim_log(scope, ENTRIES, keys=gone.entities | gone.relations)  # an error may quote them
    return changed


def remove_support(
    storage: Storage, scope: Scope, removed: Iterable[Link], functional: Collection[str], now: datetime
) -> Gone:
    """Remove mentions and pieces of evidence, and what is left without any."""
    links = {link.id: link for link in removed}
    if not links:
        return Gone()
    storage.erase_links(scope, WhereLinks(ids=links.keys()))
    asserted = {link.source for link in links.values() if link.kind == EVIDENCE}
    mentioned = {link.source for link in links.values() if link.kind == MENTIONED}
    rows = storage.links(scope, WhereLinks(ids=asserted))
    supported: dict[str, list[Link]] = {}
    for link in storage.links(scope, WhereLinks(sources=asserted, kinds=[EVIDENCE])):
        supported.setdefault(link.source, []).append(link)
    lost = [row for row in rows if row.id not in supported]
    before = [row for row in rows if row.id in supported]
    lessened = [supported_by(row, supported[row.id]) for row in with_confidence(storage, scope, before)]
    moved = [(old, new) for old, new in zip(before, lessened, strict=True) if _times(old) != _times(new)]
    validity = Validity(storage, scope, functional, merged(storage, scope), now)
    freed = {row.id for gone in lost for row in validity.closed_by(gone)}
    freed |= {row.id for old, new in moved for row in validity.moved(old, new)}
    storage.put_links(scope, lessened)
    for row in lost:
        remove(storage, scope, row)
    for _, row in moved:
        storage.put_links(scope, [validity.ended(row), *_restated(storage, scope, row, supported[row.id])])
    settled = {row.id for row in lost} | {row.id for _, row in moved}
    changed = validity.refit(storage.links(scope, WhereLinks(ids=freed - settled)))
    gone, renamed = recount(storage, scope, mentioned)
    forget_merges(storage, scope, gone, now)
    affected = storage.links(scope, WhereLinks(ends=renamed, kinds=KINDS))
    changed |= {row.id for row in [*lessened, *affected]}
    mark_stale(storage, scope, now, entities=mentioned - gone, relations=changed)
    return Gone(*map(frozenset, (gone, {row.id for row in lost}, changed | (mentioned - gone), renamed)))


def _times(row: Link) -> tuple[object, ...]:
    return row.valid_from, row.metadata["stated"]


def _restated(storage: Storage, scope: Scope, row: Link, evidence: Collection[Link]) -> list[Link]:
    """Return the earlier versions of a relation, without the times that only forgotten texts stated.

    Versions that are left without any duration are removed.
    """
    versions = [supported_by(version, evidence) for version in earlier(storage, scope, row)]
    empty = {version.id for version in versions if version.valid_until and version.valid_until <= begin(version)}
    storage.erase_links(scope, WhereLinks(ids=empty))
    return [version for version in versions if version.id not in empty]


def _of_entities(storage: Storage, scope: Scope, ids: Collection[str]) -> list[Link]:
    """Return every mention of entities, and all evidence of their relations."""
    rows = storage.links(scope, WhereLinks(ends=ids, kinds=KINDS)) if ids else []
    evidence = storage.links(scope, WhereLinks(sources={row.id for row in rows}, kinds=[EVIDENCE]))
    return [*mentions(storage, scope, ids), *evidence]


def _position(link: Link) -> int | None:
    position = link.metadata["position"]
    return None if position is None else int(position)
