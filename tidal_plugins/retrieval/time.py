"""How near an entry is to the times that a query speaks of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from tidal_plugins.english.times import Period
from tidal_plugins.scoring.time import closeness
from tidal_plugins.storage.base import EntrySummary, Where
from tidal_plugins.tuning import RecallTuning


def closest(sketch: EntrySummary, periods: Iterable[Period], settings: RecallTuning) -> float:
    """How near an entry is to the nearest of some periods, in [0, 1]; 0 where there are none.

    What tells of the move is not from before the move, nor from after it.
    """
    slack, moment = timedelta(days=settings.slack), sketch.occurred_at
    if moment is None:
        return 0.0
    others = (item for item in periods if item.known_from != sketch.id)
    return max((closeness(moment, item.start, item.end, slack=slack) for item in others), default=0.0)


def narrowed(where: Where, period: Period) -> Where:
    """Return a filter, narrowed to a time."""
    since = max(filter(None, (period.start, where.since)), default=None)
    return replace(where, since=since, until=min(filter(None, (period.end, where.until)), default=None))
