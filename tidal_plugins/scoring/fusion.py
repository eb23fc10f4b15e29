"""Formulas that make one score of two channels."""

import math
from collections.abc import Iterable, Sequence

K1 = 1.2
B = 0.75
"""BM25's constants in FTS5, which cannot be changed there."""


def reciprocal_rank(ranks: Iterable[int | None], *, k: int) -> float:
    """Return the reciprocal rank fusion ``Σ 1/(k + rank)`` over the channels that found an entry [Anamnesis].

    Ranks count from 1. It is in [0, channels/(k + 1)].
    """
    return math.fsum(1 / (k + rank) for rank in ranks if rank is not None)


def relevance(fused: float, best: float) -> float:
    """Return a fused score against the best of the same recall, in [0, 1], the range that later factors multiply."""
    return min(1.0, max(0.0, fused / best)) if best > 0 else 0.0


def stretched(scores: Sequence[float]) -> list[float]:
    """Return scores of any scale with the lowest at 0 and the highest at 1; all are 1 if they are equal."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


def importance_factor(importance: float) -> float:
    """Return ``0.6 + 0.1·(importance − 1)``, in [0.6, 1.5] for an importance in [1, 10] [Anamnesis]."""
    return 0.6 + 0.1 * (importance - 1)


def sharp_relevance(fused: float, best: float, *, sharpness: float) -> float:
    """Return ``e^(sharpness · (fused − best))``, in (0, 1], which keeps the gaps of an absolute score.

    Dividing by the best leaves rivals at .8 or .9, and any factor in [0.6, 1.5] then outweighs what was found.
    """
    return math.exp(min(0.0, sharpness * (fused - best)))


def keyword_strength(bm25: float, *, words: int, mean_words: float, terms: int, passages: int, brevity: float) -> float:
    """Return BM25 made comparable across queries and stores: about 1 when a short passage has every term of the query.

    Two corrections. FTS5 divides term counts by a length norm that rewards every passage shorter than the mean; here a
    passage of up to ``brevity`` words counts as short, and a longer one pays in proportion: ``bm25 · (1 + K1·(1 − B +
    B·words/mean_words)) / (1 + K1·max(1, words/brevity))``, which is exact if no term repeats. Then the sum over terms
    is divided by ``√terms · ln(passages + 1)``. The sum would grow with that if each term were as rare as possible
    among the passages. At least 0.
    """
    if bm25 <= 0 or not terms or not mean_words:
        return 0.0
    rescaled = bm25 * (1 + K1 * (1 - B + B * words / mean_words)) / (1 + K1 * max(1.0, words / brevity))
    return rescaled / (math.sqrt(terms) * math.log(passages + 1))
