"""What the graph knows, in LangChain: facts as documents, the tool, a model that reads."""

from datetime import UTC, datetime

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from langchain_tidal import SearchGraph, TidalMemoryMiddleware, TidalRetriever
from tidal_plugins import HashingEmbedder, TidalMemory
from tidal_plugins.testing import FrozenClock

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
CALLS = "`create_invoice` calls `calculate_tax_liability`."
QUOTE = "create_invoice` calls `calculate_tax_liability"


@pytest.fixture
def clock():
    return FrozenClock(MONDAY)


@pytest.fixture
def shop(path, clock):
    """A memory that has read three turns on Monday and one on Thursday."""
    with TidalMemory(path, embedder=HashingEmbedder(), clock=clock) as memory:
        memory.record("Where is it?", "`calculate_tax_liability` is defined in `billing/tax.py`.", thread="monday")
        memory.record("Who calls it?", CALLS, thread="monday")
        memory.record("How is it?", "The deployment is blocked.", thread="monday")
        memory.graph.index_pending()
        clock.advance(days=3)
        memory.record("And now?", "The deployment is running.", thread="thursday")
        memory.graph.index_pending()
        yield memory


# the retriever


def test_facts_come_as_documents_with_the_words_that_say_so(shop):
    documents = TidalRetriever(shop, kinds={"fact"}, k=3).invoke("what calls calculate_tax_liability?")
    found = next(document for document in documents if "relation" in document.metadata)
    episode = shop.episodes.list(thread="monday")[1]
    assert "create_invoice calls calculate_tax_liability" in found.page_content
    assert found.metadata["kind"] == "fact"
    assert found.metadata["evidence"] == [f"[{episode.citation}] «{QUOTE}»"]
    assert found.metadata["episodes"] == [episode.id]


def test_what_is_no_part_of_the_graph_has_no_evidence(shop):
    shop.facts["bridge"] = "up"
    for kinds in ({"conversation"}, {"fact"}):
        documents = TidalRetriever(shop, kinds=kinds).invoke("bridge")
        assert all("evidence" not in each.metadata for each in documents if each.page_content == "bridge: up")


def test_an_agent_looks_it_up_and_what_it_found_is_not_recorded_as_new(shop, says):
    model = says(
        AIMessage("", tool_calls=[{"name": "search_graph", "args": {"entity": "deployment"}, "id": "call-1"}]),
        "It is running.",
    )
    agent = create_agent(model, [SearchGraph(memory=shop)], middleware=[TidalMemoryMiddleware(shop)])
    told = agent.invoke({"messages": [HumanMessage("How is the deployment?", id="m1")]}, {"configurable": {}})
    assert "running" in told["messages"][-2].text
    before = len(shop.graph.relations(subject="deployment"))
    shop.graph.index_pending()
    (relation,) = shop.graph.relations(subject="deployment")
    assert before == 1
    assert len(relation.episodes) == 1
