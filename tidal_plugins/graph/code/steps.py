"""Steps: what each call of an episode did to a file, with what was known of it before and after."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidal_plugins.actions.calls import Action, Delete, Edit, Move, Read, Tools, actions, known, reached, shell_command
from tidal_plugins.actions.commands import read_command
from tidal_plugins.actions.files import Content, Files, Followed, Said, Tracked
from tidal_plugins.actions.paths import within
from tidal_plugins.graph.code.project import Project
from tidal_plugins.model.exchange import Message, ToolCall
from tidal_plugins.patterns import lazy_re

MAX_CALLS = 2_000
"""Calls of one episode that are followed. The longest turn of the trajectories that were looked at has 120."""
MAX_LISTED = 50_000
"""Characters of a result in which paths are looked for: a listing of a thousand files."""
MAX_TEXT = 1_000_000
"""Characters of a result, or of an argument, that are read. A longer one is data; parsing ends far below."""


_PATH = lazy_re(r"(?<![\w/.-])(?:\.?/)?(?:[\w.-]{1,60}/){1,12}[\w.-]{1,60}\.[a-z]{1,4}\b")


@dataclass(frozen=True, slots=True)
class Step:
    """What one call did to one file.

    Attributes:
        path: the file's path.
        number: the number of the call among all of the episode.
        place: the place of the message that calls.
        call: the number of the call in its message.
        result: the place of the message with the result, or ``None``.
        before: the content as it was known before.
        after: the content as it is known now, or ``None`` for one that cannot be told.
        edits: the old and new texts of the edits, for a content that cannot be told.
        gone: whether the file is deleted or moved away.
        moved: the path that the file was moved from.
        read: whether the call only showed it.
        numbered: whether it showed it with numbers before the lines.
    """

    path: str
    number: int
    place: int
    call: int
    result: int | None
    before: Content
    after: Content | None
    edits: tuple[tuple[str, str], ...] = ()
    gone: bool = False
    moved: str | None = None
    read: bool = False
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ran in a shell, and its output: the message at ``place`` called, that at ``result`` answered."""

    command: str
    number: int
    place: int
    result: int


class Steps:
    """Follows the calls of the messages of an episode, from number ``done`` on."""

    def __init__(self, messages: Sequence[Message], project: Project, extra: Tools, done: int) -> None:
        self._messages = [_waiting(message) for message in messages]
        self._project = project
        self._extra = extra
        self._done = done
        self._places = {id(message): place for place, message in enumerate(self._messages)}
        self._files: Files
        self._contents: dict[str, Content] = {}
        self.count = done

    def run(self) -> Iterator[Step | Ran]:
        """Yield the steps in order. ``count`` is how many calls were followed so far.

        Calls of the last message that were not answered yet are left for the time when the turn has grown.
        """
        said = self._undone()
        last = max((place for place, message in enumerate(said) if message.tool_calls), default=-1)
        self._prepare(said)
        for followed in self._files.follow([Said(message) for message in said]):
            if followed.result is None and followed.place == last:
                return
            yield from self._steps(followed)
            yield from self._ran(followed)
            self.count += 1

    def _undone(self) -> list[Message]:
        """Return the messages without the calls that were followed before, and those beyond the limit."""
        left, seen = [], 0
        for message in self._messages:
            calls = message.tool_calls
            kept = calls[max(0, self._done - seen) : max(0, MAX_CALLS - seen)]
            seen += len(calls)
            plain = message if kept == calls else replace(message, tool_calls=kept)
            self._places[id(plain)] = self._places[id(message)]
            left.append(plain)
        return left

    def _prepare(self, said: Sequence[Message]) -> None:
        """Read what is known of the files that the calls name."""
        paths = {path for message in said for call in message.tool_calls for path in self._named(call)}
        self._project.note_folders([*paths, *self._listed(said)])
        self._project.load([*paths, *map(self._project.place, paths)])
        self._files = Files(self._extra, self._project.root)
        for path in paths:
            place = self._project.place(path)
            file = self._project.file(place)
            if file is not None and file.lines:
                self._files.files[place] = Tracked(place, file.content)
                self._contents[place] = file.content

    def _listed(self, said: Sequence[Message]) -> Iterator[str]:
        """Yield the paths in results, such as those of a listing, which tell the folders of the project."""
        for message in said:
            if message.role == "tool":
                yield from _PATH.findall(message.text[:MAX_LISTED])

    def _named(self, call: ToolCall) -> Iterator[str]:
        tool = known(call.name, self._extra)
        command = shell_command(call, tool)
        did: Collection[Action] = ()
        if command is not None:
            did = read_command(command).actions
        elif tool is not None:
            did = actions(call, tool)
        for action in did:
            yield from filter(None, reached(action))
            if isinstance(action, Move | Delete) and action.path:
                yield from self._project.below(self._project.place(action.path))

    def _steps(self, followed: Followed) -> Iterator[Step]:
        calls = self._messages[followed.place].tool_calls
        number = next(number for number, call in enumerate(calls) if call is followed.call)
        result = None if followed.result is None else self._places.get(id(followed.result))
        by_path: dict[str, list[Action]] = {}
        for path, action in followed.reached:
            by_path.setdefault(path, []).append(action)
        for path, did in by_path.items():
            yield self._step(path, did, followed, number, result)

    def _ran(self, followed: Followed) -> Iterator[Ran]:
        command = shell_command(followed.call, known(followed.call.name, self._extra))
        if command is not None and followed.result is not None:
            yield Ran(command, self.count, followed.place, self._places[id(followed.result)])

    def _step(self, path: str, did: Sequence[Action], followed: Followed, call: int, result: int | None) -> Step:
        tracked = self._files.files[path]
        place = self._project.place(path)
        before = self._contents.get(place, Content())
        move = next((action for action in did if isinstance(action, Move)), None)
        doubted = tracked.doubt and not tracked.weak and move is None
        after = None if doubted or not tracked.content.lines else _copy(tracked.content)
        self._contents[place] = after or Content()
        gone = tracked.state == "deleted"
        source = self._project.place(_source(path, move)) if move and not gone else None
        return Step(
            path=place,
            number=self.count,
            place=followed.place,
            call=call,
            result=result,
            before=before,
            after=after,
            edits=tuple(_texts(did)),
            gone=gone,
            moved=source if source != place else None,
            read=all(isinstance(action, Read) for action in did),
            numbered=tracked.numbered,
        )


def _source(path: str, move: Move) -> str:
    """Return the path from which a move brought a file: into a folder, or to another name of it."""
    inside = f"{move.to}/{move.path.rpartition('/')[2]}"
    to = inside if within(path, inside) else move.to
    return move.path + path[len(to) :]


def _texts(did: Collection[Action]) -> Iterator[tuple[str, str]]:
    return ((action.old or "", action.new) for action in did if isinstance(action, Edit))


def _copy(content: Content) -> Content:
    return Content(dict(content.lines), content.total, content.ends)


def _waiting(message: Message) -> Message:
    """Return a message without the texts that are too long to be read."""
    if len(message.text) > MAX_TEXT:
        message = replace(message, text="")
    if any(len(call.text) > MAX_TEXT for call in message.tool_calls):
        calls = tuple(replace(call, arguments=_short(call.arguments)) for call in message.tool_calls)
        message = replace(message, tool_calls=calls)
    return message


def _short(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if not isinstance(value, str) or len(value) <= MAX_TEXT}
