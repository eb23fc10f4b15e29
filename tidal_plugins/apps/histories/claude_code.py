"""Transcripts of Claude Code: ``~/.claude/projects/<project>/<session>.jsonl``, an event a line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from tidal_plugins import Message, ToolCall
from tidal_plugins.apps.histories.conversation import (
    MALFORMED,
    ROOT,
    Conversation,
    Skipped,
    TurnTree,
    arguments_of,
    blocks_of,
    text_of,
    time_of,
)
from tidal_plugins.apps.histories.files import lines
from tidal_plugins.patterns import lazy_re

_ADDED = lazy_re(r"<system-reminder>.*?</system-reminder>\s*", re.S)
_COMMAND = lazy_re(r"<command-name>(.*?)</command-name>", re.S)
_ARGUMENTS = lazy_re(r"<command-args>(\s*\S.*?)</command-args>", re.S)
_NOT_SAID = (
    "<command-", "<local-command-", "<bash-", "<task-notification", "Caveat: The messages below",
    "[Request interrupted by user",
)  # fmt: skip
"""Beginnings of texts in the user's name that the program wrote: its own commands and their output."""


def read(path: Path) -> Iterator[Conversation | Skipped]:
    """Yield the sessions of a transcript.

    Left out are subagents (what they found stands in the result of the tool that ran them), thoughts, summaries that
    the program put into a context, and its own commands and reminders.
    """
    sessions: dict[str, TurnTree] = {}
    folders: dict[str, str] = {}
    parents: dict[str, str] = {}
    for number, event in enumerate(lines(path)):
        try:
            session, messages = said(event, path.stem, number)
        except MALFORMED as error:
            yield Skipped(f"line {number + 1}", str(error))
            continue
        if event.get("isSidechain"):
            continue
        parent = event.get("parentUuid")
        if parent is None and "parentUuid" in event and messages:
            parent = ROOT
        sessions.setdefault(session, TurnTree()).add(messages, str(event.get("uuid") or ""), parent)
        if messages and isinstance(event.get("cwd"), str):
            folders.setdefault(session, event["cwd"])
        forked = event.get("forkedFrom")
        if isinstance(forked, Mapping) and isinstance(forked.get("sessionId"), str):
            parents.setdefault(session, forked["sessionId"])
    for session, tree in sessions.items():
        current, left = tree.branches()
        if current or left:
            at = next((message.at for turn in current for message in turn if message.at), None)
            meta = {"program": "claude-code", **({"cwd": folders[session]} if session in folders else {})}
            yield Conversation(session, current, at, meta, left, parents.get(session))


def went_back(event: Mapping[str, Any], seen: Collection[str]) -> bool:
    """Return whether an event in the person's name goes on from none of those that were ``seen``."""
    if event.get("type") != "user" or "parentUuid" not in event or event.get("isSidechain"):
        return False
    return event["parentUuid"] not in seen


def said(event: Mapping[str, Any], session: str, number: int) -> tuple[str, list[Message]]:
    """Return the session of an event, by default the one given, and its messages. ``number`` is that of the line."""
    session = str(event.get("sessionId") or session)
    if event.get("type") == "attachment" and not event.get("isSidechain"):
        return session, list(_queued(event))
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
    blocks = blocks_of(content)
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
    if text := _typed(text_of(content)):
        yield Message("user", text, id_, at=at)


def _queued(event: Mapping[str, Any]) -> Iterator[Message]:
    """Yield what the person typed while the agent worked."""
    held = event.get("attachment")
    if not isinstance(held, Mapping) or held.get("type") != "queued_command":
        return
    if text := _typed(text_of(held.get("prompt"))):
        yield Message("user", text, str(event.get("uuid") or ""), at=time_of(event.get("timestamp")))


def _typed(text: str) -> str:
    """Return what a person typed of a text in the user's name: a command only with what was typed behind it."""
    text = _ADDED.sub("", text)
    if args := _ARGUMENTS.search(text):
        name = _COMMAND.search(text)
        return f"{name[1].strip()} {args[1].strip()}".strip() if name else args[1].strip()
    return "" if not text.strip() or text.lstrip().startswith(_NOT_SAID) else text


def _call(block: Mapping[str, Any]) -> ToolCall:
    return ToolCall(str(block.get("name") or "unnamed"), arguments_of(block.get("input") or {}), str(block.get("id")))
