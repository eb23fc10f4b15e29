"""Measure recalls of a filled store: by kind, with a filter, on several threads, and beside the exact path's."""

from __future__ import annotations

import multiprocessing.pool
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.synthetic import InstantEmbedder, Words
from benchmarks.timing import timed
from tidal_plugins import Affect, Settings, TidalMemory
from tidal_plugins.model.entry import GRAPH_CHANNEL, KINDS
from tidal_plugins.scoring.ranking import reciprocal_rank
from tidal_plugins.scoring.text import terms
from tidal_plugins.storage.base import Where

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
