"""Measure what calls cost at 1,000 and 10,000 entries (time, memory, file size), and what the import costs.

    python benchmarks/latency.py --sizes 1000 10000 100000
    python benchmarks/latency.py --beside                 the same calls in turns with LangGraph's SqliteStore
    python benchmarks/latency.py --store postgres         on PostgreSQL, in turns with LangGraph's PostgresStore

Texts are drawn from English words by a law like Zipf's, and vectors lie around those of real sentences; both are the
same on every run. An instant embedder stands in for the model, so that only this library is timed. The model's own time
has a separate line.
Machines differ and are noisy: each figure is printed with its ratio to a bare operation that was timed in the same run.
"""

from __future__ import annotations

import argparse
import multiprocessing.pool
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedders import SEED, SESSION, InstantEmbedder, Words, centres, conversation
from benchmarks.tables import PEAK, bare_commit, held_bytes, options, quantiles, table, timed, wide
from tidal_plugins import (
    Affect,
    EmbeddingError,
    OnnxEmbedder,
    Settings,
    TidalError,
    TidalMemory,
)
from tidal_plugins.model.entry import GRAPH_CHANNEL, KINDS
from tidal_plugins.scoring.ranking import reciprocal_rank
from tidal_plugins.scoring.text import terms
from tidal_plugins.storage.base import Where

ROOT = Path(__file__).resolve().parents[1]
NEIGHBOURS = ("recall.thread", "recall.neighbours", "recall.time_mention", "recall.time")
"""Weights that bring other entries beside what is near."""

IMPORTS = ("import tidal_plugins", "from tidal_plugins import TidalMemory")
"""Statements to time. The first imports the bare package, which loads its parts only when they are used."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1_000, 10_000], metavar="N", help="entries")
    parser.add_argument("--repeats", type=int, default=200, metavar="N", help="calls of each kind")
    parser.add_argument("--embedder", choices=("minilm", "none"), default="minilm", help="none: leave the model out")
    parser.add_argument(
        "--store", choices=("sqlite", "postgres"), default="sqlite", help="postgres: beside LangGraph's"
    )
    parser.add_argument("--beside", action="store_true", help="in turns with LangGraph's store on the same engine")
    parser.add_argument("--url", help="a PostgreSQL server to use, instead of one of the benchmark's own")
    args = parser.parse_args(argv)
    if min(*args.sizes, args.repeats, 10**9) < 2:
        parser.error("sizes and repeats must be at least 2")
    if args.beside or args.store == "postgres":
        beside(args)
        return
    try:
        imports = import_seconds()
        sizes = {size: measure(size, args.repeats) for size in sorted(args.sizes)}
        model = embedding(args.repeats) if args.embedder == "minilm" else None
    except TidalError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    show(sizes, model, imports)


def beside(args: argparse.Namespace) -> None:
    """Measure the same calls in turns with those of LangGraph's store on the same engine."""
    from benchmarks.latency_beside import compare, show_beside
    from tools.postgres import NoServer

    try:
        figures = compare(args.store, args.sizes, args.repeats, args.url)
    except (NoServer, TidalError) as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    show_beside(args.store, figures)


# measuring


def measure(size: int, repeats: int) -> dict[str, Any]:
    """Return all figures of one size: quantiles by call, and the size of the store."""
    words, embedder = Words(SEED), InstantEmbedder(around := centres())
    quiet = Settings(graph={"background": False})  # a thread that reads what was filled in would be timed too
    alone = quiet.model_copy(update={"tuning": dict.fromkeys(NEIGHBOURS, 0.0)})
    with TemporaryDirectory(prefix="tidal-benchmark-") as folder:
        path = Path(folder, "memory.db")
        with TidalMemory(path, embedder=embedder, settings=quiet) as memory:
            start, held = time.perf_counter(), list[int | None]()
            memory.record_many(conversation(words, size), progress=lambda *_: held.append(held_bytes()))
            filled = time.perf_counter() - start
        stored = path.stat().st_size
        cold = _cold(path, around, words.query())
        same = same_as_exact(path, size, embedder, words, repeats)
        with TidalMemory(path, embedder=embedder, settings=quiet) as memory:
            with TidalMemory(path, embedder=embedder, settings=alone) as plain:
                calls = reads(memory, plain, embedder, words, repeats)
            threads = at_once(memory, words, repeats)
            calls |= _writes(memory, words, repeats, Path(folder, "bare.db"))
        calls |= {"bare scan": _scans(embedder, size, repeats)}
    return {
        "calls": {name: quantiles(times) for name, times in calls.items()},
        "record_many_entries_per_second": round(size / filled),
        "record_many_rss_bytes": max(known) - known[0] if (known := [each for each in held if each]) else None,
        "file_bytes": stored,
        "recalls_per_second": threads,
        "recall@10_of_exact": same,
        **cold,
    }


def _writes(memory: TidalMemory, words: Words, repeats: int, bare: Path) -> dict[str, list[float]]:
    """Time writes and bare commits alternately, so that both meet the same disk, and recalls that follow a write."""
    commit, calm = bare_commit(bare), Affect()
    times: dict[str, list[float]] = {"bare commit": [], "record": [], "recall after a record": [], "remember": []}
    for number in range(repeats):
        user, agent, note = words.turn(), words.turn(), words.turn()
        times["bare commit"] += timed(commit, [user])
        times["record"] += timed(lambda text: memory.record(text, agent, thread=f"new-{number // SESSION}"), [user])  # noqa: B023
        times["recall after a record"] += timed(lambda query: memory.recall(query, affect=calm), [words.query()])
        times["remember"] += timed(memory.remember, [note])
    return times


def _scans(embedder: InstantEmbedder, size: int, repeats: int) -> list[float]:
    """Time the cosines of as many vectors as there are entries, and the choice of the best hundred.

    Exact search cannot cost less.
    """
    matrix = embedder.embed([str(number) for number in range(size)])
    best = min(100, size)
    return timed(lambda query: np.argpartition(matrix @ query, -best)[-best:], embedder.embed(["q"] * repeats))


def _cold(path: Path, around: NDArray[np.float32], query: str) -> dict[str, Any]:
    """Return the time and the memory that a fresh process needs to open the store and recall once."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_open_and_recall, (path, around, query))


def _open_and_recall(path: Path, around: NDArray[np.float32], query: str) -> dict[str, Any]:
    """Return what opening a store and recalling once takes, without the stand-in for the model, made before."""
    embedder = InstantEmbedder(around)
    _forget_peak()
    before, start = held_bytes(PEAK), time.perf_counter()
    with TidalMemory(path, embedder=embedder) as memory:
        memory.recall(query)
        took = 1000 * (time.perf_counter() - start)
    return {"first_recall_ms": round(took, 2), "import_rss_bytes": before, "peak_rss_bytes": held_bytes(PEAK)}


def _forget_peak() -> None:
    """Let the most memory that this process has held be looked for from now on, where the system can."""
    if (file := Path("/proc/self/clear_refs")).exists():
        file.write_text("5")  # in the words of Linux: the peak is what there is now


def embedding(repeats: int) -> dict[str, float] | None:
    """Return the default model's time for one query, or ``None`` if the model is not available."""
    model, words = OnnxEmbedder(cache_size=0), Words(SEED)
    try:
        model.load()
    except EmbeddingError as error:
        print(f"without the model: {error}", file=sys.stderr)
        return None
    model.embed([words.query()])
    return quantiles(timed(model.embed, ([words.query()] for _ in range(repeats))))


def import_seconds(runs: int = 5) -> dict[str, float]:
    """Return the seconds that each import adds to a fresh interpreter: its best run less the best bare start."""

    def best(code: str) -> float:
        return min(timed(lambda _: subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True), range(runs)))

    best(IMPORTS[-1])  # writes the byte code
    bare = best("pass")
    return {code: round((best(code) - bare) / 1000, 4) for code in IMPORTS}


# showing

BARE = {
    "recall": "plain hybrid",
    "filtered recall": "recall",
    "recall after a record": "recall",
    "recall of entries alone": "plain hybrid",
    "whisper": "plain hybrid",
    "plain hybrid": "bare scan",
    "record": "bare commit",
    "remember": "bare commit",
}
NAMES = {
    "recall": "recall, without the embedding",
    "filtered recall": "  with a filter of 125 threads",
    "recall after a record": "  right after a record",
    "recall of entries alone": "  no thread, neighbours, time mention, times",
    "whisper": "whisper, without the embedding",
    "record": "record, one exchange of two texts",
    "remember": "remember, one note",
    "bare commit": "  one bare row, committed durably",
    "plain hybrid": "  both channels, rank fusion, ten entries",
    "bare scan": "  cosines of that many vectors, best 100",
}


def show(sizes: dict[int, dict[str, Any]], model: dict[str, float] | None, imports: dict[str, float]) -> None:
    title = "p50 / p95 in milliseconds, and p50 against the bare operation below"
    found = table(title, "", *(f"{size:,} entries" for size in sizes))
    for call, name in NAMES.items():
        found.add_row(name, *(_cell(figures["calls"], call) for figures in sizes.values()))
    found.add_section()
    found.add_row("record, beyond the bare commit: p50", *(_beyond(figures["calls"]) for figures in sizes.values()))
    if model:
        found.add_row("embedding one query (MiniLM)", f"{model['p50_ms']:.1f} / {model['p95_ms']:.1f}")
        found.add_row("recall with the embedding: p50", *(_sum(f["calls"]["recall"], model) for f in sizes.values()))
    found.add_section()
    for name, value in _stored(sizes.values()).items():
        found.add_row(name, *value)
    console = wide(100)
    console.print(found)
    for code, seconds in imports.items():
        console.print(f"{code}: {seconds:.3f} s beyond a bare interpreter (best of 5)")


def _cell(calls: dict[str, dict[str, float]], call: str) -> str:
    figures = calls[call]
    ratio = f"  ({figures['p50_ms'] / calls[BARE[call]]['p50_ms']:.1f} ×)" if call in BARE else ""
    return f"{figures['p50_ms']:.2f} / {figures['p95_ms']:.2f}{ratio}"


def _beyond(calls: dict[str, dict[str, float]]) -> str:
    return f"{calls['record']['p50_ms'] - calls['bare commit']['p50_ms']:.2f}"


def _sum(recall: dict[str, float], model: dict[str, float]) -> str:
    return f"{recall['p50_ms'] + model['p50_ms']:.1f}"


def _stored(sizes: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    figures = list(sizes)
    return {
        f"recalls per second, {THREADS} threads / one": [_at_once(one["recalls_per_second"]) for one in figures],
        "recall@10 of the exact path's": [_share(one["recall@10_of_exact"]) for one in figures],
        "record_many, entries per second": [f"{one['record_many_entries_per_second']:,}" for one in figures],
        "record_many, MB beyond its first batch": [_mb(one["record_many_rss_bytes"]) for one in figures],
        "opening and the first recall, ms": [f"{one['first_recall_ms']:.0f}" for one in figures],
        "memory at peak / before the opening, MB": [
            f"{_mb(one['peak_rss_bytes'])} / {_mb(one['import_rss_bytes'])}" for one in figures
        ],
        "file, MB": [_mb(one["file_bytes"]) for one in figures],
    }


def _at_once(per_second: dict[str, float]) -> str:
    alone, together = per_second["1"], per_second[str(THREADS)]
    return f"{together:.0f} / {alone:.0f}  ({together / alone:.2f} ×)"


def _share(same: float | None) -> str:
    return "exact" if same is None else f"{same:.3f}"


def _mb(size: int | None) -> str:
    return "?" if size is None else f"{size / 1e6:.1f}"


# recalls of a filled store: by kind, with a filter, on several threads, and beside the exact path's


POOL = 100
WARM_UP = 5
"""Number of questions that are asked before any is timed."""

THREADS = 8
"""Number of threads that recall at once."""

SOME = [f"session-{number}" for number in range(125)]
"""Threads of a filter that lets half of 10,000 entries pass, and a twentieth of 100,000."""


def reads(
    memory: TidalMemory, alone: TidalMemory, embedder: InstantEmbedder, words: Words, repeats: int
) -> dict[str, list[float]]:
    """Time each kind of call on the same questions, alternating the kinds, so that noise affects all alike.

    The embedding of a query is computed beforehand. No two consecutive calls ask the same query, because the cosines of
    the last vector are kept.
    """
    calm, plain = Affect(), plain_hybrid(memory, embedder)
    calls: dict[str, Callable[[str], object]] = {
        "recall": lambda query: memory.recall(query, affect=calm),
        "filtered recall": lambda query: memory.recall(query, affect=calm, threads=SOME),
        "recall of entries alone": lambda query: alone.recall(query, affect=calm),
        "whisper": memory.whisper,
        "plain hybrid": plain,
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    queries = [words.query() for _ in range(repeats + WARM_UP)]
    for number in range(len(queries)):
        for place, (name, call) in enumerate(calls.items()):
            times[name] += timed(call, [queries[number - place]])
    return {name: took[WARM_UP:] for name, took in times.items()}


def at_once(memory: TidalMemory, words: Words, repeats: int) -> dict[str, float]:
    """Return how many recalls a second one thread does, and ``THREADS`` of them at once on the same memory."""
    calm, queries = Affect(), [words.query() for _ in range(repeats)]

    def ask(query: str) -> object:
        return memory.recall(query, affect=calm)

    found = {}
    for count in (1, THREADS):
        with multiprocessing.pool.ThreadPool(count) as pool:
            pool.map(ask, queries[: 4 * count], chunksize=1)  # each thread opens its connection
            start = time.perf_counter()
            pool.map(ask, queries, chunksize=1)
            found[str(count)] = round(len(queries) / (time.perf_counter() - start), 1)
    return found


def plain_hybrid(memory: TidalMemory, embedder: InstantEmbedder) -> Callable[[str], object]:
    """Return textbook hybrid search on the same store and with the same filter.

    It fuses the best hundred of both channels by reciprocal rank, and reads ten entries. No public call does that, so
    this uses internals.
    """
    storage, scope = memory._services.storage, memory.scope

    def ask(query: str) -> object:
        where = Where(kinds=KINDS, not_channels=[GRAPH_CHANNEL], active_at=memory.now())
        with storage.snapshot():
            near = storage.nearest(scope, embedder.embed([query])[0], POOL, where)
            worded = storage.matching(scope, list(dict.fromkeys(terms(query))), POOL, where)
            places = [{match.id: place for place, match in enumerate(found, 1)} for found in (near, worded)]
            ids = {id_ for place in places for id_ in place}
            fused = {id_: reciprocal_rank([place.get(id_, 0) for place in places], k=60) for id_ in ids}
            return storage.get(scope, sorted(fused, key=lambda id_: -fused[id_])[:10])

    return ask


def same_as_exact(path: Path, size: int, embedder: InstantEmbedder, words: Words, repeats: int) -> float | None:
    """Return how many of the ten that the exact path returns are among the ten that a recall returns, as a share.

    ``None`` for a store of a size that is small enough for the exact path.
    """
    calm, queries = Affect(), [words.query() for _ in range(repeats)]
    found, usual = [], Settings().storage.exact_vectors_up_to
    if size <= usual:
        return None
    for most in (usual, 10**9):
        settings = Settings(graph={"background": False}, storage={"exact_vectors_up_to": most})
        with TidalMemory(path, embedder=embedder, settings=settings) as memory:
            found.append([set(memory.recall(query, limit=10, affect=calm).ids) for query in queries])
    same = sum(len(here & there) for here, there in zip(*found, strict=True))
    return same / sum(map(len, found[1]))


if __name__ == "__main__":
    main()
