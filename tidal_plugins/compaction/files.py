"""Files that the agent had read, put back after a compaction [SIYA §2.3]."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import NamedTuple

from tidal_plugins.english.secrets import secrets
from tidal_plugins.model.compaction import RestoredFile, Size
from tidal_plugins.model.exchange import Message, ToolCall
from tidal_plugins.protocols import TokenCounter
from tidal_plugins.summarising.sizes import measure
from tidal_plugins.tuning import CompactionTuning

CUT = "\n[… the rest of this reading is left out; read the file again for it]"


class Said(NamedTuple):
    """A message of the history before a compaction, with its episode (none yet for the ongoing turn) and its time."""

    message: Message
    episode: str | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Files:
    """Chooses what to restore."""

    settings: CompactionTuning
    counter: TokenCounter

    def restored(self, said: Sequence[Said], room: Size, limit: Size) -> tuple[RestoredFile, ...]:
        """Return the files to put back, best first, in at most ``room`` of a context of ``limit``.

        Only successful readings among the last messages count, and no file that was mentioned to another tool since
        (it may have been written), that the ongoing turn has read itself, or that has a secret in it. Score: the time
        when it was first read, in milliseconds, less 1,000 for each reading.
        """
        window = said[-self.settings.file_window :] if self.settings.file_window else ()
        found = sorted(self._found(window), key=_score, reverse=True)
        chosen: list[RestoredFile] = []
        for file in found:
            if len(chosen) == self.settings.max_files:
                break
            fitted = self._fitted(file, limit * self.settings.file, room)
            if fitted:
                chosen.append(fitted)
                room = room - weight(fitted, self.counter)
        return tuple(chosen)

    def _found(self, window: Sequence[Said]) -> Iterable[RestoredFile]:
        pending: dict[str | None, tuple[ToolCall, str]] = {}
        found: dict[str, RestoredFile | None] = {}  # by path; None for a file that may have changed since
        for message, episode, at in window:
            paths = [(call, path) for call in message.tool_calls if (path := self._path(call))]
            pending |= {call.id: (call, path) for call, path in paths}
            others = [_told(call) for call in message.tool_calls if not self._path(call)]
            for path in {*found, *(path for _, path in pending.values())} if others else ():
                if any(_mentions(told, path) for told in others):
                    found[path] = None
                    pending = {id_: each for id_, each in pending.items() if each[1] != path}
            if message.role == "tool" and message.tool_call_id in pending:
                call, path = pending.pop(message.tool_call_id)
                if episode is None or at is None or message.error or not message.text.strip():
                    found[path] = None  # the ongoing turn shows it, or it is not there any more
                else:
                    found[path] = _read(call, path, message.text, episode, at, found.get(path))
        fit = [file for file in found.values() if file and not self._of_the_system(file.path)]
        return [file for file in fit if not secrets(file.content)]  # a masked copy might be written back

    def _path(self, call: ToolCall) -> str | None:
        """Return the path of the file that a call reads, or ``None`` for a call that does something else."""
        if call.name not in self.settings.read_tools:
            return None
        named = (call.arguments.get(name) for name in self.settings.path_arguments)
        path = next((path for path in named if isinstance(path, str) and path), None)
        return posixpath.normpath(path.replace("\\", "/")) if path else None

    def _of_the_system(self, path: str) -> bool:
        return not set(PurePosixPath(path.casefold()).parts).isdisjoint(self.settings.system_paths)

    def _fitted(self, file: RestoredFile, cap: Size, room: Size) -> RestoredFile | None:
        """Return the file as it fits, cut at a line if need be, or ``None`` if nothing of it would be left."""
        most = cap.at_most(room)
        if weight(file, self.counter).within(most):
            return file
        lines = file.content.splitlines(keepends=True)
        low, high = 0, len(lines)
        while low < high:  # the most lines that fit
            middle = (low + high + 1) // 2
            if weight(_cut(file, lines[:middle]), self.counter).within(most):
                low = middle
            else:
                high = middle - 1
        return _cut(file, lines[:low]) if low else None


def weight(file: RestoredFile, counter: TokenCounter) -> Size:
    """Return the size of a restored file: of the call and its result."""
    return sum((measure(message, counter) for message in file.messages), Size())


def _read(
    call: ToolCall, path: str, content: str, episode: str, seen: datetime, before: RestoredFile | None
) -> RestoredFile:
    digest = blake2b(repr((episode, call.id, path)).encode(errors="surrogatepass"), digest_size=12).hexdigest()
    file = RestoredFile(f"call_{digest}", call.name, path, dict(call.arguments), content, episode, seen)
    return replace(file, seen=before.seen, reads=before.reads + 1) if before else file


def _score(file: RestoredFile) -> float:
    return file.seen.timestamp() * 1000 - file.reads * 1000


def _told(call: ToolCall) -> str:
    return "\n".join(_texts(call.arguments))


def _mentions(told: str, path: str) -> bool:
    """Return whether a tool's arguments mention a file: by its path, or by its name as in a command."""
    name = PurePosixPath(path).name or path
    return path in told or re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", told) is not None


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, Collection):
        for item in value:
            yield from _texts(item)


def _cut(file: RestoredFile, lines: Sequence[str]) -> RestoredFile:
    return replace(file, content="".join(lines).rstrip("\n") + CUT, cut=True)
