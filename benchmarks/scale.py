"""Many scopes in one database: what an entry takes, and what recalls and records cost as the scopes grow in number.

    python benchmarks/scale.py --scopes 100 1000 10000 --entries 100 --json scale.json
    python benchmarks/scale.py --url postgresql://user@host/db            another server than one of its own
    python benchmarks/scale.py --store sqlite                             the same in one file

The scopes are filled by several processes through ``record_many``. After each number of scopes, one process recalls
from scopes drawn by chance, each twice: the first recall of a scope reads its columns, the second has them. Then all
processes recall at once. ``scale_model.py`` reads the figures. Times differ from machine to machine: look at the rows
beside each other.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout


from benchmarks.embedders import SEED, InstantEmbedder, Words, centres, conversation
from benchmarks.shared_load import at_once, stores
from benchmarks.tables import options, quantiles, table, timed, wide
from tidal_plugins import Affect, Settings, TidalError, TidalMemory
from tools.postgres import NoServer

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUIET = Settings(graph={"background": False})


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--store", choices=("postgres", "sqlite"), default="postgres")
    parser.add_argument("--url", help="a PostgreSQL server to use, instead of one of the benchmark's own")
    parser.add_argument("--scopes", nargs="+", type=int, default=[100, 1_000], metavar="N", help="numbers of scopes")
    parser.add_argument("--entries", type=int, default=100, metavar="N", help="entries of each scope")
    parser.add_argument("--processes", type=int, default=8, metavar="N", help="processes that fill and recall")
    parser.add_argument("--repeats", type=int, default=200, metavar="N", help="calls of each kind, in each process")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures")
    args = parser.parse_args(argv)
    if min(*args.scopes, args.entries, args.processes, args.repeats) < 2:
        parser.error("all numbers must be at least 2")
    try:
        with stores(args.store, args.url) as new:
            rows = grow(new(), sorted(set(args.scopes)), args.entries, args.processes, args.repeats)
    except (NoServer, TidalError) as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    show(args.store, rows, args.processes)
    if args.json:
        machine = {"machine": platform.platform(), "cores": os.cpu_count(), "processes": args.processes}
        args.json.write_text(json.dumps({**machine, "store": args.store, "rows": rows}, indent=1), "utf-8")


def grow(at: str, scopes: Sequence[int], entries: int, processes: int, repeats: int) -> list[dict[str, Any]]:
    """Fill a memory up to each number of scopes in turn, and return the figures of each."""
    around, rows, filled = centres(), list[dict[str, Any]](), 0
    TidalMemory(at, embedder=InstantEmbedder(around), settings=QUIET).close()
    for number in scopes:
        parts = [(at, around, range(filled + part, number, processes), entries) for part in range(processes)]
        seconds = _seconds(at_once(_fill, parts))
        [alone] = at_once(_calls, [(at, around, number, repeats, SEED)])
        together = at_once(_recalls, [(at, around, number, repeats, part) for part in range(processes)])
        stored = size(at)
        rows.append(
            {
                "scopes": number,
                "entries": number * entries,
                "bytes": stored,
                "bytes_per_entry": round(stored / (number * entries)),
                "filled_per_second": round((number - filled) * entries / seconds),
                "calls": {name: quantiles(times) for name, times in alone.items()},
                "recalls_per_second": round(processes * repeats / _seconds(together), 1),
            }
        )
        filled = number
    return rows


def size(at: str) -> int:
    """Return the bytes of the file or the database."""
    if "://" not in at:
        return Path(at).stat().st_size
    import psycopg

    with psycopg.connect(at) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(row[0]) if row else 0


def _opened(at: str, around: NDArray[np.float32]) -> TidalMemory:
    return TidalMemory(at, embedder=InstantEmbedder(around), settings=QUIET)


def _fill(
    at: str, around: NDArray[np.float32], scopes: Sequence[int], entries: int, ready: Barrier
) -> tuple[float, float]:
    with _opened(at, around) as memory:
        ready.wait()
        start = time.monotonic()
        for scope in scopes:
            memory.scoped("user", str(scope)).record_many(conversation(Words(scope), entries))
        return start, time.monotonic()


def _calls(at: str, around: NDArray[np.float32], scopes: int, repeats: int, seed: int, _: Barrier) -> dict[str, Any]:
    """Return the milliseconds of each call: of a scope that was not read before, again, and after a record."""
    words, chance, calm = Words(seed), Random(seed), Affect()
    drawn = chance.sample(range(scopes), min(repeats, scopes))
    times: dict[str, list[float]] = {"first recall": [], "recall": [], "record": []}
    with _opened(at, around) as memory:
        memory.recall(words.query())  # the scope of nobody: connections are there before the time counts
        for scope in drawn:
            view = memory.scoped("user", str(scope))
            for name in ("first recall", "recall"):
                times[name] += timed(lambda query: view.recall(query, affect=calm), [words.query()])  # noqa: B023
            times["record"] += timed(lambda text: view.record(text, text[::-1], thread="new"), [words.turn()])  # noqa: B023
    return times


def _recalls(
    at: str, around: NDArray[np.float32], scopes: int, repeats: int, seed: int, ready: Barrier
) -> tuple[float, float]:
    words, chance, calm = Words(seed), Random(seed), Affect()
    with _opened(at, around) as memory:
        memory.recall(words.query())
        ready.wait()
        start = time.monotonic()
        for _ in range(repeats):
            memory.scoped("user", str(chance.randrange(scopes))).recall(words.query(), affect=calm)
        return start, time.monotonic()


def _seconds(spans: Sequence[tuple[float, float]]) -> float:
    return max(end for _, end in spans) - min(start for start, _ in spans)


def show(store: str, rows: Sequence[Mapping[str, Any]], processes: int) -> None:
    title = f"Scopes on {store}: p50 / p95 in milliseconds of one process; {os.cpu_count()} cores"
    columns = ["scopes", "entries", "bytes an entry", "first recall", "recall again", "record"]
    columns += [f"recalls a second, {processes} processes", "filled, entries a second"]
    found = table(title, *columns, left=0)
    for row in rows:
        calls = (row["calls"][name] for name in ("first recall", "recall", "record"))
        cells = (f"{call['p50_ms']:.1f} / {call['p95_ms']:.1f}" for call in calls)
        counts = (f"{row[name]:,}" for name in ("scopes", "entries", "bytes_per_entry"))
        found.add_row(*counts, *cells, f"{row['recalls_per_second']:.0f}", f"{row['filled_per_second']:,}")
    wide(160).print(found)


if __name__ == "__main__":
    main()
