"""Outcomes of tool calls, as a person would write them: «Edited `store.py`: `page`», «`pytest -q`: 4 passed».

A call is read by its name, its arguments and its result: what it did to which file, and whether it failed. Edits are
told by file with the names that they touch, readings on one line, and of a check that ran several times only what it
found last.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, Literal

from tidal_plugins.actions.calls import (
    Action,
    Delete,
    Doubt,
    Edit,
    Move,
    Read,
    Tools,
    Write,
    actions,
    known,
    shell_command,
)
from tidal_plugins.actions.commands import read_command
from tidal_plugins.actions.paths import relative
from tidal_plugins.actions.results import bare, folder, window
from tidal_plugins.english.tools import CHANGES, ERROR_WORDS, FAILURE_SPOKEN, LOOKS, NAMED_ERROR, REFUSED, says_failed
from tidal_plugins.model.exchange import Message, ToolCall, answers
from tidal_plugins.patterns import lazy_re
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
        found = list(_by_file(ran.actions))
        if not ran.alone or len(found) != 1 or len(ran.actions) != 1 or _is_output(ran.actions[0], command):
            touched = tuple(each for one in found for each in one.touches)
            return [Done("search" if tool and tool.does == "search" else "command", command=command, touched=touched)]
    elif tool is not None and tool.does in ("search", "plan"):
        return [Done("search" if tool.does == "search" else "plan")]
    else:
        found = list(_by_file(actions(call, tool) if tool else (), edited=tool is not None and tool.does == "edit"))
    open_ = found_[0] if (found_ := window(ends)) else ""
    return [replace(each, path=each.path or relative(open_, here) or open_) for each in found] or [Done("other")]


def _is_output(action: Action, command: str) -> bool:
    """Return whether a file that a command wrote is what a program printed, rather than a text of the command."""
    return isinstance(action, Write) and action.text is None and not _HERE.match(command)


def _by_file(given: Iterable[Action], *, edited: bool = False) -> Iterator[Done]:
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


_PYTHON = r"(?:async\s+)?(?:def|class)\s+(\w+)"
_SCRIPT = (
    r"(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\b\s*\*?|class|interface|enum|type)\s+(\w+)"
    r"|(?:export\s+)?(?:const|let|var)\s+(\w+)\s*=\s*(?:async\b\s*)?(?:\(|function\b|\w+\s*=>)"
)
_GO = r"func\s+(?:\([^)]*\)\s*)?(\w+)|type\s+(\w+)"
_RUST = r"(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?(?:fn|struct|enum|trait|mod)\s+(\w+)"
_CLASSES = r"(?:[\w@]+\s+)*(?:class|interface|enum|record|object|fun)\s+(\w+)"
_METHODS = r"(?:public|private|protected|internal|static|final|override|virtual|async)\s[\w<>\[\],.?\s]*?(\w+)\s*\("
_C = r"(?:[\w:*&<>~]+\s+)+[*&]*([\w:~]+)\s*\([^;]*$|(?:struct|class|enum|namespace)\s+(\w+)"
_RUBY = r"(?:def|class|module)\s+([\w.:?!]+)"
_PHP = r"(?:[\w]+\s+)*(?:function|class|interface|trait)\s+(\w+)"
_SHELL = r"(?:function\s+)?([\w-]+)\s*\(\)"
_SQL = (
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:UNIQUE\s+)?(?:TABLE|INDEX|VIEW|FUNCTION|TRIGGER)\s+(?:CONCURRENTLY\s+)?"
    r"(?:IF\s+NOT\s+EXISTS\s+)?([\w.\"]+)|ALTER\s+TABLE\s+([\w.\"]+)"
)
LANGUAGES: dict[str, re.Pattern[str]] = {
    ending: lazy_re(rf"(?P<indent>\s*)(?:{pattern})", re.IGNORECASE if pattern == _SQL else 0)
    for pattern, endings in {
        _PYTHON: "py pyi",
        _SCRIPT: "js jsx mjs cjs ts tsx vue svelte",
        _GO: "go",
        _RUST: "rs",
        f"{_CLASSES}|{_METHODS}": "java kt cs scala swift",
        _C: "c h cc cpp hpp",
        _RUBY: "rb",
        _PHP: "php",
        _SHELL: "sh bash",
        _SQL: "sql",
    }.items()
    for ending in endings.split()
}
"""Pattern of a line that defines something, by the ending of the file."""

_MAX_NAMES = 6
_MAX_FRAGMENT, _MAX_OLD = 140, 45  # characters
_BLANKS = lazy_re(r"\s+")
IMPORT = lazy_re(r"`?(?:import|from|use|using|require|package|#include|export \* from|include)\b")
"""Beginning of a changed line that says nothing of what changed."""


def touched(path: str, old: str, new: str) -> list[str]:
    """Return the names of the functions and classes that a change defines, removes or changes inside, in order."""
    pattern = LANGUAGES.get(PurePosixPath(path).suffix.lstrip(".").lower())
    if pattern is None:
        return []
    before, after = old.splitlines(), new.splitlines()
    names: dict[str, None] = {}
    for lines, others in ((after, Counter(before)), (before, Counter(after))):
        enclosing: list[tuple[int, str]] = []
        for line in lines:
            if not line.strip():
                continue
            indent = len(line) - len(line.lstrip())
            found = pattern.match(line)
            while enclosing and enclosing[-1][0] >= indent and (found or line.strip() not in "{}()[];"):
                enclosing.pop()
            if found:
                name = next(group for group in found.groups()[1:] if group)
                enclosing.append((indent, name.strip('"')))
            if others[line] > 0:
                others[line] -= 1
            elif enclosing:
                names[enclosing[-1][1]] = None
    return [name for name in names if name != "__init__"] or list(names)


def fragment(old: str, new: str) -> str:
    """Return the words that a change brings, with those that they replace if these are few."""
    before, after = _differing(old, new)
    if not after:
        return f"removed `{_shortened(before)}`" if before else ""
    if before and len(before) <= _MAX_OLD:
        return f"`{_shortened(after)}` (was `{before}`)"
    return f"`{_shortened(after)}`"


def listed(names: list[str]) -> str:
    """Return names in marks, at most :data:`_MAX_NAMES`, and how many more there are."""
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(f"`{name}`" for name in names[:_MAX_NAMES]) + more


def _differing(old: str, new: str) -> tuple[str, str]:
    """Return the first line that goes, without the words that stay, and the lines that come."""
    before, after = old.splitlines(), new.splitlines()
    gone, come = Counter(before), Counter(after)
    old_line = next((line for line in before if line.strip() and not come[line]), "")
    new_lines = [line for line in after if line.strip() and not gone[line]]
    new_lines = [line for line in new_lines if not IMPORT.match(line.strip())] or new_lines
    new_line = " / ".join(map(str.strip, new_lines))
    was, now = old_line.split(), new_line.split()
    same = 0
    while same < min(len(was), len(now)) and was[same] == now[same]:
        same += 1
    return " ".join(was[same:] or was[-1:]), " ".join(now)


def _shortened(text: str) -> str:
    text = _BLANKS.sub(" ", text).replace("`", "'").strip()
    return text if len(text) <= _MAX_FRAGMENT else text[: _MAX_FRAGMENT - 1].rstrip() + "…"


_LISTS = ("todos", "plan", "items", "tasks", "steps")
_TEXTS = ("content", "step", "text", "title", "task", "description", "name")
_CLOSED = lazy_re(r"done|complete|cancel|finish|skipped|closed", re.IGNORECASE)
_BOX = lazy_re(r"^\s*(?:[-*]|\d+[.)])?\s*\[(?P<mark>[ xX~-])\]\s*(?P<text>.+)$", re.MULTILINE)


def open_items(arguments: Mapping[str, Any]) -> list[str] | None:
    """Return the open items of a plan, the one in progress first; ``None`` if the arguments hold no plan."""
    for name in _LISTS:
        value = arguments.get(name)
        if isinstance(value, str):
            boxes = list(_BOX.finditer(value))
            if boxes:
                return [box["text"].strip() for box in boxes if box["mark"] == " "]
            try:
                value = json.loads(value)
            except ValueError:
                continue
        if isinstance(value, Sequence) and not isinstance(value, str):
            items = list(_items(value))
            return [text for text, _ in sorted(items, key=lambda item: not item[1])]
    return None


def _items(values: Sequence[Any]) -> Iterator[tuple[str, bool]]:
    """Yield the text of each open item, and whether it is in progress."""
    for value in values:
        if isinstance(value, str):
            yield value, False
        elif isinstance(value, Mapping):
            status = str(value.get("status", "done" if value.get("done") or value.get("completed") else ""))
            text = next((str(value[name]) for name in _TEXTS if value.get(name)), "")
            if text and not _CLOSED.search(status):
                yield " ".join(text.split()), "progress" in status.lower()
