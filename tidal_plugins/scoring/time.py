"""How near a moment is to the time that somebody speaks of."""

from __future__ import annotations

import math
from datetime import datetime, timedelta


def closeness(moment: datetime, start: datetime | None, end: datetime | None, *, slack: timedelta) -> float:
    """1 within ``[start, end)``, open where ``None``; outside it e^(−distance / slack), in (0, 1): what happened is
    often told days later."""
    if start and moment < start:
        distance = start - moment
    elif end and moment >= end:
        distance = moment - end
    else:
        return 1.0
    return math.exp(-(distance / slack))
