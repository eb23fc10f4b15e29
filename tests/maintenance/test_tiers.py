"""Tiers of entries: how many are in each, what left recall, and its return."""

from __future__ import annotations

from typing import Any

import pytest

from tidal_plugins import Forgotten, InvalidInput, NotFound, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

DAY = 24


def test_entries_are_counted_by_kind_and_tier(memory: TidalMemory, clock: FrozenClock) -> None:
    memory.record("The ferry leaves at nine.", "Noted.")
    memory.remember("The quay is closed on Mondays.")
    assert memory.stats().kinds == {"conversation": 2, "episode": 1, "kb": 1}
    assert memory.stats().tiers == {"warm": 2, "permanent": 1}
    clock.advance(hours=40 * DAY)
    assert memory.stats().tiers == {"cold": 2, "permanent": 1}
    clock.advance(hours=400 * DAY)
    assert memory.stats().tiers == {"archived": 2, "permanent": 1}
    assert memory.scoped("other").stats().tiers == {}


def test_the_archive_is_listed_a_page_at_a_time(memory: TidalMemory, clock: FrozenClock) -> None:
    for n in range(3):
        memory.record(f"The ferry to harbour {n} leaves at nine.")
        clock.advance(hours=DAY)
    assert memory.entries.archived() == []
    clock.advance(hours=400 * DAY)
    said = [entry.text for entry in memory.entries.archived()]
    assert said == [f"The ferry to harbour {n} leaves at nine." for n in (2, 1, 0)]
    assert [entry.text for entry in memory.entries.archived(limit=1, after=1)] == said[1:2]


async def test_what_is_restored_is_found_again_and_fades_again(memory: TidalMemory, clock: FrozenClock) -> None:
    turn = memory.record("The ferry to Bergen leaves at nine.", "Noted.")
    clock.advance(hours=400 * DAY)
    assert not memory.recall("ferry to Bergen")
    restored = await memory.entries.arestore(turn.entries[0])
    assert restored.tier is not None
    assert restored.tier.state(memory.now()) == "warm"
    assert [hit.id for hit in memory.recall("ferry to Bergen")] == [turn.entries[0]]
    assert [entry.id for entry in await memory.entries.aarchived()] == [turn.entries[1]]
    assert memory.entries.restore(turn.entries[0]).tier == restored.tier
    clock.advance(hours=400 * DAY)
    assert memory.get(turn.entries[0]).tier.state(memory.now()) == "archived"  # type: ignore[union-attr]


def test_an_episode_comes_back_with_all_its_entries_and_not_when_it_was_forgotten(
    memory: TidalMemory, clock: FrozenClock
) -> None:
    turn = memory.record("The ferry to Bergen leaves at nine.", "Noted, the ferry.")
    clock.advance(hours=400 * DAY)
    assert memory.entries.restore(f"ep:{turn.id}").id == turn.id
    assert memory.entries.archived() == []
    assert {hit.id for hit in memory.recall("ferry")} == set(turn.entries)
    note = memory.remember("The quay is closed on Mondays.")
    assert memory.entries.unpin(note.id).tier == note.tier, "what never fades stays so"
    memory.forget(turn.id)
    with pytest.raises(Forgotten):
        memory.entries.restore(turn.id)
    with pytest.raises(NotFound):
        memory.entries.restore("unknown")


async def test_what_is_pinned_does_not_fade_until_it_is_unpinned(memory: TidalMemory, clock: FrozenClock) -> None:
    turn = memory.record("The ferry to Bergen leaves at nine.", "Noted.")
    clock.advance(hours=400 * DAY)
    memory.entries.pin(turn.entries[0])
    clock.advance(hours=4_000 * DAY)
    assert [hit.id for hit in memory.recall("ferry to Bergen")] == [turn.entries[0]]
    assert memory.stats().tiers == {"archived": 1, "permanent": 1}
    await memory.entries.aunpin(turn.entries[0])
    assert memory.stats().tiers == {"archived": 1, "warm": 1}
    clock.advance(hours=400 * DAY)
    assert not memory.recall("ferry to Bergen")
    await memory.entries.apin(turn.id)
    assert {hit.id for hit in memory.recall("ferry, noted")} >= {turn.entries[0]}
    assert memory.entries.archived() == []


async def test_growth_is_counted_by_day_in_the_zone_of_the_settings(open_memory: Any, clock: FrozenClock) -> None:
    memory: TidalMemory = open_memory(settings=Settings(time_zone="Pacific/Auckland"))
    memory.remember("The quay is closed on Mondays.")  # NOON in London is the next day there
    clock.advance(hours=2 * DAY)
    memory.record("The ferry leaves at nine.", "Noted.")
    growth = memory.entries.growth(4)
    assert list(growth.values()) == [0, 1, 0, 2]
    assert list(growth)[-1] == memory.now().astimezone(memory.settings.zone).date()
    assert await memory.entries.agrowth(1) == {list(growth)[-1]: 2}
    with pytest.raises(InvalidInput):
        memory.entries.growth(0)
