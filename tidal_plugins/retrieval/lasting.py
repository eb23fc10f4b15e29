"""Stage ``prefer_lasting``: a turn that asks may need what a person said for good, in whatever words."""

from __future__ import annotations

from tidal_plugins.english.shouting import is_shouted
from tidal_plugins.retrieval.state import Ranked, State, by_score
from tidal_plugins.storage.base import EntrySummary

LASTING = "lasting"
"""Name of the factor of a score."""


def prefer_lasting(state: State) -> None:
    """Raise the scores of what a person said for good, such as an allergy or a rule, if the turn asks, and sort again.

    Only an explicit recall does so: with it a whisper shows rules to two of 18 turns of the development stories that
    call for none. Used by the profile ``balanced`` alone.
    """
    factor, least = state.settings.recall.lasting, state.settings.decay.important
    if factor == 1 or state.query.only_tells or state.request.profile != "balanced":
        return
    if any(is_lasting(item.summary, least) for item in state.ranked):
        state.ranked = by_score(_raised(item, factor, least) for item in state.ranked)


def is_lasting(summary: EntrySummary, least: float) -> bool:
    """Return whether an entry is what a person said for good, with an importance of at least ``least``.

    What is shouted is not: whoever shouts wants to be heard everywhere. Health never counts as shouted.
    """
    return summary.role == "user" and summary.importance >= least and not is_shouted(summary.head)


def _raised(item: Ranked, factor: float, least: float) -> Ranked:
    if not is_lasting(item.summary, least):
        return item
    return item._replace(score=item.score * factor, parts={**item.parts, LASTING: factor})
