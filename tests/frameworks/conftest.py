"""A scripted model, and the graphs that the tests of the frameworks run it in. Worker processes import it too."""

from __future__ import annotations

import functools
import itertools
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import Field, PrivateAttr

from langgraph_tidal import RecallNode, RecordNode, TidalState, model_input
from tests.forking import forker
from tidal_plugins import EmbeddingError, HashingEmbedder, Settings, TidalMemory

PREPARE = "import langgraph.checkpoint.sqlite, tests.frameworks.conftest"

SETTINGS = Settings(whisper={"threshold": 0.2})  # spelling passes it where meaning passes MiniLM's

Reply = str | AIMessage | Exception | Callable[[list[BaseMessage]], str | AIMessage]


class ScriptedModel(BaseChatModel):
    """Plays its replies in order, repeating the last one, and keeps what it was shown.

    A reply is a text, a message, an exception to raise, or a function of the messages shown.
    """

    replies: list[Any]
    shown: list[list[BaseMessage]] = Field(default_factory=list)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> ScriptedModel:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        with self._lock:
            reply = self.replies[min(len(self.shown), len(self.replies) - 1)]
            self.shown.append(list(messages))
        if isinstance(reply, Exception):
            raise reply
        reply = reply(messages) if callable(reply) else reply
        message = AIMessage(reply) if isinstance(reply, str) else reply.model_copy()
        return ChatResult(generations=[ChatGeneration(message=message)])


class StrictModel(ScriptedModel):
    """A scripted model that refuses what providers refuse.

    It refuses a broken tool pair, a system message in the middle, an assistant's message at the end, and more than
    ``max_tokens`` by LangChain's own counter, tools included.
    """

    max_tokens: int = 1_000_000

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        kinds = [message.type for message in messages]
        assert "system" not in itertools.dropwhile(lambda kind: kind == "system", kinds), "a system message in mid-list"
        assert kinds[-1] in ("human", "tool"), f"the last message is of the {kinds[-1]}"
        check_pairs(messages)
        taken = count_tokens_approximately(messages, tools=kwargs.get("tools"))
        assert taken <= self.max_tokens, f"{taken} tokens, of {self.max_tokens}"
        return super()._generate(messages, *args, **kwargs)


def check_pairs(messages: Sequence[BaseMessage]) -> None:
    """Check that each call of a tool has its result right after it, and that no result stands alone."""
    open_: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in open_, f"a result of no call: {message!r:.200}"
            open_.remove(message.tool_call_id)
        else:
            assert not open_, f"no result of {open_}"
            open_ = {call["id"] for call in message.tool_calls} if isinstance(message, AIMessage) else set()
    assert not open_, f"no result of {open_}"


class CountingEmbedder(HashingEmbedder):
    """Keeps the texts that it embedded, call by call, and fails as often as ``failures`` says."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []
        self.failures = 0

    def embed(self, texts: Sequence[str]) -> Any:
        if self.failures:
            self.failures -= 1
            raise EmbeddingError("the embedder is away")
        self.calls.append(list(texts))
        return super().embed(texts)

    @property
    def recalls(self) -> list[str]:
        """Return the questions that recall embedded. Texts that record embeds come with a summary of their episode."""
        return [texts[0] for texts in self.calls if len(texts) == 1]


@tool
def metronome(tempo: int) -> str:
    """Set the metronome."""
    if tempo < 0:
        raise ValueError(f"no tempo {tempo}")
    return f"The metronome ticks at {tempo}."


def open_memory(path: Any, embedder: Any = None, **options: Any) -> TidalMemory:
    return TidalMemory(path, embedder=embedder or HashingEmbedder(), settings=SETTINGS, **options)


def chat_graph(
    memory: TidalMemory,
    model: Any,
    *,
    state: Any = TidalState,
    scope: Any = None,
    retry: Any = None,
    nested: Any = "apart",
    **schema: Any,
) -> StateGraph:
    """Return the graph that the README shows. ``model`` is a chat model or a node."""
    graph = StateGraph(state, **schema)
    graph.add_node("recall", RecallNode(memory, scope=scope, nested=nested), retry_policy=retry)
    graph.add_node("model", node_of(model), retry_policy=retry)
    graph.add_node("record", RecordNode(memory, scope=scope, nested=nested), retry_policy=retry)
    graph.add_edge(START, "recall").add_edge("recall", "model").add_edge("model", "record")
    return graph


def tool_graph(memory: TidalMemory, model: Any, *, back_to: str = "model", before_tools: Any = None) -> StateGraph:
    """Return a ReAct loop built by hand, whose tools lead back to the model or to recall."""
    graph = StateGraph(TidalState)
    graph.add_node("recall", RecallNode(memory))
    graph.add_node("model", node_of(model))
    graph.add_node("approve", before_tools or (lambda state: {}))
    graph.add_node("tools", ToolNode([metronome], handle_tool_errors=True))
    graph.add_node("record", RecordNode(memory))
    graph.add_edge(START, "recall").add_edge("recall", "model")
    graph.add_conditional_edges("model", tools_condition, {"tools": "approve", END: "record"})
    return graph.add_edge("approve", "tools").add_edge("tools", back_to)


def node_of(model: Any) -> Any:
    if not isinstance(model, BaseChatModel):
        return model
    return lambda state: {"messages": [model.invoke(model_input(state))]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
def embedder():
    return CountingEmbedder()


@pytest.fixture
def memory(path, embedder):
    with open_memory(path, embedder) as memory:
        yield memory


@pytest.fixture
def says():
    """Return a function that makes a model with these replies."""
    return lambda *replies: ScriptedModel(replies=list(replies))


@pytest.fixture
def strict():
    """Return a function that makes a model with these replies that refuses what providers refuse."""
    return lambda *replies, **options: StrictModel(replies=list(replies), **options)


@pytest.fixture
def chat(memory):
    return functools.partial(chat_graph, memory)


@pytest.fixture
def react(memory):
    return functools.partial(tool_graph, memory)


@pytest.fixture
def metronome_tool():
    return metronome


@pytest.fixture
def in_process(path, tmp_path):
    """Return a function that runs a graph in a process of its own, on the same files."""

    def run(**command: Any) -> Any:
        worker = str(Path(__file__).with_name("graph_process.py"))
        arguments = [str(path), str(tmp_path / "checkpoints.db"), json.dumps(command)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = forker(PREPARE).run(worker, *arguments, env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    return run
