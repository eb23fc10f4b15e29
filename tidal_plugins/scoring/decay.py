"""Strengths that grow by use and fade without it: of entries, signals, associations and relations.

Weights are at least 0 and dimensionless: 1 is a new entry's, signal's or edge's. Confidences are in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tidal_plugins.model.clock import hours_between
from tidal_plugins.model.entry import Tier
from tidal_plugins.tuning import Weights, tunable


@dataclass(frozen=True, kw_only=True)
class DecayTuning(Weights, group="decay"):
    """[Tidal §2.4]; times in hours."""

    warm: float = tunable(72.0, gt=0)
    """For a warm entry."""
    accessed: float = tunable(168.0, gt=0)
    """For an entry that was used since it was stored."""
    emotional: float = tunable(240.0, gt=0)
    """For an entry that was stored in a stirred mood."""
    cold: float = tunable(720.0, gt=0)
    """For a cold entry, until it is archived."""
    important: float = tunable(8.0, ge=1)
    """Importance from which an entry does not fade. The estimate gives it to allergies, medicines, keys, standing
    rules, promises and what is to be remembered: 5 of 2,342 users' turns to real assistants, 13 of 218 in stories of
    daily life and work, none of 2,960 turns of small talk. Above 10 everything fades."""
    floor: float = tunable(0.01, gt=0, lt=1)
    """Weight below which an entry graduates to the next colder tier."""


@dataclass(frozen=True, kw_only=True)
class UseTuning(Weights, group="use"):
    """Strengthening [Tidal §2.4]; the amounts are ours."""

    used: float = tunable(1.0, ge=0)
    """Added to the weight of what an answer used, or what was said again word for word."""
    surfaced: float = tunable(0.5, ge=0)
    """Added to the weight of what was shown and not used."""
    same_turn: float = tunable(0.25, ge=0)
    """Added to the weight of what was said in the same turn as what was shown, and was not shown itself: half of that
    again. Without it what is on by default cost 0.6 points of recall@5 on the development conversations, with it 0.2,
    since the half of an exchange that nobody asks for was archived from beside the other."""
    cap: float = tunable(10.0, gt=0)
    """Weight that nothing exceeds."""
    echo_words: int = tunable(2, gt=0)
    """Words of a memory that an answer repeats, beyond the question's, from which on it used the memory."""
    echo_share: float = tunable(0.4, gt=0, le=1)
    """Share of the new words of the memory or of the answer, whichever has fewer, that these must be: on development
    conversations it finds 41 % of the turns that an answer rests on, and 1.4 % of others that match the question."""


def weight(w0: Any, hours: Any, half_life: Any) -> Any:
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


def reinforce(weight: float, amount: float, cap: float) -> float:
    """Return the new w₀ of an entry that was used or surfaced: ``min(weight + amount, cap)`` [Tidal §2.4].

    ``weight`` is the rest that decay has left at that moment. The cap and the amounts are ours.
    """
    return min(weight + amount, cap)


def added(score: float, hours: float, more: float, half_life: float) -> float:
    """Return a score after one more signal, at the later of both times: ``S · 2^(−Δt / h) + w`` [tidalDB].

    ``hours`` is from the last signal to this one. If it is negative the signal came late: it has faded by the time of
    the last one, and adds ``w · 2^(−|Δt| / h)`` to a score that stays as it is.
    """
    if hours >= 0:
        return float(weight(score, hours, half_life)) + more
    return score + float(weight(more, -hours, half_life))


def edge_weight(w0: float, days: float, daily: float) -> float:
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
    :func:`edge_weight`.
    """
    if w0 <= floor:
        return 0.0
    return (math.log(floor) - math.log(w0)) / math.log(daily) if floor > 0 and daily < 1 else math.inf


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


def recurrence(uses: Iterable[tuple[datetime, str]], *, turns: int, hours: float) -> frozenset[str]:
    """Return the turns that use something within ``hours`` of each other [Tidal §2.4].

    Fewer than ``turns`` of them count as none. ``uses`` are times with the turns' ids, in any order; a turn counts
    once. Of several such spans the earliest counts, with every turn in it.
    """
    ordered = sorted(uses)
    for start, _ in ordered:
        within = frozenset(turn for at, turn in ordered if 0 <= hours_between(start, at) <= hours)
        if len(within) >= turns:
            return within
    return frozenset()
