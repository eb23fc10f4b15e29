"""Formulas for how near a moment is to a stretch of time, and how far it lies back."""

from __future__ import annotations

import math
from datetime import datetime, timedelta


def closeness(moment: datetime, start: datetime | None, end: datetime | None, *, slack: timedelta) -> float:
    """Return 1 within ``[start, end)``, open where ``None``, and e^(−distance / slack) outside it.

    Events are often told days later.
    """
    if start and moment < start:
        distance = start - moment
    elif end and moment >= end:
        distance = moment - end
    else:
        return 1.0
    return math.exp(-(distance / slack))


def recency(moment: datetime, now: datetime, power: float) -> float:
    """Return ``(1 + days)^−power`` since ``moment``, in (0, 1]; 1 for a moment to come.

    What is taken up again was mostly done lately and rarely long ago: the odds fall with a power of the age.
    """
    return float((1 + max(0.0, (now - moment) / timedelta(days=1))) ** -power)
