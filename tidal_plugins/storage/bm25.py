"""BM25 as FTS5 computes it."""

from __future__ import annotations

import math
from typing import Any

K1, B = 1.2, 0.75
"""The parameters of BM25."""

LEAST_RARITY = 1e-6
"""The rarity of a word that more than half of all passages have."""


def rarity(passages: int, having: int) -> float:
    """Return how much a word counts that ``having`` of all passages have."""
    return max(math.log(max(passages - having + 0.5, LEAST_RARITY) / (having + 0.5)), LEAST_RARITY)


def frequency(times: Any, length: Any, mean_length: float) -> Any:
    """Return how much it counts that a passage of ``length`` tokens has a word so many times.

    Both may be arrays of numbers, which give an array.
    """
    return times * (K1 + 1) / (times + K1 * (1 - B + B * length / mean_length))
