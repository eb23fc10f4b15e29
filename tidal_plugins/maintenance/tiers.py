"""Tiers of a scope's entries: how many are in each, those that left recall, their return, and pins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from tidal_plugins.ingestion.writer import DECAYING, Writer, fading, reinforced, unfading
from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import EPISODE, Entry, Scope, Tier
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.repeating import repeated
from tidal_plugins.storage.shorthands import set_tiers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.storage.columns.arrays import Arrays

PERMANENT = "permanent"
"""Name of the entries that do not fade."""


def count_tiers(storage: Storage, scope: Scope, now: datetime) -> Mapping[str, int]:
    """Return how many entries are in each tier, episodes left out. Call it inside a snapshot."""
    arrays = storage.columns(scope).arrays
    said = ~_of_kind(arrays, EPISODE)
    time = to_micros(now)
    expired = said & (arrays.expires_at <= time)
    archived = said & ~expired & (arrays.archived_at <= time)
    fading = said & ~expired & ~archived & _fades(arrays)
    cold = fading & (arrays.cold_at <= time)
    found = {
        "warm": fading & ~cold,
        "cold": cold,
        "archived": archived,
        "expired": expired,
        PERMANENT: said & ~expired & ~archived & ~fading,
    }
    return {name: count for name, rows in found.items() if (count := int(rows.sum()))}


def count_days(storage: Storage, scope: Scope, now: datetime, days: int) -> dict[date, int]:
    """Return how many entries were stored on each of the last days in the zone of ``now``, episodes left out."""
    import numpy as np

    first = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days - 1)
    starts = [first + timedelta(days=day) for day in range(days)]  # on the clock: a day may have 23 hours
    with storage.snapshot():
        arrays = storage.columns(scope).arrays
        stored = arrays.recorded_at[~_of_kind(arrays, EPISODE)]
    places = np.searchsorted([to_micros(start) for start in starts], stored, side="right") - 1
    counts = np.bincount(places[(places >= 0) & (stored <= to_micros(now))], minlength=days)
    return {start.date(): int(count) for start, count in zip(starts, counts, strict=True)}


def list_archived(storage: Storage, scope: Scope, now: datetime, limit: int, after: int) -> list[Entry]:
    """Return entries that are archived or have expired, those that left recall last first, without episodes."""
    import numpy as np

    time = to_micros(now)
    with storage.snapshot():
        columns = storage.columns(scope)
        arrays = columns.arrays
        left_at = np.minimum(arrays.archived_at, arrays.expires_at)
        rows = np.flatnonzero((left_at <= time) & ~_of_kind(arrays, EPISODE))
        newest = rows[np.argsort(-left_at[rows], kind="stable")][after : after + limit]
        ids = columns.ids(newest)
        found = storage.get(scope, ids)
    return [found[id_] for id_ in ids if id_ in found]


@repeated
def restore(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> int:
    """Bring an entry back into recall, or an episode with all its entries, and return how many came back.

    What comes back is as warm as if it had just been used.
    """
    storage, settings = writer.storage, writer.settings
    with storage.transaction():
        tiers = dict[str, Tier]()
        for one in _with_parts(storage, scope, entry):
            if one.tier is None or one.tier.state(now) not in ("archived", "expired"):
                continue
            back = replace(one, tier=replace(one.tier, archived_at=None, expires_at=None))
            tiers[one.id] = reinforced(back, settings.use.used, now, settings, used=True) or one.tier
        set_tiers(storage, scope, tiers)
    return len(tiers)


@repeated
def pin(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> None:
    """Let an entry fade no more, or an episode's entries, and bring them back into recall."""
    storage = writer.storage
    with storage.transaction():
        set_tiers(storage, scope, {one.id: unfading(now) for one in _with_parts(storage, scope, entry)})


@repeated
def unpin(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> None:
    """Let an entry that was said fade from now on as any other, or an episode's entries. Other kinds never fade."""
    storage, settings = writer.storage, writer.settings
    with storage.transaction():
        tiers = {
            one.id: fading(one.affect, now, settings.decay, settings.affect.threshold)
            for one in _with_parts(storage, scope, entry)
            if one.kind == DECAYING and (one.tier is None or one.tier.cold_at is None)
        }
        set_tiers(storage, scope, tiers)


def _with_parts(storage: Storage, scope: Scope, entry: Entry) -> list[Entry]:
    """Return an entry as it is stored now; of an episode it and all its entries."""
    found = storage.get(scope, [entry.id])
    if entry.kind == EPISODE:
        found |= {one.id: one for one in storage.find(scope, Where(episodes={entry.id}, include_archived=True))}
    return list(found.values())


def _fades(arrays: Arrays) -> NDArray[np.bool_]:
    """Return which entries turn cold some day."""
    from tidal_plugins.storage.columns.tables import LATEST

    fades: NDArray[np.bool_] = arrays.cold_at < LATEST
    return fades


def _of_kind(arrays: Arrays, kind: str) -> NDArray[np.bool_]:
    """Return which entries are of a kind."""
    import numpy as np

    return np.isin(arrays.kind, arrays.names.known([kind]))
