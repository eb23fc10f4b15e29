"""The time of calls beside LangGraph's store on the same engine: ``latency.py --beside`` and ``--store postgres``.

Beside ``SqliteStore`` both have a file of their own, which syncs what it commits; beside ``PostgresStore`` a database
each on one server. They hold the same texts and the same vectors, from an embedder that costs next to nothing. The
calls of both take turns, in changing order. A turn is one ``record`` here, and there one ``put`` of an item whose two
texts are indexed. Look at the ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks.embedders import DIMENSIONS, SEED, SESSION, InstantEmbedder, Words, centres, conversation
from benchmarks.tables import bare_commit, quantiles, table, timed, wide
from tidal_plugins import Affect, Settings, TidalMemory
from tools.databases import served

if TYPE_CHECKING:
    from langgraph.store.sqlite import SqliteStore

OURS, BARE = "tidal", "bare commit"
PEERS = {"sqlite": "SqliteStore", "postgres": "PostgresStore"}
"""LangGraph's store on each engine."""

CALLS = {
    "recall": "recall, and vector search: ten hits",
    "recall after a write": "  right after a write",
    "whisper": "whisper",
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


def compare(engine: str, sizes: Sequence[int], repeats: int, url: str | None = None) -> dict[int, dict[str, Any]]:
    """Return the figures of both stores at each size; on PostgreSQL, on the server at ``url`` or on a new one."""
    figures, peer = {}, PEERS[engine]
    with ExitStack() as stack:
        if engine == "sqlite":
            folder, numbers = stack.enter_context(TemporaryDirectory()), count()
            new: Callable[[], str] = lambda: str(Path(folder, f"{next(numbers)}.db"))  # noqa: E731
        else:
            new = stack.enter_context(served(url)).new
        for size in sorted(sizes):
            around = centres()
            with (
                ours(new(), InstantEmbedder(around), size) as (tidal, filled),
                theirs(engine, new(), InstantEmbedder(around), size) as (langgraph, put),
                bare(engine, new()) as commit,
            ):
                calls = alternate({OURS: tidal, peer: langgraph}, commit, repeats)
            figures[size] = {"calls": calls, "turns_per_second": {OURS: filled, peer: put}}
    return figures


@contextmanager
def ours(place: str, embedder: InstantEmbedder, size: int) -> Iterator[tuple[dict[str, Call], int]]:
    """Yield the calls of a memory that is filled with ``size`` entries, and how many turns a second that took."""
    quiet, calm, numbers = Settings(graph={"background": False}), Affect(), count()
    with TidalMemory(place, embedder=embedder, settings=quiet) as memory:
        start = time.perf_counter()
        memory.record_many(conversation(Words(SEED), size))
        speed = round(size / 2 / (time.perf_counter() - start))

        def recall(query: str) -> object:
            return memory.recall(query, limit=LIMIT, affect=calm)

        def record(text: str) -> object:
            return memory.record(text, f"{text} again", thread=f"new-{next(numbers) // SESSION}")

        calls: dict[str, Call] = {"whisper": memory.whisper, "record": record, "remember": memory.remember}
        yield {"recall": recall, "recall after a write": recall, **calls}, speed


@contextmanager
def theirs(engine: str, place: str, embedder: InstantEmbedder, size: int) -> Iterator[tuple[dict[str, Call], int]]:
    """Yield the same calls of LangGraph's store, which is filled with the same turns, and the turns a second."""
    from langgraph.store.base import PutOp

    def embed(texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = embedder.embed(texts).tolist()
        return vectors

    fields = ["user", "agent"]
    index: Any = {"dims": DIMENSIONS, "embed": embed, "fields": fields}
    numbers = map(str, count())
    with ExitStack() as stack:
        if engine == "sqlite":
            index["text_fields"] = fields  # SqliteStore ignores the documented name
            store: Any = sqlite_store(Path(place), index, stack)
        else:
            from langgraph.store.postgres import PostgresStore

            store = stack.enter_context(PostgresStore.from_conn_string(place, index=index))
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


def sqlite_store(path: Path, index: Any, stack: ExitStack) -> SqliteStore:
    """Return LangGraph's store on a new file, which is closed with ``stack``; the process ends where it cannot be."""
    from benchmarks.frameworks import loading_connection

    if (connection := loading_connection(path, stack)) is None:
        raise SystemExit("this Python's sqlite3 can load no extensions, and pysqlite3 is not installed")
    from langgraph.store.sqlite import SqliteStore

    store = SqliteStore(connection, index=index)
    store.setup()
    return store


@contextmanager
def bare(engine: str, place: str) -> Iterator[Call]:
    """Yield a call that commits one row durably: the least that any write costs there."""
    if engine == "sqlite":
        yield bare_commit(Path(place))
        return
    import psycopg

    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("CREATE TABLE bare (text text)")
        yield lambda text: connection.execute("INSERT INTO bare VALUES (%s)", [text])


def alternate(stores: Mapping[str, Mapping[str, Call]], commit: Call, repeats: int) -> dict[str, dict[str, Any]]:
    """Return quantiles by call and store. The stores take turns, and change their order each time."""
    words, times = Words(SEED + 1), dict[str, dict[str, list[float]]]()
    names = list(stores)
    for number in range(repeats + WARM_UP):
        texts = {
            "recall": words.query(), "record": words.turn(), "recall after a write": words.query(),
            "whisper": words.query(), "remember": words.turn(),
        }  # fmt: skip
        for call, text in texts.items():
            for name in names if number % 2 else names[::-1]:
                if call not in stores[name]:
                    continue
                times.setdefault(call, {}).setdefault(name, []).extend(timed(stores[name][call], [text]))
        times.setdefault(BARE, {}).setdefault(BARE, []).extend(timed(commit, [texts["record"]]))
    return {call: {name: quantiles(took[WARM_UP:]) for name, took in by.items()} for call, by in times.items()}


def show_beside(engine: str, figures: Mapping[int, Mapping[str, Any]]) -> None:
    """Print both stores' times at each size, and the ratio of the medians."""
    peer = PEERS[engine]
    title = f"p50 / p95 in milliseconds, and p50 against {peer}"
    found = table(title, "entries", "call", OURS, peer, "ratio", left=2)
    for size, of_size in figures.items():
        calls = of_size["calls"]
        for call, name in CALLS.items():
            mine, other = calls[call][OURS], calls[call].get(peer)
            beside = (_cell(other), f"{mine['p50_ms'] / other['p50_ms']:.2f} ×") if other else ("", "")
            found.add_row(f"{size:,}", name, _cell(mine), *beside)
        found.add_row(f"{size:,}", "one bare row, committed durably", _cell(calls[BARE][BARE]), "", "")
        mine, other = (of_size["turns_per_second"][name] for name in (OURS, peer))
        found.add_row(f"{size:,}", "turns per second, in batches", f"{mine:,}", f"{other:,}", f"{mine / other:.2f} ×")
        found.add_section()
    wide(100).print(found)


def _cell(figures: Mapping[str, float]) -> str:
    return f"{figures['p50_ms']:.2f} / {figures['p95_ms']:.2f}"
