"""A conversation as it is read from a file: its thread, and its turns of messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tidal_plugins import Message

LONG = 100_000
"""Characters of a turn after which it is parted. One that long is recorded in 45 ms, and many a hook has half a second:
a turn of several millions would never be recorded within its time, nor would any that follows."""


class Unknown(Exception):
    """A file is in no format that is known, or not in the one that was named."""


MALFORMED = (AttributeError, KeyError, TypeError, ValueError)
"""What reading an item raises that only looks like one of its format."""


@dataclass(frozen=True)
class Skipped:
    """An item of a file that could not be read, and the reason. What follows it is read."""

    item: str
    reason: str


@dataclass(frozen=True)
class Conversation:
    """The turns of one conversation, each of messages that all have ids. ``at`` is when it began, if that is known.

    ``left`` are turns on branches that another one took the place of. ``parent`` is the conversation that this one was
    forked from, if it is known: its turns are repeated at the beginning.
    """

    thread: str
    turns: Sequence[Sequence[Message]]
    at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    left: Sequence[Sequence[Message]] = ()
    parent: str | None = None


def turns(messages: Iterable[Message]) -> list[list[Message]]:
    """Split messages into turns, as :func:`opens` says. What stands before the first question is a turn, too."""
    found: list[list[Message]] = []
    size = 0
    for message in messages:
        if not found or opens(message, found[-1][-1], size):
            found.append([])
            size = 0
        found[-1].append(message)
        size += size_of(message)
    return found


def opens(message: Message, last: Message, size: int) -> bool:
    """Return whether a message begins a turn after the ``last`` one of a turn that has ``size`` characters.

    A user's message does that follows something else. So does an agent's that follows a tool's result, if the turn is
    longer than ``LONG``: an agent that works for hours on one request leaves several episodes.
    """
    if message.role == "user":
        return last.role != "user"
    return message.role == "assistant" and last.role == "tool" and size > LONG


def size_of(message: Message) -> int:
    """Return the characters of a message, with those of the arguments of its tools."""
    return len(message.text) + sum(len(str(call.arguments)) for call in message.tool_calls)


def time_of(value: Any) -> datetime | None:
    """Return a time that is given as ISO 8601 or as seconds since 1970; ``None`` for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value > 1e11 else value  # milliseconds, as some programs write
            return datetime.fromtimestamp(seconds, UTC)
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def text_of(content: Any) -> str:
    """Return the text of a message's content, which is a text or a list of blocks; an image or a file is named."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _block(content)
    if isinstance(content, Sequence):
        return "\n".join(text for block in content if (text := text_of(block)))
    return ""


def arguments_of(value: Any) -> dict[str, Any]:
    """Return the arguments of a tool call, which are an object, or JSON, or a text."""
    from json import JSONDecodeError, loads

    if isinstance(value, str):
        try:
            value = loads(value)
        except JSONDecodeError:
            return {"input": value}
    return {str(name): each for name, each in value.items()} if isinstance(value, Mapping) else {"input": value}


def _block(block: Mapping[str, Any]) -> str:
    kind = str(block.get("type", "text"))
    if isinstance(text := block.get("text"), str) and kind in ("text", "input_text", "output_text"):
        return text
    return f"[{kind}]" if kind in ("image", "input_image", "image_url", "document", "file") else ""


def blocks_of(content: Any) -> list[Mapping[str, Any]]:
    """Return the blocks of a message's content; none of a text."""
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def listed(value: Any, name: str) -> list[Any]:
    """Return a list that may be missing. Raises ``ValueError`` for anything else."""
    if value is None or isinstance(value, list):
        return value or []
    raise ValueError(f"{name} is no list")
