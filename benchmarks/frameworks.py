"""Measure puts into LangGraph's own stores and into ours, and the search after them.

    python benchmarks/frameworks.py --puts 20

Each round puts the same items into every store, one store after the other, in changing order, with one embedder. An
item is small, or a file of 300 kB with and without an index. Look at the ratios: times differ from machine to machine.
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))  # run by its path, from a checkout
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from benchmarks.embedders import EMBEDDERS, add_embedder
from benchmarks.tables import options, table, timed, wide
from langgraph_tidal import TidalStore
from tidal_plugins import TidalError, TidalMemory
from tidal_plugins.protocols import Embedder

FILE_CHARS = 300_000
HERE = ("files", "user")

IN_MEMORY, SQLITE, OURS = "InMemoryStore", "SqliteStore", "TidalStore"
SMALL, LARGE, UNINDEXED, SEARCH = "small", "300 kB", "300 kB, no index", "search after"
"""What is timed in a round: three puts, and a search that must see the first two."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--puts", type=int, default=20, metavar="N", help="rounds of puts")
    add_embedder(parser)
    args = parser.parse_args(argv)
    try:
        figures = measure(EMBEDDERS[args.embedder](), args.puts)
    except TidalError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    columns = ("store", SMALL, LARGE, UNINDEXED, SEARCH)
    shown = table("A put, and the search after it: median ms (against ours)", *columns)
    for name, row in figures.items():
        shown.add_row(name, *(f"{row[each]:.1f} ({row[each] / figures[OURS][each]:.2f})" for each in columns[1:]))
    wide(100).print(shown)
    if SQLITE not in figures:
        wide(100).print(f"{SQLITE} was left out: what it needs is not installed.")


def measure(embedder: Embedder, rounds: int) -> dict[str, dict[str, float]]:
    """Return the median milliseconds of each operation, by store. The first round warms up and does not count."""
    times: dict[str, dict[str, list[float]]] = {}
    with TemporaryDirectory() as folder, ExitStack() as stack:
        stores = opened(embedder, Path(folder), stack)
        names = list(stores)
        for number in range(rounds + 1):
            for name in names[number % len(names) :] + names[: number % len(names)]:
                for operation, call in operations(stores[name], name, number):
                    took = timed(lambda _: call(), [None])  # noqa: B023
                    times.setdefault(name, {}).setdefault(operation, []).extend(took if number else [])
    return {name: {each: statistics.median(took) for each, took in row.items()} for name, row in times.items()}


def opened(embedder: Embedder, folder: Path, stack: ExitStack) -> dict[str, BaseStore]:
    """Open each store that can be opened here."""
    index: Any = {
        "dims": embedder.dimensions,
        "embed": lambda texts: [[float(x) for x in row] for row in embedder.embed(texts)],
        "fields": ["text"],
        "text_fields": ["text"],  # SqliteStore ignores the documented name, fields
    }
    memory = stack.enter_context(TidalMemory(folder / "store.db", embedder=embedder))
    stores: dict[str, BaseStore] = {OURS: TidalStore(memory, index={"fields": ["text"]})}
    stores[IN_MEMORY] = InMemoryStore(index=index)
    if connection := loading_connection(folder / "sqlite-store.db", stack):
        stores[SQLITE] = store = SqliteStore(connection, index=index)
        store.setup()
    return stores


def operations(store: BaseStore, name: str, number: int) -> list[tuple[str, Callable[[], Any]]]:
    """Return what is timed in a round. The texts name the store, or an embedder's cache would serve the later ones."""
    line = f"Number {number} of my notes in {name}: the tide at pier {number % 7} reads {number % 90} cm.\n"
    text = (line * (FILE_CHARS // len(line) + 1))[:FILE_CHARS]
    return [
        (SMALL, lambda: store.put(HERE, f"note-{number}", {"text": line})),
        (LARGE, lambda: store.put(HERE, f"file-{number}", {"text": text})),
        (UNINDEXED, lambda: store.put(HERE, f"data-{number}", {"text": text}, index=False)),
        (SEARCH, lambda: store.search(HERE, query=f"Which pier is note {number} of {name} about?", limit=3)),
    ]


def loading_connection(path: Path, stack: ExitStack) -> sqlite3.Connection | None:
    """Open a connection that can load sqlite-vec, or return ``None`` if there is none.

    Many builds of Python cannot load extensions; pysqlite3 stands in for them.
    """
    module: Any = sqlite3
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        try:
            from pysqlite3 import dbapi2 as module  # type: ignore[no-redef]
        except ImportError:
            return None
    connection: sqlite3.Connection = module.connect(str(path), check_same_thread=False, isolation_level=None)
    stack.callback(connection.close)
    return connection


if __name__ == "__main__":
    main()
