"""Kills: a process that uses a memory is killed at a random instant, again and again on the same files.

It tells over a pipe which call it begins, and which has returned. Afterwards each call that had returned must be there,
the one under way wholly or not at all, ``memory.check()`` must find nothing, and no byte may be left of what was
forgotten.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.trust.life import Event, Ledger, choose, do, open_memory

KILLS = 300
PER_FILE = 25
"""Kills that one file suffers before a new one is begun."""
LONGEST = 0.15
"""Seconds after which a process is killed at the latest, after it has told as much as it was to tell."""
MOST_TOLD = 12
"""Events that a process tells at most before the time of its death is drawn. Some die while they open the file."""


@dataclass(slots=True)
class Killed:
    """Counts of kills, by the call that was under way, and of what they did."""

    kills: int = 0
    acknowledged: int = 0
    during: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    half: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    residue: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not (self.lost or self.half or self.faults or self.residue)


def run(kills: int, console: Console) -> bool:
    """Kill processes, print what came of it, and return whether nothing was lost."""
    begun = time.monotonic()
    killed = kill(kills)
    table = Table("what", "count", title="Kills (SIGKILL)")
    table.add_row("kills", f"{killed.kills:,}")
    table.add_row("calls acknowledged before them", f"{killed.acknowledged:,}")
    for kind, count in killed.during.most_common():
        table.add_row(f"  killed during {kind}", f"{count:,}")
    table.add_row("acknowledged and lost", f"{len(killed.lost):,}")
    table.add_row("left half done", f"{len(killed.half):,}")
    table.add_row("faults that check() found", f"{len(killed.faults):,}")
    table.add_row("forgotten and left in the bytes", f"{len(killed.residue):,}")
    console.print(table)
    for line in (*killed.lost, *killed.half, *killed.faults, *killed.residue)[:20]:
        console.print(f"  {line}", markup=False)
    console.print(f"Goal: none of the last four. {time.monotonic() - begun:.0f} s")
    return killed.good


def kill(kills: int, seed: int = 21) -> Killed:
    """Kill that many processes."""
    dice, killed = Random(seed), Killed()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with TemporaryDirectory(prefix="tidal-kills-") as folder:
        for number in range(kills):
            if number % PER_FILE == 0:
                path, ledger = Path(folder, f"{number}.db"), Ledger()
            receiver, sender = context.Pipe(duplex=False)
            life = context.Process(
                target=_live, args=(path, dice.random(), number * 1000, dict(ledger.texts), sender), daemon=True
            )
            life.start()
            sender.close()
            for event in _told(life, receiver, dice):
                ledger.add(event)
                killed.acknowledged += event.done
            killed.kills += 1
            killed.during["opening or between calls" if ledger.begun is None else ledger.begun.kind] += 1
            _look(path, ledger, killed)
    return killed


def _told(life: multiprocessing.process.BaseProcess, receiver: Connection, dice: Random) -> Iterator[Event]:
    """Yield what a process tells until it is killed, and what it had told by then."""
    for _ in range(dice.randrange(MOST_TOLD)):
        yield receiver.recv()
    time.sleep(dice.uniform(0, LONGEST))
    if life.exitcode is not None:
        raise AssertionError(f"a process ended by itself with {life.exitcode}")
    life.kill()
    life.join()
    try:
        while True:
            yield receiver.recv()
    except (EOFError, OSError):
        receiver.close()


def _live(path: Path, seed: float, first: int, forgettable: dict[int, tuple[str, ...]], sender: Connection) -> None:
    """Use a memory without end, and tell each call before and after it."""
    dice = Random(seed)
    with open_memory(path, background=True) as memory:
        for number in range(first, 10**9):
            deed = choose(dice, number, forgettable)
            sender.send(Event(deed, False))
            ids = do(memory, deed)
            sender.send(Event(deed, True, ids))
            if ids:
                forgettable[number] = ids


def _look(path: Path, ledger: Ledger, killed: Killed) -> None:
    """Compare what a process left with what it had told."""
    with open_memory(path) as memory:
        killed.faults += [f"{path.name}: {fault}" for fault in memory.check().faults]
        killed.lost += ledger.lost(memory)
        killed.half += ledger.settle(memory)
    killed.residue += ledger.residue(path)
