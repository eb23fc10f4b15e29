"""How near a moment is to the time that somebody speaks of."""

from __future__ import annotations

import math
from datetime import datetime, timedelta


def closeness(
    moment: datetime, start: datetime | None, end: datetime | None, *, slack: timedelta, width: float
) -> float:
    """1 within ``[start, end)``, open where ``None``; outside it e^(−distance / tolerance), in (0, 1).

    The tolerance is ``slack``, and ``width`` times the length of a period that has both ends: who says «in May» is
    less exact than who says «on 7 May», and what happened is often told days later.
    """
    if start and moment < start:
        distance = start - moment
    elif end and moment >= end:
        distance = moment - end
    else:
        return 1.0
    tolerance = max(slack, width * (end - start)) if start and end else slack
    return math.exp(-(distance / tolerance))
