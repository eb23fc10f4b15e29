"""Score how well a ranking finds the evidence, with confidence intervals.

The ranks of the evidence in a ranking determine its scores: one rank per piece of evidence, from 1, or ``None`` if it
was not found. Every score is in [0, 1].
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
    import numpy as np

    values = _matrix(rows) if base is None else _matrix(rows) - _matrix(base)
    drawn = np.random.default_rng(SEED).multinomial(len(values), np.full(len(values), 1 / len(values)), RESAMPLES)
    low, high = np.percentile(drawn @ values / len(values), (2.5, 97.5), axis=0)
    columns = zip(values.mean(axis=0), low, high, strict=True)
    return [{"mean": round(float(m), 3), "low": round(float(a), 3), "high": round(float(b), 3)} for m, a, b in columns]


def quantiles(times: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of times in milliseconds."""
    import numpy as np

    p50, p95 = np.percentile(times, (50, 95)) if times else (math.nan, math.nan)
    return {"p50_ms": round(float(p50), 4), "p95_ms": round(float(p95), 4)}


def shown(value: Mapping[str, float], *, signed: bool = False) -> str:
    """Format a mean and half its interval, such as ``63.0 ±3.2``."""
    return f"{value['mean']:{'+' if signed else ''}.1f} ±{(value['high'] - value['low']) / 2:.1f}"


def _matrix(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    import numpy as np

    return 100 * np.asarray(rows, np.float64)
