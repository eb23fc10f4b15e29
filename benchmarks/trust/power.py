"""Power cuts: a life is recorded at the file system, and cut at random points of it.

Of what was written and not synced, a cut drops everything, keeps everything or tears it. The files that it leaves are
opened; each call that had returned before the cut must be there, the one under way wholly or not at all, and
``memory.check()`` must find nothing. With ``durability="fast"`` calls may be lost, and are counted.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.trust.deeds import Deed, Event, choose, do, open_memory
from benchmarks.trust.ledger import Ledger
from benchmarks.trust.recording import Fate, Step, left_by_cut, recorded, write
from benchmarks.trust.workers import WORKERS, each, quiet
from tidal_plugins import StorageError

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
