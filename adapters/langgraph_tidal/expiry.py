"""Times to live of a store's items. An item is archived when its time is over, and no search returns it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from tidal_plugins import Entry, InvalidInput, Tier

UNFADING = 1e9
"""Half-life in hours: until its time is over an item counts in full."""


def lasting(minutes: float | None, now: datetime) -> Tier | None:
    """Return the tier of an item that is archived after some minutes and does not fade before.

    Raises ``InvalidInput`` for anything but a number above 0.
    """
    if minutes is None:
        return None
    try:
        end = now + timedelta(minutes=minutes)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"ttl must be a number of minutes, got {minutes!r}") from error
    if end <= now:
        raise InvalidInput(f"ttl must be more than 0 minutes, got {minutes!r}")
    return Tier(1.0, now, UNFADING, archived_at=end)


def renewed(tier: Tier, now: datetime) -> Tier:
    if tier.archived_at is None:
        return tier
    return replace(tier, anchored_at=now, archived_at=now + (tier.archived_at - tier.anchored_at))


def expired(item: Entry, now: datetime) -> bool:
    return item.tier is not None and item.tier.state(now) == "archived"
