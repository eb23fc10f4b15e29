"""A LangGraph agent that speaks first: the entry node takes what the presence has to say."""

from __future__ import annotations

import asyncio
import functools
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_tidal import (
    ProactiveNode,
    RecallNode,
    RecordNode,
    TidalState,
    model_input,
    needs_answer,
)
from tests.frameworks.conftest import thread as thread_of
from tests.frameworks.conftest import user
from tidal_plugins import Closed, HashingEmbedder, InvalidInput, TidalMemory
from tidal_plugins.testing import FrozenClock

DEBT = "I have to pay Tom back by Thursday."
SAID = "You wanted to pay Tom back by Thursday; that is tomorrow."
MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
NOTHING: Any = {"messages": []}


def thread(name: str = "eva", **configurable: Any) -> Any:
    return thread_of(name, **configurable)


@pytest.fixture
def run(run: Any) -> Any:
    """Run a graph by either call style, in Eva's thread unless told otherwise."""
    return lambda app, given, config=None: run(app, given, config or thread())


def said(memory: TidalMemory, name: str = "eva") -> list[list[tuple[str, str]]]:
    """Return what the thread's history has, turn by turn."""
    return [[(m.role, m.text) for m in episode.messages] for episode in memory.episodes.list(thread=name)]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(MONDAY)


@pytest.fixture
def memory(tmp_path: Any, clock: FrozenClock) -> Any:
    with TidalMemory(tmp_path / "memory.db", embedder=HashingEmbedder(), clock=clock) as memory:
        memory.presence.allow(zone="Europe/Berlin")
        yield memory


@pytest.fixture
def graph(memory: TidalMemory) -> Any:
    """Return a function that makes the graph of the documentation."""
    return functools.partial(proactive_graph, memory)


def proactive_graph(memory: TidalMemory, answers: Any, *, scope: Any = None, **options: Any) -> Any:
    graph = StateGraph(TidalState)
    graph.add_node("proactive", ProactiveNode(memory, scope=scope, **options))
    graph.add_node("recall", RecallNode(memory, scope=scope))
    graph.add_node("model", lambda state: {"messages": [answers.invoke(model_input(state))]})
    graph.add_node("record", RecordNode(memory, scope=scope))
    graph.add_edge(START, "proactive")
    graph.add_conditional_edges("proactive", needs_answer, {True: "recall", False: "record"})
    graph.add_edge("recall", "model").add_edge("model", "record")
    return graph.compile(checkpointer=InMemorySaver())


def wednesday(memory: TidalMemory, clock: FrozenClock, *scope: str) -> Any:
    """Let two days pass, and return what a step then has to say."""
    clock.set(datetime(2026, 3, 4, 9, tzinfo=UTC))
    here = memory.scoped(*scope) if scope else memory
    return here.presence.step().message


async def test_the_agent_speaks_first_and_the_answer_counts(memory, clock, graph, says, run):
    model = says("I will.", "Good to hear.")
    app = graph(model)
    await run(app, user(DEBT))
    waiting = wednesday(memory, clock)
    spoken = (await run(app, NOTHING))["messages"][-1]
    assert (spoken.type, spoken.text, spoken.id) == ("ai", SAID, waiting.id)
    about = spoken.additional_kwargs["tidal_presence"]
    assert about["citations"] == list(waiting.citations) == [memory.episodes.list()[0].citation]
    assert about["kind"] == "task"
    assert "due" in about["why"]
    assert len(model.shown) == 1
    assert said(memory) == [[("user", DEBT), ("assistant", "I will.")], [("assistant", SAID)]]

    clock.advance(minutes=10)
    result = await run(app, user("He has it since this morning."))
    assert [m.text for m in model.shown[1]][:3] == [DEBT, "I will.", SAID]
    assert [m.type for m in result["messages"]] == ["human", "ai", "ai", "human", "ai"]
    assert said(memory)[2] == [("user", "He has it since this morning."), ("assistant", "Good to hear.")]
    memory.presence.step()
    assert [one.status for one in memory.presence.messages()] == ["answered"]


async def test_who_waits_for_an_answer_gets_it(memory, clock, graph, says, run):
    model = says("I will.", "At noon.")
    app = graph(model)
    await run(app, user(DEBT))
    wednesday(memory, clock)
    assert (await run(app, user("When is lunch?")))["messages"][-1].text == "At noon."
    assert [one.status for one in memory.presence.messages()] == ["queued"]
    assert (await run(app, NOTHING))["messages"][-1].text == "At noon."  # the conversation may go on
    clock.advance(hours=1)
    assert (await run(app, NOTHING))["messages"][-1].text == SAID


async def test_on_a_new_thread_the_agent_has_the_first_word(memory, clock, graph, says, run):
    app = graph(says("Noted."))
    await run(app, user(DEBT))
    wednesday(memory, clock)
    result = await run(app, NOTHING, thread("wednesday"))
    assert [m.text for m in result["messages"]] == [SAID]
    await run(app, user("I will do it now."), thread("wednesday"))
    assert said(memory, "wednesday") == [
        [("assistant", SAID)],
        [("user", "I will do it now."), ("assistant", "Noted.")],
    ]


async def test_each_user_hears_their_own(memory, clock, graph, says, run):
    def of_user(context, config):
        return ("user", config["configurable"]["user_id"])

    app = graph(says("I will."), scope=of_user)
    memory.scoped("user", "eva").presence.allow(zone="Europe/Berlin")
    await run(app, user(DEBT), thread(user_id="eva"))
    assert wednesday(memory, clock, "user", "eva")
    assert (await run(app, NOTHING, thread("of-max", user_id="max")))["messages"] == []
    assert (await run(app, NOTHING, thread(user_id="eva")))["messages"][-1].text == SAID
    with pytest.raises(InvalidInput):
        graph(says("-"), scope=lambda context, config: None).invoke(NOTHING, thread())


async def test_the_agents_own_model_words_it_with_the_sources(memory, clock, graph, says, run):
    words = says("Hey Eva, is Tom's money ready for tomorrow?")
    app = graph(says("I will."), model=words)
    await run(app, user(DEBT))
    wednesday(memory, clock)
    spoken = (await run(app, NOTHING))["messages"][-1]
    assert spoken.text == "Hey Eva, is Tom's money ready for tomorrow?"
    assert spoken.id == memory.presence.messages()[0].id
    (shown,) = words.shown
    assert [m.text for m in shown[:2]] == [DEBT, "I will."]
    assert shown[2].type == "human"
    assert SAID in shown[2].text
    assert f"[{memory.episodes.list()[0].citation}] 2026-03-02, user: {DEBT}" in shown[2].text
    assert said(memory)[1] == [("assistant", spoken.text)]


@pytest.mark.parametrize(
    "fails", [RuntimeError("away"), "  ", AIMessage("", tool_calls=[{"name": "a", "args": {}, "id": "1"}])]
)
async def test_a_model_that_fails_costs_no_message(memory, clock, graph, says, run, fails, caplog):
    app = graph(says("I will."), model=says(fails))
    await run(app, user(DEBT))
    wednesday(memory, clock)
    assert (await run(app, NOTHING))["messages"][-1].text == SAID
    assert "Tom" not in caplog.text


async def test_a_cancelled_run_gives_the_message_back(memory, clock, graph, says):
    began = asyncio.Event()

    async def words(messages):
        began.set()
        await asyncio.Event().wait()

    app = graph(says("I will."), model=RunnableLambda(lambda messages: None, words))
    await app.ainvoke(user(DEBT), thread())
    wednesday(memory, clock)
    task = asyncio.create_task(app.ainvoke(NOTHING, thread()))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [one.status for one in memory.presence.messages()] == ["queued"]
    assert graph(says("-")).invoke(NOTHING, thread())["messages"][-1].text == SAID


def test_the_message_is_streamed_once(memory, clock, graph, says):
    app = graph(says("I will."), model=says("Is Tom's money ready?"))
    app.invoke(user(DEBT), thread())
    wednesday(memory, clock)
    parts = [part.text for part, _ in app.stream(NOTHING, thread(), stream_mode="messages")]
    assert parts == ["Is Tom's money ready?"]


def test_a_graph_with_messages_alone_and_another_key(memory, clock, says):
    class Chat(MessagesState):
        pass

    memory.record(user=DEBT, agent="I will.", thread="eva")
    wednesday(memory, clock)
    graph = StateGraph(Chat).add_node("proactive", ProactiveNode(memory)).add_edge(START, "proactive").compile()
    assert graph.invoke(NOTHING, thread())["messages"][0].text == SAID
    with pytest.raises(InvalidInput, match="input_messages_key"):
        ProactiveNode(memory, input_messages_key="talk").invoke({"messages": []})


def test_a_retry_records_it_once(memory, clock, graph, says):
    app = graph(says("I will."))
    app.invoke(user(DEBT), thread())
    wednesday(memory, clock)
    app.invoke(NOTHING, thread())
    again = graph(says("I will."))  # another process, with the same history
    history = app.get_state(thread()).values["messages"]
    again.invoke({"messages": [*history, HumanMessage("Done.")]}, thread())
    assert [turn[0] for turn in said(memory)] == [("user", DEBT), ("assistant", SAID), ("user", "Done.")]
    app.update_state(thread(), {"messages": [RemoveMessage(id=history[-1].id)]})
    app.invoke(user("And the rest?"), thread())
    assert said(memory)[1] == [("assistant", SAID)]


def test_misuse_is_refused(memory, says):
    with pytest.raises(InvalidInput, match="model="):
        ProactiveNode(memory, model="gpt")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        ProactiveNode("memory.db")  # type: ignore[arg-type]
    memory.close()
    with pytest.raises(Closed):
        ProactiveNode(memory).invoke(NOTHING)
