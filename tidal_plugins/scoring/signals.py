"""Signals: scores that fade and add up, and what they do to a ranking [tidalDB].

Scores are at least 0 and dimensionless (1 is a new signal of weight 1); times and half-lives are in hours.
"""

from collections.abc import Iterable

from tidal_plugins.scoring.decay import weight as faded


def added(score: float, hours: float, weight: float, half_life: float) -> float:
    """Return a score after one more signal, at the later of both times: ``S · 2^(−Δt / h) + w`` [tidalDB].

    ``hours`` is from the last signal to this one. If it is negative the signal came late: it has faded by the time of
    the last one, and adds ``w · 2^(−|Δt| / h)`` to a score that stays as it is.
    """
    if hours >= 0:
        return float(faded(score, hours, half_life)) + weight
    return score + float(faded(weight, -hours, half_life))


def saturated(score: float) -> float:
    """Return ``v / (v + 1)`` of a score's size, with its sign, in (−1, 1).

    However many signals there are, they never outweigh all else.
    """
    return score / (abs(score) + 1)


def hinted(notes: Iterable[frozenset[str]], words: frozenset[str]) -> float:
    """Return the largest share of one note's keywords that are among the ``words`` of an entry, in [0, 1] [tidalDB]."""
    return max((len(note & words) / len(note) for note in notes if note), default=0.0)
