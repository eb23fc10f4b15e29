"""The place of whispers in the prompts of one thread: with their turns, at the end, or with the last question alone."""

from __future__ import annotations

import itertools
from contextlib import closing
from datetime import UTC, datetime, timedelta

import apsw
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel

from langgraph_tidal import RecallNode, memory_model
from tests.frameworks.conftest import (
    ASK,
    FACT,
    MARK,
    calling,
    checkpointed,
    graph_of,
    metronome,
    said,
    thread,
    ticks,
    user,
)
from tests.frameworks.doors import DOORS
from tidal_plugins import HashingEmbedder, InvalidInput, Settings, TidalMemory

LOOPS = pytest.mark.parametrize("door", ["nodes", "middleware", "agent"], indirect=True)
ALL = pytest.mark.parametrize("door", DOORS, indirect=True)
TICK = ("metronome", {"tempo": 60})


@LOOPS
async def test_a_whisper_that_stays_leaves_each_prompt_the_beginning_of_the_next(reminded, door):
    model = door.says(door.calls(TICK), "A standard.", "It rains.", "Any.")
    ask = door.app(model, tools="metronome", cache="sticky")
    for text in (ASK, "How is the weather in Lisbon?"):
        await ask(text)
    door.restart()
    await door.app(model, tools="metronome", cache="sticky")("And in Porto?")
    shown = door.shown(model)
    assert FACT in shown[0][0][1]
    for before, after in itertools.pairwise(shown):
        assert after[: len(before)] == before
    assert MARK not in str(door.history())
    assert reminded.episodes.list(thread="friday")[0].query == ASK


@ALL
async def test_a_forgotten_memory_leaves_the_whispers_that_stayed(reminded, door):
    model = door.says("A standard.", "It rains.", "It snows.")
    ask = door.app(model, cache="sticky")
    await ask(ASK)
    await ask("How is the weather in Lisbon?")
    assert FACT in door.shown(model)[1][0][1]
    reminded.forget(thread="old")
    await ask("And in Porto?")
    assert door.shown(model)[2][0] == ("user", ASK)


@ALL
async def test_by_default_a_whisper_stays_with_its_turn(reminded, door):
    model = door.says("A standard.", "It rains.")
    ask = door.app(model)
    await ask(ASK)
    await ask("How is the weather in Lisbon?")
    first, second = door.shown(model)
    assert FACT in first[0][1]
    assert second[: len(first)] == first


@ALL
async def test_with_turn_a_whisper_goes_with_its_turn(reminded, door):
    model = door.says("A standard.", "It rains.")
    ask = door.app(model, cache="turn")
    await ask(ASK)
    await ask("How is the weather in Lisbon?")
    assert door.shown(model)[1][0] == ("user", ASK)


@pytest.mark.parametrize("door", ["nodes", "middleware"], indirect=True)
async def test_at_the_end_a_whisper_is_the_last_thing_of_each_call(reminded, door):
    model = door.says(door.calls(TICK), "A standard.", "It rains.")
    ask = door.app(model, tools="metronome", cache="tail")
    await ask(ASK)
    await ask("How is the weather in Lisbon?")
    first, second, third = door.shown(model)
    assert first[-1][1].startswith(f"{ASK}\n\n{MARK}")
    assert second[0] == ("user", ASK)
    assert second[-2][0] == "tool"
    assert second[-1][1].startswith(MARK)
    assert MARK not in str(third)


@pytest.mark.parametrize("door", ["nodes", "middleware", "engine"], indirect=True)
async def test_another_place_is_refused(memory, door):
    with pytest.raises(InvalidInput, match="cache must be one of sticky, tail, turn"):
        await door.app(door.says("-"), cache="often")("Hello.")


def test_a_store_that_is_busy_shows_a_whisper_and_does_not_keep_it(tmp_path, caplog):
    settings = Settings(storage={"busy_timeout": 0.05})
    with TidalMemory(tmp_path / "m.db", embedder=HashingEmbedder(), settings=settings) as memory:
        memory.record(user=FACT, agent="Noted.", thread="old")
        asked = {"messages": [HumanMessage(ASK, id="h1")]}
        with closing(apsw.Connection(str(tmp_path / "m.db"))) as other:
            other.execute("BEGIN IMMEDIATE")
            (shown,) = RecallNode(memory).invoke(asked, thread("friday"))["llm_input_messages"]
        assert FACT in shown.text
        assert "a whisper is not kept" in caplog.text
        asked["messages"] += [AIMessage("A standard.", id="a1"), HumanMessage("And?", id="h2")]
        assert RecallNode(memory).invoke(asked, thread("friday"))["llm_input_messages"][0].text == ASK


def test_a_memory_that_is_forgotten_within_a_turn_leaves_its_whisper(reminded):
    node, asked = RecallNode(reminded), {"messages": [HumanMessage(ASK, id="h1")]}
    assert FACT in node.invoke(asked, thread("friday"))["llm_input_messages"][0].text
    reminded.forget(thread="old")
    assert node.invoke(asked, thread("friday"))["llm_input_messages"][0].text == ASK


def test_a_turn_that_another_process_goes_on_with_shows_the_same_whisper(tmp_path):
    now = [datetime(2026, 11, 1, 12, tzinfo=UTC)]
    with TidalMemory(tmp_path / "m.db", embedder=HashingEmbedder(), clock=lambda: now[0]) as memory:
        memory.record(user=FACT, agent="Noted.", thread="old")
        shown, asked = [], [HumanMessage(ASK, id="h1")]
        called = [ticks(60), ToolMessage("The metronome ticks at 60.", tool_call_id=ticks(60).tool_calls[0]["id"])]
        for messages in (asked, [*asked, *called], asked):
            now[0] += timedelta(hours=3)
            shown.append(RecallNode(memory).invoke({"messages": messages}, thread("friday"))["llm_input_messages"][0])
    assert FACT in shown[0].text
    assert shown[1] == shown[0]
    assert "9 hours ago" in shown[2].text  # asked anew


def test_whispers_stay_with_messages_that_have_no_ids(reminded):
    node, said = RecallNode(reminded), [("user", ASK)]
    (first,) = node.invoke({"messages": said}, thread("friday"))["llm_input_messages"]
    said += [("assistant", "A standard."), ("user", "How is the weather in Lisbon?")]
    assert FACT in first.text
    assert node.invoke({"messages": said}, thread("friday"))["llm_input_messages"][0].text == first.text


# a model that remembers, in a graph of any state


def plain_graph(model, saver=None):
    """A graph as everybody writes it: its model sees ``state["messages"]``."""
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([metronome]))
    graph.add_edge(START, "model").add_conditional_edges("model", tools_condition).add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


def test_a_model_that_remembers_needs_neither_nodes_nor_a_state(reminded, strict):
    model, saver = strict(ticks(60), "Swing it.", "It rains."), InMemorySaver()
    app = plain_graph(memory_model(model, reminded).bind_tools([metronome]), saver)
    parts = list(app.stream(user(ASK), thread("friday"), stream_mode=["custom", "messages"]))
    app.invoke(user("How is the weather?"), thread("friday"))
    assert [part.keys() for mode, part in parts if mode == "custom"] == [{"tidal_recall"}]
    assert FACT in model.shown[0][0].text
    assert FACT in model.shown[1][0].text
    assert model.shown[2][0] == model.shown[1][0]
    first, second = reminded.episodes.list(thread="friday")
    assert said(first) == [ASK, "", "The metronome ticks at 60.", "Swing it."]
    assert said(second) == ["How is the weather?", "It rains."]
    assert first.surfaced
    assert "tidal-memory" not in checkpointed(saver)


@pytest.mark.parametrize("raw", [False, True])
def test_a_model_that_remembers_gives_structured_answers_and_records_them_as_json(reminded, strict, raw):
    class Piece(BaseModel):
        """A piece to play."""

        name: str

    model = strict(calling(("Piece", {"name": "Misty"})))
    remembering = memory_model(model, reminded).with_structured_output(Piece, include_raw=raw)
    answer = remembering.invoke(ASK, thread("friday"))
    assert (answer["parsed"] if raw else answer) == Piece(name="Misty")
    assert FACT in model.shown[0][0].text
    assert said(reminded.episodes.list(thread="friday")[0]) == [ASK, '{"name": "Misty"}']
    with pytest.raises(InvalidInput, match="structured"):
        memory_model(RunnableLambda(len), reminded).with_structured_output(Piece)


async def test_a_model_that_remembers_streams_and_rebuilds_its_context(memory, strict):
    model = strict("Noted.")
    remembering = memory_model(model, memory, max_tokens=600)
    history = []
    for n in range(30):
        history.append(HumanMessage(f"Song {n} is slow. {FACT}", id=f"s{n}"))
        history.append(await remembering.ainvoke(history, thread("long")))
    assert len(model.shown[-1]) < len(history) - 1
    assert len(memory.episodes.list(thread="long")) == 30
    streamed = [chunk async for chunk in remembering.astream("Hello there, friend.", thread("new"))]
    assert "".join(chunk.text for chunk in streamed) == "Noted."
    assert memory.episodes.list(thread="new")[0].answer == "Noted."


def test_a_compaction_takes_the_whispers_of_completed_turns_with_it(reminded, strict):
    model = strict(f"It goes {'la ' * 60}")
    remembering, history = memory_model(model, reminded, max_tokens=2_000), []
    for n in range(24):
        history.append(HumanMessage(ASK, id=f"v{n}"))
        history.append(remembering.invoke(history, thread("long")))
    whispers = [sum(MARK in message.text for message in shown if message.type == "human") for shown in model.shown]
    rebuilt = [n for n in range(1, 24) if len(model.shown[n]) < len(model.shown[n - 1])]
    assert rebuilt
    assert {whispers[n] for n in rebuilt} == {1}
    assert max(whispers) > 2


def test_a_graph_that_drops_the_whisper_says_so_once(reminded, says, caplog):
    app = graph_of(reminded, says("A standard."), state=MessagesState).compile()
    app.invoke(user(ASK), thread("friday"))
    app.invoke(user(ASK), thread("friday"))
    assert [record.message for record in caplog.records if "memory_model" in record.message][1:] == []
    assert "llm_input_messages" in caplog.text
    caplog.clear()
    graph_of(reminded, says("A standard.")).compile().invoke(user(ASK), thread("monday"))
    assert caplog.text == ""
