"""The demo's agent: a LangGraph graph that recalls before its model and records after it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langgraph_tidal import RecallNode, RecordNode, TidalState, model_input
from tidal_plugins import TidalMemory

SYSTEM = "You are a good friend with a good memory. Answer in one or two sentences, from what you are reminded of."

PROVIDERS = {  # key in the environment: what init_chat_model takes, and the package that it needs
    "ANTHROPIC_API_KEY": ("anthropic:claude-sonnet-4-5", "langchain_anthropic"),
    "OPENAI_API_KEY": ("openai:gpt-5-mini", "langchain_openai"),
}


class NoModel(Exception):
    """The model that was named cannot be had, and why."""


@dataclass(frozen=True)
class Turn:
    """One question put to the agent: its answer, what had surfaced (``ids``) and why, and the whisper's text."""

    question: str
    answer: str
    whisper: str
    ids: Sequence[str]
    why: Sequence[str]


class Agent:
    def __init__(self, memory: TidalMemory, model: BaseChatModel) -> None:
        def call_model(state: TidalState) -> dict[str, Any]:
            return {"messages": [model.invoke([SystemMessage(SYSTEM), *model_input(state)])]}

        graph = StateGraph(TidalState)
        graph.add_node("recall", RecallNode(memory))
        graph.add_node("model", call_model)
        graph.add_node("record", RecordNode(memory))
        graph.add_edge(START, "recall").add_edge("recall", "model").add_edge("model", "record")
        self._app = graph.compile(checkpointer=InMemorySaver())

    def ask(self, question: str, thread: str) -> Turn:
        """Run one turn of a thread and return what happened, read off the graph's own streams."""
        stream: Iterator[Any] = self._app.stream(
            {"messages": [HumanMessage(question)]},
            {"configurable": {"thread_id": thread}},
            stream_mode=["custom", "updates"],
        )
        for mode, part in stream:
            if mode == "custom":
                surfaced = part["tidal_recall"]
            elif "recall" in part:
                shown = part["recall"]["llm_input_messages"][-1].text
            elif "model" in part:
                answer = part["model"]["messages"][-1].text
        return Turn(question, answer, shown.removesuffix(question).rstrip(), surfaced["ids"], surfaced["why"])


class ScriptedModel(BaseChatModel):
    """Stands in for a language model: it says its lines, and what has none it can only read off the whisper."""

    lines: Mapping[str, str]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        shown = messages[-1].text
        question = next((line for line in self.lines if shown.endswith(line)), None)
        answer = self.lines[question] if question else read(shown)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer))])


def read(shown: str) -> str:
    """Answer with the first memory that was shown, word for word, or admit that there is none."""
    memories = [line for line in shown.splitlines() if line.startswith("- [")]
    if not memories:
        return "I do not know. Nothing that I remember speaks of it."
    where, _, text = memories[0].removeprefix("- ").partition(": ")
    return f"I was told: «{text}» ({where})"


def choose_model(name: str | None, lines: Mapping[str, str]) -> tuple[BaseChatModel, str]:
    """Return the model and what to call it: the named one, that of a provider whose key is set, or the script."""
    name = name or next((model for key, (model, package) in PROVIDERS.items() if _usable(key, package)), None)
    if name is None:
        return ScriptedModel(lines=lines), "a scripted model, offline"
    from langchain.chat_models import init_chat_model

    try:
        return init_chat_model(name), name
    except (ImportError, ValueError) as error:
        raise NoModel(f"{name} cannot be used: {error}") from error


def _usable(key: str, package: str) -> bool:
    return bool(os.environ.get(key)) and importlib.util.find_spec(package) is not None
