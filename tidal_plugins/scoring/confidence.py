"""Confidence of relations: independent evidence adds up, and unconfirmed confidence fades [SIYA §3.3].

Confidences lie in [0, 1]; times are in days.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable


def combined(evidence: Iterable[tuple[Hashable, float]]) -> float:
    """Return the confidence that evidence gives together: ``1 − Π(1 − cᵢ)``, in [0, 1] [SIYA §3.3].

    Each piece comes with its origin. Pieces of the same origin are not independent, and the surest of them counts.
    Without evidence it is 0.
    """
    surest: dict[Hashable, float] = {}
    for origin, confidence in evidence:
        surest[origin] = max(confidence, surest.get(origin, 0.0))
    return 1.0 - math.prod(1.0 - confidence for confidence in sorted(surest.values()))


def faded(confidence: float, days: float, *, half_life: float, floor: float) -> float:
    """Return the rest of ``confidence`` when nothing has confirmed it for ``days`` [SIYA §3.3].

    It is ``c · 2^(−days / half_life)``, but ``floor`` at least, or ``confidence`` itself if that is less. Negative days
    (the clock went back) count as 0.
    """
    return max(min(confidence, floor), confidence * math.exp2(-max(0.0, days) / half_life))
