"""What only LangGraph's nodes have: streams, checkpoints, states, interrupts, time travel, and graphs of all shapes."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.managed import RemainingSteps
from langgraph.prebuilt import InjectedStore, ToolNode, create_react_agent
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel

from langgraph_tidal import RecallNode, RecordNode, TidalState, TidalStore, model_input, tidal_pre_model_hook
from tests.frameworks.conftest import (
    ASK,
    FACT,
    MARK,
    checkpointed,
    graph_of,
    metronome,
    node_of,
    only,
    queries,
    said,
    texts,
    thread,
    ticks,
    user,
)
from tidal_plugins import InvalidInput


def sequence(*nodes, state=TidalState):
    """A graph of these nodes, one after the other."""
    return StateGraph(state).add_sequence(list(nodes)).add_edge(START, nodes[0][0])


# streams and checkpoints


def test_the_result_of_a_run_holds_no_whisper_and_is_not_stale_as_input(reminded, says):
    model = says("A standard.", "You are welcome.")
    app = graph_of(reminded, model).compile()
    result = app.invoke(user(ASK), thread("friday"))
    assert "tidal-memory" not in repr(result)
    app.invoke({**result, "messages": [*result["messages"], HumanMessage("Thank you!")]}, thread("friday"))
    assert texts(model.shown[1]) == [*texts(model.shown[0]), "A standard.", "Thank you!"]


# failures and interrupts


def test_a_turn_in_a_tool_loop_is_recorded_when_it_is_over(memory):
    record, turn = RecordNode(memory), [HumanMessage("Tick.", id="h1"), ticks(60, text="\n\n")]
    assert record.invoke({"messages": turn}) == {}
    turn.append(ToolMessage("tick", tool_call_id="call-60", id="t1"))
    record.invoke({"messages": turn})
    assert memory.episodes.list() == []
    record.invoke({"messages": [*turn, AIMessage("Ticks.")]})
    assert said(only(memory)) == ["Tick.", "", "tick", "Ticks."]


def test_a_thread_that_began_without_memory_is_caught_up_on(memory, says):
    saver, model = InMemorySaver(), says("Noted.", "Fine.", "A standard.")
    before = sequence(("model", node_of(model)), state=MessagesState).compile(checkpointer=saver)
    before.invoke(user(FACT), thread("t"))
    before.invoke(user("And I am well."), thread("t"))
    graph_of(memory, model).compile(checkpointer=saver).invoke(user(ASK), thread("t"))
    assert queries(memory, thread="t") == [FACT, "And I am well.", ASK]


def approving(state):
    interrupt("May I?")
    return {}


@pytest.mark.parametrize("back_to", ["model", "recall"])
def test_a_turn_goes_on_after_an_interrupt(reminded, says, embedder, back_to):
    model, saver = says(ticks(60), "Swing it."), InMemorySaver()
    graph = graph_of(reminded, model, tools=[metronome], before_tools=approving, back_to=back_to)
    app = graph.compile(checkpointer=saver)
    assert "__interrupt__" in app.invoke(user(ASK), thread("friday"))
    assert reminded.episodes.list(thread="friday") == []
    app.invoke(Command(resume=True), thread("friday"))
    assert texts(model.shown[1])[1:] == ["", "The metronome ticks at 60."]
    assert model.shown[1][0].text.endswith(ASK)
    assert MARK in model.shown[1][0].text or back_to == "model"
    assert embedder.recalls == [ASK]
    episode = only(reminded, thread="friday")
    assert said(episode) == [ASK, "", "The metronome ticks at 60.", "Swing it."]
    assert episode.surfaced
    assert "tidal-memory" not in checkpointed(saver)


def test_an_interrupt_inside_the_model_node_records_the_turn_once_as_it_was_edited(reminded):
    shown = []

    def ask_first(state):
        shown.append(texts(model_input(state)))
        return {"messages": [AIMessage(interrupt("What shall I say?"))]}

    app = graph_of(reminded, ask_first).compile(checkpointer=InMemorySaver())
    app.invoke(user(ASK, id="h1"), thread("friday"))
    app.invoke(Command(resume="A standard."), thread("friday"))
    assert shown[0][0].startswith(MARK)
    assert shown[1] == [ASK]
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]
    app.invoke(user(FACT, id="h1"), thread("one"))
    app.invoke(Command(resume="Noted.", update=user("I practise the organ.", id="h1")), thread("one"))
    assert queries(reminded, thread="one") == ["I practise the organ."]


# time travel


def test_a_replay_is_the_same_episode(memory, says):
    model = says(AIMessage("A standard.", id="a1"))
    app = graph_of(memory, model).compile(checkpointer=InMemorySaver())
    app.invoke(user(ASK, id="h1"), thread("t"))
    for snapshot in list(app.get_state_history(thread("t"))):
        if snapshot.next:
            app.invoke(None, snapshot.config)
    assert len(model.shown) == 4  # once, then from before the input, recall and the model
    assert said(only(memory)) == [ASK, "A standard."]


def test_another_answer_and_another_question_are_episodes_of_their_own(memory, says):
    app = graph_of(memory, says("Noted.", "A standard.", "A ballad.", "It rains.")).compile(
        checkpointer=InMemorySaver()
    )
    app.invoke(user(FACT), thread("t"))
    fork = app.get_state(thread("t")).config
    app.invoke(user(ASK), thread("t"))
    before = next(snapshot for snapshot in app.get_state_history(thread("t")) if snapshot.next == ("model",))
    app.invoke(None, before.config)
    assert [hit.text for hit in memory.recall(ASK, kinds={"conversation"})][:2] == [ASK, FACT]
    app.invoke(user("How is the weather?"), fork)
    answered = [FACT, ASK, ASK, "How is the weather?"], ["Noted.", "A standard.", "A ballad.", "It rains."]
    assert [said(episode) for episode in memory.episodes.list()] == [list(pair) for pair in zip(*answered, strict=True)]


# messages of all kinds


def test_an_image_reaches_the_model_and_not_the_memory(reminded, says):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUg" * 40}}
    model = says("A keyboard.")
    graph_of(reminded, model).compile().invoke(user([{"type": "text", "text": ASK}, image]), thread("friday"))
    whisper, *content = model.shown[0][0].content
    assert FACT in whisper["text"]
    assert content == [{"type": "text", "text": ASK}, image]
    assert said(only(reminded, thread="friday")) == [f"{ASK}\n[image_url]", "A keyboard."]


@pytest.mark.parametrize("messages", [[], [SystemMessage("Be kind.")], [HumanMessage("")]])
def test_without_words_nothing_is_recalled_or_recorded(memory, says, messages, embedder):
    model = says("" if messages and messages[0].type == "human" else "Welcome!")
    graph_of(memory, model).compile().invoke({"messages": messages}, thread("t"))
    assert texts(model.shown[0]) == texts(messages)
    assert memory.episodes.list() == []
    assert embedder.calls == []


def test_a_state_without_messages_is_told_so(memory):
    for node in (RecallNode(memory), RecordNode(memory)):
        with pytest.raises(InvalidInput, match="input_messages_key"):
            node.invoke({"chat": [("user", ASK)]})
    with pytest.raises(InvalidInput, match="'messages'"):
        model_input({"chat": []})


# other nodes change messages


@pytest.mark.parametrize("place", [0, 1])
def test_what_another_node_removes_is_not_lost_and_may_come_back_as_a_whisper(memory, says, place):
    saver, model = InMemorySaver(), says("Noted.", "Fine.", "A standard.")

    def trim(state):
        if place == 0:
            return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), state["messages"][-1]]}
        return {"messages": [RemoveMessage(id=message.id) for message in state["messages"][:-1]]}

    nodes = [("recall", RecallNode(memory)), ("model", node_of(model)), ("record", RecordNode(memory))]
    nodes.insert(place, ("trim", trim))
    app = sequence(*nodes).compile(checkpointer=saver)
    for text in (FACT, "And I am well.", ASK):
        app.invoke(user(text), thread("t"))
    assert [len(shown) for shown in model.shown] == [1, 1, 1]
    assert queries(memory, thread="t") == [FACT, "And I am well.", ASK]
    assert FACT in model.shown[2][0].text


@pytest.mark.parametrize(
    ("added", "marks", "last"),
    [
        (HumanMessage("Keep it short.", id="hint"), [True, False], "Keep it short."),
        (HumanMessage("Which [redacted] should I practise?", id="h1"), [False], "Which [redacted] should I practise?"),
    ],
)
def test_what_another_node_says_after_recall_is_shown_as_it_is(reminded, says, added, marks, last):
    model = says("A standard.")
    nodes = [
        ("recall", RecallNode(reminded)),
        ("other", lambda state: {"messages": [added]}),
        ("model", node_of(model)),
    ]
    sequence(*nodes).compile().invoke(user(ASK, id="h1"))
    assert [MARK in message.text for message in model.shown[0]] == marks
    assert model.shown[0][-1].text == last


# states


class Appending(TypedDict):
    """As many write it: no ids are given to messages."""

    messages: Annotated[list[AnyMessage], operator.add]
    llm_input_messages: list[AnyMessage]
    recalled: dict[str, Any]


class Own(TidalState):
    mood: str


class Model(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]
    llm_input_messages: list[AnyMessage] = []
    recalled: dict[str, Any] = {}


@dataclass
class Data:
    messages: Annotated[list[AnyMessage], add_messages]
    llm_input_messages: list[AnyMessage] = field(default_factory=list)
    recalled: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize("state", [Appending, Own, Model, Data])
def test_any_kind_of_state_will_do(reminded, says, state):
    model = says("A standard.", "You are welcome.", "It rains.")
    app = graph_of(reminded, model, state=state).compile(checkpointer=InMemorySaver())
    mood = {"mood": "good"} if state is Own else {}
    assert app.invoke({**user(ASK), **mood}, thread("friday")).get("mood") == mood.get("mood")
    app.invoke(user("Thank you!"), thread("friday"))
    assert FACT in model.shown[0][0].text
    assert texts(model.shown[1]) == [*texts(model.shown[0]), "A standard.", "Thank you!"]
    first, second = reminded.episodes.list(thread="friday")
    assert said(first) == [ASK, "A standard."]
    assert said(second) == ["Thank you!", "You are welcome."]
    assert first.surfaced
    assert not second.surfaced
    app.invoke(user(FACT), thread("t"))
    app.invoke(user(ASK), thread("t"))
    assert texts(model.shown[3]) == [*texts(model.shown[2]), "It rains.", ASK]


def test_a_state_without_the_key_or_with_stale_messages_without_ids_runs_on_the_plain_messages(reminded, says):
    model, saver = says("A standard.", "Another.", "It rains."), InMemorySaver()
    graph_of(reminded, model, state=MessagesState).compile().invoke(user(ASK), thread("friday"))
    assert texts(model.shown[0]) == [ASK]
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]
    graph_of(reminded, model, state=Appending).compile(checkpointer=saver).invoke(user(ASK), thread("sunday"))
    plain = sequence(("model", node_of(model)), state=Appending).compile(checkpointer=saver)
    plain.invoke(user("Hello again."), thread("sunday"))
    assert model.shown[2][-1].text == "Hello again."


def test_messages_may_stand_under_another_key(reminded, says):
    class Talk(TypedDict):
        talk: Annotated[list[AnyMessage], add_messages]
        llm_input_messages: list[AnyMessage]

    model, options = says("A standard."), {"input_messages_key": "talk"}
    nodes = [
        ("recall", RecallNode(reminded, **options)),
        ("model", lambda state: {"talk": [model.invoke(model_input(state, "talk"))]}),
        ("record", RecordNode(reminded, **options)),
    ]
    sequence(*nodes, state=Talk).compile().invoke({"talk": [("user", ASK)]}, thread("friday"))
    assert FACT in model.shown[0][0].text
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


# create_react_agent


class AgentState(TidalState):
    remaining_steps: RemainingSteps


@pytest.mark.parametrize("state", [None, AgentState])
async def test_a_prebuilt_agent_is_reminded_and_recorded(reminded, says, embedder, run, state):
    model, saver = says(ticks(60, 90), "Swing it.", "It rains.", "A standard."), InMemorySaver()
    hooks = {"pre_model_hook": tidal_pre_model_hook(reminded), "post_model_hook": RecordNode(reminded)}
    agent = create_react_agent(model, [metronome], checkpointer=saver, state_schema=state, **hooks)
    await run(agent, user(ASK), thread("friday"))
    first, second = map(texts, model.shown)
    assert first[0].startswith(MARK)
    assert sorted(second[2:]) == ["The metronome ticks at 60.", "The metronome ticks at 90."]
    assert embedder.recalls == [ASK]
    await run(agent, user("How is the weather in Lisbon?"), thread("friday"))
    assert texts(model.shown[2])[:4] == second, "the whisper stays with its turn"
    assert model.shown[2][-1].text == "How is the weather in Lisbon?"
    episodes = reminded.episodes.list(thread="friday")
    assert [episode.answer for episode in episodes] == ["Swing it.", "It rains."]
    assert [len(episode.tool_calls) for episode in episodes] == [2, 0]
    if state:  # a tool's Send carries the whole state, whisper included: a turn without tools
        agent.checkpointer = saver = InMemorySaver()
        await run(agent, user(ASK), thread("sunday"))
        assert only(reminded, thread="sunday").surfaced
        assert ASK in checkpointed(saver)
        assert "tidal-memory" not in checkpointed(saver)


# graphs of all shapes


@pytest.mark.parametrize("saves", [False, True])
@pytest.mark.parametrize("outer", [MessagesState, TidalState])
def test_a_subgraph_recalls_and_records_for_its_parent_and_streams_there(reminded, says, saves, outer):
    model, checkpointer = says("A standard."), InMemorySaver() if saves else None
    inner = graph_of(reminded, model).compile()
    app = sequence(("chat", inner), state=outer).compile(checkpointer)
    result = app.invoke(user(ASK), thread("new"))
    assert FACT in model.shown[0][-1].text
    assert texts(result["messages"]) == [ASK, "A standard."]
    assert queries(reminded, thread="new") == [ASK]
    assert checkpointer is None or "tidal-memory" not in checkpointed(checkpointer)
    parts = list(app.stream(user(ASK), thread("other"), stream_mode="custom", subgraphs=True))
    assert [set(part) for _, part in parts] == [{"tidal_recall"}]


class Topics(TypedDict):
    topics: list[str]
    shown: Annotated[list[str], operator.add]


class Topic(TidalState):
    shown: Annotated[list[str], operator.add]


def test_branches_sent_out_recall_and_record_each_its_own(reminded):
    """A whole conversation in each branch: a graph of its own, called by a node that ``Send`` fans out to."""

    def model(state):
        return {"messages": [AIMessage("Done.")], "shown": [model_input(state)[-1].text]}

    branch = graph_of(reminded, model, state=Topic).compile()
    graph = StateGraph(Topics).add_node("plan", lambda state: {})
    graph.add_node("work", lambda state: {"shown": branch.invoke(user(state["topic"]))["shown"]})
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda state: [Send("work", {"topic": t}) for t in state["topics"]], ["work"])
    topics = [ASK, *(f"Number {n} of the list of songs to sort." for n in range(3))]
    result = graph.compile().invoke({"topics": topics, "shown": []}, thread("fan"))
    assert [FACT in text for text in result["shown"]] == [True] + [False] * 3
    assert sorted(queries(reminded, thread="fan")) == sorted(topics)


# the store in a graph


class Messages(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


@tool
def look_up(query: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Look a song up."""
    return store.search(("songs",), query=query, limit=1)[0].key


async def test_nodes_and_tools_reach_the_store(memory):
    def write(state, runtime: Runtime):
        runtime.store.put(("songs", "mara"), "monk", {"text": "Round Midnight is a jazz standard"})
        runtime.store.put(("songs",), "bread", {"text": "Knead the dough"})
        return {"messages": [AIMessage("", tool_calls=[call])]}

    async def read(state, runtime: Runtime):
        found = await runtime.store.asearch(("songs",), query="jazz standard", limit=1)
        return {"messages": [AIMessage(f"{item.key}: {item.value['text']}") for item in found]}

    call = {"name": "look_up", "args": {"query": "a jazz standard"}, "id": "c1"}
    graph = sequence(("write", write), ("tools", ToolNode([look_up])), ("read", read), state=Messages)
    result = await graph.compile(store=TidalStore(memory)).ainvoke(user("Which songs?"))
    assert texts(result["messages"])[2:] == ["monk", "monk: Round Midnight is a jazz standard"]


def test_whispers_of_the_last_turns_are_kept_for_their_next_steps(reminded, embedder):
    recall = RecallNode(reminded)
    first = {"messages": [HumanMessage(ASK, id="h0")]}
    shown = recall.invoke(first, thread("t"))
    for number in range(1, 64):
        recall.invoke({"messages": [HumanMessage("Thanks!", id=f"h{number}")]}, thread("t"))
    assert recall.invoke(first, thread("t")) == shown
    assert embedder.recalls == [ASK]
    for number in range(64, 129):
        recall.invoke({"messages": [HumanMessage("Thanks!", id=f"h{number}")]}, thread("t"))
    recall.invoke(first, thread("t"))
    assert embedder.recalls == [ASK] * 2, "and no more of them"
