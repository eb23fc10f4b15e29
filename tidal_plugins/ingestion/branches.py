"""Branches of a thread: which turn followed which, and the turns that others took the place of, out of recall."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

from tidal_plugins.ingestion.history import FOLLOWS
from tidal_plugins.ingestion.repeats import FIRST, duplicates, promote
from tidal_plugins.ingestion.writer import Writer, reinforced, unfading
from tidal_plugins.model.entry import EPISODE, Entry, Scope, Tier, derive_id
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import Where, WhereLinks
from tidal_plugins.storage.shorthands import set_tiers


def follow(
    writer: Writer,
    scope: Scope,
    follows: Mapping[str, str],
    now: datetime,
    *,
    replaced: Collection[str] = (),
    back: Collection[str] = (),
) -> None:
    """Note which episode followed which, take ``replaced`` episodes out of recall and ``back`` ones into it again.

    Nothing is lost: the episodes stay readable, and a recall with ``include_archived`` finds them. Words that were said
    again elsewhere are found there. Episodes of ``back`` that are in recall stay as they are, and ids that are not
    known say nothing.
    """
    there = writer.storage.summaries(scope, back) if back else {}
    back = [id_ for id_, row in there.items() if row.tier and row.tier.archived_at]
    if not (follows or replaced or back):
        return
    links = [Link(derive_id(scope, FOLLOWS, later), FOLLOWS, later, earlier, now) for later, earlier in follows.items()]
    while True:
        aside, returning = _entries(writer, scope, replaced), _entries(writer, scope, back)
        repeating = duplicates(writer, scope, aside.keys())
        promoted = writer.records(list(writer.storage.get(scope, repeating).values()))
        with writer.storage.transaction():
            if repeating != duplicates(writer, scope, aside.keys()):
                continue  # said again meanwhile
            writer.storage.put_links(scope, links)
            promote(writer, scope, aside.keys(), promoted, now)
            writer.storage.erase_links(scope, WhereLinks(targets=aside.keys(), kinds=[FIRST]))
            tiers = {
                id_: replace(entry.tier or unfading(now), archived_at=now)
                for id_, entry in aside.items()
                if entry.tier is None or entry.tier.state(now) != "archived"
            }
            tiers |= {id_: tier for id_, entry in returning.items() if (tier := _returned(writer, entry, now))}
            set_tiers(writer.storage, scope, tiers)
        return


def _entries(writer: Writer, scope: Scope, episodes: Collection[str]) -> dict[str, Entry]:
    """Return the rows of episodes, and the entries of their texts."""
    if not episodes:
        return {}
    rows = {id_: row for id_, row in writer.storage.get(scope, list(episodes)).items() if row.kind == EPISODE}
    if not rows:
        return {}
    return rows | {entry.id: entry for entry in writer.storage.find(scope, Where(episodes=set(rows)))}


def _returned(writer: Writer, entry: Entry, now: datetime) -> Tier | None:
    """Return the tier of an entry that is in recall again: warm if it decays."""
    if entry.tier is None:
        return None
    tier = replace(entry.tier, archived_at=None)
    return reinforced(replace(entry, tier=tier), 0.0, now, writer.settings, used=False) or tier
