"""Checks of exchanges: texts that can be stored, messages that all have ids, or an error that says what is wrong."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.clock import aware
from tidal_plugins.model.exchange import Exchange, Message, ToolCall, turn
from tidal_plugins.shown import shown
from tidal_plugins.tuning import IngestionTuning
from tidal_plugins.validation import MAX_SURFACED, clean, items, label, labels, mapping

SPOKEN = ("user", "assistant")
ROLES = (*SPOKEN, "tool")


def identified(exchange: Exchange) -> Exchange:
    """Return an exchange with an id: its own, or a new one. Leaves it to :func:`check` to refuse other objects."""
    if (
        not isinstance(exchange, Exchange)
        or exchange.id is not None
        or any(getattr(m, "id", None) for m in exchange.messages)
    ):
        return exchange
    return replace(exchange, id=secrets.token_hex(8))


def one_turn(
    user: str | None, agent: str | None, messages: Sequence[Message], tools: Sequence[ToolCall]
) -> tuple[Message, ...]:
    """Return the messages of a turn, which are given or made of its two texts and the tools that ran between."""
    given, calls = items(messages, "messages"), items(tools, "tools")
    if given and (user is not None or agent is not None or calls):
        raise InvalidInput("give either messages, or user, agent and tools")
    if not all(isinstance(call, ToolCall) for call in calls):
        raise InvalidInput("tools must be ToolCalls: ToolCall(name, arguments, result=…)")
    return given or turn(user, agent, calls)


def check(exchange: Exchange, limits: IngestionTuning, *, blank: bool = False) -> Exchange:
    """Return an exchange whose texts can be stored and whose messages all have ids.

    ``blank`` admits a turn in which nobody said or called anything. Raises ``InvalidInput`` and ``InvalidText``.
    """
    if not isinstance(exchange, Exchange) or not all(isinstance(message, Message) for message in exchange.messages):
        raise InvalidInput("record Messages, in Exchanges where there are many: Message(role='user', text='Hello')")
    key = label(exchange.key, "id")
    if key is None:
        raise InvalidInput("an exchange needs an id, or a message that has one")
    messages = tuple(
        _checked(message, label(message.id or None, "id") or f"{key}/{number}", limits.max_chars)
        for number, message in enumerate(exchange.messages)
    )
    if len({message.id for message in messages}) < len(messages):
        raise InvalidInput("two messages of an exchange have the same id; give each its own, or none")
    if not blank and not any(message.text.strip() for message in messages):
        raise InvalidInput("an exchange needs at least one message with a text")
    return replace(
        exchange,
        messages=messages,
        thread=label(exchange.thread, "thread"),
        id=key,
        surfaced=labels(exchange.surfaced, "surfaced", MAX_SURFACED),
        occurred_at=aware(exchange.occurred_at, "occurred_at") if exchange.occurred_at is not None else None,
        metadata=mapping(exchange.metadata, "metadata", limits.max_metadata_bytes),
    )


def _checked(message: Message, id_: str, max_chars: int) -> Message:
    if message.role not in ROLES:
        raise InvalidInput(f"a message's role must be one of {', '.join(ROLES)}, got {shown(message.role)}")
    return replace(
        message,
        text=_verbatim(message.text, max_chars),
        id=id_,
        speaker=label(message.speaker, "speaker"),
        at=aware(message.at, "at") if message.at is not None else None,
        tool_call_id=label(message.tool_call_id, "tool_call_id"),
        tool_calls=tuple(_checked_call(call, max_chars) for call in message.tool_calls or ()),
    )


def _checked_call(call: ToolCall, max_chars: int) -> ToolCall:
    if not isinstance(call, ToolCall):
        raise InvalidInput(f"tool calls must be ToolCall(name, arguments, …), got {type(call).__name__}")
    name = clean(call.name, max_chars=200, name="a tool's name")
    arguments = mapping(call.arguments, f"arguments of {name}", max_chars)
    result = None if call.result is None else _verbatim(call.result, max_chars)
    return replace(call, name=name, arguments=arguments, id=label(call.id, "a tool call's id"), result=result)


def _verbatim(text: str, max_chars: int) -> str:
    """Return a checked text. A message may be blank, unlike a note: a tool prints a line break, a model only calls."""
    return text[:max_chars] if isinstance(text, str) and not text.strip() else clean(text, max_chars=max_chars)
