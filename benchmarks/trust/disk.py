"""Faults of the disk: SQLite's nth read, write, sync or truncation fails, once or until the call has ended.

The call must raise an error of the library, or return. Afterwards, with the same object, everything acknowledged must
be there, the call must succeed, and ``memory.check()`` must find nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, get_args

import apsw
from rich.console import Console
from rich.table import Table

from benchmarks.trust.life import WORKERS, Deed, Event, Ledger, choose, do, each, open_memory, quiet
from tidal_plugins import TidalError, TidalMemory
from tidal_plugins.storage.sqlite import opening

FAULTS = 400
PER_FILE = 20
"""Faults that one file suffers before a new one is begun."""
SETTLED = 40
"""Calls before the first fault."""
TRIES = 12
"""Calls within which a fault must have struck, else another is drawn."""
BEFORE: Final[dict[Operation, int]] = {"read": 4, "write": 60, "sync": 6, "truncate": 3, "full": 60}
"""Operations that go well before the fault, at most: some two or three calls."""
LASTING = 0.5
"""Share of the faults that last until the call has ended."""


@dataclass(slots=True)
class Outcome:
    """What came of the faults of one operation: how the calls ended, and what was wrong afterwards."""

    faults: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    half: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    residue: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        self.faults += other.faults
        self.ended += other.ended
        for name in ("lost", "half", "found", "residue", "broken"):
            getattr(self, name).extend(getattr(other, name))

    @property
    def wrong(self) -> list[str]:
        return [*self.lost, *self.half, *self.found, *self.residue, *self.broken]


def run(faults: int, console: Console, workers: int = WORKERS) -> bool:
    """Let the disk fail, print what came of it, and return whether nothing was lost."""
    begun = time.monotonic()
    outcomes = fail(faults, workers)
    table = Table("fault of", "faults", "calls ended with", "lost", "half", "found", "in bytes", "broken")
    table.title = "Faults of the disk"
    for operation, one in outcomes.items():
        ended = ", ".join(f"{name} {count}" for name, count in one.ended.most_common())
        counts = (one.lost, one.half, one.found, one.residue, one.broken)
        table.add_row(operation, f"{one.faults:,}", ended, *(f"{len(count):,}" for count in counts))
    console.print(table)
    wrong = [line for one in outcomes.values() for line in one.wrong]
    for line in wrong[:20]:
        console.print(f"  {line}", markup=False)
    console.print(
        "found: by check(). in bytes: forgotten, and still in the file. broken: an error that is not the library's, or "
        f"a memory that is of no use afterwards. Goal: none of these. {time.monotonic() - begun:.0f} s"
    )
    return not wrong


def fail(faults: int, workers: int) -> dict[Operation, Outcome]:
    """Let the disk fail that many times, and return what came of it by operation."""
    outcomes: dict[Operation, Outcome] = {operation: Outcome() for operation in get_args(Operation)}
    with TemporaryDirectory(prefix="tidal-disk-") as folder:
        files = [(Path(folder, f"{start}.db"), min(PER_FILE, faults - start)) for start in range(0, faults, PER_FILE)]
        for found in each(suffer, files, workers):
            for operation, outcome in found.items():
                outcomes[operation].add(outcome)
    return outcomes


@quiet()
def suffer(file: tuple[Path, int]) -> dict[Operation, Outcome]:
    """Let the disk fail under one file so many times, and return what came of it."""
    path, faults = file
    life = _Life(path, Random(path.name), {operation: Outcome() for operation in get_args(Operation)})
    with faulty() as disk, open_memory(path) as memory:
        for number in range(SETTLED):
            life.acknowledge(memory, life.choose(number))
        struck, number = 0, SETTLED
        while struck < faults:
            number += TRIES
            operation = list(BEFORE)[struck % len(BEFORE)]
            struck += life.strike(memory, disk, operation, number)
    outcome = life.outcomes["write"]
    outcome.residue += life.ledger.residue(path)
    with open_memory(path) as memory:
        outcome.lost += life.ledger.lost(memory)
        outcome.found += [str(fault) for fault in memory.check().faults]
    return life.outcomes


@dataclass(slots=True)
class _Life:
    path: Path
    dice: Random
    outcomes: dict[Operation, Outcome]
    ledger: Ledger = field(default_factory=Ledger)
    forgettable: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def choose(self, number: int, operation: Operation | None = None) -> Deed:
        """Choose a call. Only forgetting truncates files."""
        deed = choose(self.dice, number, self.forgettable)
        while operation == "truncate" and deed.kind != "forget":
            deed = choose(self.dice, number, self.forgettable)
        return deed

    def acknowledge(self, memory: TidalMemory, deed: Deed) -> None:
        self.ledger.add(Event(deed, False))
        ids = do(memory, deed)
        self.ledger.add(Event(deed, True, ids))
        if ids:
            self.forgettable[deed.number] = ids

    def strike(self, memory: TidalMemory, disk: Faulty, operation: Operation, first: int) -> bool:
        """Make calls until the disk has failed, and look what came of it. Return whether it has."""
        lasting = self.dice.random() < LASTING
        disk.fault = fault = Fault(operation, self.dice.randrange(BEFORE[operation]), lasting)
        for number in range(first, first + TRIES):
            if operation == "truncate" and not self.forgettable:
                break
            deed = self.choose(number, operation)
            ended = self._end(memory, deed)
            if fault.failed:
                disk.fault = None
                self._look(memory, deed, ended, self.outcomes[operation])
                return True
        disk.fault = None
        return False

    def _end(self, memory: TidalMemory, deed: Deed) -> str:
        """Make a call, and return how it ended."""
        try:
            self.acknowledge(memory, deed)
        except TidalError as error:
            return type(error).__name__
        except Exception as error:
            return f"{error!r} (not the library's)"
        return "success"

    def _look(self, memory: TidalMemory, deed: Deed, ended: str, outcome: Outcome) -> None:
        outcome.faults += 1
        outcome.ended[ended] += 1
        if "(" in ended:
            outcome.broken.append(ended)
        try:
            outcome.lost += self.ledger.lost(memory)
            outcome.half += self.ledger.settle(memory)
            outcome.found += [str(fault) for fault in memory.check().faults]
        except TidalError as error:
            outcome.broken.append(f"after {ended} in {deed.kind}: {error!r}")


# a virtual file system whose disk fails on demand


NAME = "tidal-faulty"

Operation = Literal["read", "write", "sync", "truncate", "full"]

CODES: Final[dict[Operation, int]] = {
    "read": apsw.SQLITE_IOERR_READ,
    "write": apsw.SQLITE_IOERR_WRITE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
}


@dataclass(slots=True)
class Fault:
    """A fault of an operation: how many go well before it, whether all after it fail, too, and how many have failed.

    ``full`` is a write for which no space is left.
    """

    operation: Operation
    before: int
    lasting: bool
    failed: int = 0

    def strike(self) -> None:
        """Raise SQLite's error if it is time."""
        if self.before:
            self.before -= 1
        elif self.lasting or not self.failed:
            self.failed += 1
            if self.operation == "full":
                raise apsw.FullError("no space is left")
            error = apsw.IOError(f"the disk failed to {self.operation}")
            error.extendedresult = CODES[self.operation]  # type: ignore[attr-defined]
            raise error


class Faulty(apsw.VFS):
    """Passes everything on to the disk but what its fault hits. It is the default of the process from then on,
    and stands below the checksums of pages."""

    def __init__(self) -> None:
        self.fault: Fault | None = None
        self._real = apsw.vfs_names()[0]
        super().__init__(NAME, self._real, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self._real, name, flags, self)

    def strike(self, *operations: Operation) -> None:
        """Fail if it is time for one of the operations to."""
        if self.fault is not None and self.fault.operation in operations:
            self.fault.strike()


class _File(apsw.VFSFile):
    def __init__(self, real: str, name: Any, flags: list[int], disk: Faulty) -> None:
        self._disk = disk
        super().__init__(real, name, flags)

    def excepthook(self, *_: object) -> bool:
        return True  # SQLite has the error already, and goes on without what it could not do

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.strike("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self._disk.strike("write", "full")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.strike("sync")
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.strike("truncate")
        super().xTruncate(newsize)


@contextmanager
def faulty() -> Iterator[Faulty]:
    """Let every SQLite file that is opened inside stand on a disk that may fail."""
    disk = _disk()
    try:
        yield disk
    finally:
        disk.fault = None


@cache
def _disk() -> Faulty:
    disk = Faulty()
    opening.load()
    return disk
