"""Stage ``prefer_recent``: a turn that goes on with something needs what was done last."""

from __future__ import annotations

from tidal_plugins.retrieval.state import Ranked, State, by_score
from tidal_plugins.scoring.time import recency

RECENCY = "recency"
"""Name of the factor of a score."""


def prefer_recent(state: State) -> None:
    """Weigh scores by recency if the text goes on with something begun earlier, and sort again.

    It runs after the confidence was estimated, so that it decides order and never silence. Used by the profile
    ``balanced`` alone.
    """
    if state.query.goes_on and state.request.profile == "balanced" and state.settings.recall.recency:
        state.ranked = by_score(_weighed(item, state) for item in state.ranked)


def _weighed(item: Ranked, state: State) -> Ranked:
    if item.summary.occurred_at is None:
        return item
    factor = recency(item.summary.occurred_at, state.request.now, state.settings.recall.recency)
    return item._replace(score=item.score * factor, parts={**item.parts, RECENCY: factor})
