"""The doors: ways in which an agent has a memory, told the same stories. Each hides how its framework runs a turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.messages.utils import count_tokens_approximately
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine

import langchain_tidal
import llama_index_tidal
from langchain_tidal import TidalCompaction, TidalMemoryMiddleware
from langchain_tidal.messages import by_compaction
from langgraph_tidal import CompactionNode
from llama_index_tidal import TidalChatMemory
from llama_index_tidal.messages import WrittenMessage
from tests.frameworks import conftest as chain
from tests.frameworks.llama_index import conftest as index

ROLES = {"human": "user", "ai": "assistant"}


class Door:
    """A way for an agent to have a memory, whose conversations go on in every app that it makes."""

    name = ""

    def __init__(self, memory: Any, embedder: Any = None) -> None:
        self.memory, self.embedder = memory, embedder

    def says(self, *replies: Any) -> Any:
        """Return a model with these replies: texts, messages, errors, or functions of what it is shown."""
        return chain.StrictModel(replies=list(replies))

    def written(self, message: Any) -> bool:
        """Return whether compaction wrote a message."""
        return by_compaction(message)

    def tokens(self, messages: Sequence[Any]) -> int:
        return count_tokens_approximately(messages)

    def calls(self, *calls: tuple[str, dict[str, Any]], text: str = "") -> Any:
        """Return a reply that calls tools."""
        return chain.calling(*calls, text=text)

    def without_ids(self, message: Any) -> Any:
        """Return a reply as providers send it that give the calls of tools no ids."""
        return message.model_copy(update={"tool_calls": [{**call, "id": ""} for call in message.tool_calls]})

    def shown(self, model: Any) -> list[list[tuple[str, str]]]:
        """Return the roles and texts that each call of a model was shown."""
        return [[self.plain(message) for message in messages] for messages in model.shown]

    def plain(self, message: Any) -> tuple[str, str]:
        return ROLES.get(message.type, message.type), message.text

    def signal_tools(self, policy: Any, **options: Any) -> Any:
        return langchain_tidal.signal_tools(self.memory, policy, **options)

    def app(self, model: Any, *, tools: Sequence[Any] = (), compact: Any = None, **options: Any) -> Callable[..., Any]:
        """Return a function that asks an agent something in a thread, and returns the answer.

        ``compact`` is the number of tokens that its context may have.
        """
        raise NotImplementedError

    def restart(self) -> None:
        """Forget all that a new process would not know."""


class OfLangChain(Door):
    sync = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.saver = InMemorySaver()

    def built(self, model: Any, tools: Sequence[Any], compact: int | None, **options: Any) -> Any:
        raise NotImplementedError

    def app(self, model: Any, *, tools: Sequence[Any] = (), compact: Any = None, **options: Any) -> Callable[..., Any]:
        runs = self.built(model, [chain.metronome] if tools == "metronome" else list(tools), compact, **options)

        async def ask(text: str | None, thread: str = "friday") -> str:
            given = None if text is None else {"messages": [HumanMessage(text)]}
            config = chain.thread(thread)
            result = runs.invoke(given, config) if self.sync else await runs.ainvoke(given, config)
            return str(result["messages"][-1].text)

        return ask

    def history(self, thread: str = "friday") -> list[tuple[str, str]]:
        stored = self.saver.get(chain.thread(thread))
        return [self.plain(message) for message in stored["channel_values"]["messages"]] if stored else []


class Nodes(OfLangChain):
    """The nodes of a LangGraph graph."""

    def built(self, model: Any, tools: Sequence[Any], compact: int | None, **options: Any) -> Any:
        scope, first = options.get("scope"), []
        if compact:
            first = [("compact", CompactionNode(self.memory, max_tokens=compact, scope=scope))]
        back_to = "compact" if compact else "recall"
        graph = chain.graph_of(self.memory, model, tools=tools, first=first, back_to=back_to, **options)
        return graph.compile(checkpointer=self.saver)


class AsyncNodes(Nodes):
    sync = False


class Middleware(OfLangChain):
    """The middleware of an agent of LangChain."""

    def built(self, model: Any, tools: Sequence[Any], compact: int | None, **options: Any) -> Any:
        schema = {name: options.pop(name) for name in ("context_schema",) if name in options}
        layers: list[Any] = [TidalMemoryMiddleware(self.memory, **options)]
        if compact:
            layers.insert(0, TidalCompaction(self.memory, max_tokens=compact, scope=options.get("scope")))
        return create_agent(model, tools, middleware=layers, checkpointer=self.saver, **schema)


class AsyncMiddleware(Middleware):
    sync = False


class OfLlamaIndex(Door):
    """The chat memory of LlamaIndex."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.chats: dict[str, TidalChatMemory] = {}

    def says(self, *replies: Any) -> Any:
        return index.ScriptedLLM(replies=list(replies))

    def calls(self, *calls: tuple[str, dict[str, Any]], text: str = "") -> Any:
        return index.calling(*calls, text=text)

    def without_ids(self, message: Any) -> Any:
        for block in message.blocks:
            if isinstance(block, ToolCallBlock):
                block.tool_call_id = ""
        return message

    def written(self, message: Any) -> bool:
        return isinstance(message, WrittenMessage)

    def tokens(self, messages: Sequence[Any]) -> int:
        return index.size(messages).tokens

    def plain(self, message: ChatMessage) -> tuple[str, str]:
        return message.role.value, message.content or ""

    def signal_tools(self, policy: Any, **options: Any) -> Any:
        return llama_index_tidal.signal_tools(self.memory, policy, **options)

    def app(self, model: Any, *, tools: Sequence[Any] = (), compact: Any = None, **options: Any) -> Callable[..., Any]:
        given = [index.metronome] if tools == "metronome" else list(tools)

        async def ask(text: str, thread: str = "friday") -> str:
            if thread not in self.chats:
                self.chats[thread] = TidalChatMemory(self.memory, thread=thread, token_limit=compact, **options)
            return str(await self.asked(model, given, self.chats[thread], text))

        return ask

    async def asked(self, model: Any, tools: Sequence[Any], chat: TidalChatMemory, text: str) -> Any:
        raise NotImplementedError

    def history(self, thread: str = "friday") -> list[tuple[str, str]]:
        return [self.plain(message) for message in self.chats[thread].get_all()]

    def restart(self) -> None:
        kept = {thread: json.loads(json.dumps(chat.to_dict())) for thread, chat in self.chats.items()}
        self.chats = {thread: TidalChatMemory.from_dict(plain) for thread, plain in kept.items()}


class Engine(OfLlamaIndex):
    """A chat engine."""

    async def asked(self, model: Any, tools: Sequence[Any], chat: TidalChatMemory, text: str) -> Any:
        return SimpleChatEngine.from_defaults(llm=model, memory=chat).chat(text)


class AsyncEngine(OfLlamaIndex):
    """A chat engine that streams in async code."""

    async def asked(self, model: Any, tools: Sequence[Any], chat: TidalChatMemory, text: str) -> Any:
        told = await SimpleChatEngine.from_defaults(llm=model, memory=chat).astream_chat(text)
        return "".join([part async for part in told.async_response_gen()])


class Agent(OfLlamaIndex):
    """An agent of LlamaIndex."""

    async def asked(self, model: Any, tools: Sequence[Any], chat: TidalChatMemory, text: str) -> Any:
        return await FunctionAgent(llm=model, tools=list(tools)).run(text, memory=chat)


DOORS: dict[str, type[Door]] = {
    "nodes": Nodes,
    "nodes, async": AsyncNodes,
    "middleware": Middleware,
    "middleware, async": AsyncMiddleware,
    "engine": Engine,
    "engine, async": AsyncEngine,
    "agent": Agent,
}
