"""Measure what associations cost at 1,000, 10,000 and 100,000 edges: spreading, committing a context, pruning.

    python benchmarks/web.py --edges 1000 10000 100000 --json out.json

Contexts have ten entries, and a few entries are in very many of them, as in a conversation. They are the same on every
run. Machines differ and are noisy: each figure is printed with its ratio to a bare operation that was timed in the same
run.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.table import Table

from benchmarks.metrics import quantiles
from benchmarks.timing import bare_commit, timed
from tidal_plugins import TidalError
from tidal_plugins.associations.store import Activation, AssociationStore
from tidal_plugins.model.entry import Entry
from tidal_plugins.scoring.decay import transmission
from tidal_plugins.storage.base import Record
from tidal_plugins.storage.sqlite import SQLiteStorage

SCOPE = ("benchmark",)
START = datetime(2025, 1, 1, tzinfo=UTC)
PERIOD = timedelta(days=60)
"""Time over which the edges are made."""

NOW = START + PERIOD
PRUNED_AT = START + timedelta(days=95)
"""Time at which about a tenth of the edges has faded: those of the first days that did not come up again."""

CONTEXT = 10
DEGREE = 20
"""Mean number of edges of an entry."""

SEED = 20


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--edges", nargs="+", type=int, default=[1_000, 10_000, 100_000], metavar="N")
    parser.add_argument("--repeats", type=int, default=200, metavar="N", help="calls of each kind")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures")
    args = parser.parse_args(argv)
    if min(args.edges) < 500 or args.repeats < 2:
        parser.error("edges must be at least 500, repeats at least 2")
    try:
        sizes = {edges: measure(edges, args.repeats) for edges in sorted(args.edges)}
    except TidalError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    show(sizes)
    if args.json:
        machine = {"machine": platform.platform(), "python": platform.python_version()}
        args.json.write_text(json.dumps({**machine, "sizes": sizes}, indent=1), "utf-8")


# measuring


def measure(edges: int, repeats: int) -> dict[str, Any]:
    """Return all figures of one size."""
    contexts = Contexts(2 * edges // DEGREE)
    with TemporaryDirectory(prefix="tidal-benchmark-") as folder:
        storage = SQLiteStorage(Path(folder, "memory.db"))
        web = AssociationStore(storage)
        fill(storage, web, contexts, edges)
        graph = neighbours(web, edges)
        busiest = max(graph, key=lambda id_: len(graph[id_]))
        origins = [next(contexts)[0] for _ in range(repeats)]
        hubs = [busiest] * repeats
        calls = {
            "spread": timed(lambda id_: web.spread(SCOPE, id_, NOW), origins),
            "bare walk": timed(lambda id_: walk(graph, id_), origins),
            "spread from the busiest": timed(lambda id_: web.spread(SCOPE, id_, NOW), hubs),
            "bare walk from the busiest": timed(lambda id_: walk(graph, id_), hubs),
        }
        calls |= commits(web, contexts, repeats, Path(folder, "bare.db"))
        pruned, took = prune(storage, web)
        storage.close()
        size = Path(folder, "memory.db").stat().st_size
    return {
        "calls": {name: quantiles(times) for name, times in calls.items()},
        "edges": sum(map(len, graph.values())) // 2,
        "most_edges": len(graph[busiest]),
        "pruned": pruned,
        "prune_ms": round(took, 2),
        "file_bytes": size,
    }


class Contexts(Iterator[list[str]]):
    """Generates contexts: ids that come up together, some of them in very many contexts."""

    def __init__(self, entries: int) -> None:
        self.ids = [f"entry-{number:06}" for number in range(entries)]
        self._random = Random(SEED)

    def __next__(self) -> list[str]:
        return list({self.ids[int(len(self.ids) * self._random.random() ** 3)] for _ in range(CONTEXT)})


def fill(storage: SQLiteStorage, web: AssociationStore, contexts: Contexts, edges: int) -> None:
    """Commit contexts over the period until there are ``edges`` edges."""
    entries = [Entry(id_, "conversation", id_, SCOPE, occurred_at=START, recorded_at=START) for id_ in contexts.ids]
    with storage.transaction():
        storage.put(SCOPE, [Record(entry) for entry in entries])
        pairs: set[tuple[str, str]] = set()
        while len(pairs) < edges:
            context = sorted(next(contexts))
            web.commit_contexts(SCOPE, [Activation(web.activate(context), START + PERIOD * (len(pairs) / edges))])
            pairs |= set(combinations(context, 2))


def neighbours(web: AssociationStore, edges: int) -> dict[str, list[tuple[str, float]]]:
    """Return all associations in memory: the neighbours of each entry, and the share that passes to each."""
    graph: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for a, b, weight in web.strongest(SCOPE, NOW, 2 * edges):
        graph[a].append((b, transmission(weight)))
        graph[b].append((a, transmission(weight)))
    return graph


def walk(graph: dict[str, list[tuple[str, float]]], origin: str) -> list[str]:
    """Spread over every edge in memory, without a store: the walk's cost without reading."""
    best, frontier = {origin: 1.0}, {origin: 1.0}
    for _ in range(2):
        found: dict[str, float] = {}
        for node, activation in frontier.items():
            for other, share in graph.get(node, ()):
                if activation * share > max(0.15, best.get(other, 0.0)):
                    found[other] = best[other] = activation * share
        frontier = found
    return sorted(best, key=best.__getitem__, reverse=True)[1:21]


def commits(web: AssociationStore, contexts: Contexts, repeats: int, bare: Path) -> dict[str, list[float]]:
    """Time the commits of contexts and bare commits alternately, so that both meet the same disk."""
    commit = bare_commit(bare)
    times: dict[str, list[float]] = {"bare commit": [], "commit": []}
    for _ in range(repeats):
        times["bare commit"] += timed(commit, ["text"])
        times["commit"] += timed(
            lambda ids: web.commit_contexts(SCOPE, [Activation(web.activate(ids), NOW)]), [next(contexts)]
        )
    return times


class _RolledBack(Exception):
    pass


def prune(storage: SQLiteStorage, web: AssociationStore) -> tuple[int, float]:
    """Return how many edges have faded, and the milliseconds that removing them takes: the best of three."""
    took = []
    pruned = 0
    for last in (False, False, True):
        with suppress(_RolledBack), storage.transaction():
            start = time.perf_counter()
            pruned = web.prune(SCOPE, PRUNED_AT)
            took.append(1000 * (time.perf_counter() - start))
            if not last:
                raise _RolledBack
    return pruned, min(took)


# showing

BARE = {"spread": "bare walk", "spread from the busiest": "bare walk from the busiest", "commit": "bare commit"}
NAMES = {
    "spread": "spread, two hops",
    "bare walk": "  over a dictionary in memory",
    "spread from the busiest": "spread, from the busiest entry",
    "bare walk from the busiest": "  over a dictionary in memory",
    "commit": f"commit, a context of {CONTEXT}",
    "bare commit": "  one bare row, durable",
}


def show(sizes: dict[int, dict[str, Any]]) -> None:
    table = Table(title="p50 / p95 in milliseconds, and p50 against the bare operation below", title_justify="left")
    table.add_column("", no_wrap=True)
    for figures in sizes.values():
        table.add_column(f"{figures['edges']:,} edges", justify="right", no_wrap=True)
    for call, name in NAMES.items():
        table.add_row(name, *(_cell(figures["calls"], call) for figures in sizes.values()))
    table.add_section()
    table.add_row("prune, ms (edges)", *(f"{one['prune_ms']:.1f} ({one['pruned']:,})" for one in sizes.values()))
    table.add_row("most edges of one entry", *(f"{one['most_edges']:,}" for one in sizes.values()))
    table.add_row("file, MB", *(f"{one['file_bytes'] / 1e6:.1f}" for one in sizes.values()))
    Console(width=max(110, Console().width)).print(table)


def _cell(calls: dict[str, dict[str, float]], call: str) -> str:
    figures = calls[call]
    ratio = f"  ({figures['p50_ms'] / calls[BARE[call]]['p50_ms']:.1f} ×)" if call in BARE else ""
    return f"{figures['p50_ms']:.2f} / {figures['p95_ms']:.2f}{ratio}"


if __name__ == "__main__":
    main()
