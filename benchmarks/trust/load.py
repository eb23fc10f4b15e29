"""Load: many writers of one file at once. What is lost, how long does a write wait, and does an event loop stall?

The embedder is one of hashes, so that the lock and the disk are measured and not a model. Times mean little on a busy
machine: beside the time of ``record`` stands that of bare SQLite commits, made in the same way in the same run.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.embedders import CachedEmbedder
from benchmarks.trust.load_work import Written, commit_bare, hold_lock, opened, record_turns, resident
from tidal_plugins.storage.sqlite.opening import WAL_BYTES

PROCESSES, TURNS = 8, 500
THREADS, TURNS_OF_THREAD = 50, 20
SOAKED = 2_400
"""Turns of the soak; each is also asked about."""
HELD = 3.0
"""Seconds for which another process holds the write lock while an event loop works."""

SLOWEST: Final = 0.25
"""Goal: seconds that 99 of 100 writes stay below, with 8 processes on a machine that does nothing else."""
STALL: Final = 0.05
"""Goal: the longest stall of an event loop, in seconds."""
GROWTH: Final = 1.1
"""Goal: the memory of the process at the end of the soak, in that of half of it."""
BEAT = 0.001
LOOK = 0.02
"""Seconds between two looks at the size of the log."""


@dataclass
class Load:
    """What came of a load: what was acknowledged and is not there, errors, seconds of each write, bytes of the log."""

    lost: int
    errors: list[str]
    seconds: list[float] = field(repr=False)
    log_bytes: int = 0

    def at(self, share: float) -> float:
        """Return the seconds that a share of the writes took at most."""
        ordered = sorted(self.seconds)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def run(embedder: CachedEmbedder, data: Path | None, console: Console) -> bool:
    """Put every load on a new file, and return whether the goals are met."""
    with TemporaryDirectory(prefix="tidal-load-") as folder:
        bare = of_processes(Path(folder, "bare.db"), PROCESSES, TURNS, commit_bare)
        loads = {
            f"{PROCESSES} processes × {TURNS} bare commits": bare,
            f"{PROCESSES} processes × {TURNS} records": of_processes(Path(folder, "a.db"), PROCESSES, TURNS),
            f"{THREADS} threads × {TURNS_OF_THREAD} records": of_threads(
                Path(folder, "b.db"), THREADS, TURNS_OF_THREAD
            ),
        }
        stalls = asyncio.run(stalled(Path(folder, "c.db"), HELD))
        memory = soaked(Path(folder, "d.db"), SOAKED)
    table = Table("load", "lost", "errors", "p50 ms", "p99 ms", "max ms", "p99 in bare", "log MiB")
    for name, load in loads.items():
        times = (f"{1000 * load.at(share):.1f}" for share in (0.5, 0.99, 1.0))
        ratio = f"{load.at(0.99) / bare.at(0.99):.1f}"
        table.add_row(name, str(load.lost), str(len(load.errors)), *times, ratio, f"{load.log_bytes / 2**20:.1f}")
    console.print(table)
    for error in [*dict.fromkeys(error for load in loads.values() for error in load.errors)][:10]:
        console.print(error, markup=False)
    stall, idle = stalls
    console.print(f"Longest stall of an event loop while another process holds the lock: {1000 * stall:.1f} ms", end="")
    console.print(f" ({1000 * idle:.1f} ms while nothing is done)")
    console.print(f"Memory in MiB over a soak of {SOAKED:,} turns: {', '.join(f'{one / 2**20:.0f}' for one in memory)}")
    console.print(
        f"Goals: nothing lost, no error, p99 of {PROCESSES} processes ≤ {1000 * SLOWEST:.0f} ms, stalls "
        f"≤ {1000 * STALL:.0f} ms, log ≤ {WAL_BYTES / 2**20:.0f} MiB, memory ≤ {GROWTH:.0%} of half time."
    )
    ours = list(loads.values())[1:]
    return (
        not any(load.lost or load.errors or load.log_bytes > WAL_BYTES for load in ours)
        and ours[0].at(0.99) <= SLOWEST
        and stall <= STALL
        and memory[-1] <= GROWTH * memory[len(memory) // 2]
    )


Work = Callable[[str, str, int, Any], Written]
"""Writes to a file, under a name, so many times, and begins when all others are there."""


def of_processes(path: Path, processes: int, turns: int, work: Work = record_turns) -> Load:
    """Have processes write to one file at once."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        together = manager.Barrier(processes)
        with context.Pool(processes) as pool, _Watched(path) as log:
            names = [f"p{number}" for number in range(processes)]
            found = pool.starmap(work, [(str(path), name, turns, together) for name in names])
    return _load(path, found, log.most, work is record_turns)


def of_threads(path: Path, threads: int, turns: int) -> Load:
    """Have threads of this process write to one file at once, through one memory."""
    together = threading.Barrier(threads)
    with opened(str(path)) as memory, ThreadPoolExecutor(threads) as pool, _Watched(path) as log:
        found = [
            pool.submit(record_turns, str(path), f"t{number}", turns, together, memory=memory)
            for number in range(threads)
        ]
        written = [one.result() for one in found]
    return _load(path, written, log.most, True)


def _load(path: Path, found: Iterable[Written], log_bytes: int, ours: bool) -> Load:
    written = list(found)
    acknowledged = [id_ for one in written for id_ in one.ids]
    lost = 0
    if ours:
        with opened(str(path)) as memory:
            there = {episode.id for episode in memory.episodes.list()}
            lost = len(set(acknowledged) - there) + len(acknowledged) - len(set(acknowledged))
    errors, seconds = [error for one in written for error in one.errors], [s for one in written for s in one.seconds]
    return Load(lost, errors, seconds, log_bytes)


async def stalled(path: Path, held: float) -> tuple[float, float]:
    """Return the longest stall of an event loop, in seconds, while the async methods wait for the write lock, which
    another process holds; and that of a loop that does nothing for as long."""
    context = multiprocessing.get_context("spawn")
    with opened(str(path)) as memory:
        await memory.arecord("The ferry to the island leaves at nine.", "Noted.", thread="first")
        idle = await _longest(asyncio.sleep(held))
        ready = context.Event()
        holder = context.Process(target=hold_lock, args=(str(path), held, ready))
        holder.start()
        await asyncio.to_thread(ready.wait)
        work = asyncio.gather(
            *(memory.arecord(f"The ferry number {n} is late.", "Noted.", thread=f"t{n}") for n in range(4)),
            *(memory.arecall(f"Is the ferry number {n} late?") for n in range(4)),
            *(memory.awhisper(f"When does the ferry number {n} leave?") for n in range(4)),
            memory.aremember("The quay is closed on Mondays."),
            memory.facts.aset("harbour", "closed"),
            memory.signals.aadd("like", (await memory.arecall("ferry")).ids[0]),
            memory.capsule.aread(),
            memory.astats(),
        )
        stall = await _longest(work)
        await asyncio.to_thread(holder.join)
    return stall, idle


async def _longest(work: Any) -> float:
    """Return the longest time between two beats of the loop in which it had no turn, until ``work`` is done."""
    longest, task = 0.0, asyncio.ensure_future(work)
    while not task.done():
        before = time.perf_counter()
        await asyncio.sleep(BEAT)
        longest = max(longest, time.perf_counter() - before - BEAT)
    await task
    return longest


def soaked(path: Path, turns: int, parts: int = 6) -> Sequence[int]:
    """Record turns and ask about each; return the bytes of memory of this process after each part of them."""
    found = []
    with opened(str(path)) as memory:
        for number in range(turns):
            memory.record(f"Crate {number} stands in row {number % 97}.", "Noted.", thread=f"day {number // 50}")
            memory.recall(f"Where does crate {number // 2} stand?")
            if (number + 1) % (turns // parts) == 0:
                found.append(resident())
    return found


class _Watched:
    """Looks at the size of a file's log again and again. ``most`` is the largest that it saw."""

    def __init__(self, path: Path) -> None:
        self.most = 0
        self._log = f"{path}-wal"
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> _Watched:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(LOOK):
            if os.path.exists(self._log):  # noqa: PTH110 (it may be gone at any moment)
                self.most = max(self.most, Path(self._log).stat().st_size)
