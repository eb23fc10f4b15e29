"""Formulas that make one score of two channels."""

from collections.abc import Iterable, Sequence

from tidal_plugins.scoring.arrays import Values

K1 = 1.2
B = 0.75
"""BM25's constants in FTS5, which cannot be changed there."""


def reciprocal_rank(ranks: Iterable[Values], *, k: int) -> Values:
    """Return the reciprocal rank fusion ``Σ 1/(k + rank)`` over the channels that found an entry [Anamnesis].

    Ranks count from 1; 0 stands for a channel that did not find it. It is in [0, channels/(k + 1)].
    """
    import numpy as np

    return sum(np.where(np.greater(rank, 0), 1 / (k + np.maximum(rank, 1)), 0.0) for rank in ranks)


def relevance(fused: Values, best: float) -> Values:
    """Return a fused score against the best of the same recall, in [0, 1], the range that later factors multiply."""
    import numpy as np

    return np.clip(fused / best, 0.0, 1.0) if best > 0 else 0.0 * fused


def stretched(scores: Sequence[float]) -> list[float]:
    """Return scores of any scale with the lowest at 0 and the highest at 1; all are 1 if they are equal."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


def importance_factor(importance: Values) -> Values:
    """Return ``0.6 + 0.1·(importance − 1)``, in [0.6, 1.5] for an importance in [1, 10] [Anamnesis]."""
    return 0.6 + 0.1 * (importance - 1)


def sharp_relevance(fused: Values, best: float, *, sharpness: float) -> Values:
    """Return ``e^(sharpness · (fused − best))``, in (0, 1], which keeps the gaps of an absolute score.

    Dividing by the best leaves rivals at .8 or .9, and any factor in [0.6, 1.5] then outweighs what was found.
    """
    import numpy as np

    return np.exp(np.minimum(0.0, sharpness * (fused - best)))


def keyword_strength(
    bm25: Values, *, words: Values, mean_words: float, terms: int, passages: int, brevity: float
) -> Values:
    """Return BM25 made comparable across queries and stores: about 1 when a short passage has every term of the query.

    Two corrections. FTS5 divides term counts by a length norm that rewards every passage shorter than the mean; here a
    passage of up to ``brevity`` words counts as short, and a longer one pays in proportion: ``bm25 · (1 + K1·(1 − B +
    B·words/mean_words)) / (1 + K1·max(1, words/brevity))``, which is exact if no term repeats. Then the sum over terms
    is divided by ``√terms · ln(passages + 1)``. The sum would grow with that if each term were as rare as possible
    among the passages. At least 0.
    """
    import numpy as np

    if not terms or not mean_words or passages < 1:
        return 0.0 * bm25
    found = np.maximum(bm25, 0.0)
    rescaled = found * (1 + K1 * (1 - B + B * words / mean_words)) / (1 + K1 * np.maximum(1.0, words / brevity))
    return rescaled / (terms**0.5 * np.log(passages + 1))
