"""Damaged entries that are to be forgotten: reads leave them out, and their rows must go all the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from tidal_plugins.ingestion.episodes import from_entry
from tidal_plugins.model.entry import EPISODE, Scope
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.damage import ENTRIES, UNKNOWN, Damaged, noticed

PAGE = 500
"""Episodes that are read at once."""


class DamagedEntries(NamedTuple):
    """The ids of damaged entries that are to be forgotten, of the intact entries that were said in those of them that
    are episodes, and of the intact episodes in which they were said."""

    ids: set[str]
    said: set[str]
    heard: set[str]


def damaged_entries(storage: Storage, scope: Scope, ids: Collection[str]) -> DamagedEntries:
    """Return the damaged entries that ``ids`` name, themselves or as the episodes in which they were said."""
    with noticed() as damaged:
        found = storage.get(scope, ids).values()
        storage.get(scope, [said for entry in found if entry.kind == EPISODE for said in from_entry(entry).entries])
        episodes = ids_of(damaged)
        said = storage.find(scope, Where(episodes=episodes)) if episodes else []
    broken = ids_of(damaged)
    return DamagedEntries(broken, {entry.id for entry in said}, _heard(storage, scope, broken) if broken else set())


def ids_of(damaged: Iterable[Damaged]) -> set[str]:
    """Return the ids of those damaged rows that are entries."""
    return {row.name for row in damaged if row.table == ENTRIES and row.name != UNKNOWN}


def _heard(storage: Storage, scope: Scope, ids: Collection[str]) -> set[str]:
    """Return the episodes that have one of these entries: a damaged row does not say whose it is."""
    heard, after, where = set[str](), 0, Where(kinds={EPISODE})
    while page := storage.find(scope, where, limit=PAGE, after=after):
        after += len(page)
        heard.update(entry.id for entry in page if not set(ids).isdisjoint(from_entry(entry).entries))
    return heard
