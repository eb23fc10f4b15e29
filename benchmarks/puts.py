"""The time of a put into LangGraph's stores and into ours, and of the search after it: a part of frameworks.py.

Each round puts the same items into every store, one store after the other, in changing order, with one embedder. An
item is small, or a file of 300 kB with and without an index. Look at the ratios: times differ from machine to machine.
"""

from __future__ import annotations

import sqlite3
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore
from rich.console import Console
from rich.table import Table

FILE_CHARS = 300_000
HERE = ("files", "user")

SMALL, LARGE, UNINDEXED, SEARCH = "small", "300 kB", "300 kB, no index", "search after"
"""What is timed in a round: three puts, and a search that must see the first two."""


def measure_puts(stores: Mapping[str, BaseStore], rounds: int) -> dict[str, dict[str, float]]:
    """Return the median milliseconds of each operation, by store. The first round warms up and does not count."""
    seconds: dict[str, dict[str, list[float]]] = {name: {} for name in stores}
    names = list(stores)
    for number in range(rounds + 1):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            for operation, call in operations(stores[name], name, number):
                start = time.perf_counter()
                call()
                if number:
                    seconds[name].setdefault(operation, []).append(time.perf_counter() - start)
    return {
        name: {operation: statistics.median(each) * 1000 for operation, each in by_operation.items()}
        for name, by_operation in seconds.items()
    }


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


def show_puts(figures: Mapping[str, Mapping[str, float]], ours: str) -> None:
    """Print the times of each store, each with its ratio to that of ``ours``."""
    table = Table(title="A put, and the search after it: median ms (against ours)")
    for column in ("store", SMALL, LARGE, UNINDEXED, SEARCH):
        table.add_column(column, justify="left" if column == "store" else "right")
    for name, row in figures.items():
        cells = (
            f"{row[each]:.1f} ({row[each] / figures[ours][each]:.2f})" for each in (SMALL, LARGE, UNINDEXED, SEARCH)
        )
        table.add_row(name, *cells)
    Console().print(table)


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
