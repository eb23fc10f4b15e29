"""Decay, reinforcement, and what is left of an entry's strength [Tidal §2.4].

Weights are at least 0 and dimensionless (1 is a new entry's); times and half-lives are in hours.
"""

import math
from datetime import datetime

from tidal_plugins.model.clock import hours_between
from tidal_plugins.model.entry import Tier
from tidal_plugins.scoring.arrays import Values


def weight(w0: Values, hours: Values, half_life: Values) -> Values:
    """Return the rest of ``w0`` after ``hours``: ``w0 · 2^(−hours / half_life)``, in [0, w0] [Tidal §2.4].

    ``half_life`` is above 0. Negative hours (the clock went back) count as 0.
    """
    import numpy as np

    return w0 * np.exp2(-np.maximum(0.0, hours) / half_life)


def remaining(tier: Tier, now: datetime, *, cold: float) -> float:
    """Return the weight that decay has left of an entry now [Tidal §2.4].

    From when it turned cold it counts from a new anchor with weight 1 and the half-life ``cold``, in hours.
    """
    if tier.cold_at and now >= tier.cold_at:
        return float(weight(1.0, hours_between(tier.cold_at, now), cold))
    return float(weight(tier.weight, hours_between(tier.anchored_at, now), tier.half_life))


def half_life(
    *, used: bool, intensity: float, warm: float, accessed: float, emotional: float, threshold: float
) -> float:
    """Return the longest half-life that applies to a warm entry, in hours [Tidal §2.4].

    ``warm`` always applies, ``accessed`` if the entry was used since it was stored, and ``emotional`` if the intensity
    at its creation (in [0, 1]) is above ``threshold``.
    """
    return max(warm, accessed if used else warm, emotional if intensity > threshold else warm)


def hours_until(w0: float, floor: float, half_life: float) -> float:
    """Return the hours until a weight falls to ``floor``: ``half_life · log2(w0 / floor)``.

    This is the inverse of :func:`weight`. They are 0 if it is there already, and infinite if ``floor`` is 0 and never
    reached. They tell beforehand when an entry turns cold or is archived [Tidal §2.4].
    """
    if w0 <= floor:
        return 0.0
    return half_life * (math.log2(w0) - math.log2(floor)) if floor > 0 else math.inf


def strength(weight: Values, lam: float) -> Values:
    """Return the factor by which decay dampens a score: ``(1 − λ) + λ · min(1, weight)``, in [1 − λ, 1].

    λ in [0, 1] is how much decay matters: undamped (1), every month-old memory would sink below any fresh one. The
    damping is ours; the weight is [Tidal §2.4].
    """
    import numpy as np

    return (1 - lam) + lam * np.minimum(1.0, weight)


def reinforce(weight: float, amount: float, cap: float) -> float:
    """Return the new w₀ of an entry that was used or surfaced: ``min(weight + amount, cap)`` [Tidal §2.4].

    ``weight`` is the rest that decay has left at that moment. The cap and the amounts are ours.
    """
    return min(weight + amount, cap)
