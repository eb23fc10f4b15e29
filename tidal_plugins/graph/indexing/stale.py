"""Stale entries: the entities and relations that changed since recall's index was brought up to date.

A change of an entity or a relation stores a job in the same transaction. The entries are written later, because
embedding them takes no lock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from tidal_plugins.jobs.queue import enqueue, note
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Storage, WhereLinks

ENTRIES = "job:entries"
"""Jobs by entity and relation."""


def mark_stale(
    storage: Storage, scope: Scope, now: datetime, *, entities: Iterable[str] = (), relations: Iterable[str] = ()
) -> None:
    """Mark the entries of entities and relations as stale. Call it inside the transaction that changes these."""
    if changed := dict.fromkeys([*entities, *relations]):
        enqueue(storage, scope, ENTRIES, changed, now, replacing=changed)
        note(storage, scope, now)


def mark_around(storage: Storage, scope: Scope, now: datetime, entities: Collection[str]) -> None:
    """Mark the entries of these entities and of all their relations as stale."""
    from tidal_plugins.graph.records.relations import KINDS

    rows = storage.links(scope, WhereLinks(ends=entities, kinds=KINDS))
    mark_stale(storage, scope, now, entities=entities, relations=[row.id for row in rows])
