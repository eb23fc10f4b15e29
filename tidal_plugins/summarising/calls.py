"""Calls of tools: what each one did, and whether it failed, by its name, its arguments and its result."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from tidal_plugins.actions.action import Action, Delete, Doubt, Edit, Move, Read, Write
from tidal_plugins.actions.calls import actions, shell_command
from tidal_plugins.actions.commands import read_command
from tidal_plugins.actions.paths import relative
from tidal_plugins.actions.results import folder, window
from tidal_plugins.actions.table import Tools, known
from tidal_plugins.english.tools import CHANGES, ERROR_WORDS, FAILURE_SPOKEN, LOOKS, NAMED_ERROR, REFUSED, says_failed
from tidal_plugins.model.exchange import Message, ToolCall
from tidal_plugins.patterns import lazy_re

Kind = Literal["said", "failed", "changed", "ran", "looked"]
"""Kind of a quote: something said, or a tool that failed, changed something, looked something up, or ran otherwise."""

Does = Literal["write", "edit", "delete", "move", "read", "search", "command", "plan", "other"]

_GLANCE = 2_000  # characters of each end of a result that are read
_MAX_CHANGE = 20_000
"""Characters of each text that are read: what a longer one changes is told by its beginning."""
_MAX_FIRST = 120  # characters of the first argument
_VERBS: dict[str, Kind] = {
    **dict.fromkeys(CHANGES.split(), "changed"),
    **dict.fromkeys(LOOKS.split(), "looked"),
}
_KINDS: dict[Does, Kind] = {
    **dict.fromkeys(("write", "edit", "delete", "move"), "changed"),
    **dict.fromkeys(("read", "search"), "looked"),
    "plan": "ran",
}
_HERE = lazy_re(r"\s*(?:cat|tee|echo|printf)\b")
_WORD = lazy_re(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class Done:
    """What a call did to one file, or what else it was. ``other`` is a tool that is not known, or changed no file.

    Attributes:
        path: the file, where it is now; empty if it is not told.
        command: the command that a shell ran.
        changes: pairs of texts, the old one empty where nothing is replaced.
        source: where a file was that was moved.
        touched: the files that a command changed on its way, with what it did to them.
    """

    does: Does
    path: str = ""
    command: str = ""
    changes: tuple[tuple[str, str], ...] = ()
    source: str = ""
    touched: tuple[tuple[Does, str], ...] = ()

    @property
    def touches(self) -> tuple[tuple[Does, str], ...]:
        """Return every file that it changed, with what it did to them."""
        if self.does == "move":
            return ("delete", self.source), ("write", self.path)
        return ((self.does, self.path),) if self.does in ("write", "edit", "delete") else self.touched


def done(call: ToolCall, text: str, tools: Tools) -> list[Done]:
    """Return what a call did, by file. ``text`` is its result, which may name the file.

    A command that only reads, writes, moves or deletes one file is told as that.
    """
    tool = known(call.name, tools)
    command = shell_command(call, tool)
    ends = glance(text).replace("\r\n", "\n")
    here = folder(ends) or ""
    if command is not None:
        ran = read_command(command)
        found = list(_told(ran.actions))
        if not ran.alone or len(found) != 1 or len(ran.actions) != 1 or _is_output(ran.actions[0], command):
            touched = tuple(each for one in found for each in one.touches)
            return [Done("search" if tool and tool.does == "search" else "command", command=command, touched=touched)]
    elif tool is not None and tool.does in ("search", "plan"):
        return [Done("search" if tool.does == "search" else "plan")]
    else:
        found = list(_told(actions(call, tool) if tool else (), edited=tool is not None and tool.does == "edit"))
    open_ = found_[0] if (found_ := window(ends)) else ""
    return [replace(each, path=each.path or relative(open_, here) or open_) for each in found] or [Done("other")]


def _is_output(action: Action, command: str) -> bool:
    """Return whether a file that a command wrote is what a program printed, rather than a text of the command."""
    return isinstance(action, Write) and action.text is None and not _HERE.match(command)


def _told(given: Iterable[Action], *, edited: bool = False) -> Iterator[Done]:
    """Yield what actions come to, those on one file as one. ``edited`` says that the tool is one for edits."""
    found = [each for action in given if (each := _one(action, edited=edited))]
    for _, group in itertools.groupby(found, lambda each: (each.path, each.does)):
        first, *rest = group
        yield replace(first, changes=first.changes + tuple(pair for each in rest for pair in each.changes))


def _one(action: Action, *, edited: bool) -> Done | None:
    if isinstance(action, Read):
        return Done("read", action.path)
    if isinstance(action, Delete):
        return Done("delete", action.path)
    if isinstance(action, Move):
        return Done("write", action.to) if action.copied else Done("move", action.to, source=action.path)
    if isinstance(action, Edit):
        return Done("edit", action.path, changes=(((action.old or "")[:_MAX_CHANGE], action.new[:_MAX_CHANGE]),))
    if isinstance(action, Write):
        whole = not action.appends and not edited
        return Done("write" if whole else "edit", action.path, changes=(("", (action.text or "")[:_MAX_CHANGE]),))
    return Done("edit", action.path) if isinstance(action, Doubt) and edited else None


def kind_of(call: ToolCall, answer: Message | None, does: Does) -> Kind:
    """Return what kind a call is of, by what it did and by whether its result says that it failed."""
    verb = _KINDS.get(does) or _verb(call)
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
    return FAILURE_SPOKEN.search(text.lstrip().partition("\n")[0][:200]) is not None or says_failed(glance(text))


def glance(text: str) -> str:
    return text if len(text) <= 2 * _GLANCE else f"{text[:_GLANCE]}\n{text[-_GLANCE:]}"


def error_line(text: str) -> str:
    """Return the last line that names an error, as in a traceback, else the last that mentions one, else the first."""
    lines = [line.strip().removeprefix("- ") for line in text.splitlines() if line.strip()] or ["no message"]
    found = (line for pattern in (NAMED_ERROR, ERROR_WORDS) for line in reversed(lines) if pattern.search(line))
    return next(found, lines[0])
