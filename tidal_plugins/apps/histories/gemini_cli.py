"""Chats of Gemini CLI: ``~/.gemini/tmp/<project>/chats/session-*``, one object of JSON, or a record a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from tidal_plugins import Message, ToolCall
from tidal_plugins.apps.histories.conversation import MALFORMED, Conversation, Skipped, text_of, time_of, turns
from tidal_plugins.apps.histories.files import items, lines

_UNDER_WAY = ("validating", "scheduled", "awaiting_approval", "executing")
"""States of a tool that has not ended."""


def read(path: Path) -> Iterator[Conversation | Skipped]:
    """Yield the session of a chat. Thoughts and the program's own notices are left out."""
    session, records = path.stem, {}
    for record in _records(path):
        session = str(record.get("sessionId") or session)
        if isinstance(id_ := record.get("id"), str) and record.get("type") in ("user", "gemini"):
            records[id_] = record  # a record that is written again replaces itself: an answer grew
    messages: list[Message] = []
    for id_, record in records.items():
        try:
            messages += _messages(record)
        except MALFORMED as error:
            yield Skipped(f"record {id_}", str(error))
    if messages:
        yield Conversation(session, turns(messages), messages[0].at, {"program": "gemini-cli"})


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    if path.suffix.lower() == ".jsonl":
        yield from lines(path)
        return
    for chat in islice(items(path), 1):
        if isinstance(chat, Mapping):
            yield {"sessionId": chat.get("sessionId")}
            held = chat.get("messages")
            yield from (each for each in held if isinstance(each, Mapping)) if isinstance(held, list) else ()


def _messages(record: Mapping[str, Any]) -> Iterator[Message]:
    """Yield the messages of a record: a question, or an answer with the tools that ran for it and their results."""
    id_, at, text = record["id"], time_of(record.get("timestamp")), text_of(record.get("content"))
    if record["type"] == "user":
        if text.strip():
            yield Message("user", text, id_, at=at)
        return
    held = record.get("toolCalls")
    ran = [call for call in held if isinstance(call, Mapping)] if isinstance(held, list) else []
    calls = tuple(
        ToolCall(str(call.get("name") or "unnamed"), _given(call), str(call.get("id") or f"{id_}/{number}"))
        for number, call in enumerate(ran)
    )
    if text.strip() or calls:
        yield Message("assistant", text, id_, tool_calls=calls, at=at)
    for number, (call, made) in enumerate(zip(ran, calls, strict=True)):
        if not call.get("result") and call.get("status") in _UNDER_WAY:
            continue  # the record is written again with the result
        failed = call.get("status") in ("error", "cancelled")
        result = "\n".join(_results(call.get("result")))
        yield Message("tool", result, f"{id_}/{number}", tool_call_id=made.id, error=failed, at=at)


def _given(call: Mapping[str, Any]) -> dict[str, Any]:
    given = call.get("args")
    return dict(given) if isinstance(given, Mapping) else {}


def _results(parts: Any) -> Iterator[str]:
    """Yield the texts in a result: parts with a text, or with what a function has answered."""
    for part in parts if isinstance(parts, list) else [parts]:
        answer = part.get("functionResponse") if isinstance(part, Mapping) else None
        response = answer.get("response") if isinstance(answer, Mapping) else None
        if isinstance(response, Mapping):
            yield text_of(response.get("output") or response.get("error") or "")
        elif text := text_of(part):
            yield text
