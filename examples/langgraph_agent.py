"""A LangGraph agent with a memory, in three lines of the graph. Runs offline: the model is a stand-in."""

import tempfile
from pathlib import Path
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import Runnable
from langgraph.graph import START, StateGraph

from langgraph_tidal import RecallNode, RecordNode, TidalState, model_input
from tidal_plugins import TidalMemory


def agent(memory: TidalMemory, answer: str) -> Runnable[Any, Any]:
    model = FakeListChatModel(responses=[answer])  # put your chat model here

    def call_model(state: TidalState) -> dict[str, Any]:
        shown = model_input(state)  # the messages, with what surfaced in the last one
        print(f"\nthe model is shown:\n{shown[-1].text}")
        return {"messages": [model.invoke(shown)]}

    graph = StateGraph(TidalState)
    graph.add_node("recall", RecallNode(memory))
    graph.add_node("model", call_model)
    graph.add_node("record", RecordNode(memory))
    graph.add_edge(START, "recall").add_edge("recall", "model").add_edge("model", "record")
    return graph.compile()


def talk(path: Path, thread: str, words: str, answer: str) -> None:
    with TidalMemory(path) as memory:  # opened anew, as another process would
        result = agent(memory, answer).invoke({"messages": [("user", words)]}, {"configurable": {"thread_id": thread}})
        print(f"\nthe model answers:\n{result['messages'][-1].text}")


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "agent.db")
    talk(file, "monday", "I play jazz piano, and my left hand is lazy.", "Noted.")
    talk(file, "friday", "What should I practise on the piano?", "Stride bass lines, for that left hand.")
