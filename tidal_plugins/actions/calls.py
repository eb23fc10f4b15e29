"""Calls: what one call of a tool does to files, told by its name and its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tidal_plugins.actions.action import (
    Action,
    Append,
    Delete,
    Doubt,
    Edit,
    EditCell,
    Move,
    OutlinedEdit,
    Read,
    ReplaceLines,
    Write,
)
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
from tidal_plugins.settings import FileTool

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
    given = call.arguments
    if tool.does == "editor":
        return _editor(given)
    if tool.does == "patch":
        text = _text(given, [tool.content] if tool.content else PATCHES)
        return changes(text, _path(given, tool)) if text else []
    if tool.does in ("nothing", "search", "plan") or given.get("dryRun") is True or given.get("dry_run") is True:
        return []
    path = _path(given, tool)
    if tool.does == "read":
        return [_read(given, path)] if path else [*_several(given, tool)]
    if tool.does == "edit":
        return _edits(given, path, tool)
    content = _text(given, [tool.content] if tool.content else CONTENTS)
    if tool.does == "insert":
        return _insert(given, path, content)
    if not path:
        return []
    if tool.does == "notebook":
        return [_cell(given, path, tool)]
    if tool.does == "delete":
        return [Delete(path)]
    if tool.does in ("move", "copy"):
        to = normal(_text(given, [tool.new] if tool.new else TARGETS) or "")
        return [Move(path, to, tool.does == "copy", exact=True)] if to else [Doubt(path, f"{call.name} moved it")]
    if tool.does == "append" or given.get("append") is True:
        return [Doubt(path, f"{call.name} changed it") if content is None else Append(path, content)]
    return [Write(path, content)]


def _several(given: Mapping[str, Any], tool: FileTool) -> Iterator[Read]:
    """Yield the readings of a call that shows several files, or the file of an editor's window."""
    value = _value(given, [tool.path] if tool.path else MANY_PATHS)
    items = value if isinstance(value, list | tuple) else []
    found = [each if isinstance(each, str) else _text(each, PATHS) or "" for each in items if each]
    together = tuple(dict.fromkeys(path for path in map(normal, found) if path))
    if any(set("*?[") & set(path) for path in together):
        return
    yield from (Read(path, together=together) for path in together)
    if not items:
        yield Read("", numbered=True)


def _cell(given: Mapping[str, Any], path: str, tool: FileTool) -> Action:
    source = _text(given, [tool.content] if tool.content else ["new_source", "source", *CONTENTS])
    cell, mode = given.get("cell_id"), str(given.get("edit_mode") or "replace")
    if not isinstance(cell, str) or mode not in ("replace", "delete") or (source is None and mode == "replace"):
        return OutlinedEdit(path, source or "", "a cell was changed that cannot be found in it")
    return EditCell(path, cell, source if mode == "replace" else None)


def _read(given: Mapping[str, Any], path: str) -> Read:
    """Read the many ways to ask for a part of a file: from a line, so many, to a line, the first or the last ones."""
    start, end, limit = _number(given, STARTS), _number(given, ENDS), _number(given, ["limit", "head", "max_lines"])
    span = given.get("view_range") or given.get("line_range")
    if isinstance(span, list | tuple) and len(span) == 2 and all(isinstance(n, int) for n in span):
        start, end = span
    offset = _number(given, ["offset"])
    tail = _number(given, ["tail"]) is not None
    if start is None and offset is not None and offset > 1:  # from 0 in some tools, from 1 in others: numbers tell
        return Read(path, offset, None, limit, numbered=True)
    return Read(path, start, end, limit, last=tail)


def _edits(given: Mapping[str, Any], path: str, tool: FileTool) -> list[Action]:
    """Read an edit by its texts or its lines. Without a path it is one of the file in an editor's window."""
    if "SEARCH" in (blocks := _text(given, ["diff"]) or "") and path:
        return changes(blocks, path)
    if path and (outline := _text(given, ["code_edit"])) is not None:
        return [OutlinedEdit(path, outline)]
    several = _value(given, EDITS)
    parts = several if isinstance(several, list | tuple) else [given]
    found: list[Action] = []
    for part in parts:
        action = _edit(part, path, tool) if isinstance(part, Mapping) else None
        if action is None:
            return [Doubt(path, UNREAD)] if path else []
        found.append(action)
    return found


def _edit(part: Mapping[str, Any], path: str, tool: FileTool) -> Action | None:
    start, end = _number(part, STARTS), _number(part, ENDS)
    old = _text(part, [tool.old] if tool.old else OLDS)
    new = _text(part, [tool.new] if tool.new else [*NEWS, "replacement_text"])
    if old is not None and new is not None:
        every = any(part.get(name) is True for name in ("replace_all", "replaceAll", "allow_multiple", "replace-all"))
        every = every or (_number(part, ["expected_replacements"]) or 1) > 1
        return Edit(path, old, new, every) if old else Write(path, new) if path else None
    if start is not None and end is not None and new is not None:
        return ReplaceLines(path, start, end + 1, new)
    return None


def _insert(given: Mapping[str, Any], path: str, content: str | None) -> list[Action]:
    after = _number(given, ["insert_line", "after_line", "line"])
    if after is None or content is None or after < 0:
        return [Doubt(path, UNREAD)] if path else []
    return [ReplaceLines(path, after + 1, after + 1, content)]


def _editor(given: Mapping[str, Any]) -> list[Action]:
    """Read a call of Anthropic's text editor, whose command is an argument."""
    path, does = _path(given, None), given.get("command")
    if not path:
        return []
    if does == "view":
        span = given.get("view_range")
        start, end = span if isinstance(span, list | tuple) and len(span) == 2 else (None, None)
        return [Read(path, start, end, numbered=True)]
    if does == "create":
        return [Write(path, _text(given, ["file_text"]))]
    if does == "str_replace":
        return [Edit(path, _text(given, ["old_str"]) or "", _text(given, ["new_str"]) or "")]
    if does == "insert":
        return _insert(given, path, _text(given, ["insert_text", "new_str"]))
    if does == "delete":
        return [Delete(path)]
    to = normal(_text(given, ["new_path"]) or "")
    return (
        [Move(path, to, exact=True)]
        if does == "rename" and to
        else [Doubt(path, f"the editor's command {does!s:.20} changed it")]
    )


def _path(given: Mapping[str, Any], tool: FileTool | None) -> str:
    return normal(_text(given, [tool.path] if tool and tool.path else PATHS) or "")


def _text(given: Mapping[str, Any], names: list[str]) -> str | None:
    value = _value(given, names)
    return value if isinstance(value, str) else None


def _value(given: Mapping[str, Any], names: list[str]) -> Any:
    return next((given[name] for name in names if given.get(name) is not None), None)


def _number(given: Mapping[str, Any], names: list[str]) -> int | None:
    value = _value(given, names)
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
