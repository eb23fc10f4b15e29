"""Tiers of a scope's entries: how many are in each, those that left recall, and their return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from tidal_plugins.ingestion.writer import Writer, reinforced
from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import EPISODE, Entry, Scope, Tier
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.shorthands import set_tiers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.storage.columns.view import Arrays

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


def restore(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> int:
    """Bring an entry back into recall, or an episode with all its entries, and return how many came back.

    What comes back is as warm as if it had just been used.
    """
    storage, settings = writer.storage, writer.settings
    with storage.transaction():
        found = storage.get(scope, [entry.id])
        if entry.kind == EPISODE:
            found |= {one.id: one for one in storage.find(scope, Where(episodes={entry.id}, include_archived=True))}
        tiers = dict[str, Tier]()
        for one in found.values():
            if one.tier is None or one.tier.state(now) not in ("archived", "expired"):
                continue
            back = replace(one, tier=replace(one.tier, archived_at=None, expires_at=None))
            tiers[one.id] = reinforced(back, settings.use.used, now, settings, used=True) or one.tier
        set_tiers(storage, scope, tiers)
    return len(tiers)


def _fades(arrays: Arrays) -> NDArray[np.bool_]:
    """Return which entries turn cold some day."""
    from tidal_plugins.storage.columns.tables import LATEST

    fades: NDArray[np.bool_] = arrays.cold_at < LATEST
    return fades


def _of_kind(arrays: Arrays, kind: str) -> NDArray[np.bool_]:
    """Return which entries are of a kind."""
    import numpy as np

    return np.isin(arrays.kind, arrays.names.known([kind]))
