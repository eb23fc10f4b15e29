"""What has changed in the graph since recall's index was last brought up to date, durable.

Whatever changes an entity or a relation says so in its own transaction; the entries that stand for them are written
later, where no lock is held while they are embedded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from tidal_plugins.graph.relations import KINDS
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Line, Storage, WhereLinks

STALE = "stale-knowledge"
"""Log of entities and relations, under their ids."""


def mark_stale(
    storage: Storage, scope: Scope, now: datetime, *, entities: Iterable[str] = (), relations: Iterable[str] = ()
) -> None:
    """Let the entries of these be written anew. Call it inside the transaction that changes them."""
    if changed := dict.fromkeys([*entities, *relations]):
        storage.trim_log(scope, STALE, keys=changed)
        storage.append_log(scope, STALE, [Line(id_, now, None) for id_ in changed])


def mark_around(storage: Storage, scope: Scope, now: datetime, entities: Collection[str]) -> None:
    """Let the entries of these entities be written anew, and of all that they are related to."""
    rows = storage.links(scope, WhereLinks(ends=entities, kinds=KINDS))
    mark_stale(storage, scope, now, entities=entities, relations=[row.id for row in rows])


def stale(storage: Storage, scope: Scope, limit: int) -> list[Line]:
    """The first lines of what is to be written anew."""
    return storage.read_log(scope, STALE, limit=limit)


def settle(storage: Storage, scope: Scope, lines: Iterable[Line]) -> set[str]:
    """Take out the lines that still stand as they were read, and return their ids: the others have changed again. Call
    it inside the transaction that writes their entries."""
    seqs = {line.key: line.seq for line in lines}
    there = storage.read_log(scope, STALE, keys=seqs)
    unchanged = {line.key for line in there if seqs[line.key] == line.seq}
    storage.trim_log(scope, STALE, keys=unchanged)
    return unchanged
