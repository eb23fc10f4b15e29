"""Transcripts of coding agents: Claude Code, Codex and Gemini CLI. The first two only grow, a line at a time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
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
    turns,
)
from tidal_plugins.apps.histories.files import items, lines
from tidal_plugins.model.exchange import reasoning_of
from tidal_plugins.patterns import lazy_re

_ADDED = lazy_re(r"<system-reminder>.*?</system-reminder>\s*", re.S)
_COMMAND = lazy_re(r"<command-name>(.*?)</command-name>", re.S)
_ARGUMENTS = lazy_re(r"<command-args>(\s*\S.*?)</command-args>", re.S)
_CLAUDE_CODE_NOT_SAID = (
    "<command-", "<local-command-", "<bash-", "<task-notification", "Caveat: The messages below",
    "[Request interrupted by user",
)  # fmt: skip
"""Beginnings of texts in the user's name that the program wrote: its own commands and their output."""


_CODEX_NOT_SAID = (
    "<environment_context",
    "<user_instructions",
    "<permissions",
    "<turn_aborted",
    "# AGENTS.md instructions",
)
"""Beginnings of texts in the user's name that the program wrote."""

_UNDER_WAY = ("validating", "scheduled", "awaiting_approval", "executing")
"""States of a tool that has not ended."""


def read_claude_code(path: Path) -> Iterator[Conversation | Skipped]:
    """Yield the sessions of a transcript, ``~/.claude/projects/<project>/<session>.jsonl``: an event a line.

    Left out are subagents (what they found stands in the result of the tool that ran them), thoughts, summaries that
    the program put into a context, and its own commands and reminders.
    """
    sessions: dict[str, TurnTree] = {}
    folders: dict[str, str] = {}
    parents: dict[str, str] = {}
    for number, event in enumerate(lines(path)):
        try:
            session, messages = claude_code_said(event, path.stem, number)
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
            meta = {"program": "claude-code", **({"cwd": folders[session]} if session in folders else {})}
            yield Conversation(session, current, _began(current), meta, left, parents.get(session))


def claude_code_went_back(event: Mapping[str, Any], seen: Collection[str]) -> bool:
    """Return whether an event in the person's name goes on from none of those that were ``seen``."""
    if event.get("type") != "user" or "parentUuid" not in event or event.get("isSidechain"):
        return False
    return event["parentUuid"] not in seen


def claude_code_said(event: Mapping[str, Any], session: str, number: int) -> tuple[str, list[Message]]:
    """Return the session of an event, by default the one given, and its messages. ``number`` is that of the line."""
    session = str(event.get("sessionId") or session)
    if event.get("type") == "attachment" and not event.get("isSidechain"):
        return session, list(_queued(event))
    if event.get("type") not in ("user", "assistant"):
        return session, []
    if any(event.get(mark) for mark in ("isSidechain", "isMeta", "isCompactSummary")):
        return session, []
    return session, list(_claude_code_messages(event))


def _claude_code_messages(event: Mapping[str, Any]) -> Iterator[Message]:
    """Yield the messages of one event: a text with the calls in it, or the results of tools."""
    said = event.get("message")
    if not isinstance(said, Mapping):
        return
    id_, at, content = str(event.get("uuid") or ""), time_of(event.get("timestamp")), said.get("content")
    blocks = blocks_of(content)
    if event["type"] == "assistant":
        calls = tuple(_claude_code_call(block) for block in blocks if block.get("type") == "tool_use")
        text, reasoning = text_of(content), reasoning_of(blocks)
        if text.strip() or calls or reasoning:
            yield Message("assistant", text, id_, tool_calls=calls, at=at, reasoning=reasoning)
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
    return "" if not text.strip() or text.lstrip().startswith(_CLAUDE_CODE_NOT_SAID) else text


def _claude_code_call(block: Mapping[str, Any]) -> ToolCall:
    return ToolCall(str(block.get("name") or "unnamed"), arguments_of(block.get("input") or {}), str(block.get("id")))


def read_codex(path: Path) -> Iterator[Conversation | Skipped]:
    """Yield the session of a rollout, ``~/.codex/sessions/**/rollout-*.jsonl``: an item a line.

    The first line tells the id. Reasoning is left out.
    """
    session, about, parent, tree = path.stem, {"program": "codex"}, None, TurnTree()
    for number, line in enumerate(lines(path)):
        try:
            session, found = codex_said(line, session, number)
        except MALFORMED as error:
            yield Skipped(f"line {number + 1}", str(error))
            continue
        item = line.get("payload", line)
        if number == 0 and isinstance(item, Mapping):
            about |= {"cwd": item["cwd"]} if isinstance(item.get("cwd"), str) else {}
        if parent is None and line.get("type") == "session_meta" and isinstance(item, Mapping):
            parent = parent_of(item, session)
        if codex_went_back(line, ()):
            assert isinstance(item, Mapping)
            count = item.get("num_turns")
            tree.roll_back(count if isinstance(count, int) else 1)
        tree.add(found)
    current, left = tree.branches()
    if current or left:
        yield Conversation(session, current, _began(current), about, left, parent)


def _began(turns: Iterable[Sequence[Message]]) -> datetime | None:
    return next((message.at for turn in turns for message in turn if message.at), None)


def parent_of(meta: Mapping[str, Any], session: str) -> str | None:
    """Return the session that one was forked from: its first line names it, or the parent's own stands below."""
    forked, own = meta.get("forked_from_id"), meta.get("id")
    if isinstance(forked, str) and forked:
        return forked
    return own if isinstance(own, str) and own != session else None


def codex_went_back(line: Mapping[str, Any], seen: Collection[str]) -> bool:
    """Return whether the last questions were taken back."""
    item = line.get("payload")
    return line.get("type") == "event_msg" and isinstance(item, Mapping) and item.get("type") == "thread_rolled_back"


def codex_said(line: Mapping[str, Any], session: str, number: int) -> tuple[str, list[Message]]:
    """Return the session that a line belongs to, by default the one given, and its messages.

    ``number`` is that of the line. Ids of messages are made of it, since items have none.
    """
    kind, item = line.get("type"), line.get("payload", line)  # before 2025-09 an item stood alone in its line
    if not isinstance(item, Mapping):
        return session, []
    if kind == "session_meta" or (number == 0 and kind is None):  # a fork has its own, then its parent's
        return (str(item.get("id") or session) if number == 0 else session), []
    if kind in ("response_item", "message", "function_call", "function_call_output", "local_shell_call"):
        message = _codex_message(item, f"{session}:{number}", line.get("timestamp"))
        return session, [message] if message else []
    return session, []


def _codex_message(item: Mapping[str, Any], id_: str, timestamp: Any) -> Message | None:
    kind, at, call = item.get("type"), time_of(timestamp), str(item.get("call_id") or item.get("id"))
    if kind == "message":
        text, role = text_of(item.get("content")), item.get("role")
        if not text.strip() or role not in ("user", "assistant") or text.lstrip().startswith(_CODEX_NOT_SAID):
            return None
        return Message("user" if role == "user" else "assistant", text, id_, at=at)
    if kind == "reasoning":
        reasoning = reasoning_of([item])
        return Message("assistant", "", id_, at=at, reasoning=reasoning) if reasoning else None
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


def read_gemini_cli(path: Path) -> Iterator[Conversation | Skipped]:
    """Yield the session of a chat, ``~/.gemini/tmp/<project>/chats/session-*``: one object of JSON, or a record a line.

    Thoughts and the program's own notices are left out.
    """
    session, records = path.stem, {}
    for record in _records(path):
        session = str(record.get("sessionId") or session)
        if isinstance(id_ := record.get("id"), str) and record.get("type") in ("user", "gemini"):
            records[id_] = record  # a record that is written again replaces itself: an answer grew
    messages: list[Message] = []
    for id_, record in records.items():
        try:
            messages += _gemini_messages(record)
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


def _gemini_messages(record: Mapping[str, Any]) -> Iterator[Message]:
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
    thoughts = [
        {"type": "reasoning", "reasoning": each.get("description")} for each in blocks_of(record.get("thoughts"))
    ]
    if text.strip() or calls:
        yield Message("assistant", text, id_, tool_calls=calls, at=at, reasoning=reasoning_of(thoughts))
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


APPENDED = {"claude-code": (claude_code_said, claude_code_went_back), "codex": (codex_said, codex_went_back)}
"""Formats in which a transcript only grows: how a line is read, and whether it goes back. Others are written anew, and
read from their beginning."""
