"""Answers that are no plain text: structured ones, and whispers that must not stay in a message history."""

import asyncio

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from langchain_tidal import TidalMemoryMiddleware, with_memory
from tidal_plugins import InvalidInput

pytestmark = [
    pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated"),
    pytest.mark.filterwarnings("ignore:The class `InMemoryChatMessageHistory` was deprecated"),
]

CONFIG = {"configurable": {"thread_id": "train", "session_id": "train"}}
ASK = "When does the night train to Vienna leave?"


class Departure(BaseModel):
    """When a train leaves."""

    train: str
    time: str


def departs(time="21:40"):
    return AIMessage("", tool_calls=[{"name": "Departure", "args": {"train": "NJ 40", "time": time}, "id": "call-1"}])


@pytest.mark.parametrize("run", ["sync", "async"])
@pytest.mark.parametrize("message", [None, "Done."])
def test_a_structured_answer_is_the_answer_of_its_episode(memory, says, run, message):
    strategy = ToolStrategy(Departure, tool_message_content=message)
    middleware = [TidalMemoryMiddleware(memory)]
    saver = InMemorySaver()
    agent = create_agent(says(departs()), [], middleware=middleware, response_format=strategy, checkpointer=saver)
    for _ in range(2):
        given = {"messages": [HumanMessage(ASK)]}
        state = agent.invoke(given, CONFIG) if run == "sync" else asyncio.run(agent.ainvoke(given, CONFIG))
    assert state["structured_response"] == Departure(train="NJ 40", time="21:40")
    assert [m.text for m in state["messages"] if isinstance(m, AIMessage)] == ["", ""], "the state stays as it is"
    assert [episode.answer for episode in memory.episodes.list()] == ['{"train": "NJ 40", "time": "21:40"}'] * 2
    assert [len(episode.tool_calls) for episode in memory.episodes.list()] == [1, 1]
    assert any("21:40" in hit.text for hit in memory.recall("When does the night train leave?"))


def test_a_structured_answer_after_a_refused_one_is_the_last(memory, says):
    wrong = AIMessage("", tool_calls=[{"name": "Departure", "args": {"train": "NJ 40"}, "id": "call-0"}])
    agent = create_agent(
        says(wrong, departs("21:45")),
        [],
        middleware=[TidalMemoryMiddleware(memory)],
        response_format=ToolStrategy(Departure),
    )
    agent.invoke({"messages": [HumanMessage(ASK)]}, CONFIG)
    [episode] = memory.episodes.list()
    assert episode.answer == '{"train": "NJ 40", "time": "21:45"}'


@pytest.mark.parametrize("wrap", [lambda chain: chain, lambda chain: chain.with_config(tags=["a"]), lambda c: c | str])
def test_a_message_history_that_would_keep_the_whisper_is_refused(memory, says, wrap):
    kept = RunnableWithMessageHistory(says("A roast."), lambda id: InMemoryChatMessageHistory())
    with pytest.raises(InvalidInput, match=r"with_memory\(RunnableWithMessageHistory"):
        with_memory(wrap(kept), memory)


@pytest.mark.parametrize("stream", [False, True])
def test_a_memory_inside_of_a_message_history_leaves_the_history_as_it_was_said(memory, says, stream):
    memory.record("The night train to Vienna is the NJ 40.", "Noted.", thread="old")
    histories = {}
    model = says("At 21:40.", "No.")
    chat = RunnableWithMessageHistory(
        with_memory(model, memory), lambda id: histories.setdefault(id, InMemoryChatMessageHistory())
    )
    for asked in (ASK, "And is it late?"):
        list(chat.stream(asked, CONFIG)) if stream else chat.invoke(asked, CONFIG)
    assert "<tidal-memory>" in model.shown[0][-1].text
    texts = [message.text for message in histories["train"].messages]
    assert texts == [ASK, "At 21:40.", "And is it late?", "No."]
    assert [episode.query for episode in memory.episodes.list(thread="train")] == [ASK, "And is it late?"]


def test_other_runnables_are_taken(memory):
    assert with_memory(RunnableLambda(str) | str, memory).invoke("Hello there.") == "Hello there."
