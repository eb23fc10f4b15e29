"""Messages as chat models take them: one a line, a list of them, or lists under ``messages``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tidal_plugins import Message, ToolCall
from tidal_plugins.apps.histories.conversation import (
    MALFORMED,
    Conversation,
    Skipped,
    Unknown,
    arguments_of,
    listed,
    text_of,
    time_of,
    turns,
)
from tidal_plugins.apps.histories.files import items, lines

THREADS = ("thread", "thread_id", "conversation_id", "session_id", "conversation", "session")
TIMES = ("at", "timestamp", "created_at", "create_time", "time", "date", "occurred_at")
ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "agent": "assistant",
         "model": "assistant", "tool": "tool", "function": "tool"}  # fmt: skip
"""The roles that are read. System prompts are no part of a conversation."""


def read(path: Path) -> Iterator[Conversation | Skipped]:
    """Yield the conversations: by the thread that messages name, else the file is one.

    A message without an id is known by its place, so a file may grow at its end and be imported again. Raises
    ``Unknown`` if no message is found.
    """
    threads: dict[str, list[Message]] = {}
    values = lines(path) if path.suffix.lower() == ".jsonl" else items(path)
    for number, value in enumerate(values):
        if not isinstance(value, Mapping):
            continue
        inner = value.get("messages")
        thread = _first(value, THREADS) or (f"{path.stem}:{number}" if isinstance(inner, list) else path.stem)
        for place, said in enumerate(inner if isinstance(inner, list) else [value]):
            key = f"{number}/{place}" if isinstance(inner, list) else str(number)
            try:
                message = _message(said, f"{path.stem}:{key}") if isinstance(said, Mapping) else None
            except MALFORMED as error:
                yield Skipped(f"message {key}", str(error))
                continue
            if message:
                threads.setdefault(str(thread), []).append(message)
    if not threads:
        raise Unknown("no message with a role and a content is in it")
    for thread, messages in threads.items():
        yield Conversation(thread, turns(messages), messages[0].at, {"program": "messages"})


def _message(said: Mapping[str, Any], place: str) -> Message | None:
    role = ROLES.get(str(said.get("role") or said.get("type") or "").lower())
    text = text_of(said.get("content", said.get("text")))
    calls = tuple(_call(call) for call in listed(said.get("tool_calls"), "tool_calls") if isinstance(call, Mapping))
    if role is None or not (text.strip() or calls or role == "tool"):
        return None
    name, at = _first(said, ("speaker", "name")), time_of(_first(said, TIMES))
    id_ = str(said.get("id") or place)
    if role == "tool":
        return Message("tool", text, id_, tool_call_id=str(said.get("tool_call_id") or name), at=at)
    speaker = str(name) if name else None
    return Message("user" if role == "user" else "assistant", text, id_, speaker, calls, at=at)


def _call(call: Mapping[str, Any]) -> ToolCall:
    made = call.get("function") if isinstance(call.get("function"), Mapping) else call
    assert isinstance(made, Mapping)
    given = made.get("arguments", made.get("args", made.get("input", {})))
    return ToolCall(str(made.get("name") or "unnamed"), arguments_of(given), str(call.get("id") or made.get("name")))


def _first(value: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)
