"""Actions: what a call of a tool does, told by its name and its arguments.

:func:`action` is the one place in this room that knows names of tools.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tidal_plugins.model.exchange import ToolCall

Does = Literal["write", "edit", "delete", "read", "search", "command", "plan", "other"]

_TOOLS: dict[Does, str] = {
    "write": "write writefile createfile create savefile newfile overwritefile filewrite putfile",
    "edit": (
        "edit editfile strreplace strreplaceeditor strreplacebasededittool multiedit replaceinfile replace insert "
        "applydiff applypatch patch notebookedit updatefile searchreplace fileedit editblock"
    ),
    "delete": "deletefile removefile delete remove unlink",
    "read": (
        "read readfile readtextfile readmanyfiles viewfile view openfile open cat fileread getfilecontents goto "
        "scrollup scrolldown"
    ),
    "search": (
        "grep glob ls list listdir listdirectory listfiles searchfiles searchcode codebasesearch filesearch find "
        "findfile searchdir searchfile ripgrep rg"
    ),
    "command": (
        "bash shell sh run runcommand runshellcommand execute executecommand executebash exec terminal cmd "
        "powershell runterminalcmd localshell console"
    ),
    "plan": "todowrite writetodos updateplan updatetodos settodos plan todos todolist",
}
_NAMES = {name: does for does, names in _TOOLS.items() for name in names.split()}
_PATHS = ("file_path", "path", "filepath", "filename", "file", "target_file", "notebook_path", "target")
_OLD = ("old_string", "old_str", "old", "oldText", "search", "old_text", "old_content")
_NEW = ("new_string", "new_str", "new", "newText", "content", "contents", "file_text", "text", "new_text", "new_source")
_EDITS = ("edits", "changes", "operations")
_PATCHES = ("patch", "diff", "input")
_PATCHED = re.compile(
    r"^(?:\*\*\* (?P<what>Add|Update|Delete) File: (?P<path>.+)|\+\+\+ (?:b/)?(?P<plus>[^\t\n]+))", re.M
)
_NOT_WORD = re.compile(r"[^a-z0-9]")
_GLANCE = 20_000
"""Characters of each text that are read: what a longer one changes is told by its beginning."""


@dataclass(frozen=True, slots=True)
class Action:
    """What a call does. ``changes`` are pairs of texts, the old one empty where nothing is replaced."""

    does: Does
    path: str = ""
    command: str = ""
    changes: tuple[tuple[str, str], ...] = ()


def action(call: ToolCall) -> Action:
    """Return what a call does; ``other`` for a tool that is neither known nor given a path that it needs."""
    arguments = call.arguments
    command = _command(arguments)
    name = _NOT_WORD.sub("", re.split(r"__|[.:/]", call.name)[-1].lower())
    does: Does = _NAMES.get(name, "other")
    if does == "edit" and (sub := _NAMES.get(_NOT_WORD.sub("", command.lower()))) and " " not in command:
        does = sub  # one tool for all, told apart by an argument
    path = _first(arguments, _PATHS)
    if does == "command" or (does == "other" and command and command.split(None, 1)[0] == call.name):
        return Action("command" if command else "other", command=command)
    if does in ("write", "edit", "delete", "read") and not path:
        if command.startswith(call.name):
            return _typed(does, command)
        patched = _patched(_first(arguments, _PATCHES)) if does == "edit" else None
        return patched or Action("other")
    if does in ("write", "edit"):
        return Action(does, path, changes=tuple(_changes(arguments, does)))
    return Action(does, path, command)


def changed_by(command: str) -> Iterator[tuple[Does, str]]:
    """Yield the files that a command of a shell writes, changes or deletes, as far as it names them plainly."""
    for match in _REDIRECTED.finditer(command):
        yield ("edit" if match[1] == ">>" else "write"), match[2]
    for part in re.split(r"&&|\|\||[;\n|]", command[:2_000]):
        try:
            words = shlex.split(part)
        except ValueError:
            continue
        if words[:1] == ["git"]:
            words = words[1:]
            if words[:1] not in (["rm"], ["mv"]):
                continue
        names = [word for word in words[1:] if not word.startswith("-")]
        if words[:1] == ["rm"]:
            yield from (("delete", name) for name in names)
        elif words[:1] == ["mv"] and len(names) == 2:
            yield from (("delete", names[0]), ("write", names[1]))
        elif words[:1] == ["touch"]:
            yield from (("write", name) for name in names)


_REDIRECTED = re.compile(r"(?<![0-9&<>-])(>>?) ?(?!/dev/|&)([\w./~-]*\w)")


def _command(arguments: Mapping[str, Any]) -> str:
    value = arguments.get("command") or arguments.get("cmd") or arguments.get("script") or ""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value).strip()


def _first(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := arguments.get(name), str) and value), "")


def _changes(arguments: Mapping[str, Any], does: Does) -> Iterator[tuple[str, str]]:
    several = next((value for name in _EDITS if isinstance(value := arguments.get(name), list)), None)
    for each in several or [arguments]:
        if isinstance(each, Mapping):
            old = _first(each, _OLD) if does == "edit" else ""
            yield old[:_GLANCE], _first(each, _NEW)[:_GLANCE]


def _typed(does: Does, command: str) -> Action:
    """Return an action that was typed as a command: «edit 3:5» with the new lines below it, «create a.py»."""
    first, _, rest = command.partition("\n")
    try:
        words = shlex.split(first)[1:]
    except ValueError:
        words = first.split()[1:]
    if does == "edit":
        if len(words) >= 2 and not re.fullmatch(r"[\d:]+", words[0]):
            return Action("edit", changes=((words[0], words[1]),))
        new = rest.removesuffix("\nend_of_edit")
        return Action("edit", changes=(("", new[:_GLANCE]),))
    return Action(does, words[0] if words else "", changes=(("", ""),) if does == "write" else ())


def _patched(patch: str) -> Action | None:
    """Return the action of a patch; it is named after its first file."""
    found = _PATCHED.search(patch)
    if found is None:
        return None
    lines = patch[:_GLANCE].splitlines()
    old = "\n".join(line[1:] for line in lines if line.startswith(("-", " ")) and not line.startswith("---"))
    new = "\n".join(line[1:] for line in lines if line.startswith(("+", " ")) and not line.startswith("+++"))
    does: Does = {"Add": "write", "Delete": "delete"}.get(found["what"] or "", "edit")  # type: ignore[assignment]
    return Action(does, (found["path"] or found["plus"]).strip(), changes=((old, new),))
