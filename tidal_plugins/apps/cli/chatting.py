"""The agent that ``tidal chat`` talks to: a LangGraph graph that compacts, recalls, answers and records."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langgraph_tidal import CompactionNode, RecallNode, RecordNode, TidalState, model_input
from tidal_plugins import TidalMemory
from tidal_plugins.apps.cli.command import Exit, Failed

SYSTEM = "You are a helpful assistant with a good memory. What you are reminded of stands ahead of the question."

PROVIDERS = {
    "ANTHROPIC_API_KEY": ("anthropic:claude-sonnet-4-5", "langchain_anthropic"),
    "OPENAI_API_KEY": ("openai:gpt-5-mini", "langchain_openai"),
    "GOOGLE_API_KEY": ("google_genai:gemini-2.5-flash", "langchain_google_genai"),
}
"""The variable with a provider's key, the model that is taken then, and the package that it needs."""


@dataclass(frozen=True)
class Turn:
    """What happened in one turn: the answer, the whisper, why each memory came up, and the account of a compaction."""

    answer: str
    whisper: str = ""
    ids: Sequence[str] = ()
    why: Sequence[str] = ()
    compaction: Mapping[str, Any] = field(default_factory=dict)


class Agent:
    """An agent over a memory. The turns of a thread stay in this process; the memory keeps them for good."""

    def __init__(self, memory: TidalMemory, model: BaseChatModel, max_tokens: int) -> None:
        def call_model(state: TidalState) -> dict[str, Any]:
            return {"messages": [model.invoke([SystemMessage(SYSTEM), *model_input(state)])]}

        graph = StateGraph(TidalState)
        graph.add_node("compact", CompactionNode(memory, max_tokens=max_tokens))
        graph.add_node("recall", RecallNode(memory))
        graph.add_node("model", call_model)
        graph.add_node("record", RecordNode(memory))
        graph.add_edge(START, "compact").add_edge("compact", "recall")
        graph.add_edge("recall", "model").add_edge("model", "record")
        self._app = graph.compile(checkpointer=InMemorySaver())

    def ask(self, text: str, thread: str) -> Turn:
        """Run one turn of a thread, and return what happened in it."""
        said: dict[str, Any] = {}
        answer = ""
        config: Any = {"configurable": {"thread_id": thread}}
        asked: Any = {"messages": [HumanMessage(text)]}
        stream: Iterator[Any] = self._app.stream(asked, config, stream_mode=["custom", "updates"])
        for mode, part in stream:
            if mode == "custom":
                said |= part
            elif "model" in part:
                answer = part["model"]["messages"][-1].text
        told = said.get("tidal_recall", {})
        compaction = said.get("tidal_compaction", {})
        return Turn(answer, told.get("whisper", ""), told.get("ids", ()), told.get("why", ()), compaction)


class Echo(BaseChatModel):
    """Stands in for a model: it repeats what was said, with the first memory that it was shown."""

    @property
    def _llm_type(self) -> str:
        return "echo"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        shown = messages[-1].text
        said = shown.rsplit("\n\n", 1)[-1]
        memories = [line for line in shown.splitlines() if line.startswith("- [")]
        reminded = f" That reminds me: {memories[0].partition(': ')[2]}" if memories else ""
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"You said: «{said}».{reminded}"))])


def choose_model(name: str | None) -> tuple[BaseChatModel, str]:
    """Return a model and what to call it: the named one, that of a provider whose key is set, or the echo.

    Raises ``Failed`` for one that cannot be had.
    """
    name = name or next((model for key, (model, package) in PROVIDERS.items() if _usable(key, package)), None)
    if name is None or name == "echo":
        return Echo(), "echo, which needs no provider"
    try:
        from langchain.chat_models import init_chat_model

        return init_chat_model(name), name
    except (ImportError, ValueError) as error:
        raise Failed(f"the model {name} cannot be had: {error}", Exit.REFUSED) from error


def _usable(key: str, package: str) -> bool:
    there = all(importlib.util.find_spec(name) is not None for name in ("langchain", package))
    return bool(os.environ.get(key)) and there
