"""Entities that somebody takes for one, and names so alike that they may be [SIYA §3.3].

A merge moves nothing: it notes that one entity goes by another, and every question is put to both. So undoing it takes
back exactly that, whatever was learned of either in the meantime.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.model.clock import from_micros, to_micros
from tidal_plugins.model.entry import Scope, derive_id
from tidal_plugins.model.graph import Merge
from tidal_plugins.storage.base import Storage

MERGES = "entity-merges"
"""Collection of merges, those that were undone too: what was told apart is not proposed again."""


class Merged:
    """Which entities go by which, at one time."""

    def __init__(self, merges: Iterable[Merge]) -> None:
        self._parents = {merge.absorbed: merge.kept for merge in merges if merge.undone_at is None}
        self._children: dict[str, list[str]] = {}
        for child, parent in self._parents.items():
            self._children.setdefault(parent, []).append(child)

    def add(self, merge: Merge) -> None:
        self._parents[merge.absorbed] = merge.kept
        self._children.setdefault(merge.kept, []).append(merge.absorbed)

    def root(self, id_: str) -> str:
        """The entity that this one goes by."""
        while id_ in self._parents:
            id_ = self._parents[id_]
        return id_

    def alone(self, id_: str) -> bool:
        """Whether an entity is one with no other."""
        return id_ not in self._parents and id_ not in self._children

    def members(self, id_: str) -> list[str]:
        """Every entity that is one with this one, the one that they go by first."""
        found = [self.root(id_)]
        for member in found:
            found += self._children.get(member, ())
        return found

    def all_members(self, ids: Iterable[str]) -> list[str]:
        return [member for root in dict.fromkeys(map(self.root, ids)) for member in self.members(root)]


def merges(storage: Storage, scope: Scope) -> list[Merge]:
    """Return every merge, in the order in which they were made."""
    found = [_from_json(document.key, document.value) for document in storage.documents(scope, MERGES)]
    return sorted(found, key=lambda merge: (merge.at, merge.id))


def merged(storage: Storage, scope: Scope) -> Merged:
    return Merged(merges(storage, scope))


def join(
    storage: Storage, scope: Scope, keep: str, absorb: str, now: datetime, *, known: Merged | None = None
) -> Merge:
    """Let what goes by ``absorb`` go by ``keep`` from now on. Raises ``InvalidInput`` where they are one already.

    ``known``, as it was read in this transaction, spares reading it for each of many, and is kept up to date.
    """
    with storage.transaction():
        known = merged(storage, scope) if known is None else known
        kept, absorbed = known.root(keep), known.root(absorb)
        if kept == absorbed:
            raise InvalidInput(f"{keep!r} and {absorb!r} are one entity already; merge takes two")
        merge = Merge(derive_id(scope, MERGES, *sorted((kept, absorbed))), kept, absorbed, now)
        storage.write_document(scope, MERGES, merge.id, _to_json(merge))
        known.add(merge)
        return merge


def part(storage: Storage, scope: Scope, id_: str, now: datetime) -> Merge:
    """Undo a merge. Raises ``NotFound`` where there is none that stands."""
    with storage.transaction():
        document = storage.read_document(scope, MERGES, id_) if isinstance(id_, str) else None
        if document is None or document.value["undone_at"] is not None:
            raise NotFound(f"no merge {id_!r} to undo in scope {scope}; merges() lists them")
        merge = replace(_from_json(id_, document.value), undone_at=now)
        storage.write_document(scope, MERGES, id_, _to_json(merge))
        return merge


def forget_merges(storage: Storage, scope: Scope, gone: Collection[str], now: datetime) -> None:
    """Take entities that are gone out of all merges; what went by one of them goes by what that went by."""
    touched = [merge for merge in merges(storage, scope) if gone and {merge.kept, merge.absorbed} & set(gone)]
    if not touched:
        return
    known = merged(storage, scope)
    groups = {known.root(merge.kept): known.members(merge.kept) for merge in touched}
    storage.erase_documents(scope, MERGES, [merge.id for merge in touched])
    known = merged(storage, scope)
    for members in groups.values():
        left = [member for member in members if member not in gone]
        for member in left[1:]:
            if known.root(member) != known.root(left[0]):
                join(storage, scope, left[0], member, now, known=known)


def _to_json(merge: Merge) -> dict[str, Any]:
    undone = None if merge.undone_at is None else to_micros(merge.undone_at)
    return {"kept": merge.kept, "absorbed": merge.absorbed, "at": to_micros(merge.at), "undone_at": undone}


def _from_json(id_: str, value: Mapping[str, Any]) -> Merge:
    undone = value["undone_at"]
    at = from_micros(value["at"])
    return Merge(id_, value["kept"], value["absorbed"], at, None if undone is None else from_micros(undone))
