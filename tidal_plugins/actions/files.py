"""Files: what the calls of a thread's tools, in order, showed and made of each file that they name.

Where the host gives a disk, that is the truth, and this only tells which files to read there. Without one, a file is
what was last read or written, with the edits since that could be followed, or a doubt that says why it may be another.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from tidal_plugins.actions import results
from tidal_plugins.actions.calls import (
    Action,
    Delete,
    Doubt,
    Edit,
    Move,
    Read,
    Tools,
    Write,
    actions,
    known,
    reached,
    shell_command,
)
from tidal_plugins.actions.commands import read_command
from tidal_plugins.actions.paths import alike, mentions, normal, relative, within
from tidal_plugins.model.delimiters import inert
from tidal_plugins.model.exchange import FORGOTTEN_TEXT, Message, ToolCall, answers

_MAX_REASON = 200
"""Characters of a reason for a doubt. It may name a tool or a path, which nobody bounds; few paths are longer."""


@dataclass(slots=True)
class Content:
    """What is known of a file. Changes return whether they are certain; what is not known stays out.

    Attributes:
        lines: the known lines by number, counted from 1.
        total: how many lines there are; ``None`` if that is not known.
        ends: whether the last line ends with a newline; ``None`` if the source did not tell.
        edited: the numbers of lines that were edited.
    """

    lines: dict[int, str] = field(default_factory=dict)
    total: int | None = None
    ends: bool | None = None
    edited: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, text: str) -> Content:
        """Return the content of a whole text."""
        lines = _split(text)
        return cls(dict(enumerate(lines, 1)), len(lines), text.endswith("\n"))

    @property
    def complete(self) -> bool:
        return self.total is not None and len(self.lines) == self.total

    @property
    def text(self) -> str:
        """Return the known lines; with the last newline, if there is one."""
        text = "\n".join(self.lines[number] for number in sorted(self.lines))
        return f"{text}\n" if self.ends and self.lines and self.total in self.lines else text

    def runs(self) -> Iterator[list[int]]:
        """Yield the numbers of known lines that follow each other without a gap."""
        for _, group in itertools.groupby(enumerate(sorted(self.lines)), lambda pair: pair[1] - pair[0]):
            yield [number for _, number in group]

    def edit(self, edit: Edit) -> bool:
        """Replace a text. Return whether it is certain that this is what the tool did."""
        if edit.old is None:
            return False
        if edit.line is not None:
            return self._edit_at(edit.line, _split(edit.old), _split(edit.new))
        texts = [(run, self._run(run)) for run in self.runs()]
        count = sum(text.count(edit.old) for _, text in texts)
        if not edit.old or not count or (count > 1 and not edit.every):
            return False
        certain = self.complete or not edit.every or "\n" not in edit.old + edit.new
        for run, text in reversed(texts):
            if edit.old in text:
                after, at_end = text.replace(edit.old, edit.new), run[-1] == self.total
                if not after.endswith("\n") and not at_end:
                    return False  # what follows in this line is not known
                self._splice(run[0], run[-1] + 1, _split(after))
                if at_end and (self.ends is not None or not after.endswith("\n")):
                    self.ends = after.endswith("\n")
        return certain

    def append(self, text: str) -> bool:
        """Add a text at the end. What is known stays where it is if the end is not known."""
        if not self.complete or self.ends is None:
            self.total = self.ends = None
            return not self.lines
        after = Content.of(self.text + text)
        self._splice(1, (self.total or 0) + 1, [after.lines[number] for number in sorted(after.lines)])
        self.ends = after.ends
        return True

    def show(self, lines: Mapping[int, str], total: int | None) -> bool:
        """Take in lines that were read. Where they contradict what was known, only they are known now."""
        fits = None in (total, self.total) or total == self.total
        fits = fits and all(self.lines.get(number, line) == line for number, line in lines.items())
        if not fits:
            self.lines, self.edited, self.ends, self.total = {}, self.edited & lines.keys(), None, None
        self.lines |= lines
        self.total = total if total is not None else self.total
        return fits

    def show_change(self, lines: Mapping[int, str], shift: int | None, total: int | None) -> bool:
        """Take in the lines around a change that were shown after it. Later lines move by ``shift``.

        Where that is not known, only the lines before them stay. Return whether it was.
        """
        certain, shift = not self.lines or shift is not None, 0 if shift is None else shift
        first, last = min(lines), max(lines)
        moved = {n + shift: line for n, line in self.lines.items() if n + shift > last} if certain else {}
        kept = {n: line for n, line in self.lines.items() if n < first} | moved
        above = [n for n, line in lines.items() if self.lines.get(n, line) != line]
        below = [n for n, line in lines.items() if self.lines.get(n - shift, line) != line]
        changed = set(range(above[0], below[-1] + 1)) if above and below else set() if self.lines else set(lines)
        self.edited = {n if n < first else n + shift for n in self.edited} & (kept.keys() | lines.keys()) | changed
        self.lines, self.total = kept | dict(lines), total
        return certain

    def _edit_at(self, start: int, old: Sequence[str], new: Sequence[str]) -> bool:
        """Replace the lines that a patch tells at a place, unless a line that is known speaks against it."""
        fits = all(self.lines.get(number, line) == line for number, line in enumerate(old, start))
        if not fits or start < 1 or (self.total is not None and start + len(old) > self.total + 1):
            return False
        self.lines |= dict(enumerate(old, start))  # a patch that was applied tells what stood there
        self._splice(start, start + len(old), new)
        return True

    def _splice(self, start: int, end: int, new: Sequence[str]) -> None:
        """Replace the lines from ``start`` to before ``end``, and number the later ones anew. Those that differ are
        marked as edited."""
        old = [self.lines.get(number) for number in range(start, end)]
        head = _alike(old, new)
        tail = _alike(old[head:][::-1], new[head:][::-1])
        shift, first, last = len(new) - len(old), start + head, end - tail
        marks = {n if n < first else n + shift for n in self.edited if n < first or n >= last}
        kept = {n if n < start else n + shift: line for n, line in self.lines.items() if n < start or n >= end}
        self.lines = kept | dict(enumerate(new, start))
        self.edited = marks | set(range(first, max(last + shift, first + 1)))
        self.edited &= self.lines.keys() | {max(1, first - 1)}
        if self.total is not None:
            self.total += shift

    def _run(self, run: Sequence[int]) -> str:
        text = "\n".join(self.lines[number] for number in run)
        return text if self.ends is False and self.total == run[-1] else f"{text}\n"


class Said(NamedTuple):
    """A message of a thread, with its episode (none if it stays in the context) and its time."""

    message: Message
    episode: str | None = None
    at: datetime | None = None


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
        pure: whether the content is the result of that reading alone.
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
    state: Literal["read", "edited", "created", "deleted"] = "read"
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

    def gone(self, place: int) -> None:
        self.content, self.state, self.doubt, self.touched = Content(), "deleted", None, place


class Followed(NamedTuple):
    """A call that was followed: its message's place, its number in the message, and the paths that it reached."""

    place: int
    number: int
    call: ToolCall
    result: Message | None
    reached: list[tuple[str, Action]]


class Files:
    """The files of a thread, by path, deleted ones too. ``root`` is the folder of the agent, if that is known."""

    def __init__(self, extra: Tools, root: str | None = None) -> None:
        self.files: dict[str, Tracked] = {}
        self._extra, self._root = extra, root
        self._folder: str | None = ""
        self._now = Said(Message("assistant", ""))
        self._place = 0

    def run(self, said: Sequence[Said]) -> dict[str, Tracked]:
        """Follow the messages of a thread, and return its files."""
        for _ in self.follow(said):
            pass
        return self.files

    def follow(self, said: Sequence[Said]) -> Iterator[Followed]:
        """Follow the messages of a thread, and yield each call when its files are as it left them."""
        times = {id(each.message): each.at for each in said}
        pairs = zip(said, answers([each.message for each in said]), strict=True)
        for self._place, (each, found) in enumerate(pairs):
            if each.message.text == FORGOTTEN_TEXT:
                self._doubt("", "a part of the conversation was forgotten")
            changed: list[tuple[str, Action]] = []
            for number, (call, result) in enumerate(zip(each.message.tool_calls, found, strict=True)):
                self._now = each._replace(at=times.get(id(result)) or each.at)
                did = self._called(call, result)
                for path, action in did:
                    if any(path == before and not _independent(one, action) for before, one in changed):
                        self.files[path].suspect("calls that depend on their order changed it side by side", weak=True)
                changed += ((path, action) for path, action in did if not isinstance(action, Read))
                yield Followed(self._place, number, call, result, did)

    def _called(self, call: ToolCall, result: Message | None) -> list[tuple[str, Action]]:
        """Follow one call, and return the paths that it read or changed."""
        tool = known(call.name, self._extra)
        command = shell_command(call, tool)
        text = "" if result is None else result.text.replace("\r\n", "\n")
        failed = "surely" if result is not None and result.error else results.failed(text)
        unsure = result is None or failed == "maybe"
        if command is not None:
            ran = read_command(command, self._folder)
            given: Sequence[Action] = ran.actions
            told = results.folder(text)
            self._folder = (relative(told, self._root) or told) if told else None if ran.left else self._folder
            changing = any(not isinstance(action, Read | Doubt) for action in given)
            unsure = bool(failed) or result is None or (changing and results.troubled(text))
            if (changing and unsure and ran.left) or results.rewritten(text):
                self._doubt("", "a command changed files that it did not name")
        elif tool is not None:
            given = actions(call, tool)
        else:
            for path, file in self.files.items():
                if mentions(call.text, path):
                    file.suspect(f"{call.name} ran since")
                    file.touched = self._place
            return []
        found: list[tuple[str, Action]] = []
        for action in given:
            if isinstance(action, Read):
                bad = failed != "" and (not action.together or (result is not None and result.error))
                found += ((path, action) for path in self._read(call, action, text, failed=bad or result is None))
            elif isinstance(action, Doubt):
                self._doubt(action.path, action.reason)
            elif unsure:
                for path in filter(None, reached(action)):
                    self._doubt(path, f"{call.name} may have changed it")
            elif not failed:
                found += ((path, action) for path in self._change(call, action, text))
        return found

    def _read(self, call: ToolCall, read: Read, text: str, *, failed: bool) -> list[str]:
        window = results.window(text)
        path = self._key(window[0] if window else read.path)
        if failed and path in self.files and results.missing(text):
            self.files[path].gone(self._place)
        shown = window[1] if window else results.shown(read, text)
        if failed or not path or shown is None:
            return []
        file = self._file(path, read.path or path)
        fresh = Content(dict(shown.lines), shown.total)
        fresh.ends = True if not shown.numbered and text.endswith("\n") else None
        file.pure = (fresh.complete or not file.content.lines) and not read.together
        if fresh.complete:
            file.content = replace(fresh, edited=file.content.edited & fresh.lines.keys())
            file.doubt, file.later = None, False
        elif not file.content.show(shown.lines, shown.total):
            file.doubt, file.pure = None, not read.together
        file.state = "read" if file.state == "deleted" else file.state
        file.call, file.numbered, file.reads = call, shown.numbered, file.reads + 1
        self._note(file, whole=fresh.complete)
        return [path]

    def _change(self, call: ToolCall, action: Action, text: str) -> list[str]:
        if isinstance(action, Delete):
            path = self._key(action.path)
            gone = [key for key in self.files if _matches(key, path)]
            for key in gone:
                self.files[key].gone(self._place)
            return gone
        if isinstance(action, Move):
            return self._move(action)
        window = results.window(text)
        path = self._key(window[0] if window else action.path)
        if not path or not isinstance(action, Write | Edit):
            return []
        new = path not in self.files or self.files[path].state == "deleted"
        file = self._file(path, action.path or path)
        if not self._apply(file, action, window[1] if window else results.snippet(text)):
            outlined = isinstance(action, Edit) and action.old is None
            file.suspect(
                f"{call.name} changed it" if not outlined else "an edit that only outlines its lines changed it"
            )
        created = isinstance(action, Write) and not action.appends and (new or file.state == "created")
        file.state = "created" if created or file.state == "created" else "edited"
        file.pure, file.changer, file.changed = False, call, self._now.at or file.changed
        file.later = self._now.episode is None
        self._note(file, whole=isinstance(action, Write) and action.text is not None)
        self._others(path)
        return [path]

    def _apply(self, file: Tracked, action: Write | Edit, shown: results.Shown) -> bool:
        """Apply a change to what is known, then what its result shows. Return whether the outcome is certain."""
        before = file.content
        if isinstance(action, Write):
            if action.text is None:
                certain = bool(shown.lines)
                file.content = Content() if certain else before
            elif action.appends:
                certain = before.append(action.text)
            else:
                file.content, file.doubt, certain = Content.of(action.text.replace("\r\n", "\n")), None, True
        else:
            certain = before.edit(action)
        if not shown.lines or (isinstance(action, Write) and action.text is not None):
            return certain or not before.lines
        if certain:
            return file.content.show(shown.lines, shown.total) or True
        shift = None
        if shown.total is not None and before.total is not None:
            shift = shown.total - before.total
        elif isinstance(action, Edit) and action.old is not None:
            shift = action.new.count("\n") - action.old.count("\n")
        return before.show_change(shown.lines, shift, shown.total)

    def _move(self, action: Move) -> list[str]:
        source, to = self._key(action.path), self._key(action.to)
        if any(within(key, to) and key != to for key in self.files):  # a folder that is there already
            to = normal(f"{to}/{source.rpartition('/')[2]}")
        unsure = to == self._key(action.to) and not PurePosixPath(to).suffix
        moved = {key: normal(to + key[len(source) :]) for key in self.files if within(key, source) and source != "."}
        if source not in moved and to in self.files:
            self.files[to].content, self.files[to].state = Content(), "created"  # a file of which nothing is known
        for key, target in moved.items():
            before = self.files[key]
            if target == key or (before.state == "deleted" and key != source):
                continue
            content = replace(before.content, lines=dict(before.content.lines), edited=set(before.content.edited))
            after = replace(before, path=target, content=content, state="created", pure=False, shown=False)
            after.touched, after.later = self._place, self._now.episode is None
            after.changed, after.episode = self._now.at or before.changed, self._now.episode or before.episode
            if unsure and key == source:
                after.suspect("it was moved to what may be a folder")
            self.files[target] = after
            if not action.copied:
                before.gone(self._place)
        return [*moved, *moved.values()]

    def _doubt(self, path: str, reason: str) -> None:
        path = self._key(path)
        for key, file in self.files.items():
            if not path or within(key, path) or alike(key, path, self._root) or _matches(key, path):
                file.suspect(reason, weak=not path)
                file.touched = self._place if path == key else file.touched

    def _others(self, path: str) -> None:
        """Doubt the files that may be this one under another name."""
        for key, file in self.files.items():
            if key != path and file.content.lines and alike(key, path, self._root):
                file.suspect(f"{path}, which may be the same file, changed since")

    def _note(self, file: Tracked, *, whole: bool) -> None:
        """Note when and where something of a file's content was last told."""
        now, open_ = self._now.at, self._now.episode is None
        file.seen, file.known, file.touched = file.seen or now, now or file.known, self._place
        file.episode = file.episode if open_ else self._now.episode
        file.shown = open_ and (whole or file.shown)

    def _key(self, path: str) -> str:
        return (relative(path, self._root) or path) if path.startswith("/") and self._root else path

    def _file(self, key: str, path: str) -> Tracked:
        file = self.files.setdefault(key, Tracked(path))
        file.path = path if self._key(path) == key else key
        return file


def _independent(one: Action, other: Action) -> bool:
    """Return whether two calls of one message may have run in either order: edits of texts with nothing in common."""
    return isinstance(one, Edit) and isinstance(other, Edit) and not one.overlaps(other)


def _matches(path: str, pattern: str) -> bool:
    """Return whether a path is a file or below a folder that a shell's pattern names."""
    if not re.search(r"[*?\[]", pattern):
        return within(path, pattern)
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def _split(text: str) -> list[str]:
    """Return the lines of a text; none for an empty one."""
    return text.removesuffix("\n").split("\n") if text else []


def _alike(one: Sequence[str | None], other: Sequence[str | None]) -> int:
    """Return with how many lines two texts begin alike."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
