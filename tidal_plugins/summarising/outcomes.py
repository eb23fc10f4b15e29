"""Outcomes of tool calls, each on one line: «Bash(pytest -q) failed: 2 errors in 0.4 s»."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from tidal_plugins.english.tools import CHANGES, ERROR_WORDS, FAILED, FAILURE_SPOKEN, LOOKS, NAMED_ERROR, REFUSED
from tidal_plugins.model.exchange import Message, ToolCall

Kind = Literal["said", "failed", "changed", "ran", "looked"]
"""Kind of a quote: something said, or a tool that failed, changed something, looked something up, or ran otherwise."""

_MAX_ARGUMENTS = {"changed": 320, "failed": 120, "ran": 160, "looked": 80}
_MAX_RESULT = {"changed": 60, "failed": 200, "ran": 120, "looked": 100}
_MAX_VALUE, _LONG = 120, 60
_GLANCE = 2_000  # characters of each end of a result that are read

_VERBS: dict[str, Kind] = {
    **dict.fromkeys(CHANGES.split(), "changed"),
    **dict.fromkeys(LOOKS.split(), "looked"),
}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def outcome(call: ToolCall, answer: Message | None, kind: Kind) -> str:
    """Return the tool with its arguments, and its result or its error, each cut."""
    called = f"{call.name}({_cut(_arguments(call.arguments), _MAX_ARGUMENTS[kind])})"
    if answer is None:
        return f"{called}: no result"
    text = _glance(answer.text)
    if kind == "failed":
        return f"{called} failed: {_cut(_error_line(text), _MAX_RESULT[kind])}"
    result = _cut(" ".join(text[:400].split()), _MAX_RESULT[kind])
    return f"{called}: {result}" if result else called


def outcome_kind(call: ToolCall, answer: Message | None) -> Kind:
    verb = _verb(call)
    return "failed" if answer and (answer.error or _fails(answer.text, verb)) else verb


def subject(call: ToolCall) -> str:
    """Return the tool with the first two words of its first argument. Two calls of one subject are two tries."""
    return " ".join([call.name, *_first_text(call).split()[:2]])


def _first_text(call: ToolCall) -> str:
    return next((value for value in call.arguments.values() if isinstance(value, str)), "")[:_MAX_VALUE]


def _verb(call: ToolCall) -> Kind:
    """Return the kind of a call by the first known verb of the tool's name, else of the command that it was given."""
    words = [*_WORD.findall(call.name), *_WORD.findall(_first_text(call))[:1]]
    return next((_VERBS[word.lower()] for word in words if word.lower() in _VERBS), "ran")


def _fails(text: str, verb: Kind) -> bool:
    if REFUSED.match(text[:80]):
        return True
    if verb == "looked":  # a file may speak of errors
        return False
    return (
        FAILURE_SPOKEN.search(text.lstrip().partition("\n")[0][:200]) is not None
        or FAILED.search(_glance(text)) is not None
    )


def _glance(text: str) -> str:
    return text if len(text) <= 2 * _GLANCE else f"{text[:_GLANCE]}\n{text[-_GLANCE:]}"


def _error_line(text: str) -> str:
    """Return the last line that names an error, as in a traceback, else the last that mentions one, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no message"]
    found = (line for pattern in (NAMED_ERROR, ERROR_WORDS) for line in reversed(lines) if pattern.search(line))
    return next(found, lines[0])


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
