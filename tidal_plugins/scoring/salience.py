"""The write gate: what is worth keeping for good [Anamnesis G6].

Distances are cosine distances in [0, 2], importance is in [1, 10], intensity, surprise and salience in [0, 1].
"""

import math


def surprise(distance: float | None) -> float:
    """Return how new something is: ``1 − e^(−distance)`` to the nearest entry in scope, in [0, 0.865] [Anamnesis G6].

    ``None`` means that there is no other entry, and gives 1. A distance that rounding took below 0 counts as 0.
    """
    return 1.0 if distance is None else 1 - math.exp(-max(0.0, distance))


def salience(
    importance: float,
    intensity: float,
    surprise: float,
    *,
    by_importance: float,
    by_intensity: float,
    by_surprise: float,
) -> float:
    """Return ``by_importance · importance/10 + by_intensity · intensity + by_surprise · surprise`` [Anamnesis G6].

    It is in [0, 1] for weights that add up to 1.
    """
    return by_importance * importance / 10 + by_intensity * intensity + by_surprise * surprise


def consolidates(importance: float, salience: float, *, important: float, threshold: float) -> bool:
    """Return whether something is kept for good: ``importance ≥ important`` or ``salience ≥ threshold`` [Anamnesis G6].

    Sums that miss the threshold only by rounding have reached it.
    """
    return importance >= important or salience >= threshold - 1e-9
