"""Keeping a fact against a text: recall takes the fact to hold, whenever the text was read."""

from __future__ import annotations

import pytest

from tests.conftest import OpenMemory
from tidal_plugins import TidalMemory
from tidal_plugins.testing import FrozenClock

SAID = "Caroline's city is Berlin. Melanie's kids are 3."


@pytest.fixture
def memory(open_memory: OpenMemory, clock: FrozenClock) -> TidalMemory:
    memory = open_memory()
    memory.facts["caroline.city"] = "Stockholm"
    clock.advance(hours=1)
    memory.record(SAID, "I see.")
    memory.graph.index_pending()
    return memory


def superseded(memory: TidalMemory) -> list[str]:
    return [str(link) for hit in memory.recall("What is Caroline's city?") for link in hit.why.superseded_by]


@pytest.mark.parametrize("read_before", [True, False])
def test_a_fact_that_was_kept_is_superseded_by_nothing(memory: TidalMemory, read_before: bool) -> None:
    if read_before:
        memory.supersessions.find()
        assert superseded(memory)
    [found] = memory.facts.conflicts()
    assert memory.facts.resolve(found.id, "fact") == "Stockholm"
    memory.supersessions.find()
    assert memory.supersessions.list() == []
    assert superseded(memory) == []
    [entry] = [hit for hit in memory.recall("What is Caroline's city?") if "Stockholm" in hit.text]
    assert entry.why.superseded_by == ()


def test_a_claim_that_was_taken_stays(memory: TidalMemory) -> None:
    memory.supersessions.find()
    [found] = memory.facts.conflicts()
    assert memory.facts.resolve(found.id, "claim") == "Berlin"
    assert memory.recall("What is Caroline's city?")[0].text != "caroline.city: Stockholm"


def test_the_earlier_of_two_texts_can_be_kept(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory()
    memory.record("The meeting is at 10:00.", thread="a")
    clock.advance(hours=1)
    memory.record("The meeting is at 11:00.", thread="a")
    memory.supersessions.find()
    [found] = memory.facts.conflicts()
    assert "10:00" in memory.facts.resolve(found.id, "fact")
    memory.supersessions.find()
    assert memory.supersessions.list() == []
