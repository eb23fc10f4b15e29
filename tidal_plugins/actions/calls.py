"""Calls: what one call of a tool does to files, told by its name and its arguments.

The tools are those of Claude Code, Anthropic's text editor, Codex, Cursor, Cline, Gemini's and Qwen's command lines,
OpenHands, SWE-agent, deepagents, LangChain's file management and the MCP server «filesystem».
``Settings.compaction.file_tools`` adds to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tidal_plugins.actions.paths import normal
from tidal_plugins.model.exchange import ToolCall
from tidal_plugins.patterns import lazy_re
from tidal_plugins.settings import FileAction, FileTool


@dataclass(frozen=True, slots=True)
class Read:
    """The result shows lines of a file: all of them, or those from ``start``, counted from 1, to ``end``.

    ``limit`` is the largest number of lines that were asked for. ``numbered`` says whether the lines have numbers;
    ``None`` leaves it to the result. ``together`` are the files that the result shows one after another.
    """

    path: str
    start: int | None = None
    end: int | None = None
    limit: int | None = None
    numbered: bool | None = None
    together: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Write:
    """A file has this content now, or ``appends`` it; ``None`` for a content that only the disk can tell."""

    path: str
    text: str | None
    appends: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """``old`` is replaced by ``new``, once or ``every`` time; it begins with the ``line`` that is told, if one is.

    ``None`` stands for an old text that the call does not tell, so that only the result or the disk shows the outcome.
    """

    path: str
    old: str | None
    new: str
    every: bool = False
    line: int | None = None

    def overlaps(self, other: Edit) -> bool:
        """Return whether the text of one edit has to do with that of the other, so that their order matters."""
        pairs = ((self.old, other), (other.old, self))
        return any(
            old is None or old in text or text in old for old, edit in pairs for text in (edit.old, edit.new) if text
        )


@dataclass(frozen=True, slots=True)
class Delete:
    """A file, or a folder with everything in it, is gone. ``*`` and ``?`` stand for what they do in a shell."""

    path: str


@dataclass(frozen=True, slots=True)
class Move:
    """A file or folder is at ``to`` now, or below it if that is a folder; it stays where it was too if ``copied``."""

    path: str
    to: str
    copied: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """A file, all in a folder, or every file (``""``) may have changed, and why."""

    path: str
    reason: str


Change = Write | Edit | Delete | Move
Action = Read | Change | Doubt


def reached(action: Action) -> tuple[str, ...]:
    """Return the paths that an action names."""
    return (action.path, action.to) if isinstance(action, Move) else (action.path,)


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


UNREAD_PATCH = "a patch was applied that cannot be read"

_RANGE = lazy_re(r"^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_FILE = lazy_re(r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* (Move to): (.+)$")
_BLOCK = lazy_re(
    r"(?sm)^<{5,} ?SEARCH\b[^\n]*\n(?::start_line: ?\d+\n|:end_line: ?\d+\n|-{5,}\n)*"
    r"(.*?)\n?={5,}\n(.*?)\n?>{5,} ?REPLACE"
)
_NOWHERE = "/dev/null"


def changes(text: str, path: str = "") -> list[Action]:
    """Return what a patch does to files, whatever its format. ``path`` is the file that its tool was told."""
    lines = text.strip("\n").split("\n")
    if any(map(_FILE.match, lines)):
        return list(_apply_patch(lines))
    if path and (blocks := _BLOCK.findall(text)):
        return [Edit(path, old, new) for old, new in blocks]
    return list(_unified(lines, path)) or [Doubt(path, UNREAD_PATCH)]


def _apply_patch(lines: Sequence[str]) -> Iterator[Action]:
    """Yield the changes of «*** Begin Patch … *** Update File: …», whose hunks have no numbers."""
    path, kind, hunk = "", "", list[str]()
    for line in [*lines, "*** End Patch"]:
        head = _FILE.match(line)
        if kind == "Add" and line.startswith("+"):
            hunk.append(line)
            continue
        if head or line.startswith(("@@", "*** ")):
            if path and kind == "Add":
                yield Write(path, _side(hunk, "+"))
            elif path and any(each[:1] in "+-" for each in hunk if each):
                yield Edit(path, _side(hunk, "- "), _side(hunk, "+ "))
            hunk, kind = [], "" if kind == "Add" else kind
        else:
            hunk.append(line)
        if head and head[3]:
            yield Move(path, normal(head[4]))
            path = normal(head[4])
        elif head:
            kind, path = head[1], normal(head[2])
            if kind == "Delete" and path:
                yield Delete(path)


def _unified(lines: Sequence[str], path: str) -> Iterator[Action]:
    """Yield the changes of «--- a/x / +++ b/x / @@ … @@», as ``diff -u`` and git write them."""
    old = new = path
    place = 0
    while place < len(lines):
        line, place = lines[place], place + 1
        if found := _RANGE.match(line):
            before, after = int(found[1] or 1), int(found[3] or 1)
            start = place
            while place < len(lines) and (before > 0 or after > 0):
                before -= lines[place][:1] in ("-", " ", "")
                after -= lines[place][:1] in ("+", " ", "")
                place += 1
            body = lines[start:place]
            if old == _NOWHERE:
                yield Write(new, _side(body, "+"))
            elif new == _NOWHERE:
                yield Delete(old)
            elif before or after or any(each.startswith("\\") for each in lines[start : place + 1]):
                yield Doubt(new, UNREAD_PATCH)
            elif new:
                yield Edit(new, _side(body, "- "), _side(body, "+ "), line=int(found[2]) + (found[3] == "0"))
        elif line.startswith("--- "):
            old, new = _named(line[4:]), path
        elif line.startswith("+++ "):
            new = path or _named(line[4:])
        elif line.startswith("rename from "):
            old = normal(line.removeprefix("rename from "))
        elif line.startswith("rename to "):
            yield Move(old, normal(line.removeprefix("rename to ")))


def _side(body: Sequence[str], signs: str) -> str:
    """Return the lines of a hunk with one of the signs. Context may have lost its space where it is empty."""
    return "".join(f"{line[1:]}\n" for line in body if (line[:1] or " ") in signs)


def _named(text: str) -> str:
    """Return the path of a diff's header, without ``a/`` or ``b/`` and without a time."""
    path = text.split("\t")[0].strip().strip('"')
    return path if path == _NOWHERE else normal(path[2:] if path[:2] in ("a/", "b/") else path)


Tools = Mapping[str, FileAction | FileTool]
"""What tools do, by their names: those that a user adds to the table."""
NO_TOOLS: Tools = MappingProxyType({})

_NAMES: Mapping[FileAction, str] = {
    "read": "read readfile readtextfile readfilecontent view viewfile open openfile cat fsread fileread "
    "getfilecontent getfilecontents readmanyfiles readmultiplefiles readfiles batchread goto scrollup scrolldown "
    "setcursors",
    "write": "write writefile writetofile create createfile savefile newfile overwritefile filewrite putfile",
    "append": "append appendfile appendtofile",
    "edit": "edit editfile multiedit replace strreplace stringreplace searchreplace replaceinfile "
    "replacestringinfile updatefile fileedit editblock codeedit",
    "insert": "insert inserttext insertlines",
    "patch": "applypatch patch applydiff",
    "notebook": "notebookedit editnotebook editnotebookcell",
    "delete": "delete deletefile filedelete remove removefile unlink",
    "move": "movefile renamefile filemove",
    "copy": "copyfile filecopy",
    "shell": "bash shell sh terminal console cmd powershell run execute exec executebash executecommand execcommand "
    "runcommand runshellcommand runterminalcmd runinterminal runterminalcommand localshell bashtool",
    "editor": "strreplaceeditor strreplacebasededittool texteditor editanthropic",
    "search": "grep ripgrep rg glob ls list listdir listdirectory listfiles find findfile filesearch searchfile "
    "searchfiles searchdir searchcode codebasesearch",
    "plan": "todowrite writetodos updateplan updatetodos settodos plan todos todolist",
    "nothing": "task webfetch websearch",
}
TABLE: Mapping[str, FileAction] = {name: does for does, names in _NAMES.items() for name in names.split()}
"""What each tool does, by its name in small letters without signs: ``readfile`` is ``read_file`` and ``ReadFile``."""

PATHS = (
    "file_path path filepath filename file target_file absolute_path filePath file_name relative_path notebook_path "
    "source_path source old_path from target"
).split()
MANY_PATHS = "paths file_paths filePaths files filenames include".split()
CONTENTS = "content contents file_text text file_content insert_text new_str new_string".split()
OLDS = "old_string old_str oldText old_text oldString old old_content search find".split()
NEWS = "new_string new_str newText new_text newString new new_content replace replacement".split()
TARGETS = "destination_path destination new_path to target".split()
PATCHES = "patch input diff patch_text content".split()
COMMANDS = "command cmd script commands".split()
EDITS = "edits replacements changes operations".split()
STARTS, ENDS = "start_line line_start start".split(), "end_line line_end end".split()
PARTS = frozenset([*STARTS, *ENDS, "limit", "head", "tail", "max_lines", "offset", "view_range", "line_range"])
"""Arguments that ask for a part of a file."""

_LOOKS = tuple("get_ list search_ find_ grep glob ls stat tree query describe".split())
"""Beginnings of the names of other tools that change no file."""
_SIGNS = lazy_re(r"[^a-z0-9]")


def known(name: str, extra: Tools) -> FileTool | None:
    """Return what a tool does, or ``None`` for a tool that is not in the table.

    A tool is known under the prefix of its server too: ``mcp__filesystem__read_file``.
    """
    bare = re.split(r"__|[.:/]", name)[-1]
    found = extra.get(name) or extra.get(bare) or TABLE.get(_SIGNS.sub("", bare.lower()))
    if found is None and bare.lower().startswith(_LOOKS):
        found = "nothing"
    return FileTool(does=found) if isinstance(found, str) else found
