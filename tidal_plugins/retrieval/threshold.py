"""Stages ``estimate_confidence`` and ``apply_threshold``: a whisper shows only what is likely enough to help.

An explicit recall has no threshold: it returns the best there is, and says how likely each hit is to help.
"""

from __future__ import annotations

from functools import partial

from tidal_plugins.english.shouting import is_shouted
from tidal_plugins.model.entry import SYNTHESIS
from tidal_plugins.retrieval.deduplicate import first_of_kind
from tidal_plugins.retrieval.head import shipped
from tidal_plugins.retrieval.lasting import is_lasting
from tidal_plugins.retrieval.search import intact, nearness
from tidal_plugins.retrieval.selection import sources
from tidal_plugins.retrieval.state import NEARNESS_PARTS, Ranked, State
from tidal_plugins.scoring.context import margin
from tidal_plugins.storage.base import Where
from tidal_plugins.tuning import RecallTuning

UNRELATED = 0.3
"""Nearness that unrelated texts have."""

NEAR = 1.5 * UNRELATED
"""Nearness below which an entry is short of being near."""


def estimate_confidence(state: State) -> None:
    """Estimate the chance that the recall holds something that helps, and the chance of each entry to do so.

    Entries that say nearly the same are no rivals. The chances are lower if the query names people who speak in this
    scope and none of them said the first. The first entry's chance is higher the further it stands ahead of the rest.
    """
    settings = state.settings
    state.leaders = first_of_kind(state.store.storage, state.request.scope, state.ranked, settings.whisper.alike)
    rivals = [item for item in state.ranked if state.leaders[item.id] == item.id]
    if not rivals:
        return
    rivals = _without_derived(rivals, state)
    stands_out, head = _margin(rivals, state), shipped(state.request.profile)
    first, *others = (_standing(item, settings.recall) for item in rivals)
    ahead = max(0.0, first - max([UNRELATED, *others]))
    state.confidence = head.of_recall({"margin": stands_out})
    state.ranked = [
        _judged(item, first, ahead if state.leaders[item.id] == rivals[0].id else 0.0, stands_out, state)
        for item in state.ranked
    ]


def drop_shouts(state: State) -> None:
    """Drop entries that are shouted, unless one is the very first: what is said loudly must be the best there is.

    What another one would show in fourth place, a shout would show everywhere.
    """
    loud = {item.id for item in state.ranked[1:] if is_shouted(item.summary.head)}
    state.ranked = [item for item in state.ranked if item.id not in loud]
    state.drop("threshold", ((id_, "is shouted, and another one is nearer") for id_ in loud))


def apply_threshold(state: State) -> None:
    """Drop everything if nothing is likely enough to help, and else every entry that is not itself.

    A question that the memory cannot answer still has neighbours there, as near as many an answer is. So how far the
    first stands out, not nearness, decides whether anything surfaces. A line that is far behind the first may still add
    to it, so that how far the first is ahead tells nothing about the others.
    """
    settings, profile = state.settings.whisper, state.request.profile
    threshold, line = least(state), settings.line_threshold * settings.share(profile)
    if not threshold:
        return
    of_line = shipped(profile).of_line
    if state.confidence < threshold:
        reason = f"confidence {state.confidence:.3f} under the threshold of {threshold:.3f}"
        spared = _spared(state, threshold)
        below = {item.id: reason for item in state.ranked if item.id not in spared}
    else:
        below = {
            item.id: f"confidence {chance:.3f} under a line's threshold of {line:.3f}"
            for item in state.ranked
            if (chance := state.confidence * of_line(item.features)) < line
        }
    state.ranked = [item for item in state.ranked if item.id not in below]
    state.drop("threshold", below.items())


def _spared(state: State, threshold: float) -> set[str]:
    """Return what the person said that matters for good, if it is among the first and the turn asks.

    «Is this safe for me to eat?» has hardly a word of «I'm allergic to walnuts», and to miss it is worse than a line
    too many.
    """
    settings = state.settings
    if state.query.only_tells or state.confidence < settings.whisper.important * threshold:
        return set()
    first = state.ranked[: settings.whisper.max_entries]
    lasts = settings.decay.important
    return {item.id for item in first if is_lasting(item.summary, lasts)}


def least(state: State) -> float:
    """Return the chance below which nothing surfaces for the turn."""
    settings, query = state.settings.whisper, state.query
    return settings.least(query.only_tells, len(query.text.split())) * settings.share(state.request.profile)


def _judged(item: Ranked, first: float, ahead: float, stands_out: float, state: State) -> Ranked:
    near = _standing(item, state.settings.recall)
    features = {"behind": min(0.0, near - first), "short": min(0.0, near - NEAR), "ahead": ahead}
    chance = state.confidence * shipped(state.request.profile).of_hit(features)
    return item._replace(confidence=chance, features={"margin": stands_out, **features})


def _without_derived(rivals: list[Ranked], state: State) -> list[Ranked]:
    """Return the rivals without those that memory made of others: an entry is no rival of what it was made from.

    If the first is such an entry, its sources are none.
    """
    storage, scope = state.store.storage, state.request.scope
    plain = storage.summaries(scope, [item.id for item in rivals], Where(not_channels=(SYNTHESIS,)))
    if len(plain) == len(rivals):
        return rivals
    first = {} if rivals[0].id in plain else intact(partial(storage.get, scope), [rivals[0].id], state.channels.damaged)
    made_from = {id_ for entry in first.values() for id_ in sources(entry)}
    return [rivals[0], *(item for item in rivals[1:] if item.id in plain and item.id not in made_from)]


def _margin(rivals: list[Ranked], state: State) -> float:
    settings = state.settings
    said = rivals[0].summary.speaker in state.query.names
    words = max(item.found.keyword_strength for item in rivals[: settings.whisper.max_entries])
    return margin(
        [_standing(item, settings.recall) for item in rivals],
        [item.found.cosine for item in rivals],
        settings.whisper.keywords * words,
        rivals=settings.recall.reach - 1,
        topic=settings.whisper.topic,
    ) - settings.recall.speaker * bool(state.query.names and not said)


def _standing(item: Ranked, settings: RecallTuning) -> float:
    """Return the nearness of an entry with its context, in any profile. A mood adds nothing to it."""
    return nearness(item.found, settings) + sum(value for name, value in item.parts.items() if name in NEARNESS_PARTS)
