"""A virtual file system that records what is written and synced, and the files that a power cut may leave of it.

A write is on the disk for sure once its file was synced. Until then a cut may drop it, keep it or tear it: of the
sectors of 512 bytes that it touches, each may or may not be there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

import apsw

from tidal_plugins.storage.sqlite import pages

SECTOR = 512
NAME = "tidal-recording"

Fate = Literal["dropped", "kept", "torn"]


class Step(NamedTuple):
    """A change of a file: bytes written at a place, its new size, a sync, or its end."""

    kind: Literal["write", "truncate", "sync", "delete"]
    file: str
    place: int = 0
    data: bytes = b""


class Trace(apsw.VFS):
    """Passes everything on to the disk, and notes it. It is the default of the process from then on, and
    stands below the checksums of pages."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._real = apsw.vfs_names()[0]
        super().__init__(NAME, self._real, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self._real, name, flags, self.steps)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        self.steps.append(Step("delete", os.path.basename(filename)))  # noqa: PTH119 (for each call, so cheaply)


class _File(apsw.VFSFile):
    def __init__(self, real: str, name: Any, flags: list[int], steps: list[Step]) -> None:
        self._steps = steps
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = os.path.basename(path or "")  # noqa: PTH119 (as above; a temporary file has no name)
        super().__init__(real, name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        self._note(Step("write", self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self._note(Step("truncate", self._name, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._note(Step("sync", self._name))

    def _note(self, step: Step) -> None:
        if self._name:
            self._steps.append(step)


@contextmanager
def recorded() -> Iterator[list[Step]]:
    """Record what every SQLite file that is opened inside does."""
    trace = _trace()
    trace.steps = []
    yield trace.steps


@cache
def _trace() -> Trace:
    trace = Trace()
    pages.load()
    return trace


def left_by_cut(steps: Sequence[Step], fate: Fate, dice: Random) -> dict[str, bytes]:
    """Return the files as a power cut after these steps may leave them, by name.

    What was synced is there. Of the rest everything is ``dropped``, or ``kept``, or ``torn`` by chance.
    """
    last = {step.file: number for number, step in enumerate(steps) if step.kind in ("sync", "delete")}
    files: dict[str, bytearray] = {}
    for number, step in enumerate(steps):
        if step.kind == "delete":
            files.pop(step.file, None)
        elif number <= last.get(step.file, -1) or fate == "kept" or (fate == "torn" and dice.random() < 0.5):
            _apply(files.setdefault(step.file, bytearray()), step, None)
        elif fate == "torn":
            _apply(files.setdefault(step.file, bytearray()), step, dice)
    return {name: bytes(data) for name, data in files.items()}


def _apply(data: bytearray, step: Step, dice: Random | None) -> None:
    """Change a file; with ``dice`` only some sectors of it."""
    if step.kind == "truncate" and dice is None:
        del data[step.place :]
    if step.kind != "write":
        return
    start, end = step.place, step.place + len(step.data)
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        if dice is None or dice.random() < 0.5:
            if len(data) < stop:
                data.extend(bytes(stop - len(data)))
            data[start:stop] = step.data[start - step.place : stop - step.place]
        start = stop


def write(files: dict[str, bytes], folder: Path) -> None:
    """Put files into a folder, without an index of their log, which no power cut leaves."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
