"""A scripted model, and memories to run it with. Worker processes import it too."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    MessageRole,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import FunctionTool, ToolSelection
from pydantic import Field, PrivateAttr

from llama_index_tidal.messages import WrittenMessage, calls_of, size_of
from tests.frameworks.conftest import tick
from tidal_plugins.model.compaction import Size
from tidal_plugins.summarising.sizes import ApproximateCounter

metronome = FunctionTool.from_defaults(tick, name="metronome")


class ScriptedLLM(FunctionCallingLLM):
    """Plays its replies in order, repeating the last one, and keeps what it was shown.

    A reply is a text, a message, an exception to raise, or a function of the messages shown.
    """

    replies: list[Any]
    shown: list[list[ChatMessage]] = Field(default_factory=list)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True, context_window=32_000)

    def chat(self, messages, **kwargs):
        with self._lock:
            reply = self.replies[min(len(self.shown), len(self.replies) - 1)]
            self.shown.append([message.model_copy(deep=True) for message in messages])
        if isinstance(reply, Exception):
            raise reply
        reply = reply(messages) if callable(reply) else reply
        message = ChatMessage(reply, role="assistant") if isinstance(reply, str) else reply.model_copy(deep=True)
        return ChatResponse(message=message)

    def stream_chat(self, messages, **kwargs):
        message = self.chat(messages).message
        text = message.content or ""
        for end in range(0, len(text) + 1, 8):
            part = ChatMessage(text[: end + 8], role="assistant")
            yield ChatResponse(message=part if end + 8 < len(text) else message, delta=text[end : end + 8])

    async def achat(self, messages, **kwargs):
        return self.chat(messages)

    async def astream_chat(self, messages, **kwargs):
        parts = list(self.stream_chat(messages))

        async def stream():
            for part in parts:
                yield part

        return stream()

    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text=self.chat([ChatMessage(prompt)]).message.content or "")

    def stream_complete(self, prompt, formatted=False, **kwargs):
        yield self.complete(prompt)

    async def acomplete(self, prompt, formatted=False, **kwargs):
        return self.complete(prompt)

    async def astream_complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError

    def _prepare_chat_with_tools(self, tools, user_msg=None, chat_history=None, **kwargs):
        messages = list(chat_history or [])
        return {"messages": messages if user_msg is None else [*messages, user_msg]}

    def get_tool_calls_from_response(self, response, error_on_no_tool_call=True, **kwargs):
        return [
            ToolSelection(tool_id=block.tool_call_id, tool_name=block.tool_name, tool_kwargs=block.tool_kwargs)
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]


def user(text: str) -> ChatMessage:
    return ChatMessage(text, role="user")


def answer(text: str) -> ChatMessage:
    return ChatMessage(text, role="assistant")


def result(text: str, id_: str = "call-1") -> ChatMessage:
    return ChatMessage(text, role="tool", additional_kwargs={"tool_call_id": id_})


def size(messages: Any) -> Size:
    return sum((size_of(message, ApproximateCounter()) for message in messages), Size())


def written(messages: Any) -> list[Any]:
    return [message for message in messages if isinstance(message, WrittenMessage)]


def unpaired(messages: Any) -> list[Any]:
    """Ids of tool calls without a result right behind, and of results without a call."""
    open_, lost = [], []
    for message in messages:
        if message.role.value == "tool":
            id_ = message.additional_kwargs.get("tool_call_id")
            open_.remove(id_) if id_ in open_ else lost.append(id_)
        else:
            lost += open_
            open_ = [call.id for call in calls_of(message)]
    return lost + open_


def contents(messages: Any) -> list[Any]:
    return [message.content for message in messages]


def calling(*calls: tuple[str, dict[str, Any]], text: str = "") -> ChatMessage:
    """Return an assistant's message that calls tools, with the ids ``call-1``, ``call-2``, …"""
    blocks: list[Any] = [ChatMessage(text).blocks[0]] if text else []
    for number, (name, arguments) in enumerate(calls, 1):
        blocks.append(ToolCallBlock(tool_call_id=f"call-{number}", tool_name=name, tool_kwargs=arguments))
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)


@pytest.fixture
def says():
    """Return a function that makes a model with these replies."""
    return lambda *replies: ScriptedLLM(replies=list(replies))
