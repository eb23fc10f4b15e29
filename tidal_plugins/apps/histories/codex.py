"""Rollouts of Codex: ``~/.codex/sessions/**/rollout-*.jsonl``, an item a line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from tidal_plugins import Message, ToolCall
from tidal_plugins.apps.histories.conversation import (
    MALFORMED,
    Conversation,
    Skipped,
    TurnTree,
    arguments_of,
    text_of,
    time_of,
)
from tidal_plugins.apps.histories.files import lines

_NOT_SAID = ("<environment_context", "<user_instructions", "<permissions", "<turn_aborted", "# AGENTS.md instructions")
"""Beginnings of texts in the user's name that the program wrote."""


def read(path: Path) -> Iterator[Conversation | Skipped]:
    """Yield the session of a rollout, of which the first line tells the id. Reasoning is left out."""
    session, about, parent, tree = path.stem, {"program": "codex"}, None, TurnTree()
    for number, line in enumerate(lines(path)):
        try:
            session, found = said(line, session, number)
        except MALFORMED as error:
            yield Skipped(f"line {number + 1}", str(error))
            continue
        item = line.get("payload", line)
        if number == 0 and isinstance(item, Mapping):
            about |= {"cwd": item["cwd"]} if isinstance(item.get("cwd"), str) else {}
        if parent is None and line.get("type") == "session_meta" and isinstance(item, Mapping):
            parent = parent_of(item, session)
        if went_back(line, ()):
            assert isinstance(item, Mapping)
            count = item.get("num_turns")
            tree.roll_back(count if isinstance(count, int) else 1)
        tree.add(found)
    current, left = tree.branches()
    if current or left:
        at = next((message.at for turn in current for message in turn if message.at), None)
        yield Conversation(session, current, at, about, left, parent)


def parent_of(meta: Mapping[str, Any], session: str) -> str | None:
    """Return the session that one was forked from: its first line names it, or the parent's own stands below."""
    forked, own = meta.get("forked_from_id"), meta.get("id")
    if isinstance(forked, str) and forked:
        return forked
    return own if isinstance(own, str) and own != session else None


def went_back(line: Mapping[str, Any], seen: Collection[str]) -> bool:
    """Return whether the last questions were taken back."""
    item = line.get("payload")
    return line.get("type") == "event_msg" and isinstance(item, Mapping) and item.get("type") == "thread_rolled_back"


def said(line: Mapping[str, Any], session: str, number: int) -> tuple[str, list[Message]]:
    """Return the session that a line belongs to, by default the one given, and its messages.

    ``number`` is that of the line. Ids of messages are made of it, since items have none.
    """
    kind, item = line.get("type"), line.get("payload", line)  # before 2025-09 an item stood alone in its line
    if not isinstance(item, Mapping):
        return session, []
    if kind == "session_meta" or (number == 0 and kind is None):  # a fork has its own, then its parent's
        return (str(item.get("id") or session) if number == 0 else session), []
    if kind in ("response_item", "message", "function_call", "function_call_output", "local_shell_call"):
        message = _message(item, f"{session}:{number}", line.get("timestamp"))
        return session, [message] if message else []
    return session, []


def _message(item: Mapping[str, Any], id_: str, timestamp: Any) -> Message | None:
    kind, at, call = item.get("type"), time_of(timestamp), str(item.get("call_id") or item.get("id"))
    if kind == "message":
        text, role = text_of(item.get("content")), item.get("role")
        if not text.strip() or role not in ("user", "assistant") or text.lstrip().startswith(_NOT_SAID):
            return None
        return Message("user" if role == "user" else "assistant", text, id_, at=at)
    if kind in ("function_call", "custom_tool_call"):
        given = arguments_of(item.get("arguments", item.get("input", {})))
        return Message("assistant", "", id_, tool_calls=(ToolCall(str(item.get("name")), given, call),), at=at)
    if kind == "local_shell_call":
        action = item.get("action")
        made = ToolCall("shell", dict(action) if isinstance(action, Mapping) else {}, call)
        return Message("assistant", "", id_, tool_calls=(made,), at=at)
    if kind in ("function_call_output", "custom_tool_call_output"):
        text, failed = _output(item.get("output"))
        return Message("tool", text, id_, tool_call_id=call, error=failed, at=at)
    return None


def _output(output: Any) -> tuple[str, bool]:
    """Return the text of a result, which may be wrapped in JSON with an exit code, and whether the tool failed."""
    found = arguments_of(output) if isinstance(output, str | Mapping) else {"output": text_of(output)}
    meta = found.get("metadata")
    code = meta.get("exit_code") if isinstance(meta, Mapping) else None
    text = found.get("output", found.get("content"))
    failed = bool(code) or found.get("success") is False
    if isinstance(text, str):
        return text, failed
    return (output if isinstance(output, str) else text_of(text)), failed
