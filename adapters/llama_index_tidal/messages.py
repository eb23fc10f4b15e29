"""LlamaIndex's messages as messages of a memory, and back; a whisper into messages; sizes of messages."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from io import IOBase
from typing import Any, Literal

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock

from tidal_plugins import Message, ToolCall
from tidal_plugins.model.compaction import Part, Size
from tidal_plugins.model.delimiters import Delimiters
from tidal_plugins.protocols import TokenCounter
from tidal_plugins.summarising.sizes import measure, serialized
from tidal_plugins.turns import KeptWhisper, json_arguments, spoken_text
from tidal_plugins.turns import WrittenMessage as Written

ASSISTANT = (MessageRole.ASSISTANT, MessageRole.CHATBOT, MessageRole.MODEL)
TOOL = (MessageRole.TOOL, MessageRole.FUNCTION)
SILENT = ("tool_call", "thinking", "cache")
"""Blocks that are no part of the conversation."""

ENGINES_OWN = frozenset({"context_str", "context_msg", "query_str", "existing_answer"})
"""Variables that chat engines fill in, in the history too."""

_REASONED = re.compile(r"\AThought:.*^Answer:\s*(?=\S)", re.S | re.M)
"""What a ``ReActAgent`` writes ahead of its final answer: its thoughts, its calls of tools, and what they returned."""

_STEP = re.compile(
    r"^Action: *(?P<tool>[^\n]+)\nAction Input:(?P<input>.*?)"
    r"(?:\nObservation:(?P<result>.*?))?(?=\n(?:Thought:|Action:|Answer:|\(Implicit\))|\Z)",
    re.S | re.M,
)
"""A call of a tool in that text, and what it returned."""

_VARIABLE = re.compile(r"\{([A-Za-z_][\w.]*)\}")


Tokenizer = Callable[[str], Sequence[Any]]

CARRIED = {"image": ("image", 128), "audio": ("audio", 512), "video": ("video", 512), "document": ("data", 32)}
"""The field of a block's content, and the bytes of base64 that make a token: only providers see pixels and pages."""

IMAGE_TOKENS = 1_600
"""Larger images are scaled down before they are looked at."""

BASE64 = 4 / 3

BLOCK_BYTES = 64
"""Bytes of JSON around the content of a block."""


class WrittenMessage(ChatMessage):
    """A message that a compaction put in the place of others. It is no part of the history, and never recorded.

    Its class marks it, because integrations send ``additional_kwargs`` on to providers, and some providers refuse
    unknown ones. ``part`` names its part in the compaction.
    """

    part: Part | Literal["file"] = "summary"


class FirstMessage(ChatMessage):
    """A message that the memory said first, to which no message by the user led. It begins a turn of its own."""


def by_user(message: ChatMessage) -> bool:
    return message.role == MessageRole.USER and not isinstance(message, WrittenMessage)


def finished(messages: Sequence[ChatMessage]) -> bool:
    """Return whether a turn ends with an answer, not with a call of tools or their results."""
    return bool(messages) and messages[-1].role in ASSISTANT and not calls_of(messages[-1])


def to_message(message: ChatMessage) -> Message | None:
    """Return a message to record; ``None`` for one that is no part of the conversation, such as a system prompt.

    Of a ``ReActAgent``'s message the text is the final answer, and what stands before it is its reasoning.
    """
    text = spoken_text(text_of(message))
    if message.role == MessageRole.USER:
        return Message("user", text)
    if message.role in ASSISTANT:
        thoughts = [block.content or "" for block in message.blocks if block.block_type == "thinking"]
        if reasoned := _REASONED.match(text):
            thoughts.append(reasoned[0])
            text = text[reasoned.end() :]
        reasoning = spoken_text("\n\n".join(filter(None, thoughts)))
        return Message("assistant", text, tool_calls=calls_of(message), reasoning=reasoning)
    if message.role in TOOL:
        return Message("tool", text, tool_call_id=message.additional_kwargs.get("tool_call_id") or None)
    return None


def to_messages(message: ChatMessage) -> list[Message | None]:
    """Return a message as those to record: that of a ``ReActAgent``, which is one text, as its calls, their results and
    its answer."""
    answered, text = to_message(message), text_of(message)
    if answered is None or answered.role != "assistant" or not (reasoned := _REASONED.match(text)):
        return [answered]
    steps: list[Message | None] = []
    for number, step in enumerate(_STEP.finditer(reasoned[0]), 1):
        call = ToolCall(step["tool"].strip(), _written(step["input"].strip()), f"step-{number}")
        steps.append(Message("assistant", "", tool_calls=(call,)))
        if step["result"] is not None:
            steps.append(Message("tool", spoken_text(step["result"].strip()), tool_call_id=call.id))
    return [*steps, answered]


def _written(arguments: str) -> dict[str, Any]:
    """Return arguments that an agent wrote down, as JSON or as Python."""
    try:
        return json_arguments(literal_eval(arguments))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return json_arguments(arguments)


def to_shown(message: ChatMessage) -> Message:
    """Return a message as the model is shown it: a system prompt too."""
    return to_message(message) or Message("system", message.content or "")


def to_chat_message(message: Message) -> ChatMessage:
    """Return a recorded message as it was put, if it was made of text and tool calls only."""
    blocks: list[Any] = [TextBlock(text=message.text)] if message.text or not message.tool_calls else []
    for call in message.tool_calls:
        block = ToolCallBlock(tool_call_id=call.id, tool_name=call.name, tool_kwargs=dict(call.arguments))
        blocks.append(block)
    answers = {"tool_call_id": message.tool_call_id} if message.tool_call_id else {}
    return ChatMessage(role=MessageRole(message.role), blocks=blocks, additional_kwargs=answers)


def to_written(piece: Written) -> WrittenMessage:
    """Return a message that a compaction wrote, marked by its class."""
    message = to_chat_message(piece.message)
    return WrittenMessage(
        role=message.role, blocks=message.blocks, additional_kwargs=message.additional_kwargs, part=piece.part
    )


def text_of(message: ChatMessage) -> str:
    """Return the text of a message. Content that is no text (an image, a file) is named in brackets, not stored."""
    parts = (block.text if isinstance(block, TextBlock) else f"[{block.block_type}]" for block in spoken(message))
    return "\n".join(part for part in parts if part)


def spoken(message: ChatMessage) -> list[Any]:
    """Return the blocks of a message that are part of the conversation."""
    return [block for block in message.blocks if block.block_type not in SILENT]


def calls_of(message: ChatMessage) -> tuple[ToolCall, ...]:
    """Return the tool calls of a message, from its blocks or from the field of older integrations."""
    blocks = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    if blocks:
        return tuple(_call(block.tool_name, block.tool_kwargs, block.tool_call_id) for block in blocks)
    return tuple(map(_older_call, message.additional_kwargs.get("tool_calls") or ()))


def copies(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return copies that may be changed: agents write their state into the last message that they are given."""
    return [message.model_copy(deep=True) for message in messages]


def with_whisper(messages: Sequence[ChatMessage], whisper: str, *, behind: bool = False) -> list[ChatMessage]:
    """Return copies of the messages with the whisper at the head of the last one by the user, or behind its words.

    There it stands between no tool call and its result.
    """
    shown = copies(messages)
    asked = next((message for message in reversed(shown) if by_user(message)), None)
    if asked is not None and whisper:
        _add(asked, whisper, behind=behind)
    return shown


def with_kept(messages: Sequence[ChatMessage], kept: Mapping[int, KeptWhisper]) -> list[ChatMessage]:
    """Return copies of the messages with the whispers that turns keep, by the identity of the messages that show them:
    at their heads, or in messages of their own ahead of them, as they were shown first."""
    shown: list[ChatMessage] = []
    for message in messages:
        [copy], whisper = copies([message]), kept.get(id(message))
        if whisper and whisper.apart:
            shown.append(ChatMessage(inert(whisper.text), role=MessageRole.USER))
        elif whisper:
            _add(copy, whisper.text)
        shown.append(copy)
    return shown


def _add(message: ChatMessage, whisper: str, *, behind: bool = False) -> None:
    """Add a whisper to a message."""
    place, whisper = -1 if behind else 0, inert(whisper)
    block = message.blocks[place] if message.blocks else None
    if isinstance(block, TextBlock):
        block.text = f"{block.text}\n\n{whisper}" if behind else f"{whisper}\n\n{block.text}"
    else:
        message.blocks.insert(len(message.blocks) if behind else 0, TextBlock(text=whisper))


def without_whisper(message: ChatMessage, delimiters: Delimiters) -> ChatMessage:
    """Return a message without its whisper."""
    spoken = message.model_copy(deep=True)
    for block in spoken.blocks:
        if isinstance(block, TextBlock):
            block.text = delimiters.strip(block.text)
    if len(spoken.blocks) > 1:
        spoken.blocks = [block for block in spoken.blocks if not isinstance(block, TextBlock) or block.text]
    return spoken


def inert(text: str, names: Collection[str] | None = None) -> str:
    """Return ``text`` with ``{context_str}`` as ``{ context_str }``: no prompt template puts anything in its place.

    ``names`` are the variables that count (default: all).
    """
    return _VARIABLE.sub(lambda found: _apart(found) if names is None or found[1] in names else found[0], text)


def inert_history(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return copies for the engines that make a prompt template of the history and then fill it in."""
    shown = copies(messages)
    for message in shown:
        for block in message.blocks:
            if isinstance(block, TextBlock):
                block.text = inert(block.text, ENGINES_OWN)
    return shown


def _apart(found: re.Match[str]) -> str:
    return f"{{ {found[1]} }}"


def _call(name: str | None, arguments: Any, id_: str | None) -> ToolCall:
    return ToolCall(name or "unnamed", json_arguments(arguments), id_ or None)


def _older_call(call: Any) -> ToolCall:
    """Return a call from OpenAI's client, or from a mapping of the same form."""
    fields = call if isinstance(call, Mapping) else vars(call)
    called = fields.get("function", fields)
    called = called if isinstance(called, Mapping) else vars(called)
    return _call(called.get("name"), called.get("arguments", called.get("input")), fields.get("id"))


@dataclass(frozen=True, slots=True)
class Tokens:
    """A LlamaIndex ``tokenizer_fn`` as a counter."""

    tokenizer: Tokenizer

    def count(self, text: str) -> int:
        return len(self.tokenizer(text))


def size_of(message: ChatMessage, counter: TokenCounter) -> Size:
    """Return the size of a message with its tool calls, images and files."""
    return sum((_carried(block, counter) for block in message.blocks), measure(to_shown(message), counter))


def _carried(block: Any, counter: TokenCounter) -> Size:
    """Return the size that a block adds to the text and the calls of its message."""
    if block.block_type in CARRIED:
        return _media(block)
    if block.block_type == "thinking":  # providers want it back, with its signature
        text, rest = block.content or "", serialized(block.additional_information)
        return Size(block.num_tokens or counter.count(text), serialized(text) + rest)
    if block.block_type == "citable":
        return sum((_nested(part, counter) for part in block.content), Size())
    return _nested(block.cited_content, counter) if block.block_type == "citation" else Size()


def _nested(block: Any, counter: TokenCounter) -> Size:
    if block.block_type == "text":
        return Size(counter.count(block.text), serialized(block.text))
    return _carried(block, counter)


def _media(block: Any) -> Size:
    field, bytes_per_token = CARRIED[block.block_type]
    sent = _bytes(getattr(block, field), block)
    if sent is None:  # an address, which the provider follows
        return Size(IMAGE_TOKENS, BLOCK_BYTES + len(str(block.url or "")))
    tokens = -(-sent // bytes_per_token)
    return Size(min(tokens, IMAGE_TOKENS) if field == "image" else tokens, BLOCK_BYTES + sent)


def _bytes(content: bytes | IOBase | None, block: Any) -> int | None:
    """Return the bytes of a block's content as base64; ``None`` if only its address is sent."""
    if isinstance(content, bytes):  # blocks encode it when they are made
        return len(content)
    if isinstance(content, IOBase):
        place = content.tell()
        length = content.seek(0, 2)
        content.seek(place)
        return int(length * BASE64)
    if block.path:
        return _file(block.path)
    return len(str(block.url)) if str(block.url or "").startswith("data:") else None


def _file(path: Any) -> int:
    from pathlib import Path

    try:
        return int(Path(path).stat().st_size * BASE64)
    except OSError:  # gone meanwhile: whoever sends it will say so
        return 0
