"""Patches: unified diffs, blocks of «SEARCH» and «REPLACE», and the format of ``apply_patch``, as edits of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidal_plugins.actions.action import Action, Delete, Doubt, Edit, Move, Write
from tidal_plugins.actions.paths import normal
from tidal_plugins.patterns import lazy_re

UNREAD = "a patch was applied that cannot be read"

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
    return list(_unified(lines, path)) or [Doubt(path, UNREAD)]


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
                yield Doubt(new, UNREAD)
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
