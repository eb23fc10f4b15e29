"""Entries: what state their tier is in."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tidal_plugins import Settings, Tier
from tidal_plugins.testing import NOON

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("days", "kept", "gated"),
    [
        (-3, "warm", "warm"),
        (0, "warm", "warm"),
        (13.9, "warm", "warm"),
        (14, "warm", "expired"),
        (19.9, "warm", "expired"),
        (20, "cold", "expired"),
        (218.9, "cold", "expired"),
        (219, "archived", "expired"),
        (10_000, "archived", "expired"),
    ],
)
def test_a_tier_tells_its_state_at_any_time(days: float, kept: str, gated: str) -> None:
    ends = {"cold_at": NOON + 20 * DAY, "archived_at": NOON + 219 * DAY}
    assert Tier(1.0, NOON, 72.0, **ends).state(NOON + days * DAY) == kept
    assert Tier(1.0, NOON, 72.0, **ends, expires_at=NOON + 14 * DAY).state(NOON + days * DAY) == gated


def test_what_never_ends_stays_warm() -> None:
    assert Tier(1.0, NOON, 1e9).state(NOON + 100_000 * DAY) == "warm"


def test_recall_finds_what_is_warm_or_cold(open_memory, clock) -> None:
    memory = open_memory(settings=Settings(gate={"enabled": True}))
    said = memory.record("The north pier is closed for repairs until the storm is over.").entries[0]
    trivial = memory.record("pier pier").entries[0]
    seen = []
    for days in (0, 15, 10, 200):
        clock.advance(days=days)
        found = memory.recall("pier").ids
        for id_ in (said, trivial):
            state = memory.get(id_).tier.state(memory.now())
            assert (id_ in found) == (state in ("warm", "cold"))
            seen.append(state)
    assert seen == ["warm", "warm", "warm", "expired", "cold", "expired", "archived", "expired"]
