"""Measure the durable signals per second of a session, and what 10,000 signals add to a recall.

    python benchmarks/sessions.py --signals 10000 --json out.json

Machines differ and are noisy: signals are timed alternately with bare durable commits, and recalls with a session
alternately with recalls without one. Each figure is printed with its ratio to the other.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.table import Table

from benchmarks.metrics import quantiles
from benchmarks.synthetic import InstantEmbedder, centres
from benchmarks.timing import bare_commit, timed
from tidal_plugins import Note, TidalError, TidalMemory

ENTRIES = 10_000
SEED = 20
WORDS = [f"word{number}" for number in range(2_000)]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--signals", type=int, default=10_000, metavar="N", help="signals in the session")
    parser.add_argument("--entries", type=int, default=ENTRIES, metavar="N", help="entries in the store")
    parser.add_argument("--repeats", type=int, default=200, metavar="N", help="recalls of each kind")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures")
    args = parser.parse_args(argv)
    if args.signals < 100 or args.entries < 100 or args.repeats < 2:
        parser.error("signals and entries must be at least 100, repeats at least 2")
    try:
        figures = measure(args.signals, args.entries, args.repeats)
    except TidalError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    show(figures)
    if args.json:
        machine = {"machine": platform.platform(), "python": platform.python_version()}
        args.json.write_text(json.dumps({**machine, **figures}, indent=1), "utf-8")


def measure(signals: int, entries: int, repeats: int) -> dict[str, Any]:
    random = Random(SEED)
    with TemporaryDirectory(prefix="tidal-benchmark-") as folder:
        memory = TidalMemory(Path(folder, "memory.db"), embedder=InstantEmbedder(centres()), emotion=None)
        notes = [Note(" ".join(random.choices(WORDS, k=15)), importance=5) for _ in range(entries)]
        ids = [entry.id for entry in memory.remember(notes)]
        session, commit = memory.sessions.open(user="42", agent="planner"), bare_commit(Path(folder, "bare.db"))
        times: dict[str, list[float]] = {"bare commit": [], "signal": [], "noted signal": []}
        for number in range(signals):
            noted = number % 100 == 99
            call = _signal(session.signal, " ".join(random.choices(WORDS, k=3)) if noted else None)
            times["bare commit"] += timed(commit, ["text"])
            times["noted signal" if noted else "signal"] += timed(call, [random.choice(ids)])
        times |= recalls(memory, session.id, random, repeats)
        annotations, scored = len(session.snapshot().annotations), len(session.snapshot().entries)
        memory.close()
    calls = {name: quantiles(found) for name, found in times.items()}
    return {"signals": signals, "entries": entries, "annotations": annotations, "scored": scored, "calls": calls}


def _signal(signal: Callable[..., object], note: str | None) -> Callable[[str], object]:
    return lambda id_: signal("reward", id_, note=note)


def recalls(memory: TidalMemory, session: int, random: Random, repeats: int) -> dict[str, list[float]]:
    """Time the same queries alternately without the session and with it.

    The first recall with the session finds entries for the first time; the next one repeats it.
    """
    times: dict[str, list[float]] = {"recall": [], "recall for the session": [], "the same again": []}
    for _ in range(repeats):
        query = [" ".join(random.choices(WORDS, k=4))]
        timed(memory.recall, query)  # reads the pages that all need
        times["recall"] += timed(memory.recall, query)
        times["recall for the session"] += timed(lambda q: memory.recall(q, session=session), query)
        times["the same again"] += timed(lambda q: memory.recall(q, session=session), query)
    return times


def show(figures: dict[str, Any]) -> None:
    calls, table = figures["calls"], Table(title="Milliseconds", title_justify="left")
    for column in ("", "p50", "p95", "p50 against"):
        table.add_column(column, justify="left" if not column else "right", no_wrap=True)
    against = {"signal": "bare commit", "noted signal": "bare commit", "recall for the session": "recall"}
    for name, (p50, p95, *_) in ((name, tuple(found.values())) for name, found in calls.items()):
        base = against.get(name, "recall" if name == "the same again" else "")
        ratio = f"{p50 / next(iter(calls[base].values())):.2f} × {base}" if base else ""
        table.add_row(name, f"{p50:.2f}", f"{p95:.2f}", ratio)
    console = Console()
    console.print(
        f"{figures['signals']:,} signals about {figures['scored']:,} of {figures['entries']:,} entries, "
        f"{figures['annotations']} annotations in force"
    )
    console.print(table)
    first = {name: next(iter(found.values())) for name, found in calls.items()}
    console.print(f"{1000 / first['signal']:,.0f} durable signals a second on one thread.")
    for name in ("recall for the session", "the same again"):
        console.print(f"{name}: {first[name] - first['recall']:+.2f} ms at the median.")


if __name__ == "__main__":
    main()
