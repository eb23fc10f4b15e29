"""Search of a large scope on PostgreSQL: over columns in memory, as the engine does it, and by an index of pgvector.

    python benchmarks/large_scopes.py --passages 24000 30000 100000 --json out.json
    python benchmarks/large_scopes.py --url postgresql://user@host/db     another server, with pgvector, than one's own

One scope is filled through ``record_many``. New processes then search it for the ten nearest of what is active:

``rows``     as if no columns were saved: the first search reads every row
``saved``    the first search reads saved columns, and from then on the process has them
``hnsw``     a process that holds nothing: the server finds candidates by an HNSW index over halves (``halfvec``) of
             this one scope, filters them by a join, and the process rescores them by the stored vectors
``recall``   a whole recall by a process that reads saved columns: both channels, context, ranking

The index is built by this benchmark in a table of its own; the engine has none. Times differ from machine to machine:
look at the rows beside each other.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.table import Table

from benchmarks.synthetic import DIMENSIONS, SEED, InstantEmbedder, Words, centres, conversation
from benchmarks.timing import held_bytes, timed
from tidal_plugins import Settings, TidalError, TidalMemory
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.postgres import PostgresStorage
from tidal_plugins.storage.postgres.dialect import POSTGRES
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.sql.conditions import condition
from tools.databases import served
from tools.postgres import NoServer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCOPE = ("user", "large")
WAYS = ("rows", "saved", "hnsw")
RECALL = "recall"
PATIENT = 600.0
"""Seconds that a question may take here: a first load must end, however long it is."""

K, CANDIDATES = 10, 80
"""Entries that a search returns, and passages that the index gives to choose them from."""

PROCESSES = 3
"""New processes for each way. The median of their first searches counts."""

PER_PASSAGE = 1.5
"""Passages for each entry of a conversation: two turns, and their episode."""

_PREPARE = """
    CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE halves (scope bigint NOT NULL, passage bigint NOT NULL, half halfvec NOT NULL,
        PRIMARY KEY (scope, passage)) PARTITION BY HASH (scope);
    CREATE TABLE halves_0 PARTITION OF halves FOR VALUES WITH (MODULUS 1, REMAINDER 0);
    SET maintenance_work_mem = '1GB';
"""
_INDEX = f"""
    CREATE INDEX halves_of_scope ON halves_0 USING hnsw ((half::halfvec({DIMENSIONS})) halfvec_ip_ops)
    WHERE scope = {{scope}}
"""
_ADD = "INSERT INTO halves (scope, passage, half) SELECT %s, * FROM unnest(%s::bigint[], %s::text[]::halfvec[])"
_NEAREST = f"""
    SELECT h.passage, p.entry FROM halves h
    JOIN tidal_passages p ON p.scope = h.scope AND p.key = h.passage
    JOIN tidal_entries e ON e.scope = p.scope AND e.key = p.entry
    WHERE h.scope = {{scope}} AND {{wanted}}
    ORDER BY (h.half::halfvec({DIMENSIONS})) <#> %s::text::halfvec({DIMENSIONS}) LIMIT {CANDIDATES}
"""
_VECTORS = """
    SELECT passage, vector FROM tidal_vectors v, tidal_state t
    WHERE v.scope = %s AND v.generation = t.generation AND passage = ANY (%s)
"""
_ALL = "SELECT passage, vector FROM tidal_vectors WHERE scope = %s ORDER BY passage"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--passages", nargs="+", type=int, default=[24_000, 30_000, 100_000], metavar="N")
    parser.add_argument("--repeats", type=int, default=60, metavar="N", help="searches, and puts, of each kind")
    parser.add_argument("--url", help="a PostgreSQL server with pgvector, instead of one of the benchmark's own")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures")
    args = parser.parse_args(argv)
    if min(*args.passages, args.repeats) < 2:
        parser.error("all numbers must be at least 2")
    try:
        with served(args.url) as databases:
            figures = {size: measure(databases.new(), size, args.repeats) for size in sorted(args.passages)}
    except (NoServer, TidalError) as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    show(figures)
    if args.json:
        args.json.write_text(json.dumps({"machine": platform.platform(), "sizes": figures}, indent=1), "utf-8")


def measure(url: str, size: int, repeats: int) -> dict[str, Any]:
    """Return the figures of one size, in a new database."""
    import psycopg

    around = centres()
    embedder = InstantEmbedder(around)
    settings = Settings(graph={"background": False}, storage={"durability": "fast"})
    with TidalMemory(url, scope=SCOPE, embedder=embedder, settings=settings) as memory:
        memory.record_many(conversation(Words(SEED), round(size / PER_PASSAGE)))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DELETE FROM tidal_columns")
        connection.execute("VACUUM ANALYZE")
    queries = embedder.embed(questions(repeats))
    found: dict[str, Any] = {"rows": of_processes(url, "rows", around, repeats, 1)}
    found["saved"] = of_processes(url, "saved", around, repeats, PROCESSES)
    found["index"] = build(url)
    found["hnsw"] = of_processes(url, "hnsw", around, repeats, PROCESSES)
    best = exact(url, queries)
    for way in WAYS:
        hits = found[way].pop("found")
        found[way]["recall@10"] = sum(len(set(a) & set(b)) for a, b in zip(hits, best, strict=True)) / (K * len(best))
    found[RECALL] = of_processes(url, RECALL, around, repeats, PROCESSES)
    return found | {"puts": puts(url, queries)}


# searches


def questions(count: int) -> list[str]:
    """Return the questions that each process asks."""
    words = Words(SEED + 1)
    return [words.query() for _ in range(count)]


def of_processes(url: str, way: str, around: NDArray[np.float32], repeats: int, count: int) -> dict[str, Any]:
    """Return the figures of searches by new processes, one after the other."""
    context = multiprocessing.get_context("spawn")
    found = []
    for _ in range(count):
        with context.Pool(1) as pool:
            found.append(pool.apply(_searched, (url, way, around, repeats)))
    middle = {name: statistics.median(each[name] for each in found) for name in ("first_ms", "later_ms", "held_bytes")}
    return middle | {"found": found[-1]["found"]}


def _searched(url: str, way: str, around: NDArray[np.float32], repeats: int) -> dict[str, Any]:
    """Return the times of searches by this process, the memory that they took, and the passages that they found."""
    ours = PostgresStorage(url, query_deadline=PATIENT)
    where, hits = Where(active_at=_now()), list[list[int]]()
    with ours.snapshot():
        ours.columns(("nobody",))  # connections are there, and modules are loaded, before the time counts
    embedder, asked = InstantEmbedder(around), questions(repeats)
    queries = embedder.embed(asked)
    ways = {"hnsw": lambda: _by_index(url, where), RECALL: lambda: _recalls(ours, embedder, asked)}
    search = ways.get(way, lambda: _by_columns(ours, where))()
    before = held_bytes() or 0
    times = timed(lambda query: hits.append(search(query)), queries)
    held = (held_bytes() or 0) - before
    ours.close()  # which waits until columns are saved
    return {"first_ms": times[0], "later_ms": statistics.median(times[1:]), "held_bytes": held, "found": hits}


def _now() -> Any:
    from datetime import UTC, datetime

    return datetime.now(UTC)


def _recalls(store: PostgresStorage, embedder: InstantEmbedder, asked: Sequence[str]) -> Any:
    """Return a function that recalls, one question after the other."""
    settings, questions = Settings(graph={"background": False}), iter(asked)
    memory = TidalMemory(storage=store, scope=SCOPE, embedder=embedder, settings=settings)
    memory.scoped("nobody").recall("Is anything there?")

    def search(_: NDArray[np.float32]) -> list[int]:
        memory.recall(next(questions), limit=K)
        return []

    return search


def _by_columns(store: PostgresStorage, where: Where) -> Any:
    """Return the engine's search, which gives the keys of passages."""

    def search(unit: NDArray[np.float32]) -> list[int]:
        with store.snapshot():
            columns = store.columns(SCOPE)
            found = columns.nearest(unit, K, where)
            keys: list[int] = columns.arrays.passages["key"][found.passages].tolist()
            return keys

    return search


def _by_index(url: str, where: Where) -> Any:
    """Return the search by the index, rescored by the stored vectors. An entry counts once, by its best passage."""
    import numpy as np
    import psycopg

    connection, number = psycopg.connect(url, autocommit=True, prepare_threshold=1), number_of(SCOPE)
    filter_ = condition(POSTGRES, None, where)
    connection.execute("SELECT set_config('hnsw.iterative_scan', 'relaxed_order', false)")
    connection.execute(f"SELECT set_config('hnsw.ef_search', '{CANDIDATES}', false)")
    nearest = _NEAREST.format(scope=number, wanted=POSTGRES.sql(filter_.sql)).encode()

    def search(unit: NDArray[np.float32]) -> list[int]:
        with connection.transaction():
            rows = connection.execute(nearest, [*filter_.parameters, _text(unit)]).fetchall()
            entry = dict(rows)
            vectors = connection.execute(_VECTORS, [number, list(entry)], binary=True).fetchall()
        keys = [key for key, _ in vectors]
        units = np.frombuffer(b"".join(vector for _, vector in vectors), np.float32).reshape(len(keys), -1)
        order = np.argsort(-np.vecdot(units, unit), kind="stable").tolist()
        best: dict[int, int] = {}
        for place in order:
            best.setdefault(entry[keys[place]], keys[place])
        return list(best.values())[:K]

    return search


def exact(url: str, queries: NDArray[np.float32]) -> list[list[int]]:
    """Return the passages that the engine finds when it compares every vector."""
    store = PostgresStorage(url, query_deadline=PATIENT, exact_vectors_up_to=10**9, read_only=True)
    search = _by_columns(store, Where(active_at=_now()))
    found = [search(query) for query in queries]
    store.close()
    return found


# the index


def build(url: str) -> dict[str, float]:
    """Build the index of the scope. Return the seconds of that, and of filling its table, and the bytes of both."""
    import numpy as np
    import psycopg

    number = number_of(SCOPE)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_PREPARE)
        start = time.perf_counter()
        rows = connection.execute(_ALL, [number], binary=True).fetchall()
        for begin in range(0, len(rows), 4096):
            part = rows[begin : begin + 4096]
            texts = [_text(np.frombuffer(vector, np.float32)) for _, vector in part]
            connection.execute(_ADD, [number, [key for key, _ in part], texts])
        filled = time.perf_counter()
        connection.execute(_INDEX.format(scope=number).encode())
        built = time.perf_counter()
        connection.execute("VACUUM ANALYZE halves")
        sizes = "SELECT pg_table_size('halves_0'), pg_relation_size('halves_of_scope')"
        row = connection.execute(sizes).fetchone() or (0, 0)
    return {"fill_s": filled - start, "build_s": built - filled, "halves_bytes": row[0], "index_bytes": row[1]}


def puts(url: str, queries: NDArray[np.float32]) -> dict[str, float]:
    """Return the median milliseconds of durable puts of one entry: as they are, and with its half put in the index.

    The two take turns.
    """
    from tidal_plugins.testing import record

    store, number, names = PostgresStorage(url), number_of(SCOPE), ("plain", "indexed")
    times: dict[str, list[float]] = {name: [] for name in names}

    def put(name: str, key: int, unit: NDArray[np.float32]) -> None:
        with store.transaction():
            store.put(SCOPE, [record(f"{name}-{key}", "a few words", unit, scope=SCOPE)])
            if name == "indexed":
                store._db.run(SCOPE, (_ADD, [number, [-key], [_text(unit)]]))

    for key, unit in enumerate(queries, 1):
        for name in names if key % 2 else names[::-1]:
            times[name] += timed(lambda unit: put(name, key, unit), [unit])  # noqa: B023
    store.close()
    return {name: statistics.median(took) for name, took in times.items()}


def _text(unit: NDArray[np.float32]) -> str:
    """Return a vector as pgvector reads it."""
    return "[" + ",".join(map(str, unit.tolist())) + "]"


def show(figures: dict[int, dict[str, Any]]) -> None:
    """Print the searches, and then the cost of the index."""
    table = Table(title="Search of one scope: ten nearest, by a new process", title_justify="left")
    for column in ("passages", "way", "first, ms", "later, ms", "MB held", "recall@10"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for size, of_size in figures.items():
        for way in (*WAYS, RECALL):
            row = of_size[way]
            cells = (f"{row['first_ms']:,.0f}", f"{row['later_ms']:.1f}", f"{row['held_bytes'] / 1e6:.0f}")
            table.add_row(f"{size:,}", way, *cells, f"{row['recall@10']:.3f}" if way in WAYS else "")
        table.add_section()
    Console().print(table)
    table = Table(title="The index: HNSW over halfvec of one scope", title_justify="left")
    for column in ("passages", "filled, s", "built, s", "MB of halves", "MB of index", "put, ms", "with index"):
        table.add_column(column, justify="right")
    for size, of_size in figures.items():
        index, put = of_size["index"], of_size["puts"]
        seconds = (f"{index[name]:.1f}" for name in ("fill_s", "build_s"))
        sizes = (f"{index[name] / 1e6:.0f}" for name in ("halves_bytes", "index_bytes"))
        table.add_row(f"{size:,}", *seconds, *sizes, f"{put['plain']:.1f}", f"{put['indexed']:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
