"""The salience of a source for a dossier, and the time when a dossier is due [Capsule]."""

from __future__ import annotations

import math


def salience(days: float, importance: float, relevance: float, *, half_life: float, floor: float, base: float) -> float:
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
