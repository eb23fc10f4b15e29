"""Calls: what one call of a tool does to files, told by its name and its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidal_plugins.actions.action import Action, Delete, Doubt, Edit, Move, Read, Write
from tidal_plugins.actions.patches import changes
from tidal_plugins.actions.paths import normal
from tidal_plugins.actions.table import (
    COMMANDS,
    CONTENTS,
    EDITS,
    ENDS,
    MANY_PATHS,
    NEWS,
    OLDS,
    PATCHES,
    PATHS,
    STARTS,
    TARGETS,
)
from tidal_plugins.model.exchange import ToolCall
from tidal_plugins.settings import FileAction, FileTool

UNREAD = "an edit changed it that cannot be read"


def shell_command(call: ToolCall, tool: FileTool | None) -> str | None:
    """Return the command that a call runs in a shell, or ``None``.

    A call that has nothing but a command is one of a shell, whatever the tool's name.
    """
    given = call.arguments
    named = tool is not None and tool.does == "shell"
    if not named and ((tool is not None and tool.does == "editor") or _path(given, tool)):
        return None
    value = _value(given, [tool.content] if tool and tool.content else COMMANDS)
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return value[-1] if len(value) == 3 and value[1] in ("-c", "-lc") else " ".join(value)
    return value if isinstance(value, str) else None


def actions(call: ToolCall, tool: FileTool) -> list[Action]:
    """Return what a call of a tool, other than a shell, does to files."""
    given, does = call.arguments, tool.does
    path = _path(given, tool)
    if does == "editor":  # Anthropic's, whose action is an argument
        command = str(given.get("command"))
        if command not in _EDITOR:
            return [Doubt(path, f"the editor's command {command:.20} changed it")] if path else []
        does = _EDITOR[command]
    if does in ("nothing", "search", "plan", "shell") or True in (given.get("dryRun"), given.get("dry_run")):
        return []
    content = _text(given, [tool.content] if tool.content else CONTENTS)
    if does == "patch":
        text = _text(given, [tool.content] if tool.content else PATCHES)
        return changes(text, path) if text else []
    if does == "read":
        return [_read(given, path, numbered=tool.does == "editor" or None)] if path else [*_several(given, tool)]
    if does == "edit":
        diff = _text(given, ["diff"]) or ""
        return changes(diff, path) if "SEARCH" in diff and path else _edits(given, path, tool)
    if does == "insert":
        after = _number(given, ["insert_line", "after_line", "line"])
        known = after is not None and content is not None
        return [Edit(path, "", f"{content}\n", line=(after or 0) + 1)] if known else _unread(path)
    if not path:
        return []
    if does == "notebook":
        return [Edit(path, None, _text(given, [tool.content or "new_source", "source", *CONTENTS]) or "")]
    if does == "delete":
        return [Delete(path)]
    if does in ("move", "copy"):
        to = normal(_text(given, [tool.new] if tool.new else TARGETS) or "")
        return [Move(path, to, does == "copy")] if to else [Doubt(path, f"{call.name} moved it")]
    return [Write(path, content, does == "append" or given.get("append") is True)]


_EDITOR: Mapping[str, FileAction] = {
    "view": "read", "create": "write", "str_replace": "edit", "insert": "insert", "delete": "delete", "rename": "move",
}  # fmt: skip


def _unread(path: str) -> list[Action]:
    return [Doubt(path, UNREAD)] if path else []


def _several(given: Mapping[str, Any], tool: FileTool) -> Iterator[Read]:
    """Yield the readings of a call that shows several files, or the file of an editor's window."""
    value = _value(given, [tool.path] if tool.path else MANY_PATHS)
    items = value if isinstance(value, list | tuple) else []
    found = [each if isinstance(each, str) else _text(each, PATHS) or "" for each in items if each]
    together = tuple(dict.fromkeys(path for path in map(normal, found) if path))
    if not any(set("*?[") & set(path) for path in together):
        yield from (Read(path, together=together) for path in together)
        if not items:
            yield Read("", numbered=True)


def _read(given: Mapping[str, Any], path: str, *, numbered: bool | None) -> Read:
    """Read the many ways to ask for a part of a file: from a line, so many, to a line, the first or the last ones."""
    start, end, limit = _number(given, STARTS), _number(given, ENDS), _number(given, ["limit", "head", "max_lines"])
    span = given.get("view_range") or given.get("line_range")
    if isinstance(span, list | tuple) and len(span) == 2 and all(isinstance(n, int) for n in span):
        start, end = span
    offset = _number(given, ["offset"])
    if _number(given, ["tail"]) is not None:  # which lines these are, only their numbers can tell
        numbered = True
    if start is None and offset is not None and offset > 1:  # from 0 in some tools, from 1 in others: numbers tell
        return Read(path, offset, None, limit, numbered=True)
    return Read(path, start, end, limit, numbered)


def _edits(given: Mapping[str, Any], path: str, tool: FileTool) -> list[Action]:
    """Read edits by their texts. Without a path they are of the file in an editor's window."""
    if (outline := _text(given, ["code_edit"])) is not None:
        return [Edit(path, None, outline)] if path else []
    several = _value(given, EDITS)
    parts: Sequence[Any] = several if isinstance(several, list | tuple) else [given]
    found = [_edit(part, path, tool) if isinstance(part, Mapping) else None for part in parts]
    known = [action for action in found if action is not None]
    return known if len(known) == len(found) else _unread(path)


def _edit(part: Mapping[str, Any], path: str, tool: FileTool) -> Action | None:
    old = _text(part, [tool.old] if tool.old else OLDS)
    new = _text(part, [tool.new] if tool.new else [*NEWS, "replacement_text"])
    if new is None and old is not None and tool.does == "editor":
        new = ""  # a text that is taken away
    if new is None or (old is None and _number(part, STARTS) is None):
        return None
    every = any(part.get(name) is True for name in ("replace_all", "replaceAll", "allow_multiple", "replace-all"))
    every = every or (_number(part, ["expected_replacements"]) or 1) > 1
    if old == "":
        return Write(path, new) if path else None
    return Edit(path, old, new, every)


def _path(given: Mapping[str, Any], tool: FileTool | None) -> str:
    return normal(_text(given, [tool.path] if tool and tool.path else PATHS) or "")


def _text(given: Mapping[str, Any], names: Sequence[str]) -> str | None:
    value = _value(given, names)
    return value if isinstance(value, str) else None


def _value(given: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((given[name] for name in names if given.get(name) is not None), None)


def _number(given: Mapping[str, Any], names: Sequence[str]) -> int | None:
    value = _value(given, names)
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
