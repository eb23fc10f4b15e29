"""What the benchmarks share: options, tables, scores of rankings with confidence intervals, and times.

The ranks of the evidence in a ranking determine its scores: one rank per piece of evidence, from 1, or ``None`` if it
was not found. Every score is in [0, 1].
"""

from __future__ import annotations

import argparse
import math
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table


def options(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser of options that describes a benchmark by the first line of its docstring."""
    return argparse.ArgumentParser(description=(doc or "").split("\n")[0])


def table(title: str, *columns: str, left: int = 1) -> Table:
    """Return a table whose first ``left`` columns are texts, and the others figures."""
    made = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        made.add_column(column, justify="left" if number < left else "right", no_wrap=True)
    return made


def wide(width: int = 120) -> Console:
    """Return a console of at least that width, so that a narrow terminal wraps lines and cuts no figure."""
    return Console(width=max(width, Console().width))


Ranks = Sequence[int | None]

DEPTH = 10
CUTS = (1, 3, 5, 10)
METRICS = (*(f"recall@{k}" for k in CUTS), *(f"hit@{k}" for k in CUTS), "mrr@10", "ndcg@10")
RESAMPLES = 2000
SEED = 20


def ranks_of(evidence: Sequence[str], ranking: Sequence[str]) -> list[int | None]:
    """Return the rank of each piece of evidence among the first ten of a ranking."""
    places = {id_: place for place, id_ in enumerate(ranking[:DEPTH], 1)}
    return [places.get(id_) for id_ in evidence]


def scores(ranks: Ranks) -> list[float]:
    """Return the scores of one question, in the order of ``METRICS``."""
    return [
        *(recall(ranks, k) for k in CUTS),
        *(float(recall(ranks, k) > 0) for k in CUTS),
        reciprocal_rank(ranks),
        ndcg(ranks),
    ]


def recall(ranks: Ranks, k: int) -> float:
    """Return the share of the evidence within the first ``k``."""
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def reciprocal_rank(ranks: Ranks) -> float:
    """Return 1 / rank of the first piece of evidence, or 0 if none was found."""
    return max((1 / rank for rank in ranks if rank is not None), default=0.0)


def ndcg(ranks: Ranks) -> float:
    """Return the discounted gain of the evidence, relative to a ranking that begins with all (or ten) pieces of it."""
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank is not None)
    return gain / sum(1 / math.log2(place + 1) for place in range(1, min(len(ranks), DEPTH) + 1))


def summary(rows: Sequence[Sequence[float]]) -> dict[str, dict[str, float]]:
    """Return mean and 95 % interval of every metric, in percent, by a bootstrap over questions with a fixed seed."""
    return dict(zip(METRICS, intervals(rows), strict=True))


def difference(rows: Sequence[Sequence[float]], base: Sequence[Sequence[float]]) -> dict[str, dict[str, float]]:
    """Return mean and 95 % interval of the difference of ``rows`` to ``base``, paired by question, in percent."""
    return dict(zip(METRICS, intervals(rows, base), strict=True))


def intervals(rows: Sequence[Sequence[float]], base: Sequence[Sequence[float]] | None = None) -> list[dict[str, float]]:
    """Return mean and 95 % interval of each column, in percent; with ``base``, of the difference row by row."""
    values = _matrix(rows) if base is None else _matrix(rows) - _matrix(base)
    drawn = np.random.default_rng(SEED).multinomial(len(values), np.full(len(values), 1 / len(values)), RESAMPLES)
    low, high = np.percentile(drawn @ values / len(values), (2.5, 97.5), axis=0)
    columns = zip(values.mean(axis=0), low, high, strict=True)
    return [{"mean": round(float(m), 3), "low": round(float(a), 3), "high": round(float(b), 3)} for m, a, b in columns]


def quantiles(times: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of times in milliseconds."""
    p50, p95 = np.percentile(times, (50, 95)) if times else (math.nan, math.nan)
    return {"p50_ms": round(float(p50), 4), "p95_ms": round(float(p95), 4)}


def shown(value: Mapping[str, float], *, signed: bool = False) -> str:
    """Format a mean and half its interval, such as ``63.0 ±3.2``."""
    return f"{value['mean']:{'+' if signed else ''}.1f} ±{(value['high'] - value['low']) / 2:.1f}"


def _matrix(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    return 100 * np.asarray(rows, np.float64)


# times


PEAK, NOW = "VmHWM", "VmRSS"
"""The names that Linux gives to the most memory that a process has held, and to what it holds."""


def timed(
    call: Callable[[Any], object], items: Iterable[Any], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the milliseconds of each call, by a ``clock`` in seconds."""
    times = []
    for item in items:
        start = clock()
        call(item)
        times.append(1000 * (clock() - start))
    return times


def bare_commit(path: Path) -> Callable[[str], object]:
    """Return a call that commits one row durably: the least that any write costs on this disk."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE bare (text TEXT)"):
        connection.execute(statement)
    return lambda text: connection.execute("INSERT INTO bare VALUES (?)", (text,))


def held_bytes(which: str = NOW) -> int | None:
    """Return the memory that this process holds, or has held at most, in bytes; ``None`` if the system does not say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith(which))
    return 1024 * int(line.split()[1])  # getrusage would count the parent's memory too
