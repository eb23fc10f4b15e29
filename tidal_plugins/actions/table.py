"""Table: the tools of coding agents by their names, and the names of their arguments.

It holds the tools of Claude Code, Anthropic's text editor, Codex, Cursor, Cline, Gemini's and Qwen's command lines,
OpenHands, SWE-agent, deepagents, LangChain's file management and the MCP server «filesystem».
``Settings.compaction.file_tools`` adds to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from tidal_plugins.patterns import lazy_re
from tidal_plugins.settings import FileAction, FileTool

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
