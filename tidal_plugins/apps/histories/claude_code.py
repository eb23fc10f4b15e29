"""Transcripts of Claude Code: ``~/.claude/projects/<project>/<session>.jsonl``, an event a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tidal_plugins import Message, ToolCall
from tidal_plugins.apps.histories.conversation import Conversation, text_of, time_of, turns
from tidal_plugins.apps.histories.lines import lines
from tidal_plugins.patterns import lazy_re

_ADDED = lazy_re(r"<system-reminder>.*?</system-reminder>\s*", re.S)
_NOT_SAID = (
    "<command-", "<local-command-", "<bash-", "<task-notification", "Caveat: The messages below",
    "[Request interrupted by user",
)  # fmt: skip
"""Beginnings of texts in the user's name that the program wrote: its own commands and their output."""


def read(path: Path) -> Iterator[Conversation]:
    """Yield the sessions of a transcript.

    Left out are subagents (what they found stands in the result of the tool that ran them), thoughts, summaries that
    the program put into a context, and its own commands and reminders.
    """
    sessions: dict[str, list[Message]] = {}
    about: dict[str, dict[str, Any]] = {}
    for number, event in enumerate(lines(path)):
        session, messages = said(event, path.stem, number)
        if messages:
            sessions.setdefault(session, []).extend(messages)
            about.setdefault(session, {"cwd": event["cwd"]} if isinstance(event.get("cwd"), str) else {})
    for session, messages in sessions.items():
        yield Conversation(session, turns(messages), messages[0].at, {"program": "claude-code", **about[session]})


def said(event: Mapping[str, Any], session: str, number: int) -> tuple[str, list[Message]]:
    """Return the session of an event, by default the one given, and its messages. ``number`` is that of the line."""
    session = str(event.get("sessionId") or session)
    if event.get("type") not in ("user", "assistant"):
        return session, []
    if any(event.get(mark) for mark in ("isSidechain", "isMeta", "isCompactSummary")):
        return session, []
    return session, list(_messages(event))


def _messages(event: Mapping[str, Any]) -> Iterator[Message]:
    """Yield the messages of one event: a text with the calls in it, or the results of tools."""
    said = event.get("message")
    if not isinstance(said, Mapping):
        return
    id_, at, content = str(event.get("uuid") or ""), time_of(event.get("timestamp")), said.get("content")
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    if event["type"] == "assistant":
        calls = tuple(_call(block) for block in blocks if block.get("type") == "tool_use")
        text = text_of(content)
        if text.strip() or calls:
            yield Message("assistant", text, id_, tool_calls=calls, at=at)
        return
    for number, block in enumerate(blocks):
        if block.get("type") == "tool_result":
            result, call = text_of(block.get("content")), str(block.get("tool_use_id"))
            failed = bool(block.get("is_error"))
            yield Message("tool", result, f"{id_}/{number}", tool_call_id=call, error=failed, at=at)
    text = _ADDED.sub("", text_of(content))
    if text.strip() and not text.lstrip().startswith(_NOT_SAID):
        yield Message("user", text, id_, at=at)


def _call(block: Mapping[str, Any]) -> ToolCall:
    given = block.get("input")
    return ToolCall(str(block.get("name") or "unnamed"), dict(given or {}), str(block.get("id")))
