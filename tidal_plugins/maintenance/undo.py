"""Undo of a consolidation: the changed values as they were before, and their restoration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tidal_plugins.associations.store import ASSOCIATION
from tidal_plugins.maintenance.recurring import Recurring
from tidal_plugins.model.clock import from_micros, to_micros
from tidal_plugins.model.entry import Scope, Tier
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import Storage, WhereLinks
from tidal_plugins.storage.shorthands import set_tiers

SETTLED, PRUNED, COMPRESSED = "settled", "pruned", "fact"
"""Keys of a line of the log: tiers by id, edges, the id of a fact."""


def settled(tier: Tier, cold: float) -> Tier:
    """Return the tier of an entry that has turned cold.

    It is anchored at that moment with weight 1 and the half-life ``cold``, in hours. The time of its archiving does not
    change [Tidal §2.4].
    """
    return replace(tier, weight=1.0, anchored_at=tier.cold_at or tier.anchored_at, half_life=cold)


def tier_value(tier: Tier) -> list[float]:
    """Return the values of a tier that settling changes, by which it is recognised afterwards."""
    return [tier.weight, to_micros(tier.anchored_at), tier.half_life, to_micros(tier.cold_at or tier.anchored_at)]


def edge_value(edge: Link) -> list[Any]:
    times = [to_micros(time) if time else None for time in (edge.recorded_at, edge.anchored_at, edge.expires_at)]
    return [edge.id, edge.source, edge.target, edge.weight, *times]


def restore(storage: Storage, scope: Scope, line: Mapping[str, Any], recurring: Recurring, now: datetime) -> int:
    """Put back what a line tells of, and return how much that was. Call it inside a transaction; once more changes
    nothing."""
    if PRUNED in line:
        return _restore_edges(storage, scope, [_edge(*value) for value in line[PRUNED]])
    if SETTLED in line:
        return _restore_tiers(storage, scope, line[SETTLED])
    return recurring.unmake(line[COMPRESSED], now)


def _restore_tiers(storage: Storage, scope: Scope, before: Mapping[str, Sequence[Any]]) -> int:
    """Restore the tiers of entries that are as settling left them.

    An entry that was used since is warm, and stays so.
    """
    found = storage.summaries(scope, before.keys())
    tiers = {}
    for id_, (weight, anchored_at, half_life, cold_at) in before.items():
        tier = found[id_].tier if id_ in found else None
        if tier and tier.cold_at and tier.anchored_at == tier.cold_at == from_micros(cold_at):
            tiers[id_] = replace(tier, weight=weight, anchored_at=from_micros(anchored_at), half_life=half_life)
    set_tiers(storage, scope, tiers)
    return len(tiers)


def _restore_edges(storage: Storage, scope: Scope, edges: Sequence[Link]) -> int:
    """Restore the edges between entries that are still there and have not come up together since."""
    known = storage.summaries(scope, {end for edge in edges for end in (edge.source, edge.target)})
    anew = {edge.id for edge in storage.links(scope, WhereLinks(ids=[edge.id for edge in edges]))}
    gone = [edge for edge in edges if edge.id not in anew and {edge.source, edge.target} <= known.keys()]
    storage.put_links(scope, gone)
    return len(gone)


def _edge(
    id: str, source: str, target: str, weight: float, recorded: int, anchored: int | None, expires: int | None
) -> Link:
    return Link(
        id,
        ASSOCIATION,
        source,
        target,
        from_micros(recorded),
        weight=weight,
        anchored_at=None if anchored is None else from_micros(anchored),
        expires_at=None if expires is None else from_micros(expires),
    )
