"""A LangGraph agent that speaks first. Runs offline, in a time of its own: the model and the clock are stand-ins."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langgraph_tidal import ProactiveNode, RecallNode, RecordNode, TidalState, model_input, needs_answer
from tidal_plugins import TidalMemory
from tidal_plugins.testing import FrozenClock

EVA: RunnableConfig = {"configurable": {"thread_id": "eva"}}


def agent(memory: TidalMemory, answers: list[str]) -> Runnable[Any, Any]:
    model = FakeListChatModel(responses=answers)  # put your chat model here

    def call_model(state: TidalState) -> dict[str, Any]:
        return {"messages": [model.invoke(model_input(state))]}

    graph = StateGraph(TidalState)
    graph.add_node("proactive", ProactiveNode(memory))
    graph.add_node("recall", RecallNode(memory))
    graph.add_node("model", call_model)
    graph.add_node("record", RecordNode(memory))
    graph.add_edge(START, "proactive")
    graph.add_conditional_edges("proactive", needs_answer, {True: "recall", False: "record"})
    graph.add_edge("recall", "model").add_edge("model", "record")
    return graph.compile(checkpointer=InMemorySaver())


def talk(app: Runnable[Any, Any], clock: FrozenClock, words: str) -> None:
    result = app.invoke({"messages": [("user", words)]}, EVA)
    print(f"\n{clock():%A %H:%M}\n  Eva:   {words}\n  agent: {result['messages'][-1].text}")


def live(memory: TidalMemory, app: Runnable[Any, Any], clock: FrozenClock, *, hours: int) -> None:
    """Stand in for a scheduler: step every hour, and run the graph on Eva's thread when there is something to say."""
    for _ in range(hours):
        clock.advance(hours=1)
        step = memory.presence.step()
        if step.message:
            result = app.invoke({"messages": []}, EVA)  # nobody wrote anything
            print(f"\n{clock():%A %H:%M}, {step.decision}\n  agent: {result['messages'][-1].text}")


with tempfile.TemporaryDirectory() as folder:
    clock = FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    with TidalMemory(Path(folder, "agent.db"), clock=clock) as memory:
        memory.presence.allow(zone="Europe/Berlin")
        app = agent(memory, ["Sure.", "Lovely. That is one thing less."])
        talk(app, clock, "I have to pay Tom back by Thursday.")
        live(memory, app, clock, hours=50)
        talk(app, clock, "Oh yes! He has it now.")
        live(memory, app, clock, hours=48)
        print("\nin the thread's history:")
        for episode in memory.episodes.list(thread="eva"):
            print(*(f"  {message.role}: {message.text}" for message in episode.messages), sep="\n")
        (message,) = memory.presence.messages()
        print(f"\nthe message was {message.status}, and rests on [{message.citations[0]}]")
