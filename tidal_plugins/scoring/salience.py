"""Salience: what is worth keeping for good, what belongs into a dossier, and when a memory may speak first.

Importance is in [0, 10] or [1, 10]; salience, surprise, intensity, arousal, relevance and shares are in [0, 1].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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


def source_salience(
    days: float, importance: float, relevance: float, *, half_life: float, floor: float, base: float
) -> float:
    """Return recency × importance × relevance, in [0, 1] [Capsule].

    ``max(floor, 2^(−days / half_life)) · min(importance / 10, 1) · (base + (1 − base) · relevance)``. ``days`` since
    the source was stored (a clock that went back counts as 0), ``importance`` in [0, 10], ``relevance`` to the topic in
    [0, 1]. ``half_life`` in days, above 0. ``floor`` in [0, 1] keeps old and important sources in reach, ``base`` in
    [0, 1] those that are hardly about the topic.
    """
    recency = max(floor, math.exp2(-max(0.0, days) / half_life))
    return recency * min(importance / 10, 1.0) * (base + (1 - base) * relevance)


def is_due(hours: float | None, interval: float) -> bool:
    """Return whether ``interval`` hours have passed since the last refresh [Capsule].

    ``hours`` are ``None`` if there was none yet. A clock that went back that far (negative hours) makes it due too: the
    last refresh lies in a future that may be years away.
    """
    return hours is None or abs(hours) >= interval


def gate(
    threads: int,
    seeds: int,
    arousal: float,
    absence: float,
    *,
    by_threads: float,
    full_threads: int,
    by_seeds: float,
    full_seeds: int,
    by_arousal: float,
    by_absence: float,
    half_absence: float,
) -> dict[str, float]:
    """Return the parts of the score by which a memory may speak first [Tidal §5].

    ``by_threads · min(1, threads / full_threads) + by_seeds · min(1, seeds / full_seeds) + by_arousal · arousal +
    by_absence · (1 − 2^(−absence / half_absence))``, with the absence in minutes, at least 0.
    """
    return {
        "threads": by_threads * min(1.0, threads / full_threads),
        "seeds": by_seeds * min(1.0, seeds / full_seeds),
        "arousal": by_arousal * arousal,
        "absence": by_absence * (1 - math.exp2(-max(0.0, absence) / half_absence)),
    }


def spread(
    salience: NDArray[np.float64],
    sources: NDArray[np.intp],
    targets: NDArray[np.intp],
    weights: NDArray[np.float64],
    share: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Move each salience towards the mean of its neighbours: ``s + share · (Σ w·s_neighbour − s)``.

    ``sources``, ``targets`` and ``weights`` are one edge each, and the weights into one target add up to 1. ``share``
    is 0 where there is no neighbour. What spreads along associations stays between the least and the greatest.
    """
    import numpy as np

    mean = np.bincount(targets, weights * salience[sources], len(salience))
    return salience + share * (mean - salience)


def urgency(hours: NDArray[np.float64], half_life: float) -> NDArray[np.float64]:
    """Return the salience that a day gives to what is due: ``2^(−hours / half_life)`` until it begins, then 1.

    ``hours`` are those until it begins, infinite for what is not due. The form is ours.
    """
    import numpy as np

    return np.exp2(-np.maximum(0.0, hours) / half_life)
