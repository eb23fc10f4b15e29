"""Dialects: what the usual tools of coding agents do to files, by their names and arguments.

The table holds the tools of Claude Code, Anthropic's text editor, Codex, Cursor, Cline, Gemini's and Qwen's command
lines, OpenHands, deepagents, LangChain's file management and the MCP server «filesystem».
``Settings.compaction.file_tools`` adds to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidal_plugins.actions.action import Action, Append, Delete, Doubt, Edit, Move, Read, ReplaceLines, Write
from tidal_plugins.actions.patches import changes
from tidal_plugins.actions.paths import normal
from tidal_plugins.model.exchange import ToolCall
from tidal_plugins.settings import FileAction, FileTool

_NAMES: Mapping[FileAction, str] = {
    "read": "Read read read_file ReadFile readFile read_text_file read_file_content view View view_file open open_file "
    "cat fs_read get_file_content",
    "write": "Write write write_file WriteFile writeFile write_to_file create create_file save_file new_file",
    "append": "append append_file append_to_file",
    "edit": "Edit edit edit_file MultiEdit multi_edit replace str_replace string_replace search_replace "
    "replace_in_file replace_string_in_file",
    "insert": "insert insert_text insert_lines",
    "patch": "apply_patch ApplyPatch patch apply_diff",
    "delete": "delete_file DeleteFile file_delete remove_file",
    "move": "move_file MoveFile rename_file file_move",
    "copy": "copy_file CopyFile file_copy",
    "shell": "Bash bash shell Shell terminal execute exec execute_bash execute_command exec_command run_command "
    "run_shell_command run_terminal_cmd run_in_terminal run_terminal_command local_shell bash_tool",
    "editor": "str_replace_editor str_replace_based_edit_tool text_editor edit_anthropic",
    "nothing": "Grep Glob LS ls list_directory search_files file_search grep glob list_files TodoWrite Task WebFetch",
}
TOOLS: Mapping[str, FileAction] = {name: does for does, names in _NAMES.items() for name in names.split()}
"""What each tool does, by its name."""

PATHS = (
    "file_path path filepath filename file target_file absolute_path filePath file_name relative_path source_path "
    "source old_path from"
).split()
CONTENTS = "content contents file_text text file_content insert_text new_str new_string".split()
OLDS = "old_string old_str oldText old_text oldString old search find".split()
NEWS = "new_string new_str newText new_text newString new replace replacement".split()
TARGETS = "destination_path destination new_path to target".split()
PATCHES = "patch input diff patch_text content".split()
COMMANDS = "command cmd script commands".split()
STARTS, ENDS = "start_line line_start start".split(), "end_line line_end end".split()

_READERS = tuple("get_ list search_ find_ grep glob ls stat tree query describe".split())
"""Beginnings of the names of other tools that change no file."""


def known(name: str, extra: Mapping[str, FileAction | FileTool]) -> FileTool | None:
    """Return what a tool does to files, or ``None`` for a tool that is not in the table.

    A tool is known under the prefix of its server too: ``mcp__filesystem__read_file``.
    """
    bare = name.rsplit("__", 1)[-1].rsplit(".", 1)[-1].rsplit("/", 1)[-1]
    found = next((table[key] for key in (name, bare) for table in (extra, TOOLS) if key in table), None)
    if found is None and bare.casefold().startswith(_READERS):
        found = "nothing"
    return FileTool(does=found) if isinstance(found, str) else found


def command(call: ToolCall, tool: FileTool | None) -> str | None:
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
    path = _path(given, tool)
    if not path or tool.does == "nothing" or given.get("dryRun") is True or given.get("dry_run") is True:
        return []
    content = _text(given, [tool.content] if tool.content else CONTENTS)
    if tool.does == "read":
        return [_read(given, path)]
    if tool.does == "edit":
        return _edits(given, path, tool)
    if tool.does == "insert":
        return _insert(given, path, content)
    if tool.does == "delete":
        return [Delete(path)]
    if tool.does in ("move", "copy"):
        to = normal(_text(given, [tool.new] if tool.new else TARGETS) or "")
        return [Move(path, to, tool.does == "copy", exact=True)] if to else [Doubt(path, f"{call.name} moved it")]
    if tool.does == "append" or given.get("append") is True:
        return [Doubt(path, f"{call.name} changed it") if content is None else Append(path, content)]
    return [Write(path, content)]


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
    if "SEARCH" in (blocks := _text(given, ["diff"]) or ""):
        return changes(blocks, path)
    several = given.get("edits") or given.get("replacements")
    parts = several if isinstance(several, list | tuple) else [given]
    found: list[Action] = []
    for part in parts:
        if not isinstance(part, Mapping):
            return [Doubt(path, "an edit changed it that cannot be read")]
        old = _text(part, [tool.old] if tool.old else OLDS)
        new = _text(part, [tool.new] if tool.new else NEWS)
        start, end = _number(part, STARTS), _number(part, ENDS)
        if old is not None and new is not None:
            every = any(part.get(name) is True for name in ("replace_all", "replaceAll", "allow_multiple"))
            every = every or (_number(part, ["expected_replacements"]) or 1) > 1
            found.append(Edit(path, old, new, every) if old else Write(path, new))
        elif start is not None and end is not None and new is not None:
            found.append(ReplaceLines(path, start, end + 1, new))
        else:
            return [Doubt(path, "an edit changed it that cannot be read")]
    return found


def _insert(given: Mapping[str, Any], path: str, content: str | None) -> list[Action]:
    after = _number(given, ["insert_line", "after_line", "line"])
    if after is None or content is None or after < 0:
        return [Doubt(path, "an insertion changed it that cannot be read")]
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
