"""Calls of tools: what each one did, and whether it failed, by its name, its arguments and its result."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from tidal_plugins.english.tools import CHANGES, ERROR_WORDS, FAILED, FAILURE_SPOKEN, LOOKS, NAMED_ERROR, REFUSED
from tidal_plugins.model.exchange import Message, ToolCall
from tidal_plugins.summarising.actions import Action, action, changed_by

Kind = Literal["said", "failed", "changed", "ran", "looked"]
"""Kind of a quote: something said, or a tool that failed, changed something, looked something up, or ran otherwise."""

_GLANCE = 2_000  # characters of each end of a result that are read
_MAX_FIRST = 120  # characters of the first argument
_VERBS: dict[str, Kind] = {
    **dict.fromkeys(CHANGES.split(), "changed"),
    **dict.fromkeys(LOOKS.split(), "looked"),
}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_OPENED = re.compile(r"\[File: (\S+)")
_HERE = re.compile(r"\s*(?:cat|tee|echo|printf)\b")


def resolved(call: ToolCall, text: str) -> Action:
    """Return what a call did, with the file that its result names, and a command that only writes as the edit it is."""
    does = action(call)
    if does.does in ("write", "edit", "read") and not does.path:
        opened = _OPENED.search(text[:_GLANCE]) or _OPENED.search(text[-_GLANCE:])
        return replace(does, path=opened[1] if opened else "")
    return (_written(does) or does) if does.does == "command" else does


def _written(does: Action) -> Action | None:
    """Return a command that only writes a text to a file, or deletes one, as the edit that it is."""
    files = list(changed_by(does.command.partition("\n")[0]))
    if len(files) == 1 and files[0][0] == "delete" and "&" not in does.command and ";" not in does.command:
        return Action("delete", files[0][1])
    if len(files) != 1 or not _HERE.match(does.command):
        return None
    lines = does.command.splitlines()
    body = "\n".join(lines[1:-1]) if len(lines) > 2 else lines[0].partition(">")[0].partition(" ")[2].strip("'\" ")
    return Action(files[0][0], files[0][1], changes=(("", body),))


def failed(call: ToolCall, answer: Message) -> bool:
    """Return whether the result of a call says that it failed."""
    return kind_of(call, answer, resolved(call, answer.text)) == "failed"


def kind_of(call: ToolCall, answer: Message | None, does: Action) -> Kind:
    verb: Kind = {"write": "changed", "edit": "changed", "delete": "changed", "read": "looked", "search": "looked"}.get(
        does.does, "ran" if does.does == "plan" else _verb(call)
    )  # type: ignore[assignment]
    return "failed" if answer and (answer.error or _fails(answer.text, verb)) else verb


def first_text(call: ToolCall) -> str:
    return next((value for value in call.arguments.values() if isinstance(value, str)), "")[:_MAX_FIRST]


def _verb(call: ToolCall) -> Kind:
    """Return the kind of a call by the first known verb of the tool's name, else of the command that it was given."""
    words = [*_WORD.findall(call.name), *_WORD.findall(first_text(call))[:1]]
    return next((_VERBS[word.lower()] for word in words if word.lower() in _VERBS), "ran")


def _fails(text: str, verb: Kind) -> bool:
    if REFUSED.match(text[:80]):
        return True
    if verb == "looked":  # a file may speak of errors
        return False
    return (
        FAILURE_SPOKEN.search(text.lstrip().partition("\n")[0][:200]) is not None
        or FAILED.search(glance(text)) is not None
    )


def glance(text: str) -> str:
    return text if len(text) <= 2 * _GLANCE else f"{text[:_GLANCE]}\n{text[-_GLANCE:]}"


def error_line(text: str) -> str:
    """Return the last line that names an error, as in a traceback, else the last that mentions one, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no message"]
    found = (line for pattern in (NAMED_ERROR, ERROR_WORDS) for line in reversed(lines) if pattern.search(line))
    return next(found, lines[0])
