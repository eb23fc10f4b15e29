"""How well a ranking finds the evidence, and how sure that is.

A ranking is scored from the ranks of the evidence in it: one per piece of evidence, from 1, ``None`` where it was not
found. Every score is in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Ranks = Sequence[int | None]

DEPTH = 10
CUTS = (1, 3, 5, 10)
METRICS = (*(f"recall@{k}" for k in CUTS), *(f"hit@{k}" for k in CUTS), "mrr@10", "ndcg@10")
RESAMPLES = 2000
SEED = 20


def ranks_of(evidence: Sequence[str], ranking: Sequence[str]) -> list[int | None]:
    """Where each piece of evidence stands in a ranking, among its first ten."""
    places = {id_: place for place, id_ in enumerate(ranking[:DEPTH], 1)}
    return [places.get(id_) for id_ in evidence]


def scores(ranks: Ranks) -> list[float]:
    """One question's scores, in the order of ``METRICS``."""
    return [
        *(recall(ranks, k) for k in CUTS),
        *(float(recall(ranks, k) > 0) for k in CUTS),
        reciprocal_rank(ranks),
        ndcg(ranks),
    ]


def recall(ranks: Ranks, k: int) -> float:
    """The share of the evidence within the first ``k``."""
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def reciprocal_rank(ranks: Ranks) -> float:
    """1 / rank of the first piece of evidence, 0 where none was found."""
    return max((1 / rank for rank in ranks if rank is not None), default=0.0)


def ndcg(ranks: Ranks) -> float:
    """Discounted gain of the evidence found, against that of all evidence (or ten pieces) standing first."""
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank is not None)
    return gain / sum(1 / math.log2(place + 1) for place in range(1, min(len(ranks), DEPTH) + 1))


def summary(rows: Sequence[Sequence[float]]) -> dict[str, dict[str, float]]:
    """Mean and 95 % interval of every metric, in percent: a bootstrap over questions, always with the same seed."""
    return dict(zip(METRICS, intervals(rows), strict=True))


def difference(rows: Sequence[Sequence[float]], base: Sequence[Sequence[float]]) -> dict[str, dict[str, float]]:
    """The same for how much better ``rows`` are than ``base``, question by question."""
    return dict(zip(METRICS, intervals(rows, base), strict=True))


def intervals(rows: Sequence[Sequence[float]], base: Sequence[Sequence[float]] | None = None) -> list[dict[str, float]]:
    """Mean and 95 % interval of each column, in percent; with ``base`` of how much more it has, row by row."""
    import numpy as np

    values = _matrix(rows) if base is None else _matrix(rows) - _matrix(base)
    drawn = np.random.default_rng(SEED).multinomial(len(values), np.full(len(values), 1 / len(values)), RESAMPLES)
    low, high = np.percentile(drawn @ values / len(values), (2.5, 97.5), axis=0)
    columns = zip(values.mean(axis=0), low, high, strict=True)
    return [{"mean": round(float(m), 3), "low": round(float(a), 3), "high": round(float(b), 3)} for m, a, b in columns]


def quantiles(times: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile of times in milliseconds."""
    import numpy as np

    p50, p95 = np.percentile(times, (50, 95)) if times else (math.nan, math.nan)
    return {"p50_ms": round(float(p50), 4), "p95_ms": round(float(p95), 4)}


def shown(value: Mapping[str, float], *, signed: bool = False) -> str:
    """A mean and half its interval, such as ``63.0 ±3.2``."""
    return f"{value['mean']:{'+' if signed else ''}.1f} ±{(value['high'] - value['low']) / 2:.1f}"


def _matrix(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    import numpy as np

    return 100 * np.asarray(rows, np.float64)
