"""Stale entries: the entities and relations that changed since recall's index was brought up to date, durable.

A change of an entity or a relation marks it in the same transaction. The entries are written later, because embedding
them takes no lock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Line, Storage, WhereLinks

STALE = "stale-knowledge"
"""Log of entities and relations, by id."""


def mark_stale(
    storage: Storage, scope: Scope, now: datetime, *, entities: Iterable[str] = (), relations: Iterable[str] = ()
) -> None:
    """Mark the entries of entities and relations as stale. Call it inside the transaction that changes these."""
    if changed := dict.fromkeys([*entities, *relations]):
        storage.trim_log(scope, STALE, keys=changed)
        storage.append_log(scope, STALE, [Line(id_, now, None) for id_ in changed])


def mark_around(storage: Storage, scope: Scope, now: datetime, entities: Collection[str]) -> None:
    """Mark the entries of these entities and of all their relations as stale."""
    from tidal_plugins.graph.records.relations import KINDS

    rows = storage.links(scope, WhereLinks(ends=entities, kinds=KINDS))
    mark_stale(storage, scope, now, entities=entities, relations=[row.id for row in rows])


def stale(storage: Storage, scope: Scope, limit: int) -> list[Line]:
    """Return the first ``limit`` stale lines."""
    return storage.read_log(scope, STALE, limit=limit)


def take_current(storage: Storage, scope: Scope, lines: Iterable[Line]) -> set[str]:
    """Remove the lines that are unchanged since they were read, and return their ids; the others are stale again.

    Call it inside the transaction that writes the entries.
    """
    seqs = {line.key: line.seq for line in lines}
    there = storage.read_log(scope, STALE, keys=seqs)
    unchanged = {line.key for line in there if seqs[line.key] == line.seq}
    storage.trim_log(scope, STALE, keys=unchanged)
    return unchanged
