"""Scripted models, memories, and graphs, for the tests of all frameworks. Worker processes import it too."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import ToolException, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import Field, PrivateAttr

from langgraph_tidal import RecallNode, RecordNode, TidalState, model_input
from tidal_plugins import EmbeddingError, HashingEmbedder, Settings, TidalMemory
from tidal_plugins.turns import CACHE

FOLDER = Path(__file__).parent
SETTINGS = Settings(whisper={"threshold": 0.2})  # spelling passes it where meaning passes MiniLM's

FACT = "I practise jazz piano every evening after dinner."
ASK = "Which jazz piano piece should I practise this evening?"
MARK = "<tidal-memory>"

KNOWN_WARNINGS = (
    # llama-index-workflows looks at every attribute of an agent, which is a pydantic model
    "ignore:The `__fields__` attribute is deprecated:DeprecationWarning",
    "ignore:The `__fields_set__` attribute is deprecated:DeprecationWarning",
    "ignore:Accessing the 'model_computed_fields' attribute:DeprecationWarning",
    "ignore:Accessing the 'model_fields' attribute:DeprecationWarning",
    "ignore:is_running called from within a step:DeprecationWarning",
    "ignore:create_react_agent has been moved",
    "ignore:The class `(ConversationChain|LLMChain|InMemoryChatMessageHistory)` was deprecated",
    "ignore:RunnableWithMessageHistory is deprecated",
)
"""Warnings of the frameworks about themselves."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            for warning in KNOWN_WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


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

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
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
    open_: list[str | None] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in open_, f"a result of no call: {message!r:.200}"
            open_.remove(message.tool_call_id)
        else:
            assert not open_, f"no result of {open_}"
            open_ = [call["id"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
    assert not open_, f"no result of {open_}"


class CountingEmbedder(HashingEmbedder):
    """Keeps the texts and the threads that it embedded, call by call, and fails as often as ``failures`` says."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []
        self.threads: set[threading.Thread] = set()
        self.failures = 0

    def embed(self, texts: Sequence[str]) -> Any:
        if self.failures:
            self.failures -= 1
            raise EmbeddingError("the embedder is away")
        self.calls.append(list(texts))
        self.threads.add(threading.current_thread())
        return super().embed(texts)

    @property
    def recalls(self) -> list[str]:
        """Return the questions that recall embedded. Texts that record embeds come with a summary of their episode."""
        return [texts[0] for texts in self.calls if len(texts) == 1]

    @property
    def texts(self) -> list[str]:
        return [text for call in self.calls for text in call]


def tick(tempo: int) -> str:
    """Set the metronome."""
    if tempo < 0:
        raise ValueError(f"no tempo {tempo}")
    return f"The metronome ticks at {tempo}."


@tool
def metronome(tempo: int) -> str:
    """Set the metronome."""
    try:
        return tick(tempo)
    except ValueError as error:
        raise ToolException(str(error)) from error


metronome.handle_tool_error = True


def calling(*calls: tuple[str, dict[str, Any]], text: str = "", **fields: Any) -> AIMessage:
    """Return a message that calls tools, with the ids ``call-1``, ``call-2``, …"""
    made = [{"name": name, "args": given, "id": f"call-{n}"} for n, (name, given) in enumerate(calls, 1)]
    return AIMessage(text, tool_calls=made, **fields)


def ticks(*tempos: int, text: str = "") -> AIMessage:
    made = [{"name": "metronome", "args": {"tempo": tempo}, "id": f"call-{tempo}"} for tempo in tempos]
    return AIMessage(text, tool_calls=made)


def thread(name: str, **configurable: Any) -> Any:
    return {"configurable": {"thread_id": name, **configurable}, "recursion_limit": 1_000}


def user(text: Any, **fields: Any) -> dict[str, Any]:
    return {"messages": [HumanMessage(text, **fields)]}


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def said(episode: Any) -> list[str]:
    return [message.text for message in episode.messages]


def only(memory: TidalMemory, **where: Any) -> Any:
    (episode,) = memory.episodes.list(**where)
    return episode


def queries(memory: TidalMemory, **where: Any) -> list[str]:
    return [episode.query for episode in memory.episodes.list(**where)]


def checkpointed(saver: Any) -> str:
    return repr((dict(saver.storage), dict(saver.blobs), dict(saver.writes)))


@dataclass
class Context:
    """The context of a run that names its user."""

    user_id: str


def by_context(context: Any, config: Any) -> tuple[str, ...]:
    return ("user", context.user_id)


def by_config(context: Any, config: Any) -> tuple[str, ...]:
    return ("user", config["configurable"]["user_id"])


def open_memory(path: Any, embedder: Any = None, **options: Any) -> TidalMemory:
    return TidalMemory(path, embedder=embedder or HashingEmbedder(), **{"settings": SETTINGS, **options})


def graph_of(
    memory: TidalMemory,
    model: Any,
    *,
    tools: Sequence[Any] = (),
    first: Sequence[tuple[str, Any]] = (),
    back_to: str = "model",
    before_tools: Callable[[Any], Any] | None = None,
    state: Any = TidalState,
    scope: Any = None,
    policy: Any = None,
    agent: str | None = None,
    nested: Any = "apart",
    cache: Any = CACHE,
    retry: Any = None,
    **schema: Any,
) -> StateGraph:
    """Return the graph of the documentation: the nodes of ``first``, recall, model, tools and back, record.

    ``model`` is a chat model or a node.
    """
    recall = RecallNode(memory, scope=scope, policy=policy, agent=agent, nested=nested, cache=cache)
    nodes = [*first, ("recall", recall), ("model", node_of(model))]
    graph = StateGraph(state, **schema)
    for name, node in [*nodes, ("record", RecordNode(memory, scope=scope, nested=nested))]:
        graph.add_node(name, node, retry_policy=retry)
    for one, other in itertools.pairwise([START, *(name for name, _ in nodes)]):
        graph.add_edge(one, other)
    if not tools:
        return graph.add_edge("model", "record")
    graph.add_node("approve", before_tools or (lambda state: {}))
    graph.add_node("tools", ToolNode(list(tools), handle_tool_errors=True))
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
def reminded(memory, embedder):
    """A memory that has something to say to ASK."""
    memory.record(user=FACT, agent="Noted.", thread="old")
    embedder.calls.clear()
    embedder.threads.clear()
    return memory


@pytest.fixture
def says():
    """Return a function that makes a model with these replies."""
    return lambda *replies: ScriptedModel(replies=list(replies))


@pytest.fixture
def strict():
    """Return a function that makes a model with these replies that refuses what providers refuse."""
    return lambda *replies, **options: StrictModel(replies=list(replies), **options)


@pytest.fixture(params=["sync", "async"])
def run(request):
    """Run a graph, an agent or a chain by either call style."""

    async def call(app, given, config=None, **options):
        if request.param == "sync":
            return app.invoke(given, config, **options)
        return await app.ainvoke(given, config, **options)

    return call


@pytest.fixture
def door(request, memory, embedder):
    """Return the door that a test names: a way for an agent to have a memory."""
    from tests.frameworks.doors import DOORS

    return DOORS[request.param](memory, embedder)
