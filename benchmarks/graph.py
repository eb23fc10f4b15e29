"""Measure what the semantic graph costs at 1,000, 10,000 and 100,000 relations, beside networkx in memory.

    python benchmarks/graph.py --relations 1000 10000 100000 --json out.json

There are ten relations to a turn. A few entities are in very many relations, as in a code base. The relations are the
same on every run. networkx keeps names and nothing else (no times, no evidence, no episodes), and nothing of it
survives the process; it shows what walking costs if nothing is stored. Machines differ and are noisy: compare the two
within one run.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.table import Table

from benchmarks.metrics import quantiles
from benchmarks.timing import timed
from tidal_plugins.graph.indexing.writing import apply, to_batches
from tidal_plugins.graph.queries import GraphQueries
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.graph import Assertion, Extraction, Mention, Reading
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.tuning import GraphTuning

SCOPE = ("benchmark",)
NOW = datetime(2026, 3, 1, tzinfo=UTC)
PREDICATES = ("depends_on", "calls", "imports", "uses", "contains", "raises")
TURN = 10
"""Number of relations in one turn."""
PER_ENTITY = 5
"""Number of relations for each entity."""
SKEW = 1.3
"""Skew of the distribution: the higher, the more relations the busiest entities have."""

Triple = tuple[str, str, str]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Times learning into the semantic graph, and asking it.")
    parser.add_argument("--relations", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=50, help="entities that are asked about")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    sizes = {count: measured(count, options.repeats) for count in options.relations}
    show(sizes)
    if options.json:
        figures = {"python": platform.python_version(), "machine": platform.machine(), "sizes": sizes}
        options.json.write_text(json.dumps(figures, indent=2))


# data


def triples(count: int) -> Iterator[Triple]:
    """Yield relations between entities, each once."""
    random, seen = Random(7), set[Triple]()
    entities = max(10, count // PER_ENTITY)
    while len(seen) < count:
        ends = [int(entities * random.random() ** SKEW) for _ in range(2)]
        said = (f"mod_{ends[0]}", random.choice(PREDICATES), f"mod_{ends[1]}")
        if ends[0] != ends[1] and said not in seen:
            seen.add(said)
            yield said


def turns(said: Sequence[Triple]) -> Iterator[tuple[Episode, Extraction]]:
    for number, start in enumerate(range(0, len(said), TURN)):
        lines, assertions, at = [], [], 0
        for subject, predicate, object_ in said[start : start + TURN]:
            lines.append(f"{subject} {predicate} {object_}")
            end = at + len(lines[-1])
            ends = (_mention(subject, at), _mention(object_, end - len(object_)))
            assertions.append(Assertion(ends[0], predicate, ends[1], at, end, 0.9))
            at = end + 1
        when = NOW + timedelta(minutes=number)
        text = "\n".join(lines)
        yield (
            Episode(f"e{number}", SCOPE, (Message("user", text),), "", when, when, f"s{number // 50}"),
            Extraction((), tuple(assertions)),
        )


def _mention(name: str, at: int) -> Mention:
    return Mention(name, "module", "technical", at, at + len(name))


# measuring


def measured(count: int, repeats: int) -> dict[str, Any]:
    import networkx

    said = list(triples(count))
    bare = networkx.MultiDiGraph()
    with TemporaryDirectory() as folder:
        storage = SQLiteStorage(Path(folder) / "memory.db")
        settings = GraphTuning()
        graph = GraphQueries(storage, SCOPE, lambda: NOW + timedelta(days=365), settings, lambda _: {})
        rates = {"insert": insert(storage, settings, said), "networkx insert": insert_bare(bare, said)}
        asked = questions(graph, bare, said, repeats)
        calls = {name: quantiles(times) for name, times in asked.items()}
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        storage.close()
    busiest, most = max(bare.degree(), key=lambda pair: pair[1])
    return {"relations": count, "rates": rates, "calls": calls, "file_bytes": size, "busiest": busiest, "most": most}


def insert(storage: SQLiteStorage, settings: GraphTuning, said: Sequence[Triple]) -> float:
    """Return the relations indexed per second, each turn in its own durable transaction.

    Only the last tenth of the turns is timed, when the store is fullest.
    """
    told = list(turns(said))
    last = max(1, len(told) // 10)
    for turn in told[:-last]:
        _index(storage, settings, *turn)
    start = time.perf_counter()
    for turn in told[-last:]:
        _index(storage, settings, *turn)
    return sum(len(extraction.assertions) for _, extraction in told[-last:]) / (time.perf_counter() - start)


def _index(storage: SQLiteStorage, settings: GraphTuning, episode: Episode, extraction: Extraction) -> None:
    batches, _ = to_batches(SCOPE, episode, [Reading(0, None, extraction)], settings, {})
    for batch in batches:
        apply(storage, SCOPE, batch, episode.occurred_at, settings)


def insert_bare(bare: Any, said: Sequence[Triple]) -> float:
    start = time.perf_counter()
    for subject, predicate, object_ in said:
        bare.add_edge(subject, object_, predicate)
    return len(said) / (time.perf_counter() - start)


def questions(graph: GraphQueries, bare: Any, said: Sequence[Triple], repeats: int) -> dict[str, list[float]]:
    random = Random(11)
    names = [random.choice(said)[0] for _ in range(repeats)]
    busiest = max(bare.degree(), key=lambda pair: pair[1])[0]
    pairs = list(zip(names, names[::-1], strict=True))
    undirected = bare.to_undirected(as_view=True)
    return {
        "entity": timed(graph.entity, names),
        "search": timed(graph.search, names),
        "neighbours, depth 1": timed(graph.neighbours, names),
        "neighbours, depth 2": timed(lambda name: graph.neighbours(name, 2), names),
        "networkx neighbours, depth 2": timed(lambda name: near(bare, name), names),
        "neighbours of the busiest, depth 2": timed(lambda name: graph.neighbours(name, 2), [busiest] * repeats),
        "networkx neighbours of the busiest, depth 2": timed(lambda name: near(bare, name), [busiest] * repeats),
        "impact, up to 100": timed(lambda name: graph.impact(name, limit=100), names),
        "path": timed(lambda pair: graph.path(*pair), pairs),
        "networkx path": timed(lambda pair: shortest(undirected, *pair), pairs),
        "timeline": timed(graph.timeline, names),
        "evidence": timed(lambda name: graph.evidence(graph.relations(about=name, limit=1)[0]), names),
    }


def near(bare: Any, name: str) -> list[str]:
    import networkx

    return list(networkx.single_source_shortest_path_length(bare.to_undirected(as_view=True), name, cutoff=2))


def shortest(undirected: Any, one: str, other: str) -> Any:
    import networkx

    try:
        return networkx.shortest_path(undirected, one, other)
    except networkx.NetworkXNoPath:
        return None


# showing


def show(sizes: dict[int, dict[str, Any]]) -> None:
    table = Table(title="Rates in relations a second; then p50 / p95 in milliseconds", title_justify="left")
    table.add_column("", no_wrap=True)
    for figures in sizes.values():
        table.add_column(f"{figures['relations']:,} relations", justify="right", no_wrap=True)
    for name in next(iter(sizes.values()))["rates"]:
        table.add_row(name, *(f"{figures['rates'][name]:,.0f} /s" for figures in sizes.values()))
    table.add_section()
    for name in next(iter(sizes.values()))["calls"]:
        table.add_row(name, *(_cell(figures["calls"][name]) for figures in sizes.values()))
    table.add_section()
    table.add_row("most relations of one entity", *(f"{figures['most']:,}" for figures in sizes.values()))
    table.add_row("file, MB", *(f"{figures['file_bytes'] / 1e6:.1f}" for figures in sizes.values()))
    Console(width=max(110, Console().width)).print(table)


def _cell(figures: dict[str, float]) -> str:
    return f"{figures['p50_ms']:.2f} / {figures['p95_ms']:.2f}"


if __name__ == "__main__":
    main()
