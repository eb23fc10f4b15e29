"""Patches: unified diffs and the format of ``apply_patch``, read into changes of files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidal_plugins.actions.action import Action, Delete, Doubt, Edit, Hunk, Move, Patch, Write
from tidal_plugins.actions.paths import normal
from tidal_plugins.patterns import lazy_re

UNREAD = "a patch changed it"
UNKNOWN = "a patch was applied that cannot be read"
NOWHERE = "/dev/null"

_RANGE = lazy_re(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_FILE = lazy_re(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_MOVED = lazy_re(r"^\*\*\* Move to: (.+)$")
_BLOCK = lazy_re(
    r"^<{5,} ?SEARCH\b[^\n]*\n(?::start_line: ?\d+\n|:end_line: ?\d+\n|-{5,}\n)*(.*?)\n?={5,}\n(.*?)\n?>{5,} ?REPLACE",
    re.DOTALL | re.MULTILINE,
)


def changes(text: str, path: str = "") -> list[Action]:
    """Return what a patch does to files, whatever its format. ``path`` is the file that its tool was told."""
    if "*** Begin Patch" in text or _FILE.search(text):
        return _apply_patch(text.strip("\n").split("\n"))
    if path and (blocks := _BLOCK.findall(text)):
        return [Edit(path, old, new) for old, new in blocks]
    found = _unified(text.split("\n"), path)
    return found or [Doubt(path, UNREAD if path else UNKNOWN)]


def _apply_patch(lines: Sequence[str]) -> list[Action]:
    """Read «*** Begin Patch … *** Update File: …», in which hunks have no numbers."""
    actions: list[Action] = []
    starts = [place for place, line in enumerate(lines) if _FILE.match(line)]
    if not starts:
        return [Doubt("", UNKNOWN)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        found = _FILE.match(lines[start])
        assert found is not None
        kind, path, body = found[1], normal(found[2]), list(lines[start + 1 : end])
        if not path:
            continue
        if kind == "Delete":
            actions.append(Delete(path))
            continue
        moved = _MOVED.match(body[0]) if body else None
        body = [line for line in body[1 if moved else 0 :] if not line.startswith("*** End")]
        if kind == "Add":
            actions.append(Write(path, "".join(f"{line[1:]}\n" for line in body if line.startswith("+"))))
        else:
            actions += [Patch(path, tuple(_hunks(body)))] if any(line[:1] in "+-" for line in body if line) else []
        if moved:
            actions.append(Move(path, normal(moved[1]), exact=True))
    return actions


def _hunks(body: Sequence[str]) -> list[Hunk]:
    hunks: list[Hunk] = []
    parts: list[list[str]] = [[]]
    for line in body:
        if line.startswith("@@"):
            parts.append([])
        else:
            parts[-1].append(line)
    for part in parts:
        old, new = _sides(part)
        if old or new:
            hunks.append(Hunk(old, new))
    return hunks


def _unified(lines: Sequence[str], path: str) -> list[Action]:
    """Read «--- a/x / +++ b/x / @@ … @@», as ``diff -u`` and git write it."""
    actions: list[Action] = []
    old = new = path
    hunks: list[Hunk] = []
    place = 0
    while place < len(lines):
        line, place = lines[place], place + 1
        if found := _RANGE.match(line):
            body = _body(lines, place, int(found[2] or 1), int(found[3] or 1))
            before, after = _sides(body)
            if len(before) != int(found[2] or 1) or any(
                line.startswith("\\") for line in lines[place:][: len(body) + 1]
            ):
                return [Doubt(new, UNREAD)] if new and new != NOWHERE else []
            hunks.append(Hunk(before, after, int(found[1]) + (not before)))
            place += len(body)
        elif line.startswith("--- "):
            actions += _closed(old, new, hunks)
            old, new, hunks = _named(line[4:]), path, []
        elif line.startswith("+++ "):
            new = path or _named(line[4:])
        elif line.startswith("rename from "):
            actions += _closed(old, new, hunks)
            old, hunks = normal(line.removeprefix("rename from ")), []
        elif line.startswith("rename to "):
            actions.append(Move(old, normal(line.removeprefix("rename to ")), exact=True))
    return [*actions, *_closed(old, new, hunks)]


def _body(lines: Sequence[str], start: int, old: int, new: int) -> Sequence[str]:
    """Return the lines of a hunk that has so many lines on either side."""
    end = start
    while end < len(lines) and (old > 0 or new > 0):
        old -= lines[end][:1] in ("-", " ", "")
        new -= lines[end][:1] in ("+", " ", "")
        end += 1
    return lines[start:end]


def _closed(old: str, new: str, hunks: Sequence[Hunk]) -> list[Action]:
    """Return what the hunks of one file do to it."""
    if not hunks or not new:
        return []
    if new == NOWHERE:
        return [Delete(old)]
    if old == NOWHERE:
        return [Write(new, "".join(f"{line}\n" for line in hunks[0].new))]
    return [Patch(new, tuple(hunks))]


def _sides(part: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    old = tuple(line[1:] for line in part if line[:1] in ("-", " ", ""))
    new = tuple(line[1:] for line in part if line[:1] in ("+", " ", ""))
    return old, new


def _named(text: str) -> str:
    """Return the path of a diff's header, without ``a/`` or ``b/`` and without a time."""
    path = text.split("\t")[0].strip().strip('"')
    return path if path == NOWHERE else normal(path[2:] if path[:2] in ("a/", "b/") else path)
