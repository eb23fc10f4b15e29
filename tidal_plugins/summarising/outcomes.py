"""Outcomes of tool calls, as a person would write them: «Edited `store.py`: `page`», «`pytest -q`: 4 passed».

Edits are told by file, readings on one line, and of a check that ran several times only what it found last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidal_plugins.actions.results import bare
from tidal_plugins.actions.table import Tools
from tidal_plugins.model.exchange import Message, ToolCall, answers
from tidal_plugins.patterns import lazy_re
from tidal_plugins.summarising.calls import Done, Kind, done, error_line, first_text, glance, kind_of
from tidal_plugins.summarising.definitions import IMPORT, fragment, listed, touched
from tidal_plugins.summarising.plans import open_items
from tidal_plugins.summarising.verdicts import Verdict, check_key, verdict

Check = tuple[str, frozenset[str]]
"""A check that a command runs, and the files that it is limited to."""

PLAN: Check = ("plan", frozenset())
"""The check of a plan: its last state replaces the earlier ones."""

_MAX_ARGUMENTS = {"changed": 320, "failed": 120, "ran": 160, "looked": 80}
_MAX_RESULT = {"changed": 60, "failed": 200, "ran": 120, "looked": 100}
_MAX_VALUE, _LONG, _MAX_COMMAND = 120, 60, 90
_MAX_FRAGMENTS, _MAX_PATHS, _MAX_BEFORE = 5, 6, 100

_SAVED = lazy_re(r"[\w./-]+\.\w+")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call came to, or several on one file.

    ``subject`` is what was tried: two calls of one subject are two tries. ``messages`` are the ids of messages.
    """

    text: str
    kind: Kind
    tools: tuple[str, ...]
    messages: tuple[str, ...]
    subject: str
    check: Check | None = None


@dataclass(slots=True)
class _Ran:
    """A call with all that later calls add to it."""

    call: ToolCall
    answer: Message | None
    done: Done
    kind: Kind
    verdict: Verdict | None = None
    check: Check | None = None
    tools: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    changes: list[tuple[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    before: str = ""


def outcomes(messages: Sequence[Message], tools: Tools) -> dict[int, list[Outcome]]:
    """Return the outcomes of a turn's calls, by the position of the message that stands for each."""
    found: list[tuple[int, _Ran]] = []
    for at, (message, results) in enumerate(zip(messages, answers(messages), strict=True)):
        for call, answer in zip(message.tool_calls, results, strict=True):
            for does in done(call, answer.text if answer else "", tools):
                ran = _ran(call, answer, does)
                ran.messages = [id_ for id_ in (message.id, answer.id if answer else None) if id_]
                _join(found, at, ran)
    by_position: dict[int, list[Outcome]] = {}
    for at, ran in found:
        by_position.setdefault(at, []).append(
            Outcome(
                _told(ran), ran.kind, tuple(ran.tools), tuple(dict.fromkeys(ran.messages)), _subject(ran), ran.check
            )
        )
    return by_position


def _ran(call: ToolCall, answer: Message | None, does: Done) -> _Ran:
    text = answer.text if answer else ""
    kind = kind_of(call, answer, does.does)
    ran = _Ran(call, answer, does, kind, tools=[call.name], changes=list(does.changes))
    ran.paths = [does.path] if does.path else []
    if does.does == "plan":
        ran.check = PLAN
    if does.does == "command":
        ran.check = check_key(does.command)
        ran.verdict = verdict(bare(text), failed=kind == "failed")
        if ran.verdict.tests or ran.check:
            ran.kind = "failed" if ran.verdict.failed else "ran"
    return ran


def _join(found: list[tuple[int, _Ran]], at: int, ran: _Ran) -> None:
    """Add a call to those before it: an edit to the file's, a reading to the readings, a check in place of its last."""
    same = next((item for item in found if _same(item[1], ran)), None)
    if same is None:
        found.append((at, ran))
        return
    before = same[1]
    ran.tools, ran.messages = before.tools + ran.tools, before.messages + ran.messages
    if ran.check:
        failed = before.verdict is not None and before.verdict.failed
        ran.before = f"first: {_cut(before.verdict.text, _MAX_BEFORE)}" if failed and before.verdict else before.before
        found.remove(same)
        found.append((at, ran))
        return
    before.tools, before.messages = ran.tools, ran.messages
    before.changes += ran.changes
    before.paths += [path for path in ran.paths if path not in before.paths]


def _same(before: _Ran, ran: _Ran) -> bool:
    if before.check and ran.check:
        return covers(ran.check, before.check)
    if before.check or ran.check or "failed" in (before.kind, ran.kind):
        return False
    if ran.done.does == "read" == before.done.does:
        return bool(ran.paths)
    edits = ("edit", "write")
    return before.done.does in edits and ran.done.does in edits and bool(ran.paths) and ran.paths == before.paths


def covers(later: Check, earlier: Check) -> bool:
    """Return whether a check replaces an earlier one: the same on the same files, or on all."""
    return later[0] == earlier[0] and (not later[1] or later[1] == earlier[1])


def _subject(ran: _Ran) -> str:
    words = [ran.done.path] if ran.done.path else first_text(ran.call).split()[:2]
    return " ".join([ran.call.name, *words])


# how it is told


def _told(ran: _Ran) -> str:
    does, text = ran.done, ran.answer.text if ran.answer else ""
    if ran.answer is None:
        return f"{_called(ran)}: no result"
    if does.does in ("write", "edit", "delete", "move") and does.path:
        if ran.kind == "failed":
            return f"{does.does.capitalize()} of `{does.path}` failed: {_cut(error_line(glance(text)), 200)}"
        return _changed(ran)
    if does.does == "read" and ran.kind != "failed" and ran.paths:
        more = f" and {len(ran.paths) - _MAX_PATHS} more" if len(ran.paths) > _MAX_PATHS else ""
        return "Read " + ", ".join(f"`{path}`" for path in ran.paths[:_MAX_PATHS]) + more
    if does.does == "plan" and (items := open_items(ran.call.arguments)) is not None:
        return f"Plan, open: {'; '.join(items)}" if items else "Plan: all done"
    if does.does == "search" and ran.kind != "failed":
        return f"{_called(ran)}: {_found(text)}"
    if ran.verdict:
        before = f" ({ran.before})" if ran.before else ""
        failed = " failed" if ran.kind == "failed" and not ran.verdict.tests else ""
        return f"`{_command(does.command)}`{failed}: {ran.verdict.text or 'no output'}{before}"
    shown = glance(text)
    if ran.kind == "failed":
        return f"{_called(ran)} failed: {_cut(error_line(shown), _MAX_RESULT['failed'])}"
    result = _cut(" ".join(shown[:400].split()), _MAX_RESULT[ran.kind])
    return f"{_called(ran)}: {result}" if result else _called(ran)


def _changed(ran: _Ran) -> str:
    """Return a change of a file with the names that it touches, or with the words that it brings."""
    does = ran.done
    if does.does == "move":
        return f"Moved `{does.source}` to `{does.path}`"
    verb = {"write": "Wrote", "delete": "Deleted"}.get(does.does, "Edited")
    names: dict[str, None] = {}
    words: dict[str, None] = {}
    for old, new in ran.changes:
        found = touched(does.path, old, new)
        names.update(dict.fromkeys(found))
        if not found and (piece := fragment(old, new)):
            words[piece] = None
    parts = [listed(list(names))] if names else []
    telling = [piece for piece in words if not IMPORT.match(piece)] or ([] if names else list(words))
    parts += telling[:_MAX_FRAGMENTS]
    return f"{verb} `{does.path}`" + (f": {'; '.join(parts)}" if parts else "")


def _found(text: str) -> str:
    lines = [line.strip() for line in glance(text).splitlines() if line.strip()]
    paths = list(dict.fromkeys(found[0] for line in lines if (found := _SAVED.match(line))))
    if len(lines) > 3 and len(paths) > len(lines) // 4:
        return f"{len(lines)} lines, in {listed(paths)}"
    return _cut(" ".join(" ".join(lines)[:400].split()), _MAX_RESULT["looked"]) or "nothing"


def _command(command: str) -> str:
    return _cut(" ".join(command.partition("\n")[0].split()), _MAX_COMMAND).replace("`", "'")


def _called(ran: _Ran) -> str:
    call = ran.call
    return f"{call.name}({_cut(_arguments(call.arguments), _MAX_ARGUMENTS[ran.kind])})"


def _arguments(arguments: Mapping[str, Any]) -> str:
    """Return the arguments, long ones last. Short arguments say what a call is about; a long one is its content."""
    if len(arguments) == 1:
        return _value(next(iter(arguments.values())))
    values = sorted(((name, _value(value)) for name, value in arguments.items()), key=lambda item: len(item[1]) > _LONG)
    return ", ".join(f"{name}={value}" for name, value in values)


def _value(value: object) -> str:
    if isinstance(value, str):
        return _cut(" ".join(value[: 4 * _MAX_VALUE].split()), _MAX_VALUE)
    return json.dumps(value, ensure_ascii=False, default=str, separators=(",", ":")).replace('"', "")


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1].rstrip() + "…"
