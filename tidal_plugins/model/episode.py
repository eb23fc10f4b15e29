"""Episode: one interaction turn, kept verbatim [SIYA §3.1, §3.2]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from tidal_plugins.model.admission import Admission
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.exchange import Message, ToolCall, answers, final_of, query_of

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
