"""Lists that are read a page at a time: each page is a part of the whole list, in its order."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tidal_plugins import InvalidInput, TidalMemory
from tidal_plugins.testing import NOON, FrozenClock

LISTS: dict[str, Callable[..., list[Any]]] = {
    "facts": lambda memory, **page: memory.facts.list(**page),
    "conflicts": lambda memory, **page: memory.facts.conflicts(**page),
    "supersessions": lambda memory, **page: memory.supersessions.list(**page),
    "newest supersessions": lambda memory, **page: memory.supersessions.list(newest_first=True, **page),
    "sessions": lambda memory, **page: memory.sessions.list(**page),
    "newest sessions": lambda memory, **page: memory.sessions.list(newest_first=True, **page),
    "dossiers": lambda memory, **page: memory.dossiers.list(**page),
    "timeline": lambda memory, **page: memory.graph.timeline("Ann", **page),
    "episodes": lambda memory, **page: memory.episodes.list(**page),
    "newest episodes": lambda memory, **page: memory.episodes.list(newest_first=True, **page),
}


@pytest.fixture
def full(memory: TidalMemory, clock: FrozenClock) -> TidalMemory:
    """Return a memory with several things in each list."""
    for n, town in enumerate(("Bergen", "Lisbon", "Porto", "Ghent")):
        memory.facts[f"harbour {n}"] = town
        memory.graph.relate("Ann", "works_at", f"{town} Ltd", since=NOON + timedelta(days=n))
        memory.record(f"My office is in {town} now.", "Noted.", thread="a")
        memory.dossiers.refresh(f"harbour {town}")
        with memory.sessions.open(agent=town) as session:
            session.signal("like", memory.episodes.list(newest_first=True, limit=1)[0].entries[0])
        memory.record(f"Harbour {n} is Antwerp.", "Noted.", thread="b")
        clock.advance(hours=1)
    memory.supersessions.find()
    return memory


def test_pages_are_parts_of_the_list_and_the_newest_come_first_if_asked(full: TidalMemory) -> None:
    for name, listed in LISTS.items():
        whole = listed(full)
        assert len(whole) >= 3, name
        assert listed(full, limit=2) == whole[:2], name
        assert listed(full, limit=1, after=2) == whole[2:3], name
        assert listed(full, after=1) == whole[1:], name
        assert listed(full, limit=5, after=1_000) == [], name
        for page in ({"limit": 0}, {"limit": "2"}, {"after": -1}):
            with pytest.raises(InvalidInput):
                listed(full, **page)
    sessions = [session.agent for session in full.sessions.list(newest_first=True, limit=2)]
    assert sessions == ["Ghent", "Porto"]
    later = [full.get(one.later).text for one in full.supersessions.list(newest_first=True, limit=1)]
    assert later == ["My office is in Ghent now."]


def test_an_ended_fact_takes_no_place_on_a_page(memory: TidalMemory) -> None:
    for key in "abc":
        memory.facts[key] = key
    del memory.facts["a"]
    assert [fact.key for fact in memory.facts.list(limit=1)] == ["b"]
    assert [fact.key for fact in memory.facts.list(limit=1, after=1)] == ["c"]


def test_a_supersession_that_was_undone_takes_no_place_on_a_page(full: TidalMemory) -> None:
    first, second = full.supersessions.list(limit=2)
    full.supersessions.undo(first.later, first.earlier)
    assert full.supersessions.list(limit=1) == [second]
