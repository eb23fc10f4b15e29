"""Power cuts: a life is recorded at the file system, and cut at random points of it.

Of what was written and not synced, a cut drops everything, keeps everything or tears it. The files that it leaves are
opened; each call that had returned before the cut must be there, the one under way wholly or not at all, and
``memory.check()`` must find nothing. With ``durability="fast"`` calls may be lost, and are counted.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, NamedTuple

import apsw
from rich.console import Console
from rich.table import Table

from benchmarks.trust.life import WORKERS, Deed, Event, Ledger, choose, do, each, open_memory, quiet
from tidal_plugins import StorageError
from tidal_plugins.storage.sqlite import opening

CUTS = 2000
FAST = 5
"""For so many cuts with full durability there is one more without."""
PER_LIFE = 200
"""Cuts of one life; then another is lived."""
CALLS = 60
"""Calls of a life. The memory is closed and opened, which empties its log, and backed up now and then."""
REOPENED, BACKED_UP = 20, 25
NAME: Final = "life.db"
FATES: Final[tuple[Fate, ...]] = ("dropped", "kept", "torn")

Durability = Literal["full", "fast"]


class Cut(NamedTuple):
    """A power cut after so many steps of a life, which stands in a file."""

    life: Path
    after: int
    fate: Fate


class Life(NamedTuple):
    """The steps of the file system, and the events of calls, each with the number of steps before it."""

    steps: list[Step]
    events: list[tuple[int, Event]]


@dataclass(slots=True)
class Outcome:
    """What came of a cut: how many calls had been acknowledged, and what was wrong."""

    fate: Fate
    acknowledged: int
    lost: list[str] = field(default_factory=list)
    half: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not (self.lost or self.half or self.faults)


def run(cuts: int, console: Console, workers: int = WORKERS) -> bool:
    """Cut lives short, print what came of it, and return whether nothing was lost."""
    begun = time.monotonic()
    full, fast = cut(cuts, "full", workers), cut(max(cuts // FAST, 1), "fast", workers)
    table = Table("durability", "not synced is", "cuts", "with a loss", "lost", "left half done", "faults")
    table.title = "Power cuts"
    for durability, outcomes in (("full", full), ("fast", fast)):
        for fate in FATES:
            table.add_row(durability, fate, *_row([outcome for outcome in outcomes if outcome.fate == fate]))
    console.print(table)
    wrong = [line for one in full for line in (*one.lost, *one.half, *one.faults)]
    wrong += [line for one in fast for line in (*one.half, *one.faults)]
    for line in wrong[:20]:
        console.print(f"  {line}", markup=False)
    console.print(f"Goal: none, but for what «fast» loses. {time.monotonic() - begun:.0f} s")
    return not wrong


def _row(outcomes: list[Outcome]) -> list[str]:
    counts = (
        len(outcomes),
        sum(bool(one.lost) for one in outcomes),
        sum(len(one.lost) for one in outcomes),
        sum(len(one.half) for one in outcomes),
        sum(len(one.faults) for one in outcomes),
    )
    return [f"{count:,}" for count in counts]


def cut(cuts: int, durability: Durability, workers: int, seed: int = 21) -> list[Outcome]:
    """Cut lives short so many times, and return what came of it."""
    dice = Random(f"{seed} {durability}")
    with TemporaryDirectory(prefix="tidal-power-") as folder:
        points = []
        for start in range(0, cuts, PER_LIFE):
            path = Path(folder, f"{start}.life")
            life = live(Path(folder, str(start)), dice, durability)
            path.write_bytes(pickle.dumps(life))
            for number in range(min(PER_LIFE, cuts - start)):
                points.append(Cut(path, dice.randrange(len(life.steps) + 1), FATES[number % len(FATES)]))
        return list(each(partial(suffer, durability), points, workers))


def live(folder: Path, dice: Random, durability: Durability) -> Life:
    """Use a memory in a new folder, and return what was done."""
    folder.mkdir()
    events: list[tuple[int, Event]] = []
    forgettable: dict[int, tuple[str, ...]] = {}
    with recorded() as steps:
        for start in range(0, CALLS, REOPENED):
            with open_memory(folder / NAME, durability=durability) as memory:
                for number in range(start, start + REOPENED):
                    deed = Deed("backup", number) if number % BACKED_UP == 1 else choose(dice, number, forgettable)
                    events.append((len(steps), Event(deed, False)))
                    ids = do(memory, deed)
                    events.append((len(steps), Event(deed, True, ids)))
                    if ids:
                        forgettable[number] = ids
    own = (NAME, f"{NAME}-wal", f"{NAME}-journal")
    places = [0]
    for step in steps:
        places.append(places[-1] + (step.file in own))
    return Life([step for step in steps if step.file in own], [(places[number], event) for number, event in events])


@quiet()
def suffer(durability: Durability, cut: Cut) -> Outcome:
    """Open what a cut leaves of a life, and compare it with what had been acknowledged."""
    life, dice = _read(cut.life), Random(f"{cut.after} {cut.fate}")
    ledger = Ledger()
    for event in _before(life, cut.after):
        ledger.add(event)
    outcome = Outcome(cut.fate, ledger.acknowledged)
    with TemporaryDirectory(prefix="cut-", dir=cut.life.parent) as folder:
        write(left_by_cut(life.steps[: cut.after], cut.fate, dice), Path(folder))
        try:
            with open_memory(Path(folder, NAME), durability=durability) as memory:
                outcome.faults += [
                    f"{cut.life.name} {cut.after} {cut.fate}: {fault}" for fault in memory.check().faults
                ]
                outcome.lost += ledger.lost(memory)
                if not outcome.lost:
                    outcome.half += ledger.settle(memory)
        except StorageError as error:
            outcome.faults.append(f"{cut.life.name} {cut.after} {cut.fate}: {type(error).__name__}: {error}")
    return outcome


def _before(life: Life, after: int) -> Iterator[Event]:
    """Yield the events of a life before a cut."""
    for number, event in life.events:
        if number > after:
            return
        yield event


@lru_cache(maxsize=1)
def _read(path: Path) -> Life:
    life: Life = pickle.loads(path.read_bytes())
    return life


# a virtual file system that records what is written and synced
#
# A write is on the disk for sure once its file was synced. Until then a cut may drop it, keep it or tear it: of the
# sectors of 512 bytes that it touches, each may or may not be there.


SECTOR = 512
VFS = "tidal-recording"

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
        super().__init__(VFS, self._real, makedefault=True)

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
    opening.load()
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
