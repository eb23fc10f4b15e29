"""Formulas for the unit of a text that answers a query: a sentence, a list item, a table row or a line of code."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence


def rarity(units: Sequence[Collection[str]]) -> dict[str, float]:
    """Return how much each word tells among some units, given as sets of stems: ``ln(1 + (n + 0.5)/(df + 0.5))``.

    A word that all candidates for a whisper share tells none of them from the others.
    """
    counts = Counter(word for unit in units for word in set(unit))
    return {word: math.log(1 + (len(units) + 0.5) / (count + 0.5)) for word, count in counts.items()}


def coverage(unit: Collection[str], wanted: Collection[str], weights: dict[str, float]) -> float:
    """Return the share of the words wanted that a unit has, in [0, 1], each word by its weight.

    A word that no unit has counts for nothing.
    """
    total = sum(weights.get(word, 0.0) for word in wanted)
    return sum(weights.get(word, 0.0) for word in wanted if word in unit) / total if total else 0.0
