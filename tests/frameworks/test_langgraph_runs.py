"""The ways in which LangGraph runs a graph: parallel branches, subgraphs, commands, many users at once."""

import asyncio
import operator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import InjectedStore, ToolNode
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict

from langgraph_tidal import RecallNode, RecordNode, TidalState, TidalStore, model_input
from tests.waiting import waits_without_blocking

FACT = "I practise jazz piano every evening after dinner."
ASK = "Which jazz piano piece should I practise this evening?"
MARK = "<tidal-memory>"


@dataclass
class Context:
    user_id: str


def thread(name, **configurable):
    return {"configurable": {"thread_id": name, **configurable}}


def user(text, **fields):
    return {"messages": [HumanMessage(text, **fields)]}


def answer(text):
    return lambda state: {"messages": [AIMessage(text)]}


def sequence(memory, *nodes, scope=None, state=TidalState, **schema):
    """recall, the nodes given, record."""
    graph = StateGraph(state, **schema)
    steps = [("recall", RecallNode(memory, scope=scope)), *nodes, ("record", RecordNode(memory, scope=scope))]
    return graph.add_sequence(steps).add_edge(START, "recall")


def queries(memory, **where):
    return [episode.query for episode in memory.episodes.list(**where)]


@pytest.fixture
def reminded(memory):
    """A memory that has something to say to ASK."""
    memory.record(user=FACT, agent="Noted.", thread="old")
    return memory


def test_a_sequence_is_a_graph(reminded, says):
    model = says("A standard.")
    app = sequence(reminded, ("model", lambda state: {"messages": [model.invoke(model_input(state))]})).compile()
    assert app.invoke(user(ASK), thread("new"))["messages"][-1].text == "A standard."
    assert FACT in model.shown[0][-1].text
    assert queries(reminded, thread="new") == [ASK]


# branches


class Topics(TypedDict):
    topics: list[str]
    shown: Annotated[list[str], operator.add]


class Topic(TidalState):
    shown: Annotated[list[str], operator.add]


def test_branches_sent_out_recall_and_record_each_its_own(reminded):
    """A whole conversation in each branch: a graph of its own, called by a node that ``Send`` fans out to."""

    def model(state):
        return {"messages": [AIMessage("Done.")], "shown": [model_input(state)[-1].text]}

    branch = sequence(reminded, ("model", model), state=Topic).compile()

    def work(state):
        return {"shown": branch.invoke({"messages": [HumanMessage(state["topic"])]})["shown"]}

    graph = StateGraph(Topics).add_node("work", work).add_node("plan", lambda state: {})
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda state: [Send("work", {"topic": t}) for t in state["topics"]], ["work"])
    topics = [ASK, *(f"Number {n} of the list of songs to sort." for n in range(7))]
    result = graph.compile().invoke({"topics": topics, "shown": []}, thread("fan"))
    assert len(result["shown"]) == 8
    assert [FACT in text for text in result["shown"]] == [True] + [False] * 7
    assert sorted(queries(reminded, thread="fan")) == sorted(topics)


def test_nodes_sent_out_side_by_side_raise_no_invalid_update(reminded):
    graph = StateGraph(TidalState)
    graph.add_node("recall", RecallNode(reminded)).add_node("record", RecordNode(reminded))
    graph.add_node("plan", answer("Done."))
    graph.add_edge(START, "plan")

    def fan(state):
        return [Send("recall", state) for _ in range(3)] + [Send("record", state) for _ in range(3)]

    graph.add_conditional_edges("plan", fan, ["recall", "record"])
    graph.compile().invoke(user(ASK, id="h1"), thread("fan"))
    assert queries(reminded, thread="fan") == [ASK]


def test_two_nodes_of_one_step_may_record(memory):
    graph = StateGraph(TidalState).add_node("model", answer("Noted."))
    for name in ("left", "right"):
        graph.add_node(name, RecordNode(memory)).add_edge("model", name)
    graph.add_edge(START, "model").compile().invoke(user(FACT), thread("one"))
    assert queries(memory) == [FACT]


# subgraphs


@pytest.mark.parametrize("checkpointer", [None, InMemorySaver()])
def test_a_subgraph_recalls_and_records_for_its_parent(reminded, says, checkpointer):
    model = says("A standard.")
    inner = sequence(reminded, ("model", lambda state: {"messages": [model.invoke(model_input(state))]})).compile()
    outer = StateGraph(TidalState).add_node("chat", inner).add_edge(START, "chat").compile(checkpointer)
    result = outer.invoke(user(ASK), thread("new"))
    assert FACT in model.shown[0][-1].text
    assert [message.text for message in result["messages"]] == [ASK, "A standard."]
    assert queries(reminded, thread="new") == [ASK]


def test_a_parents_memory_nodes_stand_around_a_subgraph(reminded, says):
    model = says("A standard.")
    inner = StateGraph(TidalState).add_node("model", lambda s: {"messages": [model.invoke(model_input(s))]})
    app = sequence(reminded, ("agent", inner.add_edge(START, "model").compile())).compile()
    app.invoke(user(ASK), thread("new"))
    assert FACT in model.shown[0][-1].text
    assert queries(reminded, thread="new") == [ASK]


# commands


def test_a_command_goes_to_record_and_updates(memory):
    def model(state) -> Command:
        return Command(goto="record", update={"messages": [AIMessage("Noted.")]})

    graph = StateGraph(TidalState).add_node("recall", RecallNode(memory)).add_node("record", RecordNode(memory))
    graph.add_node("model", model, destinations=("record",))
    graph.add_edge(START, "recall").add_edge("recall", "model")
    graph.compile().invoke(user(FACT), thread("one"))
    (episode,) = memory.episodes.list()
    assert (episode.query, episode.answer) == (FACT, "Noted.")


def test_a_run_that_resumes_after_an_interrupt_is_one_turn(reminded, says):
    model = says("A standard.")

    def ask(state):
        return {"messages": [model.invoke(model_input(state))]} if interrupt("May I?") else {}

    app = sequence(reminded, ("model", ask)).compile(InMemorySaver())
    app.invoke(user(ASK), thread("new"))
    assert queries(reminded, thread="new") == []
    app.invoke(Command(resume=True), thread("new"))
    assert model.shown[0][-1].text.endswith(ASK)
    assert queries(reminded, thread="new") == [ASK]


def test_a_command_may_carry_an_update_into_a_resumed_run(memory):
    def wait(state):
        return {"messages": [AIMessage(interrupt("What shall I say?"))]}

    app = sequence(memory, ("model", wait)).compile(InMemorySaver())
    app.invoke(user(FACT, id="h1"), thread("one"))
    edited = {"messages": [HumanMessage("I practise the organ.", id="h1")]}
    app.invoke(Command(resume="Noted.", update=edited), thread("one"))
    assert queries(memory) == ["I practise the organ."]


# checkpoints and streams


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_every_durability_remembers_and_keeps_no_whisper(reminded, says, durability):
    model, saver = says("A standard.", "Another."), InMemorySaver()
    app = sequence(reminded, ("model", lambda s: {"messages": [model.invoke(model_input(s))]})).compile(saver)
    for text in (ASK, "And a second jazz piano piece for the evening practice?"):
        app.invoke(user(text), thread("new"), durability=durability)
    assert FACT in model.shown[0][-1].text
    assert len(queries(reminded, thread="new")) == 2
    assert all("tidal-memory" not in repr(step) for step in saver.list(thread("new")))


async def test_the_custom_stream_says_what_was_recalled_and_why(reminded):
    app = sequence(reminded, ("model", answer("A standard."))).compile()
    sync = list(app.stream(user(ASK, id="h1"), thread("a"), stream_mode="custom"))
    parts = [part async for part in app.astream(user(ASK, id="h2"), thread("b"), stream_mode="custom")]
    for (part,), turn in ((sync, "h1"), (parts, "h2")):
        event = part["tidal_recall"]
        assert event["turn"] == turn
        assert len(event["ids"]) == len(event["why"]) > 0
        assert FACT in event["whisper"]


def test_a_subgraphs_events_reach_the_stream_of_its_parent(reminded):
    inner = sequence(reminded, ("model", answer("A standard."))).compile()
    outer = StateGraph(TidalState).add_node("chat", inner).add_edge(START, "chat").compile()
    parts = list(outer.stream(user(ASK), stream_mode="custom", subgraphs=True))
    assert [set(part) for _, part in parts] == [{"tidal_recall"}]


# users


def by_context(context, config):
    return ("user", context.user_id)


def by_config(context, config):
    return ("user", config["configurable"]["user_id"])


def test_user_and_thread_come_from_context_and_config(memory):
    app = sequence(memory, ("model", answer("Noted.")), scope=by_context, context_schema=Context).compile()
    app.invoke(user(FACT), thread("t1"), context=Context("mara"))
    other = sequence(memory, ("model", answer("Noted.")), scope=by_config).compile()
    other.invoke(user("I bake rye bread."), thread("t2", user_id="42"))
    assert queries(memory.scoped("user", "mara"), thread="t1") == [FACT]
    assert queries(memory.scoped("user", "42"), thread="t2") == ["I bake rye bread."]
    assert queries(memory) == []


@pytest.mark.parametrize("scope", [by_context, by_config])
async def test_fifty_users_at_once_never_see_each_other(memory, scope):
    shown: dict[str, list[str]] = {}

    async def model(state, runtime: Runtime[Context]):
        await asyncio.sleep(0)
        shown.setdefault(runtime.context.user_id, []).append(model_input(state)[-1].text)
        return {"messages": [AIMessage("Noted.")]}

    app = sequence(memory, ("model", model), scope=scope, context_schema=Context).compile(InMemorySaver())

    async def talk(name):
        for number, text in enumerate((f"My secret jazz piano word is {name}.", "What is my secret jazz piano word?")):
            run = thread(f"{name}-{number}", user_id=name)
            await app.ainvoke(user(text), run, context=Context(name))

    names = [f"zebra{n:02}" for n in range(50)]
    await asyncio.gather(*map(talk, names))
    for name in names:
        told = shown[name][1]
        assert MARK in told
        assert name in told
        assert not [other for other in names if other != name and other in "".join(shown[name])]
        assert len(queries(memory.scoped("user", name))) == 2


# the event loop


@pytest.mark.slow
async def test_the_loop_runs_on_while_another_process_holds_the_write_lock(memory, path):
    memory.record(user=FACT, agent="Noted.")
    store = TidalStore(memory)

    async def model(state, runtime: Runtime):
        await runtime.store.aput(("notes",), state["messages"][-1].id, {"text": state["messages"][-1].text})
        await runtime.store.asearch(("notes",), query="jazz", limit=3)
        return {"messages": [AIMessage("Noted.")]}

    app = sequence(memory, ("model", model)).compile(InMemorySaver(), store=store)
    await app.ainvoke(user(FACT), thread("first"))  # what is imported and opened once

    async def fifty():
        await asyncio.gather(*(app.ainvoke(user(f"{ASK} {n}"), thread(f"t{n}")) for n in range(50)))

    assert await waits_without_blocking(path, fifty())
    assert len(memory.episodes.list()) == 52
    assert len(store.search(("notes",), limit=100)) == 51


# the store


class Messages(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


async def test_nodes_reach_the_store_through_their_runtime(memory):
    def write(state, runtime: Runtime):
        runtime.store.put(("songs", "mara"), "monk", {"text": "Round Midnight is a jazz standard"})

    async def read(state, runtime: Runtime):
        found = await runtime.store.asearch(("songs",), query="jazz standard")
        return {"messages": [AIMessage(f"{item.key}: {item.value['text']}") for item in found]}

    graph = StateGraph(Messages).add_sequence([("write", write), ("read", read)]).add_edge(START, "write")
    result = await graph.compile(store=TidalStore(memory)).ainvoke(user("Which songs?"))
    assert result["messages"][-1].text == "monk: Round Midnight is a jazz standard"


@tool
def look_up(query: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Look a song up."""
    return store.search(("songs",), query=query, limit=1)[0].key


def test_tools_get_the_store_injected(memory):
    store = TidalStore(memory)
    store.put(("songs",), "monk", {"text": "Round Midnight is a jazz standard"})
    store.put(("songs",), "bread", {"text": "Knead the dough"})

    def model(state: Any) -> dict[str, Any]:
        call = {"name": "look_up", "args": {"query": "a jazz standard"}, "id": "c1"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    graph = StateGraph(Messages).add_node("model", model).add_node("tools", ToolNode([look_up]))
    graph.add_edge(START, "model").add_edge("model", "tools").add_edge("tools", END)
    result = graph.compile(store=store).invoke(user("Which?"))
    assert isinstance(result["messages"][-1], ToolMessage)
    assert result["messages"][-1].text == "monk"
