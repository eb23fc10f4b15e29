"""Tracked files: what a thread knows of each file, and what moves, deletions and doubts do to all of them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from tidal_plugins.actions.action import (
    Action,
    Append,
    ContentChange,
    Delete,
    Edit,
    EditCell,
    Move,
    OutlinedEdit,
    Patch,
    Write,
)
from tidal_plugins.actions.files.content import Content
from tidal_plugins.actions.paths import alike, normal, relative, within
from tidal_plugins.model.exchange import Message, ToolCall
from tidal_plugins.model.fence import inert

UNFOLLOWED = "an edit could not be followed"

_MAX_REASON = 200
"""Characters of a reason for a doubt. It may name a tool or a path, which nobody bounds; few paths are longer."""

State = Literal["read", "edited", "created", "deleted"]


class Said(NamedTuple):
    """A message of the history before a compaction, with its episode (none if it stays in the context) and its time."""

    message: Message
    episode: str | None
    at: datetime | None


@dataclass(slots=True)
class Tracked:
    """A file as the thread knows it.

    Attributes:
        path: its path, as the agent last wrote it.
        content: the lines that are known.
        state: what the thread did with it.
        doubt: why the content may be another by now; ``None`` if nothing that was seen speaks against it.
        weak: whether that is no more than a chance: whatever ran did not name the file.
        call: the call that read it last.
        changer: the call that changed it last.
        pure: whether the content is the result of that call alone.
        numbered: whether its reader numbers the lines.
        seen: when it was first read.
        known: when its content was last seen or changed.
        changed: when it was last changed.
        episode: the episode with the last reading or change outside of what stays in the context.
        reads: how often it was read.
        touched: the place in the history of the last call that touched it.
        shown: whether the messages that stay in the context show all that is known of it.
        later: whether a message that stays in the context has changed it.
    """

    path: str
    content: Content = field(default_factory=Content)
    state: State = "read"
    doubt: str | None = None
    weak: bool = False
    call: ToolCall | None = None
    changer: ToolCall | None = None
    pure: bool = False
    numbered: bool = False
    seen: datetime | None = None
    known: datetime | None = None
    changed: datetime | None = None
    episode: str | None = None
    reads: int = 0
    touched: int = 0
    shown: bool = False
    later: bool = False

    def suspect(self, reason: str, *, weak: bool = False) -> None:
        """Note why the content may be another by now. The first reason stays, unless it was a weak one.

        The reason becomes part of a header: names in it may neither end its line nor cite anything.
        """
        if self.doubt is None or (self.weak and not weak):
            self.doubt, self.weak = inert(reason)[:_MAX_REASON], weak

    def trust(self) -> None:
        """Note that the content is certain again."""
        self.doubt, self.weak = None, False

    def apply(self, action: ContentChange, *, shown: bool) -> bool:
        """Apply a change to the content that is known. Return whether the result is certain."""
        content = self.content
        if isinstance(action, Write):
            self.content = Content() if action.text is None else Content.of(action.text.replace("\r\n", "\n"))
            self.trust()
            return True
        if isinstance(action, Append):
            return content.append(action.text)
        if isinstance(action, Edit):
            return not content.lines or content.edit(action)
        if isinstance(action, Patch):
            return content.patch(action.hunks)
        if isinstance(action, EditCell):
            return not content.lines or content.edit_cell(action.cell, action.text)
        if isinstance(action, OutlinedEdit):
            self.suspect(action.reason)
            return True
        if action.start < 1:
            return not content.lines
        new = action.text.split("\n") if action.text else []
        content.splice(action.start, action.end, new)
        counted = shown or action.start == action.end  # how others count the lines of a range is not known
        return counted and not action.text.endswith("\n")  # some tools add a line then, some do not

    def show(self, lines: Mapping[int, str], total: int | None, *, certain: bool, whole: bool) -> None:
        """Take in an editor's window after a change. All else stays if the change was followed, or not seen at all."""
        if certain:
            self.content.show(lines, total)
        elif whole or total is None:
            self.content = Content(dict(lines), total, edited=set(lines))  # it was not what it was expected to be
        else:
            self.content.reshow(lines, total)

    def show_snippet(self, action: Action, lines: Mapping[int, str], *, certain: bool) -> None:
        """Take in the numbered lines around an edit that its result shows."""
        content = self.content
        if certain and content.lines:
            content.show(lines, None)
        elif not content.lines:
            content.lines, content.edited = dict(lines), set(lines)
        elif not (isinstance(action, Edit) and content.edit_shown(action, lines)):
            self.suspect(UNFOLLOWED)


class Step(NamedTuple):
    """Where a change happened: the place of its message in the history, its time, and its episode, if it has gone."""

    place: int
    at: datetime | None
    episode: str | None


class FileTable:
    """The files of a thread, by path. ``root`` is the folder in which the agent works, if that is known."""

    def __init__(self, root: str | None = None) -> None:
        self.root = root
        self.files: dict[str, Tracked] = {}

    def delete(self, action: Delete, step: Step) -> list[str]:
        path = self.key(action.path)
        gone = [key for key in self.files if _matches(key, path)]
        for key in gone:
            file = self.files[key]
            file.content, file.state, file.touched = Content(), "deleted", step.place
            file.trust()
        self.others(path)
        return gone

    def move(self, action: Move, step: Step) -> list[str]:
        source, to = self.key(action.path), self.key(action.to)
        inside = not action.exact and any(within(key, to) and key != to for key in self.files)
        if inside:  # a folder that is there already
            to = normal(f"{to}/{source.rpartition('/')[2]}")
        moved = {key: normal(to + key[len(source) :]) for key in self.files if within(key, source) and source != "."}
        tree = any(key != source for key in moved)
        unsure = not action.exact and not inside and (tree or not PurePosixPath(to).suffix)
        if source not in moved and to in self.files:
            self.files[to].content, self.files[to].state = Content(), "created"  # a file of which nothing is known
        for key, target in moved.items():
            before = self.files[key]
            if target == key or (before.state == "deleted" and key != source):
                continue
            content = replace(before.content, lines=dict(before.content.lines), edited=set(before.content.edited))
            after = replace(before, path=target, content=content, state="created", pure=False, shown=False)
            after.touched, after.later = step.place, step.episode is None
            after.changed, after.episode = step.at or before.changed, step.episode or before.episode
            after.doubt = before.doubt or ("it was moved to what may be a folder" if unsure else None)
            self.files[target] = after
            if not action.copied:
                before.content, before.state, before.touched = Content(), "deleted", step.place
            self.others(target)
        return [*moved, *moved.values()]

    def doubt(self, path: str, reason: str, place: int | None = None) -> None:
        for key, file in self.files.items():
            if not path or within(key, path) or alike(key, path, self.root) or _matches(key, path):
                file.suspect(reason, weak=not path)
                file.touched = place if place is not None and path == key else file.touched

    def others(self, path: str) -> None:
        """Doubt the files that may be this one under another name."""
        for key, file in self.files.items():
            if key != path and file.content.lines and alike(key, path, self.root):
                file.suspect(f"{path}, which may be the same file, changed since")

    def key(self, path: str) -> str:
        if path.startswith("/") and self.root:
            return relative(path, self.root) or path
        return path

    def learn(self, path: str) -> None:
        """Take the folder that ``pwd`` tells for the one in which everything began, unless the shell has left it."""
        if self.root is None and path.startswith("/") and "\n" not in path:
            self.root = path
            held, self.files = self.files, {}
            for key, file in held.items():
                twin = self.key(key)
                if twin in self.files or (twin != key and twin in held):
                    file.suspect("it went by two names")
                self.files[twin] = file

    def file(self, key: str, path: str) -> Tracked:
        file = self.files.setdefault(key, Tracked(path))
        file.path = path if self.key(path) == key else key
        return file


def _matches(path: str, pattern: str) -> bool:
    """Return whether a path is a file or below a folder that a shell's pattern names."""
    if not re.search(r"[*?\[]", pattern):
        return within(path, pattern)
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))
