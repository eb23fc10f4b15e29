"""Tell what SWE-agent's runs made of the files that they edited, and whether a context shows it.

This reads the trajectories by itself, and shares no code with the compaction that it judges: after each of its editor's
commands SWE-agent shows the lines around the change. The last such lines are what the file holds at the end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import basename, join

from tidal_plugins import Message

_WINDOW = re.compile(r"\[File: (.+?) \((\d+) lines total\)\]\n((?:.*\n?)*)")
_LINE = re.compile(r"(\d+):(.*)")
_NUMBER = re.compile(r"^ *\d+[:\t]", re.MULTILINE)
_FOLDER = re.compile(r"\(Current directory: (.+?)\)")
_EDITOR = ("edit", "insert")


@dataclass(slots=True)
class EditedFile:
    """A file at the end of a session: the lines that are known, and the numbers of those that were edited."""

    path: str
    lines: dict[int, str] = field(default_factory=dict)
    total: int = 0
    edited: set[int] = field(default_factory=set)

    @property
    def blocks(self) -> list[str]:
        """Return the edited lines, those that follow each other as one text."""
        blocks: list[list[str]] = []
        for number in sorted(self.edited):
            if number - 1 in self.edited and blocks:
                blocks[-1].append(self.lines[number])
            else:
                blocks.append([self.lines[number]])
        return [text for block in blocks if (text := "\n".join(map(str.rstrip, block)).strip("\n"))]


def edited_files(messages: Sequence[Message]) -> list[EditedFile]:
    """Return the files that a session edited and did not delete, as they are at its end."""
    results = {message.tool_call_id: _clean(message.text) for message in messages if message.role == "tool"}
    files: dict[str, EditedFile] = {}
    for message in messages:
        for call in message.tool_calls:
            command, result = str(call.arguments.get("command", "")), results.get(call.id, "")
            folder = next(iter(_FOLDER.findall(result)), "/")
            verb, *rest = command.split(None, 1) or [""]
            if verb == "rm":
                for name in " ".join(rest).split():
                    files.pop(join(folder, name), None)
            elif (shown := _WINDOW.search(result)) and "have NOT been applied" not in result:
                path = join(folder, shown[1])
                lines = {int(n): line for n, line in map(_split, shown[3].splitlines()) if n}
                file = EditedFile(path) if verb == "create" else files.get(path, EditedFile(path))
                _take(file, lines, int(shown[2]), edits=verb in _EDITOR)
                files[path] = file
    return [file for file in files.values() if file.blocks]


def kept(file: EditedFile, messages: Sequence[Message]) -> bool:
    """Return whether one message of a context shows everything that was edited in a file, as it is at the end.

    A tool's result counts with the call that it answers, which may name the file.
    """
    calls = {call.id: call for message in messages for call in message.tool_calls}
    for message in messages:
        told = [*message.tool_calls, *filter(None, [calls.get(message.tool_call_id)])]
        arguments = [str(value) for call in told for value in call.arguments.values()]
        text = _NUMBER.sub("", "\n".join([message.text, *arguments]))
        lines = "\n".join(map(str.rstrip, text.splitlines()))
        if basename(file.path) in text and all(block in lines for block in file.blocks):
            return True
    return False


def _take(file: EditedFile, lines: Mapping[int, str], total: int, *, edits: bool) -> None:
    """Take in the lines that a command shows; with ``edits``, the ones that differ from those before are edited."""
    if not lines:
        return
    first, last = min(lines), max(lines)
    shift = total - file.total if file.total else 0
    if edits:
        above = [n for n in sorted(lines) if n in file.lines and file.lines[n] != lines[n]]
        below = [n for n in sorted(lines) if n - shift in file.lines and file.lines[n - shift] != lines[n]]
        start, end = (above[0], below[-1]) if above and below else (0, -1)
        file.edited = {n if n < start else n + shift for n in file.edited if n < start or n + shift > end}
        file.edited |= set(range(start, end + 1))
        known = {n: line for n, line in file.lines.items() if n < first}
        file.lines = known | {n + shift: line for n, line in file.lines.items() if n + shift > last}
    elif any(file.lines.get(n, line) != line for n, line in lines.items()) or file.total not in (0, total):
        file.lines, file.edited = {}, set()  # another task, with the file as it was before
    file.lines |= lines
    file.total = total


def _split(line: str) -> tuple[int, str]:
    found = _LINE.match(line)
    return (int(found[1]), found[2]) if found else (0, "")


def _clean(text: str) -> str:
    text = text.replace("\r\n", "\n")
    return re.sub(r"<<<<< (?:START|END) CURSOR >>>>>\n", "", text)
