"""Turns: the messages of an exchange as a caller gives them, and the episode that is kept of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from tidal_plugins.model.entry import Admission, Scope

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool. ``result`` is ``None`` until there is one; ``error`` says whether the call failed."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    result: str | None = None
    error: bool = False

    @property
    def text(self) -> str:
        """Return the texts of the arguments, one below another, verbatim."""
        return "\n".join(texts_in(self.arguments))


def texts_in(value: object) -> Iterator[str]:
    """Yield every text in an argument of a tool, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from texts_in(item)


REASONING = ("reasoning", "reasoning_content", "thinking", "redacted_thinking")
"""Types of the content blocks that hold what a model thought."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a turn, verbatim. A system prompt is part of a context and not of a turn; it is never recorded.

    Attributes:
        role: ``system``, ``user``, ``assistant`` or ``tool``.
        text: the text.
        id: the framework's message id. Recording the same id again changes nothing.
        speaker: who said it, by name.
        tool_calls: the calls that an assistant's message makes.
        tool_call_id: the call that a tool's message answers.
        error: whether a tool's message reports a failure.
        at: when it was said; an aware time.
        reasoning: what the model thought before it. It is stored with the turn, and neither found nor shown to a model.
    """

    role: Role
    text: str
    id: str | None = None
    speaker: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    error: bool = False
    at: datetime | None = None
    reasoning: str = ""


def reasoning_of(blocks: Iterable[Any]) -> str:
    """Return the reasoning in the content blocks of a message, as providers write it."""
    found: list[Any] = []
    for block in blocks:
        if isinstance(block, Mapping) and block.get("type") in REASONING:
            parts = [block.get("thinking"), block.get("reasoning"), block.get("reasoning_content")]
            for name in ("summary", "content"):
                parts += listed if isinstance(listed := block.get(name), list) else []
            found += [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return "\n\n".join(text for text in found if isinstance(text, str) and text.strip())


def turn(user: str | None, agent: str | None, tools: Sequence[ToolCall] = ()) -> tuple[Message, ...]:
    """Return the messages of a simple turn: a question, the tools that ran, an answer."""
    messages = [] if user is None else [Message("user", user)]
    if tools:
        calls = tuple(call if call.id else replace(call, id=f"call-{n}") for n, call in enumerate(tools, 1))
        messages.append(Message("assistant", "", tool_calls=calls))
        messages += [
            Message("tool", call.result, tool_call_id=call.id, error=call.error)
            for call in calls
            if call.result is not None
        ]
    if agent is not None:
        messages.append(Message("assistant", agent))
    return tuple(messages)


def query_of(messages: Sequence[Message]) -> str:
    """Return the user's words in a turn, verbatim."""
    return "\n\n".join(message.text for message in messages if message.role == "user" and message.text)


def final_of(messages: Sequence[Message]) -> Message | None:
    """Return the last assistant message of a turn that has a text, or ``None``."""
    return next((message for message in reversed(messages) if message.role == "assistant" and message.text), None)


def answers(messages: Sequence[Message]) -> list[list[Message | None]]:
    """Return for each message the results of the tools that it calls, in the order of its calls; ``None`` for none.

    Results follow the message that calls, and those of one id come in the order of its calls.
    """
    found: list[list[Message | None]] = []
    for place, message in enumerate(messages):
        following = messages[place + 1 :] if message.tool_calls else ()
        waiting = list(itertools.takewhile(lambda later: later.role == "tool", following))
        results: list[Message | None] = []
        for call in message.tool_calls:
            at = next((at for at, result in enumerate(waiting) if result.tool_call_id == call.id), None)
            results.append(None if at is None else waiting.pop(at))
        found.append(results)
    return found


@dataclass(frozen=True, slots=True)
class Exchange:
    """The messages of one turn, in order, with where and when it happened.

    Attributes:
        messages: the messages.
        thread: the conversation.
        id: the id of the turn in its thread. Recording it again adds only the messages that are new. Default: the id of
            the first message that has one.
        occurred_at: when it happened; an aware time. Default: now.
        surfaced: the ids of the memories that were shown before it.
        metadata: further fields, as JSON values.
    """

    messages: tuple[Message, ...]
    thread: str | None = None
    id: str | None = None
    occurred_at: datetime | None = None
    surfaced: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str | None:
        return self.id if self.id is not None else next((message.id for message in self.messages if message.id), None)


def asked_by_agent(said: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages of a turn whose questions an agent asked."""
    return tuple(replace(each, role="assistant") if each.role == "user" else each for each in said)


FORGOTTEN_TEXT = "[forgotten]"
"""Text of a message that was forgotten on request."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One recorded turn: every message in order, with a summary and its place in the thread.

    Attributes:
        id: its id in the store.
        scope: its owner.
        messages: the messages, verbatim.
        summary: its question and its answer in short, or what a model that reads along made of it.
        occurred_at: when it happened.
        recorded_at: when something was last added to it.
        thread: the conversation that it belongs to.
        turn: its place in the thread, from 1.
        entries: the ids of the entries that make its texts findable.
        surfaced: the ids of the memories that were shown before it.
        metadata: further fields, as JSON values.
        admissions: the decisions of the write gate by entry, on the result of ``record``; they are not stored.
    """

    id: str
    scope: Scope
    messages: tuple[Message, ...]
    summary: str
    occurred_at: datetime
    recorded_at: datetime
    thread: str | None = None
    turn: int = 0
    entries: tuple[str, ...] = ()
    surfaced: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    admissions: Mapping[str, Admission] = field(default_factory=dict, compare=False)

    @property
    def citation(self) -> str:
        return f"ep:{self.id}"

    @property
    def query(self) -> str:
        """Return the user's words, verbatim."""
        return query_of(self.messages)

    @property
    def answer(self) -> str:
        """Return the last assistant message that has a text, verbatim; empty while there is none."""
        final = final_of(self.messages)
        return final.text if final else ""

    @property
    def reasoning(self) -> tuple[Message, ...]:
        """Return the assistant's messages between the query and the answer."""
        final = final_of(self.messages)
        return tuple(message for message in self.messages if message.role == "assistant" and message is not final)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return every tool call in order, each with its result."""
        called = zip(self.messages, answers(self.messages), strict=True)
        return tuple(
            _answered(call, result)
            for message, results in called
            for call, result in zip(message.tool_calls, results, strict=True)
        )


def _answered(call: ToolCall, result: Message | None) -> ToolCall:
    return replace(call, result=result.text, error=result.error) if result else call


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of ``record_many``: counts, whatever the length of what was recorded.

    Attributes:
        exchanges: how many there were.
        new: how many episodes were made of them.
        grown: how many times an episode that was stored before gained messages. The rest stood already, or was
            forgotten on request.
    """

    exchanges: int = 0
    new: int = 0
    grown: int = 0

    def __add__(self, other: Imported) -> Imported:
        return Imported(self.exchanges + other.exchanges, self.new + other.new, self.grown + other.grown)

    def __str__(self) -> str:
        return f"{self.exchanges:,} exchanges: {self.new:,} new, {self.grown:,} grown"
