"""Episodes on the entries shelf: one row each, its summary findable, its messages verbatim in the metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from tidal_plugins.english.sentences import sentences
from tidal_plugins.model.entry import EPISODE, Entry
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message, ToolCall

TOOL_TAG = "tool:"
FORGOTTEN_TEXT = "[forgotten]"


def to_entry(episode: Episode) -> Entry:
    tools = dict.fromkeys(call.name for call in episode.tool_calls)
    return Entry(
        id=episode.id,
        kind=EPISODE,
        text=episode.summary,
        scope=episode.scope,
        occurred_at=episode.occurred_at,
        recorded_at=episode.recorded_at,
        thread=episode.thread,
        episode=episode.id,
        position=episode.turn,
        channel="record",
        tags=tuple(TOOL_TAG + name for name in tools),
        metadata={
            "messages": [_message_to_json(message) for message in episode.messages],
            "entries": list(episode.entries),
            "surfaced": list(episode.surfaced),
            "metadata": dict(episode.metadata),
        },
    )


def from_entry(entry: Entry) -> Episode:
    content = entry.metadata
    return Episode(
        id=entry.id,
        scope=entry.scope,
        messages=tuple(_message_from_json(message) for message in content["messages"]),
        summary=entry.text,
        occurred_at=entry.occurred_at,
        recorded_at=entry.recorded_at,
        thread=entry.thread,
        turn=entry.position or 0,
        entries=tuple(content["entries"]),
        surfaced=tuple(content["surfaced"]),
        metadata=content["metadata"],
    )


def summary(messages: Iterable[Message], max_chars: int) -> str:
    """What was asked, which tools ran and what came of it, in at most ``max_chars`` characters, without a model.

    Episodes are found by the meaning of this text [SIYA §3.2].
    """
    messages = list(messages)
    asked = " ".join(message.text for message in messages if message.role == "user")
    said = [message.text for message in messages if message.role == "assistant" and message.text]
    tools = dict.fromkeys(call.name for message in messages for call in message.tool_calls)
    ran = f"[{', '.join(tools)}] " if tools else ""
    room = max_chars - min(len(ran), max_chars // 4) - 3
    question = _opening(asked, room // 2 if said else room)
    answer = _opening(said[-1], room - len(question)) if said else ""
    return " → ".join(part for part in (question, ran[: max_chars // 4] + answer) if part.strip()).strip()


def _opening(text: str, max_chars: int) -> str:
    """The first sentences that fit, or the first one cut at a word."""
    text = text.strip()
    end = 0
    for _, sentence_end in sentences(text[: max_chars + 1]):
        if sentence_end > max_chars:
            break
        end = sentence_end
    if not end and len(text) > max_chars:
        end = text.rfind(" ", 0, max_chars) if " " in text[:max_chars] else max_chars
    return " ".join(text[: end or None].split())


def _message_to_json(message: Message) -> dict[str, Any]:
    value: dict[str, Any] = {"role": message.role, "text": message.text}
    for name in ("id", "speaker", "tool_call_id"):
        if getattr(message, name) is not None:
            value[name] = getattr(message, name)
    if message.tool_calls:
        value["tool_calls"] = [_call_to_json(call) for call in message.tool_calls]
    if message.error:
        value["error"] = True
    if message.at:
        value["at"] = message.at.isoformat()
    return value


def _message_from_json(value: Mapping[str, Any]) -> Message:
    return Message(
        role=value["role"],
        text=value["text"],
        id=value.get("id"),
        speaker=value.get("speaker"),
        tool_calls=tuple(ToolCall(**call) for call in value.get("tool_calls", ())),
        tool_call_id=value.get("tool_call_id"),
        error=value.get("error", False),
        at=datetime.fromisoformat(value["at"]) if "at" in value else None,
    )


def _call_to_json(call: ToolCall) -> dict[str, Any]:
    value: dict[str, Any] = {"name": call.name, "arguments": dict(call.arguments)}
    for name in ("id", "result"):
        if getattr(call, name) is not None:
            value[name] = getattr(call, name)
    return value | ({"error": True} if call.error else {})
