"""Stages ``estimate_confidence`` and ``apply_threshold``: a whisper shows only what stands out and is near enough.

An explicit recall has no threshold: it returns the best there is.
"""

from __future__ import annotations

from functools import partial

from tidal_plugins.model.entry import SYNTHESIS
from tidal_plugins.retrieval.deduplicate import first_of_kind
from tidal_plugins.retrieval.search import intact, nearness
from tidal_plugins.retrieval.selection import sources
from tidal_plugins.retrieval.state import NEARNESS_PARTS, Ranked, State
from tidal_plugins.scoring.context import confidence
from tidal_plugins.storage.base import Where
from tidal_plugins.tuning import RecallTuning


def estimate_confidence(state: State) -> None:
    """Estimate the confidence that the first of the ranking was meant, in units of cosine.

    Entries that say nearly the same are no rivals. The confidence is lower if the query names people who speak in this
    scope and none of them said the first.
    """
    settings = state.settings
    state.leaders = first_of_kind(state.store.storage, state.request.scope, state.ranked, settings.whisper.alike)
    rivals = [item for item in state.ranked if state.leaders[item.id] == item.id]
    state.confidence = _confidence(_without_derived(rivals, state), state)


def apply_threshold(state: State) -> None:
    """Drop everything if the confidence is too low, and else every entry that is not near enough itself.

    A question that the memory cannot answer still has neighbours there, as near as many an answer is. So confidence,
    not nearness, decides whether anything surfaces.
    """
    settings, sure = state.settings, state.confidence or 0.0
    threshold, least = settings.whisper.threshold, settings.whisper.min_confidence(state.request.profile)
    if least and sure < least:
        reason = f"confidence {sure:.3f} under the threshold of {least:.3f}"
        below = {item.id: reason for item in state.ranked}
    else:
        standing = {item.id: _standing(item, settings.recall) for item in state.ranked}
        below = {
            id_: f"nearness {near:.3f} under the threshold of {threshold:.3f}"
            for id_, near in standing.items()
            if threshold and near < threshold
        }
    state.ranked = [item for item in state.ranked if item.id not in below]
    state.drop("threshold", below.items())


def _without_derived(rivals: list[Ranked], state: State) -> list[Ranked]:
    """Return the rivals without those that memory made of others: an entry is no rival of what it was made from.

    If the first is such an entry, its sources are none.
    """
    storage, scope = state.store.storage, state.request.scope
    plain = storage.summaries(scope, [item.id for item in rivals], Where(not_channels=(SYNTHESIS,)))
    if not rivals or len(plain) == len(rivals):
        return rivals
    first = {} if rivals[0].id in plain else intact(partial(storage.get, scope), [rivals[0].id], state.channels.damaged)
    made_from = {id_ for entry in first.values() for id_ in sources(entry)}
    return [rivals[0], *(item for item in rivals[1:] if item.id in plain and item.id not in made_from)]


def _confidence(rivals: list[Ranked], state: State) -> float:
    if not rivals:
        return 0.0
    settings = state.settings
    said = rivals[0].summary.speaker in state.query.names
    words = max(item.found.keyword_strength for item in rivals[: settings.whisper.max_entries])
    return confidence(
        [_standing(item, settings.recall) for item in rivals],
        [item.found.cosine for item in rivals],
        settings.whisper.keywords * words,
        rivals=settings.recall.reach - 1,
        topic=settings.whisper.topic,
    ) - settings.recall.speaker * bool(state.query.names and not said)


def _standing(item: Ranked, settings: RecallTuning) -> float:
    """Return the nearness of an entry with its context, in any profile. A mood adds nothing to it."""
    return nearness(item.found, settings) + sum(value for name, value in item.parts.items() if name in NEARNESS_PARTS)
