"""The card of an entity: what is so, what is planned and what was, in sentences with dates and citations."""

from datetime import UTC, datetime, timedelta

import pytest

from langchain_tidal import history_tools
from tidal_plugins import HashingEmbedder, NotFound, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path):
    clock, settings = FrozenClock(MONDAY), Settings(graph={"background": False})
    with TidalMemory(tmp_path / "m.db", embedder=HashingEmbedder(), settings=settings, clock=clock) as memory:
        for said in (
            "I live in Ghent. I always check the logs first.",
            "My sister Ana is a nurse. My knee is playing up.",
            "I moved to Namur. I'm planning to repaint the hall. Ana has a cat.",
        ):
            memory.record(said, "Noted.")
            memory.graph.index_pending()
            clock.advance(days=3)
        yield memory


def texts(notes):
    return {note.text for note in notes}


def test_a_card_tells_what_is_so_what_is_planned_and_what_was(memory):
    card = memory.graph.card("user", reader="user")
    assert texts(card.current) == {
        "You live in Namur", "Your knee is playing up", "Ana is your sister", "You always check the logs first",
    }  # fmt: skip
    assert texts(card.planned) == {"You plan to repaint the hall"}
    assert texts(card.past) == {"You lived in Ghent"}
    assert (card.past[0].since, card.past[0].until) == (MONDAY, MONDAY + timedelta(days=6))


def test_a_reader_who_is_somebody_else_is_not_addressed(memory):
    told = texts(memory.graph.card("Ana").current)
    assert told >= {"Ana is the sister of the user", "Ana has a cat", "Ana works as a nurse"}
    with pytest.raises(NotFound):
        memory.graph.card("Ana", type="file")


def lookup(memory, name):
    """Return the text and the results of the tool that looks names up."""
    (tool,) = (tool for tool in history_tools(memory) if tool.name == "entity_lookup")
    message = tool.invoke({"name": tool.name, "args": {"name": name}, "id": "1", "type": "tool_call"})
    return message.content, message.artifact["results"]


def test_the_sources_of_a_card_resolve(memory):
    text, results = lookup(memory, "user")
    (known,) = (row for row in results if row["name"] == "user")
    for note in (*known["current"], *known["planned"], *known["past"]):
        assert memory.get(note["citation"]).text
    assert "before: The user lived in Ghent (since 2026-03-02, until 2026-03-08)" in text
    assert "planned: The user plans to repaint the hall (since 2026-03-08)" in text


def test_a_card_is_bounded(memory):
    for number in range(30):
        memory.record(f"We use Tool{number}Kit.", "Noted.")
    memory.graph.index_pending()
    assert len(memory.graph.card("We").current) == 12
    assert len(lookup(memory, "We")[1][0]["current"]) == 6
