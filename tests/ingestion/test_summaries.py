"""Summaries of episodes that the summariser of a memory writes later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tidal_plugins import Settings, Statement, ToolCall

BY_HAND = Settings(graph={"background": False})


class Scripted:
    """Says the same of every episode."""

    def __init__(self, *said: str) -> None:
        self.said = said

    def summarise(self, sources: Sequence[Any], **_: Any) -> list[Statement]:
        return [Statement(text, (source.id,)) for source in sources for text in self.said]


def test_the_summariser_writes_the_summary_with_its_vector_later(open_memory: OpenMemory) -> None:
    memory = open_memory(
        settings=BY_HAND, summariser=Scripted("The oboe needs 3 reeds from Gaspard. It costs 900 euros.")
    )
    memory.record("What about lunch?", "Soup.")
    call = ToolCall("order", {"what": "reeds"}, result="3 reeds from Gaspard for the oboe")
    turn = memory.record("Order what is missing.", "Ordered.", tools=[call])
    assert memory.episodes[turn.id].summary.startswith("Order what is missing")
    memory.graph.index_pending()
    assert memory.episodes[turn.id].summary == "The oboe needs 3 reeds from Gaspard."
    assert memory.episodes[turn.id].messages == turn.messages
    assert memory.recall("oboe reeds Gaspard", kinds={"episode"})[0].id == turn.id
    memory.graph.index_pending()
    usage = memory.stats().reader
    assert (usage.summaries, usage.calls_today) == (1, 2)


def test_summaries_keep_to_the_budget_of_the_day(open_memory: OpenMemory) -> None:
    settings = Settings(graph={"background": False}, models={"calls_per_day": 1})
    memory = open_memory(settings=settings, summariser=Scripted("Lunch is soup."))
    turns = [memory.record(f"What is lunch number {n}?", "Soup.") for n in range(3)]
    memory.graph.index_pending()
    summaries = [memory.episodes[turn.id].summary for turn in turns]
    assert summaries == ["Lunch is soup.", turns[1].summary, turns[2].summary]


def test_a_summariser_that_fails_leaves_the_extract(open_memory: OpenMemory, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def summarise(self, sources: Any, **_: Any) -> list[Statement]:
            raise RuntimeError("no connection")

    memory = open_memory(settings=BY_HAND, summariser=Broken())
    turn = memory.record("What is lunch?", "Soup.")
    memory.graph.index_pending()
    assert memory.episodes[turn.id].summary == turn.summary
    assert "RuntimeError" in caplog.text
