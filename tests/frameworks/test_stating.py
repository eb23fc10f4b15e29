"""remember_fact and relate: tools of an agent, under a policy, audited, with the turn as their evidence."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from langchain_tidal import TidalMemoryMiddleware, graph_tools
from llama_index_tidal import TidalToolSpec
from tests.frameworks.conftest import ScriptedModel
from tidal_plugins import HashingEmbedder, Policy, Settings, TidalMemory

HOME = {"subject": "user", "predicate": "lives_in", "object": "Porto", "since": "2026-03-01"}
THREAD = {"configurable": {"thread_id": "monday"}}


@pytest.fixture
def memory(tmp_path: Any) -> Any:
    settings = Settings(graph={"background": False})
    with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), settings=settings) as memory:
        yield memory


def calling(name: str, **arguments: Any) -> list[Any]:
    made = [{"name": name, "args": arguments, "id": "call-1"}]
    return [AIMessage("", tool_calls=made), "Done."]


def run(memory: TidalMemory, replies: list[Any], **options: Any) -> Any:
    tools = graph_tools(memory, **options)
    agent = create_agent(ScriptedModel(replies=replies), tools=tools, middleware=[TidalMemoryMiddleware(memory)])
    return agent.invoke({"messages": [HumanMessage("Please write it down.")]}, THREAD)["messages"]


def test_a_fact_has_the_turn_in_which_the_agent_stated_it(memory: TidalMemory) -> None:
    messages = run(memory, calling("remember_fact", **HOME))
    assert messages[2].text == "Kept: user lives in Porto."
    (episode,) = memory.episodes.list(thread="monday")
    (home,) = memory.graph.relations(predicate="lives_in")
    assert (home.episodes, home.threads, str(home.valid_from)[:10]) == ((episode.id,), ("monday",), "2026-03-01")
    assert memory.graph.evidence(home.id)[0].reader == "agent"


async def test_relate_is_async_too_and_says_what_it_ended(memory: TidalMemory) -> None:
    search, fact, relate = graph_tools(memory)
    await fact.ainvoke({"subject": "billing", "predicate": "has_version", "object": "2.0"})
    told = await fact.ainvoke({"subject": "billing", "predicate": "has_version", "object": "2.1"})
    assert told == "Kept: billing has version 2.1. No longer: billing has version 2.0."
    told = await relate.ainvoke({"subject": "Ana", "predicate": "manager_of", "object": "Ben", "negated": True})
    assert "Ana is not the manager of Ben" in told
    assert "2.1" in await search.ainvoke({"entity": "billing"})


def test_a_policy_decides_and_the_session_audits(memory: TidalMemory) -> None:
    refused = run(memory, calling("remember_fact", **HOME), policy=Policy(deny=frozenset({"remember"})), agent="scribe")
    assert refused[2].text.startswith("Not done.")
    assert memory.graph.relations() == []
    allowed = Policy(allow=frozenset({"remember"}), max_signals=1)
    _, fact, relate = graph_tools(memory, policy=allowed, agent="clerk")
    config = {"configurable": {"thread_id": "tuesday"}}
    assert fact.invoke(HOME, config) == "Kept: user lives in Porto."
    assert "Not done." in relate.invoke({"subject": "Ana", "predicate": "sister_of", "object": "Ben"}, config)
    (session,) = [one for one in memory.sessions.list() if one.agent == "clerk"]
    assert [(one.type, one.accepted) for one in memory.sessions.audit(session.id)] == [
        ("remember", True),
        ("remember", False),
    ]


def test_mistakes_come_back_as_text(memory: TidalMemory) -> None:
    _, fact, relate = graph_tools(memory)
    assert "Not done." in fact.invoke({"subject": "Ana", "predicate": "???", "object": "x"})
    assert "Not done." in fact.invoke({"subject": "Ana", "predicate": "uses", "object": "Vim", "since": "spring"})
    assert "Not done." in relate.invoke({"subject": "Ana", "predicate": "uses", "object": "Vim", "colour": "red"})


def test_llama_index_has_the_same_tools(memory: TidalMemory) -> None:
    tools = {tool.metadata.name: tool for tool in TidalToolSpec(memory).to_tool_list()}
    assert tools["remember_fact"](**HOME).content == "Kept: user lives in Porto."
    told = tools["relate"](subject="Ana", predicate="sister_of", object="Ben", ended=True).content
    assert told.startswith("Kept: ")
    assert memory.graph.relations(predicate="sister_of") == []


def by_program(memory: TidalMemory, **fact: str) -> None:
    memory.graph.relate(**fact)


def by_langchain(memory: TidalMemory, **fact: str) -> None:
    graph_tools(memory)[1].invoke(fact)


def by_langchain_in_a_turn(memory: TidalMemory, **fact: str) -> None:
    run(memory, calling("remember_fact", **fact))


def by_llama_index(memory: TidalMemory, **fact: str) -> None:
    TidalToolSpec(memory).remember_fact(**fact)


@pytest.mark.parametrize("state", [by_program, by_langchain, by_langchain_in_a_turn, by_llama_index])
def test_recall_finds_what_only_an_agent_said_like_any_other_memory(tmp_path: Any, state: Any) -> None:
    with TidalMemory(tmp_path / "stated.db") as memory:  # by meaning: the embedder that ships
        memory.record("We ate plums in the garden.", "Noted.")
        memory.record("I can't stand coriander.", "Noted.")
        state(memory, subject="user", predicate="allergic_to", object="walnuts")
        state(memory, subject="Odile", predicate="works_at", object="the harbour office")
        for asked, told in (
            ("What am I allergic to?", "user is allergic to walnuts"),
            ("Where does Odile work?", "Odile works at the harbour office"),
        ):
            assert memory.recall(asked, limit=1)[0].text == told
            assert f": {told}\n" in memory.whisper(asked).text
        nuts = memory.recall("What am I allergic to?", limit=1)[0].entry
        assert (nuts.kind, nuts.trust < 1) == ("fact", True)
        memory.forget(nuts.citation)
        assert [one.predicate for one in memory.graph.relations()] == ["works_at"]
        assert "walnuts" not in str(memory.recall("What am I allergic to? Walnuts?").hits)


def test_what_somebody_else_said_too_is_found_in_their_words_alone(memory: TidalMemory) -> None:
    memory.graph.relate("user", "lives_in", "Porto")
    assert [hit.text for hit in memory.recall("Where do I live? Porto?")] == ["user lives in Porto"]
    memory.record("I live in Porto.", None)
    memory.graph.index_pending()
    assert [hit.text for hit in memory.recall("Where do I live? Porto?")] == ["I live in Porto."]
    memory.graph.relate("user", "lives_in", "Graz")
    memory.graph.relate("user", "lives_in", "Vigo")  # there is one home at a time
    assert {hit.text for hit in memory.recall("Where do I live?")} == {"I live in Porto.", "user lives in Vigo"}
