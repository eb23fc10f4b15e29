"""Edges that grow by use and fade without it: what comes up together is linked [Capsule].

Weights are at least 0 and dimensionless (1 is a new edge's); times are in days.
"""

import math


def weight(w0: float, days: float, daily: float) -> float:
    """Return the rest of ``w0`` after ``days``, fractions included: ``w0 · daily^days``, in [0, w0] [Capsule].

    ``daily`` in (0, 1] is the share kept per day. Negative days (the clock went back) count as 0.
    """
    return w0 * math.pow(daily, max(0.0, days))


def coactivate(weight: float, step: float, cap: float) -> float:
    """Return an edge's weight after both its ends were active at once: ``min(weight + step, cap)`` [Capsule].

    ``weight`` is the rest that decay has left at that moment: an edge fades first and then grows.
    """
    return min(weight + step, cap)


def transmission(weight: float) -> float:
    """Return the share of activation that an edge passes on: ``weight / (weight + 1)``, in [0, 1).

    A path passes the product, so that no detour outranks its own first hop; raw weights multiplied would grow along it.
    ``weight / cap`` would keep a new edge below the threshold of [Capsule].
    """
    return weight / (weight + 1)


def days_until(w0: float, floor: float, daily: float) -> float:
    """Return the days until an edge's weight falls to ``floor``: ``log(floor / w0) / log(daily)`` [Capsule].

    The edge is pruned then. They are 0 if it is there already, infinite if it never will be: the inverse of
    :func:`weight`.
    """
    if w0 <= floor:
        return 0.0
    return (math.log(floor) - math.log(w0)) / math.log(daily) if floor > 0 and daily < 1 else math.inf
