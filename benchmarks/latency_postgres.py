"""The time of calls on PostgreSQL beside LangGraph's ``PostgresStore``: what ``latency.py --store postgres`` prints.

Both live on one server that syncs what it commits, each in a database of its own, with the same texts and the same
vectors, from an embedder that costs next to nothing. The calls of both take turns, in changing order. A turn is one
``record`` here, and there one ``put`` of an item whose two texts are indexed. Look at the ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count, islice
from typing import Any

from benchmarks.embedders import DIMENSIONS, SEED, SESSION, InstantEmbedder, Words, centres, conversation
from benchmarks.tables import quantiles, table, timed, wide
from tidal_plugins import Affect, Settings, TidalMemory
from tools.databases import served

OURS, THEIRS, BARE = "tidal", "PostgresStore", "bare commit"
CALLS = {
    "recall": "recall, and vector search: ten hits",
    "recall after a write": "  right after a write",
    "record": "record, and put: a turn of two texts",
    "remember": "remember, and put: one text",
}
"""The calls that are timed, each with its name in the table."""

LIMIT = 10
BATCH = 500
"""Number of items that are put at once when a store is filled."""

WARM_UP = 5
NAMESPACE = ("benchmark",)

Call = Callable[[str], object]


def compare(sizes: Sequence[int], repeats: int, url: str | None = None) -> dict[int, dict[str, Any]]:
    """Return the figures of both stores at each size, on the server at ``url`` or on a new one."""
    figures = {}
    with served(url) as databases:
        for size in sorted(sizes):
            around = centres()
            with (
                ours(databases.new(), InstantEmbedder(around), size) as (tidal, filled),
                theirs(databases.new(), InstantEmbedder(around), size) as (langgraph, put),
                bare(databases.new()) as commit,
            ):
                calls = alternate({OURS: tidal, THEIRS: langgraph}, commit, repeats)
            figures[size] = {"calls": calls, "turns_per_second": {OURS: filled, THEIRS: put}}
    return figures


@contextmanager
def ours(url: str, embedder: InstantEmbedder, size: int) -> Iterator[tuple[dict[str, Call], int]]:
    """Yield the calls of a memory that is filled with ``size`` entries, and how many turns a second that took."""
    quiet, calm, numbers = Settings(graph={"background": False}), Affect(), count()
    with TidalMemory(url, embedder=embedder, settings=quiet) as memory:
        start = time.perf_counter()
        memory.record_many(conversation(Words(SEED), size))
        speed = round(size / 2 / (time.perf_counter() - start))

        def recall(query: str) -> object:
            return memory.recall(query, limit=LIMIT, affect=calm)

        def record(text: str) -> object:
            return memory.record(text, f"{text} again", thread=f"new-{next(numbers) // SESSION}")

        yield {"recall": recall, "recall after a write": recall, "record": record, "remember": memory.remember}, speed


@contextmanager
def theirs(url: str, embedder: InstantEmbedder, size: int) -> Iterator[tuple[dict[str, Call], int]]:
    """Yield the same calls of LangGraph's store, which is filled with the same turns, and the turns a second."""
    from langgraph.store.base import PutOp
    from langgraph.store.postgres import PostgresStore

    def embed(texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = embedder.embed(texts).tolist()
        return vectors

    index: Any = {"dims": DIMENSIONS, "embed": embed, "fields": ["user", "agent"]}
    numbers = map(str, count())
    with PostgresStore.from_conn_string(url, index=index) as store:
        store.setup()
        turns = iter(conversation(Words(SEED), size))
        start = time.perf_counter()
        while batch := list(islice(turns, BATCH)):
            said = [[message.text for message in turn.messages] for turn in batch]
            store.batch([PutOp(NAMESPACE, next(numbers), {"user": user, "agent": agent}) for user, agent in said])
        speed = round(size / 2 / (time.perf_counter() - start))

        def search(query: str) -> object:
            return store.search(NAMESPACE, query=query, limit=LIMIT)

        def put(text: str) -> object:
            return store.put(NAMESPACE, next(numbers), {"user": text, "agent": f"{text} again"})

        def put_one(text: str) -> object:
            return store.put(NAMESPACE, next(numbers), {"user": text})

        yield {"recall": search, "recall after a write": search, "record": put, "remember": put_one}, speed


@contextmanager
def bare(url: str) -> Iterator[Call]:
    """Yield a call that commits one row durably: the least that any write costs on this server."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE bare (text text)")
        yield lambda text: connection.execute("INSERT INTO bare VALUES (%s)", [text])


def alternate(stores: Mapping[str, Mapping[str, Call]], commit: Call, repeats: int) -> dict[str, dict[str, Any]]:
    """Return quantiles by call and store. The stores take turns, and change their order each time."""
    words, times = Words(SEED + 1), dict[str, dict[str, list[float]]]()
    names = list(stores)
    for number in range(repeats + WARM_UP):
        texts = {
            "recall": words.query(), "record": words.turn(), "recall after a write": words.query(),
            "remember": words.turn(),
        }  # fmt: skip
        for call, text in texts.items():
            for name in names if number % 2 else names[::-1]:
                times.setdefault(call, {}).setdefault(name, []).extend(timed(stores[name][call], [text]))
        times.setdefault(BARE, {}).setdefault(BARE, []).extend(timed(commit, [texts["record"]]))
    return {call: {name: quantiles(took[WARM_UP:]) for name, took in by.items()} for call, by in times.items()}


def show_beside(figures: Mapping[int, Mapping[str, Any]]) -> None:
    """Print both stores' times at each size, and the ratio of the medians."""
    found = table(
        "On PostgreSQL: p50 / p95 in milliseconds, and p50 against PostgresStore",
        "entries",
        "call",
        OURS,
        THEIRS,
        "ratio",
        left=2,
    )
    for size, of_size in figures.items():
        calls = of_size["calls"]
        for call, name in CALLS.items():
            mine, other = calls[call][OURS], calls[call][THEIRS]
            found.add_row(f"{size:,}", name, _cell(mine), _cell(other), f"{mine['p50_ms'] / other['p50_ms']:.2f} ×")
        found.add_row(f"{size:,}", "one bare row, committed durably", _cell(calls[BARE][BARE]), "", "")
        mine, other = (of_size["turns_per_second"][name] for name in (OURS, THEIRS))
        found.add_row(f"{size:,}", "turns per second, in batches", f"{mine:,}", f"{other:,}", f"{mine / other:.2f} ×")
        found.add_section()
    wide(100).print(found)


def _cell(figures: Mapping[str, float]) -> str:
    return f"{figures['p50_ms']:.2f} / {figures['p95_ms']:.2f}"
