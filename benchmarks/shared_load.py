"""Several processes on one memory: what writing at once loses and costs, and how fast workers drain one queue.

    python benchmarks/shared_load.py --processes 8 --records 500
    python benchmarks/shared_load.py --url postgresql://user@host/db      another server than one of its own
    python benchmarks/shared_load.py --store sqlite                       the same on one file
    python benchmarks/shared_load.py --records 0 --reading-ms 50          the queue alone, read by a model that waits

Every process records turns into the same scope. A turn that ``record`` returned must be found by a process that opens
the memory afterwards, with both its texts. The queue is that of the turns which wait for the graph; each number of
workers gets a new memory with the same turns. A scripted model that waits stands for one that answers over a network:
it takes time and no core. Times differ from machine to machine: look at the ratios.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.table import Table

from benchmarks.embedders import SESSION, Words
from benchmarks.tables import options, quantiles, table, timed, wide
from tidal_plugins import (
    Assertion,
    Exchange,
    Extraction,
    HashingEmbedder,
    Mention,
    Message,
    Settings,
    TidalError,
    TidalMemory,
)
from tidal_plugins.protocols import GraphExtractor
from tools.databases import served
from tools.postgres import NoServer

QUIET = Settings(graph={"background": False})
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TALK = "I work at Brightwater Labs. My sister M{name}a lives in Oslo.", "Good to know that M{name}a is in Oslo."
"""A turn that has something for the graph: a person of its own, and a company and a town that all turns share."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--store", choices=("postgres", "sqlite"), default="postgres")
    parser.add_argument("--url", help="a PostgreSQL server to use, instead of one of the benchmark's own")
    parser.add_argument("--processes", type=int, default=8, metavar="N", help="processes that record")
    parser.add_argument("--records", type=int, default=500, metavar="N", help="turns that each of them records")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4, 8], metavar="N", help="workers of a queue")
    parser.add_argument("--turns", type=int, default=400, metavar="N", help="turns in the queue")
    parser.add_argument("--reading-ms", type=float, metavar="MS", help="a scripted model waits so long for each turn")
    args = parser.parse_args(argv)
    if min(args.processes, args.turns, *args.workers) < 1 or args.records < 0 or (args.reading_ms or 0) < 0:
        parser.error("all numbers must be positive")
    try:
        with stores(args.store, args.url) as new:
            writing = write_at_once(new(), args.processes, args.records) if args.records else None
            queue = {workers: drain(new(), workers, args.turns, args.reading_ms) for workers in args.workers}
    except (NoServer, TidalError) as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    show(args.store, writing, queue, args.reading_ms)


@contextmanager
def stores(store: str, url: str | None) -> Iterator[Callable[[], str]]:
    """Yield a function that returns the place of a new memory."""
    if store == "sqlite":
        with TemporaryDirectory(prefix="tidal-benchmark-") as folder:
            numbers = count()
            yield lambda: str(Path(folder, f"memory-{next(numbers)}.db"))
        return
    with served(url) as databases:
        yield databases.new


def opened(place: str, settings: Settings = QUIET, reader: GraphExtractor | None = None) -> TidalMemory:
    return TidalMemory(place, embedder=HashingEmbedder(), settings=settings, graph_extractor=reader)


# writing


def write_at_once(place: str, processes: int, records: int) -> dict[str, Any]:
    """Return what was lost and what a record took, with one process alone and with all of them at once."""
    opened(place).close()
    alone = at_once(_record, [(place, "alone", records)])
    together = at_once(_record, [(place, f"writer-{number}", records) for number in range(processes)])
    lost = 0
    with opened(place) as memory:
        for ids, _, _ in [*alone, *together]:
            lost += sum(not _whole(memory, id_) for id_ in ids)
    took = [time for _, times, _ in together for time in times]
    seconds = max(end for *_, (_, end) in together) - min(start for *_, (start, _) in together)
    return {
        "processes": processes,
        "acknowledged": sum(len(ids) for ids, *_ in [*alone, *together]),
        "expected": records * (processes + 1),
        "lost": lost,
        "alone": quantiles(alone[0][1]) | {"p99_ms": _p99(alone[0][1])},
        "together": quantiles(took) | {"p99_ms": _p99(took)},
        "records_per_second": round(len(took) / seconds, 1),
        "alone_per_second": round(1000 * records / sum(alone[0][1]), 1),
    }


def _record(place: str, name: str, records: int, ready: Barrier) -> tuple[list[str], list[float], tuple[float, float]]:
    words, ids = Words(zlib.crc32(name.encode())), list[str]()
    with opened(place) as memory:
        memory.recall(words.query())  # connections and columns are there before the time counts

        def record(number: int) -> None:
            turn = memory.record(words.turn(), words.turn(), thread=f"{name}-{number // SESSION}")
            ids.append(turn.id)

        ready.wait()
        start = time.monotonic()
        times = timed(record, range(records))
        return ids, times, (start, time.monotonic())


def _whole(memory: TidalMemory, id_: str) -> bool:
    try:
        episode = memory.episodes[id_]
        return [memory.get(entry).text for entry in episode.entries] == [episode.query, episode.answer]
    except (KeyError, TidalError):
        return False


def _p99(times: Sequence[float]) -> float:
    return round(sorted(times)[min(len(times) - 1, int(0.99 * len(times)))], 2)


# draining


class WaitingReader:
    """A scripted model: it finds the person and the town of a turn, after a time, and counts what it was asked."""

    def __init__(self, milliseconds: float) -> None:
        self.seconds, self.asked = milliseconds / 1000, 0

    def extract_graph(self, texts: Sequence[str]) -> list[Extraction]:
        self.asked += 1
        time.sleep(self.seconds)
        return [self._read(text) for text in texts]

    def _read(self, text: str) -> Extraction:
        if "sister M" not in text:
            return Extraction()
        start = text.index("sister M") + len("sister ")
        end, town = text.index(" ", start), text.index("Oslo")
        one = Mention(text[start:end], "person", "contextual", start, end)
        other = Mention("Oslo", "place", "contextual", town, town + len("Oslo"))
        return Extraction((one, other), (Assertion(one, "lives_in", other, start, town + len("Oslo"), 0.9),))


def drain(place: str, workers: int, turns: int, reading_ms: float | None = None) -> dict[str, Any]:
    """Return how many turns a second workers index for the graph, and what is left waiting.

    With ``reading_ms``, a model reads them that waits so long for each.
    """
    with opened(place) as memory:
        memory.record_many(_turns(turns))
        waiting = len(memory.graph.pending())
    done = at_once(_index, [(place, reading_ms) for _ in range(workers)])
    seconds = max(end for _, _, end in done) - min(start for _, start, _ in done)
    with opened(place) as memory:
        left, entities = len(memory.graph.pending()), len(memory.graph.entities())
    return {
        "turns_per_second": round((waiting - left) / seconds, 1),
        "waiting": waiting,
        "read": sum(read for read, *_ in done),
        "left": left,
        "entities": entities,
    }


def _turns(number: int) -> Iterator[Exchange]:
    for turn in range(number):
        name = "".join(LETTERS[turn // 26**place % 26] for place in range(3))
        user, agent = (text.format(name=name) for text in TALK)
        messages = (Message("user", user), Message("assistant", agent))
        yield Exchange(messages, f"session-{turn // SESSION}", f"turn-{turn}")


def _index(place: str, reading_ms: float | None, ready: Barrier) -> tuple[int, float, float]:
    """Return how many turns a worker read, and when it began and ended."""
    reader = None if reading_ms is None else WaitingReader(reading_ms)
    with opened("memory://") as warm:  # loads what indexing needs before the time counts
        warm.record_many(_turns(2))
        warm.graph.index_pending()
    with opened(place, reader=reader) as memory:
        memory.recall("Brightwater Labs")
        ready.wait()
        start = time.monotonic()
        done = memory.graph.index_pending()
        return done.episodes if reader is None else reader.asked, start, time.monotonic()


def at_once(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return the results of the work of as many processes, which begin together."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # processes, not threads, are to share the cores
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        ready = manager.Barrier(len(arguments), timeout=600)
        with context.Pool(len(arguments)) as pool:
            return pool.starmap(work, [(*each, ready) for each in arguments], chunksize=1)


# showing


def show(
    store: str, writing: dict[str, Any] | None, queue: dict[int, dict[str, Any]], reading_ms: float | None
) -> None:
    tables = [_written(store, writing)] if writing else []
    wide(100).print(*tables, _drained(queue, reading_ms))


def _written(store: str, writing: dict[str, Any]) -> Table:
    processes = writing["processes"]
    title = f"{writing['expected']:,} turns recorded on {store}; {os.cpu_count()} cores"
    found = table(title, "", "one process", f"{processes} at once", "ratio")
    for name in ("p50_ms", "p95_ms", "p99_ms"):
        one, many = writing["alone"][name], writing["together"][name]
        found.add_row(f"{name[:3]}, ms", f"{one:.2f}", f"{many:.2f}", f"{many / one:.2f} ×")
    one, many = writing["alone_per_second"], writing["records_per_second"]
    found.add_row("turns per second", f"{one:.0f}", f"{many:.0f}", f"{many / one:.2f} ×")
    unacknowledged = writing["expected"] - writing["acknowledged"]
    found.add_row("lost, of those acknowledged", "", str(writing["lost"]), "")
    found.add_row("not acknowledged", "", str(unacknowledged), "")
    return found


def _drained(queue: dict[int, dict[str, Any]], reading_ms: float | None) -> Table:
    title = "Workers that index one queue for the graph"
    if reading_ms is not None:
        title += f", with a model that waits {reading_ms:g} ms for each turn"
    columns = ("workers", "turns per second", "against the first", "turns", "read", "left", "entities")
    drained = table(title, *columns, left=0)
    first = next(iter(queue.values()))["turns_per_second"]
    for workers, figures in queue.items():
        speed = figures["turns_per_second"]
        counts = [str(figures[name]) for name in ("waiting", "read", "left", "entities")]
        drained.add_row(str(workers), f"{speed:.1f}", f"{speed / first:.2f} ×", *counts)
    return drained


if __name__ == "__main__":
    main()
