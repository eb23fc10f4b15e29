"""Replay: what a thread's tool calls, in order, make of each file that they touch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tidal_plugins.actions import results
from tidal_plugins.actions.action import (
    Action,
    Change,
    ContentChange,
    Delete,
    Doubt,
    Edit,
    Move,
    Place,
    Read,
    Write,
    doubted,
)
from tidal_plugins.actions.calls import actions, shell_command
from tidal_plugins.actions.files.content import Content
from tidal_plugins.actions.files.tracked import UNFOLLOWED, FileTable, Said, Step, Tracked
from tidal_plugins.actions.paths import joined, mentions, relative
from tidal_plugins.actions.several import part
from tidal_plugins.actions.shell.commands import Folders, read_command
from tidal_plugins.actions.table import Tools, known
from tidal_plugins.model.episode import FORGOTTEN_TEXT
from tidal_plugins.model.exchange import Message, ToolCall, answers

SIDE_BY_SIDE = "calls that depend on their order changed it side by side"


class Followed(NamedTuple):
    """A call that was followed: its message's place, its number in the message, and the paths that it reached."""

    place: int
    number: int
    call: ToolCall
    result: Message | None
    reached: list[tuple[str, Action]]


class Replay:
    """The files of a thread. ``root`` is the folder in which the agent works, if that is known."""

    def __init__(self, extra: Tools, root: str | None = None) -> None:
        self._extra = extra
        self._table = FileTable(root)
        self._folders: Folders = ("",)
        self._step = Step(0, None, None)
        self._changed: set[str] = set()
        """The files that the calls of this message have changed so far."""

    @property
    def files(self) -> dict[str, Tracked]:
        """Return the files by path, deleted ones too. Those that were known before are put among them."""
        return self._table.files

    @property
    def root(self) -> str | None:
        """Return the folder in which the agent works, if that is known."""
        return self._table.root

    def run(self, said: Sequence[Said]) -> dict[str, Tracked]:
        """Follow the messages of a thread, and return its files by path, deleted ones too."""
        for _ in self.follow(said):
            pass
        return self._table.files

    def follow(self, said: Sequence[Said]) -> Iterator[Followed]:
        """Follow the messages of a thread, and yield each call when its files are as it left them."""
        results_ = answers([each.message for each in said])
        times = {id(each.message): each.at for each in said}
        for place, each in enumerate(said):
            self._step = Step(place, each.at, each.episode)
            if each.message.text == FORGOTTEN_TEXT:
                self._doubt("", "a part of the conversation was forgotten")
            reached: dict[str, list[list[Action]]] = {}
            self._changed.clear()
            for number, (call, result) in enumerate(zip(each.message.tool_calls, results_[place], strict=True)):
                self._step = Step(place, times.get(id(result)) or each.at, each.episode)
                did = self._called(call, result)
                for path, actions_ in _by_path(did).items():
                    reached.setdefault(path, []).append(actions_)
                yield Followed(place, number, call, result, did)
            for path, calls_ in reached.items():
                if _depends_on_order(calls_) and path in self._table.files:
                    self._table.files[path].suspect(SIDE_BY_SIDE, weak=True)

    def _called(self, call: ToolCall, result: Message | None) -> list[tuple[str, Action]]:
        """Follow one call, and return the paths that it read or changed."""
        tool = known(call.name, self._extra)
        command = shell_command(call, tool)
        if command is not None:
            return self._run(call, command, result)
        if tool is not None:
            return self._follow(call, actions(call, tool), result, shell=False)
        told = call.text
        for path, file in self._table.files.items():
            if mentions(told, path):
                file.suspect(f"{call.name} ran since")
                file.touched = self._step.place
        return []

    def _run(self, call: ToolCall, command: str, result: Message | None) -> list[tuple[str, Action]]:
        ran = read_command(command, self._folders)
        reached = self._follow(call, ran.actions, result, shell=True)
        text = _text(result)
        if results.astray(text) and any(isinstance(action, Change) for action in ran.actions):
            self._doubt("", "a command changed files in a folder other than it said")
        if results.rewritten(text):
            self._doubt("", "a command rewrote files")
        told = results.folder(text)
        here = told and (relative(told, self._table.root) or told)
        self._folders = ran.folders if here is None else ("" if here == "." else here,)
        return reached

    def _follow(
        self, call: ToolCall, given: Collection[Action], result: Message | None, *, shell: bool
    ) -> list[tuple[str, Action]]:
        text = _text(result)
        marked = result is not None and result.error
        reads_like = "surely" if marked else results.failed(text)
        changes = any(not isinstance(action, Read | Place | Doubt) for action in given)
        unknown = result is None or (shell and (reads_like or (changes and results.troubled(text))))
        reached: list[tuple[str, Action]] = []
        for action in given:
            if isinstance(action, Read):
                bad = bool(reads_like) and (marked or not action.together)  # one of several may have failed
                reached += [(path, action) for path in self._read(call, action, result, failed=bad)]
            elif isinstance(action, Place):
                if self._folders == ("",):  # the shell has not left the folder in which everything began
                    self._table.learn(text.strip())
            elif isinstance(action, Doubt):
                self._doubt(action.path, action.reason)
            elif unknown or (reads_like and not marked and not self._refused(action, reads_like)):
                for each in doubted(action, f"{call.name} may have changed it"):
                    if isinstance(each, Doubt):
                        self._doubt(each.path, each.reason)
            elif not reads_like:
                reached += [(path, action) for path in self._change(call, action, text)]
        return reached

    def _refused(self, action: Action, reads_like: str) -> bool:
        """Return whether a change whose result reads like a failure was surely not made."""
        if not isinstance(action, Edit):
            return reads_like == "surely"
        file = self._table.files.get(self._table.key(action.path))
        known = file is not None and file.content.complete and file.doubt is None
        return action.old not in file.content.text if known and file else reads_like == "surely"

    # readings

    def _read(self, call: ToolCall, read: Read, result: Message | None, *, failed: bool) -> list[str]:
        text = part(_text(result), read)
        window = self._window(text)
        path = self._table.key(window[0] if window else read.path)
        if not path or result is None:
            return []
        if failed:
            if path in self._table.files and read.shown and results.missing(text):
                file = self._table.files[path]
                file.content, file.state, file.touched = Content(), "deleted", self._step.place
            return []
        shown = window[1] if window else results.shown(read, text)
        file = self._table.file(path, read.path or path)
        file.touched = self._step.place
        if shown is None:
            return []
        fresh = Content(dict(shown.lines), shown.total)
        odd = path in self._changed and not fresh.agrees(file.content)
        file.pure = (fresh.complete or not file.content.lines) and not read.together
        if fresh.complete:
            fresh.ends = True if not shown.numbered and text.endswith("\n") else None
            file.content = replace(fresh, edited=file.content.edited & fresh.lines.keys())
            file.trust()
            file.later = False
        elif not file.content.show(shown.lines, shown.total):
            file.trust()
            file.pure = not read.together
        file.state = "read" if file.state == "deleted" else file.state
        file.call, file.numbered, file.reads = call, shown.numbered, file.reads + 1
        if odd:
            file.suspect(SIDE_BY_SIDE, weak=True)
        self._note(file, whole=fresh.complete)
        return [path]

    def _window(self, text: str) -> tuple[str, results.Shown] | None:
        """Return the path and the lines of an editor's window, the path in the folder that the result tells."""
        window, here = results.window(text), results.folder(text)
        if window is None or here is None:
            return window
        return joined(here, window[0]), window[1]

    # changes

    def _change(self, call: ToolCall, action: Action, text: str) -> list[str]:
        if isinstance(action, Delete):
            return self._table.delete(action, self._step)
        if isinstance(action, Move):
            return self._table.move(action, self._step)
        if not isinstance(action, ContentChange):
            return []
        window = self._window(text)
        path = self._table.key(window[0] if window else action.path)
        if not path:
            return []
        new = path not in self._table.files
        file = self._table.file(path, action.path or path)
        whole, snippet = file.content.complete, results.snippet(text) if isinstance(action, Edit) else {}
        certain = file.apply(action, shown=window is not None)
        if window and window[1].lines:
            file.show(window[1].lines, window[1].total, certain=certain, whole=whole)
        elif snippet:
            file.show_snippet(action, snippet, certain=certain)
        elif not certain:
            file.suspect(UNFOLLOWED)
        created = isinstance(action, Write) and (new or file.state == "deleted")
        file.state = "created" if created or file.state == "created" else "edited"
        file.pure, file.changer, file.changed = False, call, self._step.at or file.changed
        file.later = self._step.episode is None
        self._changed.add(path)
        self._note(file, whole=isinstance(action, Write))
        self._table.others(path)
        return [path]

    def _doubt(self, path: str, reason: str) -> None:
        self._table.doubt(self._table.key(path), reason, self._step.place)

    def _note(self, file: Tracked, *, whole: bool) -> None:
        """Note when and where something of a file's content was last told."""
        now, open_ = self._step.at, self._step.episode is None
        file.seen, file.known = file.seen or now, now or file.known
        file.touched = self._step.place
        file.episode = file.episode if open_ else self._step.episode
        file.shown = open_ and (whole or file.shown)


def _by_path(reached: Iterable[tuple[str, Action]]) -> dict[str, list[Action]]:
    found: dict[str, list[Action]] = {}
    for path, action in reached:
        found.setdefault(path, []).append(action)
    return found


def _depends_on_order(calls_: Sequence[Sequence[Action]]) -> bool:
    """Return whether a file that calls of one message changed is another if they ran in another order than theirs.

    Edits of texts that have nothing in common do not depend on it, and neither does what is read before a change.
    """
    changing = [[action for action in actions if not isinstance(action, Read)] for actions in calls_]
    changing = [actions for actions in changing if actions]
    return any(
        not (isinstance(mine, Edit) and isinstance(theirs, Edit)) or mine.overlaps(theirs)
        for place, actions in enumerate(changing)
        for later in changing[place + 1 :]
        for mine in actions
        for theirs in later
    )


def _text(result: Message | None) -> str:
    """Return the text of a result, with the line ends that files have, not those of a terminal."""
    return "" if result is None else result.text.replace("\r\n", "\n")
