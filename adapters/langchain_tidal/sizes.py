"""Sizes of messages, system prompts and tools: in tokens, and in bytes as they are sent."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from tidal_plugins.model.compaction import Size
from tidal_plugins.protocols import TokenCounter
from tidal_plugins.summarising.sizes import MESSAGE_TOKENS, ApproximateCounter
from tidal_plugins.turns import Recent

MessagesCounter = Callable[[Sequence[BaseMessage]], int]
"""Counts the tokens of a list of messages, like ``count_tokens_approximately`` or a model's own
``get_num_tokens_from_messages``."""

IMAGE_TOKENS = 1_600
"""Tokens that providers charge for a large image, at most; they shrink larger ones."""

PAGE_BYTES = 100_000
"""Bytes of base64 in a file that is no image that count as much as one image: about a page of a PDF."""

ENOUGH = 1_000
"""Tokens from which on what a provider reports says something about the estimate."""

_MEDIA = {
    "audio",
    "document",
    "file",
    "image",
    "image_url",
    "input_audio",
    "input_file",
    "input_image",
    "media",
    "video",
}
_CALLS = {"function_call", "tool_call", "tool_call_chunk", "tool_use", "toolUse"}


def size_of(message: BaseMessage, counter: TokenCounter | None = None) -> Size:
    """Estimate the size of a message: its content of any kind, and its tool calls.

    All bytes of an image or a file count, but its tokens only up to the number that providers charge. Content blocks
    that repeat the message's tool calls count once.
    """
    counter = counter or ApproximateCounter()
    calls = _calls(message)
    content = [block for block in _blocks(message) if not (calls and _kind(block) in _CALLS)]
    called = _json(calls) if calls else ""
    sent: dict[str, Any] = {"role": message.type, "content": content}
    if message.name:
        sent["name"] = message.name
    if isinstance(message, ToolMessage):
        sent["tool_call_id"] = message.tool_call_id
    tokens = sum(_tokens(block, counter) for block in content) + (counter.count(called) if called else 0)
    return Size(MESSAGE_TOKENS + tokens, _bytes(_json(sent)) + _bytes(called))


def reserved(
    system_message: SystemMessage | str | None = None,
    tools: Sequence[Any] = (),
    counter: TokenCounter | None = None,
) -> Size:
    """Estimate the size of a system prompt and of tools' schemas (or dicts), which are sent with the messages."""
    counter = counter or ApproximateCounter()
    prompt = SystemMessage(system_message) if isinstance(system_message, str) else system_message
    schemas = [_json(tool if isinstance(tool, dict) else _schema(tool)) for tool in tools]
    sizes = [Size(counter.count(schema), _bytes(schema)) for schema in schemas]
    return sum(sizes, size_of(prompt, counter) if prompt else Size())


class Gauge:
    """Measures for each thread how far estimates are off: the number of the model's tokens per estimated token.

    ``token_counter`` measures it on any messages. Without one, the usage that the provider reports with an answer
    measures it on the messages before that answer.
    """

    def __init__(self, token_counter: MessagesCounter | None = None) -> None:
        self._counter = token_counter
        self._sent = Recent[tuple[str, int]]()
        self._ratios = Recent[float]()

    def ratio(self, talk: Hashable, messages: Sequence[BaseMessage]) -> float:
        """Return the ratio for these messages: the one known last, else one that is counted."""
        self._learn(talk, messages)
        known = self._ratios.get(talk)
        return known or self.counted(talk, messages) or 1.0

    def counted(self, talk: Hashable, messages: Sequence[BaseMessage]) -> float | None:
        """Return the ratio that the counter gives for these messages; ``None`` without a counter."""
        if self._counter is None or not messages:
            return None
        ratio = max(0.001, self._counter(messages) / sum(size_of(message).tokens for message in messages))
        self._ratios.put(talk, ratio)
        return ratio

    def sent(self, talk: Hashable, messages: Sequence[BaseMessage], estimate: int) -> None:
        """Store the estimate of a model call, to compare it with the usage that its answer reports."""
        if messages and messages[-1].id and estimate >= ENOUGH and self._counter is None:
            self._sent.put(talk, (messages[-1].id, estimate))

    def _learn(self, talk: Hashable, messages: Sequence[BaseMessage]) -> None:
        last, estimate = self._sent.get(talk) or (None, 0)
        if last and (used := _reported(messages, last)):
            self._ratios.put(talk, min(3.0, max(0.5, used / estimate)))


def _reported(messages: Sequence[BaseMessage], last: str) -> int | None:
    """Return the input tokens that the answer to messages ending with ``last`` reports."""
    for index in range(len(messages) - 2, -1, -1):
        if messages[index].id == last:
            answer = messages[index + 1]
            usage = answer.usage_metadata if isinstance(answer, AIMessage) else None
            return usage["input_tokens"] if usage else None
    return None


def _blocks(message: BaseMessage) -> list[Any]:
    return [message.content] if isinstance(message.content, str) else list(message.content)


def _calls(message: BaseMessage) -> list[Any]:
    return [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else []


def _tokens(block: Any, counter: TokenCounter) -> int:
    if isinstance(block, str):
        return counter.count(block)
    kind = _kind(block)
    if kind == "text":
        return counter.count(str(block.get("text", "")))
    written = _json(block)
    if kind not in _MEDIA:
        return counter.count(written)
    if len(written) < 1_000:  # a link or an id: what it leads to is sent all the same
        return IMAGE_TOKENS
    pages = 1 if "image" in kind else math.ceil(len(written) / PAGE_BYTES)
    return min(counter.count(written), pages * IMAGE_TOKENS)


def _kind(block: Any) -> str:
    """Return the kind of a content block: its type, or its only key, as Bedrock writes it."""
    return str(block.get("type") or next(iter(block), "")) if isinstance(block, dict) else "text"


def _schema(tool: BaseTool | Any) -> dict[str, Any]:
    return convert_to_openai_tool(tool)


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
