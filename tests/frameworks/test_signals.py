"""Agents that write in their session: what they reward comes up in the next model call, and in no other thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent, tools_condition

from langchain_tidal import (
    AnnotateMemory,
    RewardMemory,
    TidalConversationMemory,
    TidalMemoryMiddleware,
    TidalRetriever,
    memory_tools,
    signal_tools,
    with_memory,
)
from langgraph_tidal import RecallNode, RecordNode, TidalState, model_input, tidal_pre_model_hook
from tidal_plugins import Closed, InvalidInput, Policy, TidalMemory

PLANNER = Policy(allow={"reward", "annotate"}, max_signals=3)
ASK = "Which jazz piano piece should I practise?"
PIECES = (
    "A jazz piano piece to practise is Naima.",
    "A jazz piano piece to practise is Misty.",
    "A jazz piano piece to practise is Blue Bossa.",
)


def thread(name: str, **configurable: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": name, **configurable}}


def user(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def lines(text: str) -> list[str]:
    """The lines of a whisper."""
    return [line for line in text.splitlines() if line.startswith("- [")]


def cited(line: str) -> str:
    return line[2:].partition("]")[0] + "]"


def rewarding(place: int = 1, **arguments: Any) -> Any:
    """A reply that rewards what stands at this place of the whisper that the model sees."""

    def reply(messages: Any) -> AIMessage:
        asked = next(message for message in reversed(messages) if message.type == "human")
        args = {"citation": cited(lines(asked.text)[place]), **arguments}
        return AIMessage("", tool_calls=[{"name": "reward_memory", "args": args, "id": f"call-{len(messages)}"}])

    return reply


def calling(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])


def whispers(model: Any) -> list[list[str]]:
    """What each call of the model was shown of memory with its last question."""
    asked = [next(m for m in reversed(shown) if m.type == "human") for shown in model.shown]
    return [lines(message.text) for message in asked]


def graph(memory: TidalMemory, model: Any, *, policy: Any = PLANNER, agent: Any = "planner", scope: Any = None) -> Any:
    """A ReAct loop whose tools lead back to recall."""
    tools = signal_tools(memory, policy or PLANNER, agent="planner", scope=scope)
    made = StateGraph(TidalState)
    made.add_node("recall", RecallNode(memory, policy=policy, agent=agent, scope=scope))
    made.add_node("model", lambda state: {"messages": [model.invoke(model_input(state))]})
    made.add_node("tools", ToolNode(tools))
    made.add_node("record", RecordNode(memory, scope=scope))
    made.add_edge(START, "recall").add_edge("recall", "model").add_edge("tools", "recall")
    return made.add_conditional_edges("model", tools_condition, {"tools": "tools", END: "record"})


@pytest.fixture
def pieces(memory: TidalMemory) -> TidalMemory:
    """A memory in which three turns of an earlier session answer to ASK."""
    for number, piece in enumerate(PIECES):
        memory.record(piece, "Noted.", thread="old", id=f"piece-{number}")
    return memory


def by_middleware(memory: TidalMemory, model: Any, **options: Any) -> Any:
    tools = signal_tools(memory, PLANNER, agent="planner")
    middleware = [TidalMemoryMiddleware(memory, policy=PLANNER, agent="planner")]
    return create_agent(model, tools, middleware=middleware, **options)


def by_nodes(memory: TidalMemory, model: Any, **options: Any) -> Any:
    return graph(memory, model).compile(**options)


AGENTS = pytest.mark.parametrize("build", [by_nodes, by_middleware])


@AGENTS
@pytest.mark.parametrize("style", ["sync", "async"])
async def test_what_is_rewarded_stands_first_in_the_very_next_model_call(
    pieces: TidalMemory, says: Any, build: Any, style: str
) -> None:
    model = says(rewarding(weight=100), "Naima.")
    app = build(pieces, model)
    result = app.invoke(user(ASK), thread("t")) if style == "sync" else await app.ainvoke(user(ASK), thread("t"))
    first, second = whispers(model)
    assert len(first) == 3
    assert second == [first[1], first[0], first[2]]
    assert result["messages"][2].text == (
        "Rewarded: it ranks higher in this conversation from now on. Signals left in this session: 2."
    )
    [info] = pieces.sessions.list()
    assert (info.agent, info.accepted, info.policy) == ("planner", 1, PLANNER)
    assert len(pieces.sessions.snapshot(info.id).entries) == 1, "of the episode, the entry that was shown"
    [episode] = pieces.episodes.list(thread="t")
    assert sorted(episode.surfaced) == sorted(pieces.recall(ASK, limit=3, threads={"old"}).ids)


@AGENTS
def test_another_threads_lane_and_a_recall_without_one_stay_as_they_were(
    pieces: TidalMemory, says: Any, build: Any
) -> None:
    model = says(rewarding(weight=100), "Naima.", "Any.", "Naima again.")
    app = build(pieces, model, checkpointer=InMemorySaver())
    app.invoke(user(ASK), thread("one"))
    app.invoke(user(ASK), thread("two"))
    assert whispers(model)[2][0] == whispers(model)[0][0]
    assert (
        lines(pieces.whisper(ASK, exclude=pieces.episodes.entry_ids(pieces.episodes.list(thread="one")[0].id)).text)[0]
        == (whispers(model)[0][0])
    )
    app.invoke(user(ASK), thread("one"))
    assert whispers(model)[3][0] == whispers(model)[0][1], "the lane goes on in its thread"
    assert [info.accepted for info in pieces.sessions.list()] == [1, 0]
    assert pieces.signals.tally().scores == {}, "nothing is said to everyone"


@AGENTS
def test_what_the_policy_refuses_comes_back_as_text_and_shapes_nothing(
    pieces: TidalMemory, says: Any, build: Any
) -> None:
    model = says(*[rewarding()] * 4, "Enough.")
    result = build(pieces, model).invoke(user(ASK), thread("t"))
    refused = [message for message in result["messages"] if message.type == "tool"][-1]
    assert refused.status == "error"
    assert refused.text == (
        "Not done. signal 'reward' was refused by policy 'of the session': the session has its 3 signals already"
    )
    assert result["messages"][-1].text == "Enough."
    [info] = pieces.sessions.list()
    assert (info.accepted, info.rejected) == (3, 1)


@pytest.mark.parametrize(
    ("policy", "call", "reason"),
    [
        (Policy(deny={"reward"}), calling("reward_memory", citation="{piece}"), "reward is denied"),
        (Policy(allow={"view"}), calling("annotate_memory", citation="{piece}", note="jazz"), "allowed: view"),
        (Policy(max_duration=timedelta(0)), calling("reward_memory", citation="{piece}"), "may last"),
        (PLANNER, calling("reward_memory", citation="[mem:nowhere]"), "nowhere"),
        (PLANNER, calling("reward_memory", citation="{foreign}"), "no entry or episode"),
        (PLANNER, calling("reward_memory", citation="{forgotten}"), "forgotten on request"),
        (PLANNER, calling("reward_memory", citation="{piece}", weight=-1), "weight"),
        (PLANNER, calling("reward_memory", citation="{piece}", weight=1e9), "weight is a number from 0"),
        (PLANNER, calling("reward_memory", citation="{piece}", weight=float("nan")), "weight"),
        (PLANNER, calling("annotate_memory", citation="{piece}", note="x" * 1_000_000), "a note is"),
        (PLANNER, calling("annotate_memory", citation="{piece}"), "note: Field required"),
        (PLANNER, calling("reward_memory", citation="{piece}", type="like"), "type: Extra inputs"),
        (PLANNER, calling("reward_memory", citation="{piece}", session=1), "session: Extra inputs"),
    ],
)
def test_every_refusal_is_text_that_the_model_can_read(
    pieces: TidalMemory, says: Any, policy: Policy, call: AIMessage, reason: str
) -> None:
    gone = pieces.remember("An old jazz piano piece.").citation
    pieces.forget(gone)
    known = {
        "{piece}": pieces.episodes.list()[0].citation,
        "{foreign}": pieces.scoped("another").remember("Not yours.").citation,
        "{forgotten}": gone,
    }
    call = call.model_copy(deep=True)
    args = call.tool_calls[0]["args"]
    args["citation"] = known.get(args["citation"], args["citation"])
    tools = signal_tools(pieces, policy, agent="planner")
    agent = create_agent(says(call, "So be it."), tools)
    told = agent.invoke(user(ASK), thread("t"))["messages"][2]
    assert told.text.startswith("Not done. ")
    assert reason in told.text
    assert len(told.text) < 500
    assert [info.accepted for info in pieces.sessions.list()] in ([0], [])


def test_notes_lift_what_speaks_of_the_same(pieces: TidalMemory, says: Any) -> None:
    model = says(
        calling("annotate_memory", citation=pieces.episodes.list()[0].citation, note="Blue Bossa"), "Blue Bossa."
    )
    by_nodes(pieces, model).invoke(user(ASK), thread("t"))
    first, second = whispers(model)
    assert "Blue Bossa" not in first[0]
    assert "Blue Bossa" in second[0]
    [note] = pieces.sessions.snapshot(1).annotations
    assert note.text == "Blue Bossa"


def test_outside_a_graph_an_episode_means_all_its_entries(pieces: TidalMemory) -> None:
    reward, _ = signal_tools(pieces, Policy(), agent="planner")
    [episode] = [each for each in pieces.episodes.list() if "Misty" in each.query]
    for citation in (episode.id, episode.citation, f"[{episode.citation}]"):
        assert reward.invoke({"citation": citation}, thread("t")).startswith("Rewarded: ")
    [info] = pieces.sessions.list()
    assert pieces.sessions.snapshot(info.id).entries == set(pieces.episodes.entry_ids(episode.citation))
    few, _ = signal_tools(pieces, Policy(max_signals=1))
    told = few.invoke({"citation": pieces.record("A jazz piano piece.", "Which one?").citation}, thread("t"))
    assert told.startswith("Rewarded in part, 1 of 2 entries. signal 'reward' was refused")


def test_a_run_without_a_thread_has_no_session(pieces: TidalMemory, says: Any) -> None:
    reward, _ = signal_tools(pieces, PLANNER)
    assert "thread_id" in reward.invoke({"citation": pieces.episodes.list()[0].citation})
    with pytest.raises(InvalidInput, match="thread_id"):
        by_nodes(pieces, says("Hello.")).invoke(user(ASK))
    assert pieces.sessions.list() == []


def test_a_fault_of_the_store_is_an_error_and_no_text_for_the_model(pieces: TidalMemory) -> None:
    tools, id_ = signal_tools(pieces, PLANNER), pieces.episodes.list()[0].id
    pieces.close()
    for tool in tools:
        with pytest.raises(Closed):
            tool.invoke({"citation": id_, "note": "jazz"}, thread("t"))


@dataclass
class Context:
    user_id: str


def by_user(context: Any, config: Any) -> tuple[str, ...]:
    return ("user", context.user_id)


def by_config(context: Any, config: Any) -> tuple[str, ...]:
    return ("people", config["configurable"]["user_id"])


@pytest.mark.parametrize("style", ["sync", "async"])
@pytest.mark.parametrize("scope", [by_user, by_config, ("user", "anna")])
async def test_the_session_is_that_of_the_runs_user_in_the_scope_of_the_run(
    memory: TidalMemory, says: Any, scope: Any, style: str
) -> None:
    place = ("people", "anna") if scope is by_config else ("user", "anna")
    for piece in PIECES:
        memory.scoped(*place).record(piece, "Noted.", thread="old")
    model, options = says(rewarding(weight=100), "Misty."), {}
    made = graph(memory, model, scope=scope)
    if scope is by_user:
        made.context_schema, options = Context, {"context": Context("anna")}
    config = thread("t", user_id="anna") if scope is by_config else thread("t")
    app = made.compile()
    if style == "sync":
        app.invoke(user(ASK), config, **options)
    else:
        await app.ainvoke(user(ASK), config, **options)
    first, second = whispers(model)
    assert second[0] == first[1]
    [info] = memory.scoped(*place).sessions.list()
    assert (info.user, info.agent, info.accepted) == ("anna", "planner", 1)
    assert memory.sessions.list() == []


def test_policies_may_be_named_and_are_checked_when_a_face_is_made(pieces: TidalMemory, says: Any) -> None:
    pieces.sessions.policies["planner"] = PLANNER
    model = says(rewarding(weight=100), "Misty.")
    tools = signal_tools(pieces, "planner")
    agent = create_agent(model, tools, middleware=[TidalMemoryMiddleware(pieces, policy="planner")])
    agent.invoke(user(ASK), thread("t"))
    assert whispers(model)[1][0] == whispers(model)[0][1]
    assert pieces.sessions.list()[0].policy_name == "planner"
    wrong = Policy(allow={"clap"})
    for make in (RecallNode, TidalMemoryMiddleware, tidal_pre_model_hook, TidalRetriever, TidalConversationMemory):
        with pytest.raises(InvalidInput, match="clap"):
            make(pieces, policy=wrong)
        with pytest.raises(InvalidInput, match="policy="):
            make(pieces, agent="planner")
    for policy in (wrong, None):
        with pytest.raises(InvalidInput):
            signal_tools(pieces, policy)


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_the_hook_of_create_react_agent_feels_the_session(pieces: TidalMemory, says: Any) -> None:
    model = says(rewarding(weight=100), "Misty.")
    hook = tidal_pre_model_hook(pieces, policy=PLANNER, agent="planner")
    agent = create_react_agent(model, signal_tools(pieces, PLANNER, agent="planner"), pre_model_hook=hook)
    agent.invoke(user(ASK), thread("t"))
    first, second = whispers(model)
    assert second[0] == first[1]


def test_search_retriever_chain_and_wrapper_feel_the_threads_session_too(pieces: TidalMemory, says: Any) -> None:
    asked: dict[str, Any] = {"policy": PLANNER, "agent": "planner"}
    search, _ = memory_tools(pieces, **asked)
    retriever, model = TidalRetriever(pieces, k=3, **asked), says("Misty.")
    chain = with_memory(model, pieces, thread="t", **asked)
    classic = TidalConversationMemory(pieces, thread="t", recent=0, **asked)
    misty = next(hit.id for hit in pieces.recall(ASK) if "Misty" in hit.text)
    assert "Misty" not in lines(search.invoke({"query": ASK}, thread("t")))[0]
    pieces.sessions.open(agent="planner", policy=PLANNER, thread="t").signal("reward", misty, 100)
    assert "Misty" in lines(search.invoke({"query": ASK}, thread("t")))[0]
    assert "Misty" not in lines(search.invoke({"query": ASK}, thread("other")))[0]
    assert retriever.invoke(ASK, thread("t"))[0].id == misty
    assert retriever.invoke(ASK, thread("other"))[0].id != misty
    assert "Misty" in lines(classic.load_memory_variables({"input": ASK})["history"])[0]
    chain.invoke(ASK)
    assert "Misty" in whispers(model)[0][0]


async def test_the_retriever_feels_it_in_async_code(pieces: TidalMemory) -> None:
    misty = next(hit.id for hit in pieces.recall(ASK) if "Misty" in hit.text)
    pieces.sessions.open(policy=PLANNER, thread="t").signal("reward", misty, 100)
    documents = await TidalRetriever(pieces, policy=PLANNER).ainvoke(ASK, thread("t"))
    assert documents[0].id == misty


def test_without_a_policy_nothing_is_opened_or_felt(pieces: TidalMemory, says: Any) -> None:
    model = says("Any.")
    graph(pieces, model, policy=None, agent=None).compile().invoke(user(ASK), thread("t"))
    assert whispers(model) == [lines(pieces.whisper(ASK, exclude=[pieces.episodes.list(thread="t")[0].id]).text)]
    assert pieces.sessions.list() == []


def test_a_session_that_was_closed_is_followed_by_a_new_one(pieces: TidalMemory, says: Any) -> None:
    model = says(rewarding(weight=100), "Misty.", "Any.")
    app = by_nodes(pieces, model, checkpointer=InMemorySaver())
    app.invoke(user(ASK), thread("t"))
    pieces.sessions.resume(1).close()
    app.invoke(user("Which jazz piano piece is next?"), thread("t"))
    assert "Misty" not in whispers(model)[2][0]
    assert [info.is_open for info in pieces.sessions.list()] == [False, True]


@pytest.mark.slow
def test_a_killed_process_is_followed_by_one_that_feels_what_was_rewarded(
    pieces: TidalMemory, path: Path, tmp_path: Path
) -> None:
    before = lines(pieces.whisper(ASK).text)
    pieces.close()
    worker = Path(__file__).with_name("session_process.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    seeds = {"die": "1", "resume": "2"}  # sets come in another order
    done = [
        subprocess.run(
            [sys.executable, str(worker), str(path), str(tmp_path / "checkpoints.db"), order],
            env={**environment, "PYTHONHASHSEED": seeds[order]},
            capture_output=True,
            text=True,
            timeout=500,
        )
        for order in ("die", "resume")
    ]
    assert (done[0].returncode, done[1].returncode) == (9, 0), done[1].stderr
    _, _, result, answer, question = json.loads(done[1].stdout)
    assert (result.partition(":")[0], answer) == ("Rewarded", "The second one.")
    assert lines(question)[0] == before[1]


# what the model is told


def test_the_schema_is_closed_and_shows_what_the_model_may_say(memory: TidalMemory) -> None:
    reward, annotate = (convert_to_openai_tool(tool)["function"] for tool in signal_tools(memory, PLANNER))
    assert (reward["name"], sorted(reward["parameters"]["properties"])) == (
        "reward_memory",
        ["citation", "note", "weight"],
    )
    assert (annotate["name"], sorted(annotate["parameters"]["properties"])) == ("annotate_memory", ["citation", "note"])
    for tool in signal_tools(memory, PLANNER):
        assert tool.args_schema.model_json_schema()["additionalProperties"] is False
        assert "TidalMemory" not in repr(tool)


class _Standard:
    @pytest.fixture(autouse=True)
    def _store(self, memory: TidalMemory) -> None:
        self.store, self.entry = memory, memory.remember("A jazz piano has 88 keys.").citation

    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.store, "policy": PLANNER}

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"citation": self.entry, "note": "piano keys"}


class _Reward(_Standard):
    @property
    def tool_constructor(self) -> type:
        return RewardMemory


class _Annotate(_Standard):
    @property
    def tool_constructor(self) -> type:
        return AnnotateMemory


class TestRewardUnit(_Reward, ToolsUnitTests):
    """LangChain's own suite."""


class TestRewardIntegration(_Reward, ToolsIntegrationTests):
    """LangChain's own suite."""


class TestAnnotateUnit(_Annotate, ToolsUnitTests):
    """LangChain's own suite."""


class TestAnnotateIntegration(_Annotate, ToolsIntegrationTests):
    """LangChain's own suite."""
