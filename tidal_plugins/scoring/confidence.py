"""How sure a relation is: independent evidence adds up, and what nothing confirms fades [SIYA §3.3].

Confidences lie in [0, 1]; times are in days.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable


def combined(evidence: Iterable[tuple[Hashable, float]]) -> float:
    """Return the confidence of all evidence: ``1 − Π(1 − cᵢ)`` over independent pieces, in [0, 1] [SIYA §3.3].

    Each piece comes with its origin: of those with the same origin, which are not independent, the surest counts.
    Without evidence it is 0.
    """
    surest: dict[Hashable, float] = {}
    for origin, confidence in evidence:
        surest[origin] = max(confidence, surest.get(origin, 0.0))
    return 1.0 - math.prod(1.0 - confidence for confidence in sorted(surest.values()))


def faded(confidence: float, days: float, *, half_life: float, floor: float) -> float:
    """Return ``confidence`` after ``days`` in which nothing confirmed it: ``c · 2^(−days / half_life)``, but
    ``floor`` at least, or ``confidence`` itself where that is less [SIYA §3.3].

    Negative days (the clock went back) count as 0.
    """
    return max(min(confidence, floor), confidence * math.exp2(-max(0.0, days) / half_life))
