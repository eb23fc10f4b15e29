"""A formula for how near a moment is to a stretch of time."""

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
