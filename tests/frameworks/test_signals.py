"""Agents that write in their session: what they reward comes up in the next model call, and in no other thread."""

from __future__ import annotations

import json
import pickle
from datetime import timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.utils.function_calling import convert_to_openai_tool
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.memory import Memory
from llama_index.core.workflow import Context as WorkflowContext
from llama_index.core.workflow import JsonSerializer

import langchain_tidal
import llama_index_tidal
from langchain_tidal import (
    TidalConversationMemory,
    TidalMemoryMiddleware,
    memory_tools,
    signal_tools,
    with_memory,
)
from langgraph_tidal import RecallNode, tidal_pre_model_hook
from llama_index_tidal import TidalChatMemory, TidalMemoryBlock, restore_with
from tests.frameworks.conftest import (
    Context,
    by_config,
    by_context,
    calling,
    graph_of,
    only,
    open_memory,
    thread,
    user,
)
from tests.frameworks.llama_index.conftest import ScriptedLLM
from tidal_plugins import InvalidInput, Policy, TidalMemory

PLANNER = Policy(allow={"reward", "annotate"}, max_signals=3, max_duration=timedelta(hours=1))
ASKED: dict[str, Any] = {"policy": PLANNER, "agent": "planner"}
ASK = "Which jazz piano piece should I practise?"
PIECES = [f"A jazz piano piece to practise is {name}." for name in ("Naima", "Misty", "Blue Bossa")]
REWARDED = "Rewarded: it ranks higher in this conversation from now on. Signals left in this session: 2."
LOOPS = pytest.mark.parametrize(
    "door", ["nodes", "nodes, async", "middleware", "middleware, async", "agent"], indirect=True
)


def lines(text: str) -> list[str]:
    """The lines of a whisper."""
    return [line for line in text.splitlines() if line.startswith("- [")]


def second(text: str) -> str:
    """The citation in the second line of a whisper."""
    return lines(text)[1][2:].partition("]")[0] + "]"


def rewarding(door: Any) -> Any:
    """A reply that rewards what stands second in the whisper that the model sees."""

    def reply(messages: Any) -> Any:
        asked = next(text for role, text in map(door.plain, reversed(messages)) if role == "user")
        return door.calls(("reward_memory", {"citation": second(asked), "weight": 100}))

    return reply


def whispers(shown: Any) -> list[list[str]]:
    """What each call of the model was shown of memory with its last question."""
    return [lines(next(text for role, text in reversed(messages) if role == "user")) for messages in shown]


def seen(model: Any) -> list[list[str]]:
    """The same of a model of LangChain."""
    return whispers([[(("user" if m.type == "human" else m.type), m.text) for m in shown] for shown in model.shown])


@pytest.fixture
def pieces(memory: TidalMemory) -> TidalMemory:
    """A memory in which three turns of an earlier session answer to ASK."""
    for number, piece in enumerate(PIECES):
        memory.record(piece, "Noted.", thread="old", id=f"piece-{number}")
    return memory


@LOOPS
async def test_what_is_rewarded_stands_first_in_the_next_call_and_in_no_other_thread(pieces, door):
    model = door.says(rewarding(door), "Misty.", "Any.", "Misty again.")
    ask = door.app(model, tools=door.signal_tools(PLANNER, agent="planner"), **ASKED)
    await ask(ASK, "one")
    assert [text for role, text in door.shown(model)[1] if role == "tool"] == [REWARDED]
    [info] = pieces.sessions.list()
    assert (info.agent, info.policy, info.accepted) == ("planner", PLANNER, 1)
    assert len(pieces.sessions.snapshot(info.id).entries) == 1, "of the episode, the entry that was shown"
    surfaced = only(pieces, thread="one").surfaced
    assert sorted(surfaced) == sorted(pieces.recall(ASK, limit=3, threads={"old"}).ids)
    await ask(ASK, "two")
    await ask(ASK, "one")
    first, second, other, again = whispers(door.shown(model))
    assert len(first) == 3
    assert second == [first[1], first[0], first[2]]
    assert other[0] == first[0]
    assert again[0] == first[1], "the lane goes on in its thread"
    assert [info.accepted for info in pieces.sessions.list()] == [1, 0]
    assert pieces.signals.tally().scores == {}, "nothing is said to everyone"


@pytest.mark.parametrize(
    ("policy", "call", "reason"),
    [
        (Policy(deny={"reward"}), ("reward_memory", {"citation": "{piece}"}), "reward is denied"),
        (Policy(allow={"view"}), ("annotate_memory", {"citation": "{piece}", "note": "jazz"}), "allowed: view"),
        (Policy(max_duration=timedelta(0)), ("reward_memory", {"citation": "{piece}"}), "may last"),
        (PLANNER, ("reward_memory", {"citation": "{forgotten}"}), "forgotten on request"),
        (PLANNER, ("reward_memory", {"citation": "{piece}", "weight": 1e9}), "weight is a number from 0"),
        (PLANNER, ("reward_memory", {"citation": "{piece}", "weight": float("nan")}), "weight"),
        (PLANNER, ("annotate_memory", {"citation": "{piece}"}), "note: Field required"),
        (PLANNER, ("reward_memory", {"citation": "{piece}", "type": "like"}), "type: Extra inputs"),
        (PLANNER, ("reward_memory", {"citation": "{piece}", "session": 1}), "session: Extra inputs"),
    ],
)
def test_every_refusal_is_text_that_the_model_can_read(pieces, says, policy, call, reason):
    pieces.forget(gone := pieces.remember("An old jazz piano piece.").citation)
    name, given = call
    known = {"{piece}": pieces.episodes.list()[0].citation, "{forgotten}": gone}
    model = says(calling((name, {**given, "citation": known[given["citation"]]})), "So be it.")
    agent = create_agent(model, signal_tools(pieces, policy, agent="planner"))
    told = agent.invoke(user(ASK), thread("t"))["messages"][2]
    assert told.status == "error"
    assert told.text.startswith("Not done. ")
    assert reason in told.text
    assert len(told.text) < 500
    assert [info.accepted for info in pieces.sessions.list()] in ([0], [])


@LOOPS
async def test_notes_lift_what_speaks_of_the_same(pieces, door):
    noted = {"citation": pieces.episodes.list()[0].citation, "note": "Blue Bossa"}
    model = door.says(door.calls(("annotate_memory", noted)), "Blue Bossa.")
    await door.app(model, tools=door.signal_tools(PLANNER, agent="planner"), **ASKED)(ASK)
    first, then = whispers(door.shown(model))
    assert "Blue Bossa" not in first[0]
    assert "Blue Bossa" in then[0]
    [note] = pieces.sessions.snapshot(1).annotations
    assert note.text == "Blue Bossa"


def test_outside_a_graph_an_episode_means_all_its_entries(pieces):
    reward, _ = signal_tools(pieces, Policy(), agent="planner")
    [episode] = [each for each in pieces.episodes.list() if "Misty" in each.query]
    for citation in (episode.id, episode.citation, f"[{episode.citation}]"):
        assert reward.invoke({"citation": citation}, thread("t")).startswith("Rewarded: ")
    [info] = pieces.sessions.list()
    assert pieces.sessions.snapshot(info.id).entries == set(pieces.episodes.entry_ids(episode.citation))
    few, _ = signal_tools(pieces, Policy(max_signals=1))
    told = few.invoke({"citation": pieces.record("A jazz piano piece.", "Which one?").citation}, thread("t"))
    assert told.startswith("Rewarded in part, 1 of 2 entries. signal 'reward' was refused")


async def test_a_run_without_a_thread_has_no_session(pieces, says):
    reward, _ = signal_tools(pieces, PLANNER)
    assert "thread_id" in reward.invoke({"citation": pieces.episodes.list()[0].citation})
    with pytest.raises(InvalidInput, match="thread_id"):
        graph_of(pieces, says("Hello."), **ASKED).compile().invoke(user(ASK))
    ctx = WorkflowContext(FunctionAgent(llm=ScriptedLLM(replies=["-"]), tools=[]))
    told = await llama_index_tidal.signal_tools(pieces, **ASKED)[0].acall(ctx=ctx, citation="x")
    assert told.content.startswith("Not done. policy= is for the session of a thread")
    assert pieces.sessions.list() == []


@pytest.mark.parametrize("scope", [by_context, by_config, ("user", "anna")])
async def test_the_session_is_that_of_the_runs_user_in_the_scope_of_the_run(memory, says, run, scope):
    for piece in PIECES:
        memory.scoped("user", "anna").record(piece, "Noted.", thread="old")

    def reply(messages):
        return calling(("reward_memory", {"citation": second(messages[-1].text), "weight": 100}))

    model = says(reply, "Misty.")
    tools = signal_tools(memory, PLANNER, agent="planner", scope=scope)
    graph = graph_of(memory, model, tools=tools, back_to="recall", scope=scope, **ASKED, context_schema=Context)
    config = thread("t", user_id="anna") if scope is by_config else thread("t")
    await run(graph.compile(), user(ASK), config, context=Context("anna"))
    first, then = seen(model)
    assert then[0] == first[1]
    [info] = memory.scoped("user", "anna").sessions.list()
    assert (info.user, info.agent, info.accepted) == ("anna", "planner", 1)
    assert memory.sessions.list() == []


def test_policies_may_be_named_and_are_checked_when_a_face_is_made(pieces, says):
    pieces.sessions.policies["planner"] = PLANNER
    model = says(
        lambda shown: calling(("reward_memory", {"citation": second(shown[-1].text), "weight": 100})), "Misty."
    )
    layers = [TidalMemoryMiddleware(pieces, policy="planner")]
    create_agent(model, signal_tools(pieces, "planner"), middleware=layers).invoke(user(ASK), thread("t"))
    assert seen(model)[1][0] == seen(model)[0][1]
    assert pieces.sessions.list()[0].policy_name == "planner"
    faces = [RecallNode, TidalMemoryMiddleware, tidal_pre_model_hook, TidalConversationMemory, TidalChatMemory]
    faces += [TidalMemoryBlock, langchain_tidal.TidalRetriever, llama_index_tidal.TidalRetriever]
    for make in (*faces, signal_tools, llama_index_tidal.signal_tools):
        with pytest.raises(InvalidInput, match="clap"):
            make(pieces, policy=Policy(allow={"clap"}))
    for make in faces:
        with pytest.raises(InvalidInput, match="policy="):
            make(pieces, agent="planner")
    for make in (TidalChatMemory, TidalMemoryBlock, llama_index_tidal.TidalRetriever, llama_index_tidal.signal_tools):
        with pytest.raises(InvalidInput, match="nobody"):
            make(pieces, policy="nobody")
    for make in (signal_tools, llama_index_tidal.signal_tools):
        with pytest.raises(InvalidInput, match="under a policy"):
            make(pieces, None)


async def test_search_retrievers_chain_and_wrapper_feel_the_threads_session_too(pieces, says):
    search, _ = memory_tools(pieces, **ASKED)
    retriever, model = langchain_tidal.TidalRetriever(pieces, k=3, **ASKED), says("Misty.")
    classic = TidalConversationMemory(pieces, thread="t", recent=0, **ASKED)
    misty = next(hit.id for hit in pieces.recall(ASK) if "Misty" in hit.text)
    assert "Misty" not in lines(search.invoke({"query": ASK}, thread("t")))[0]
    pieces.sessions.open(agent="planner", policy=PLANNER, thread="t").signal("reward", misty, 100)
    assert "Misty" in lines(search.invoke({"query": ASK}, thread("t")))[0]
    assert "Misty" not in lines(search.invoke({"query": ASK}, thread("other")))[0]
    assert retriever.invoke(ASK, thread("t"))[0].id == (await retriever.ainvoke(ASK, thread("t")))[0].id == misty
    assert retriever.invoke(ASK, thread("other"))[0].id != misty
    assert "Misty" in lines(classic.load_memory_variables({"input": ASK})["history"])[0]
    index = llama_index_tidal.TidalRetriever(pieces, thread="t", **ASKED)
    assert index.retrieve(ASK)[0].node.node_id == (await index.aretrieve(ASK))[0].node.node_id == misty
    assert llama_index_tidal.TidalRetriever(pieces, thread="x", **ASKED).retrieve(ASK)[0].node.node_id != misty
    with pytest.raises(InvalidInput, match="thread="):
        llama_index_tidal.TidalRetriever(pieces, **ASKED)
    with_memory(model, pieces, thread="t", **ASKED).invoke(ASK)
    assert "Misty" in seen(model)[0][0]


@LOOPS
async def test_without_a_policy_nothing_is_felt_and_a_closed_session_is_followed_by_a_new_one(pieces, door):
    model = door.says("Any.")
    await door.app(model)(ASK, "plain")
    assert len(whispers(door.shown(model))[0]) == 3
    assert pieces.sessions.list() == []
    model = door.says(rewarding(door), "Misty.", "Any.")
    ask = door.app(model, tools=door.signal_tools(PLANNER, agent="planner"), **ASKED)
    await ask(ASK, "t")
    pieces.sessions.resume(1).close()
    await ask("Which jazz piano piece is next?", "t")
    assert "Misty" not in whispers(door.shown(model))[2][0]
    assert [info.is_open for info in pieces.sessions.list()] == [False, True]


# LlamaIndex alone


def test_a_policy_goes_through_every_way_of_writing_a_chat_down(pieces):
    pieces.sessions.policies["planner"] = PLANNER
    for policy in (PLANNER, "planner", None):
        chat = TidalChatMemory(pieces, thread="friday", policy=policy)
        plain = json.loads(json.dumps(chat.to_dict()))
        for restored in (TidalChatMemory.from_dict(plain), pickle.loads(pickle.dumps(chat))):
            assert restored.policy == policy
        block = TidalMemoryBlock(pieces, policy=policy)
        assert TidalMemoryBlock(**json.loads(block.model_dump_json())).policy == policy


@pytest.mark.parametrize("door", ["agent"], indirect=True)
async def test_a_workflow_a_block_and_a_restored_context_feel_the_session(pieces, door, path):
    def made(memory, model):
        tools = llama_index_tidal.signal_tools(memory, **ASKED)
        agent = FunctionAgent(name="agent", description="it", llm=model, tools=tools)
        return AgentWorkflow(agents=[agent], root_agent="agent")

    model = door.says(rewarding(door), "Misty.")
    agent = made(pieces, model)
    ctx = WorkflowContext(agent)
    await agent.run(ASK, memory=TidalChatMemory(pieces, thread="friday", **ASKED), ctx=ctx)
    first, then = whispers(door.shown(model))
    assert then[0] == first[1]
    saved = json.loads(json.dumps(ctx.to_dict(serializer=JsonSerializer())))

    def reply(messages):
        return door.calls(("reward_memory", {"citation": second("\n".join(m.content or "" for m in messages))}))

    block = Memory.from_defaults(session_id="blocks", memory_blocks=[TidalMemoryBlock(pieces, **ASKED)])
    await made(pieces, door.says(reply, "Misty.")).run(ASK, memory=block)
    await block.sql_store._async_engine.dispose()
    assert [info.accepted for info in pieces.sessions.list()] == [1, 2], "where it is not known what was shown, all"
    pieces.close()
    with open_memory(path) as memory:
        restore_with(memory)
        agent = made(memory, model := door.says("Still Misty."))
        await agent.run(ASK, ctx=WorkflowContext.from_dict(agent, saved, serializer=JsonSerializer()))
        assert whispers(door.shown(model))[0][0] == first[1]
        assert [info.accepted for info in memory.sessions.list()] == [1, 2]


# what the model is told


def test_the_schema_is_closed_and_shows_what_the_model_may_say(memory):
    index = [tool.metadata.to_openai_tool()["function"] for tool in llama_index_tidal.signal_tools(memory, **ASKED)]
    chain = [convert_to_openai_tool(tool)["function"] for tool in signal_tools(memory, PLANNER)]
    for reward, annotate in (chain, index):
        assert (reward["name"], annotate["name"]) == ("reward_memory", "annotate_memory")
        assert sorted(reward["parameters"]["properties"]) == ["citation", "note", "weight"]
        assert (
            sorted(annotate["parameters"]["properties"]) == annotate["parameters"]["required"] == ["citation", "note"]
        )
        assert "nobody else sees it" in reward["description"]
    for tool in signal_tools(memory, PLANNER):
        assert tool.args_schema.model_json_schema()["additionalProperties"] is False
        assert "TidalMemory" not in repr(tool)
