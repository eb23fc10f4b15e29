"""Stage ``prefer_recent``: a turn that goes on with something needs what was done last."""

from __future__ import annotations

from tidal_plugins.model.clock import to_micros
from tidal_plugins.retrieval.state import State
from tidal_plugins.scoring.time import recency

RECENCY = "recency"
"""Name of the factor of a score."""

_DAY = 86_400_000_000  # microseconds


def prefer_recent(state: State) -> None:
    """Weigh scores by recency if the text goes on with something begun earlier, and sort again.

    It runs after the confidence was estimated, so that it decides order and never silence. Used by the profile
    ``balanced`` alone.
    """
    found, power = state.ranked, state.settings.recall.recency
    if state.query.goes_on and state.request.profile == "balanced" and power:
        days = (to_micros(state.request.now) - found.columns.arrays.occurred_at[found.rows]) / _DAY
        state.ranked = found.weighed(RECENCY, recency(days, power)).by_score()
