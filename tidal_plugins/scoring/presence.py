"""Presence as arithmetic: the gate, and how salience decays, spreads and grows as a day comes near [Tidal §4–5].

Salience, arousal and shares are in [0, 1].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
