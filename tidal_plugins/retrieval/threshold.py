"""Stages ``estimate_confidence`` and ``apply_threshold``: a whisper shows only what is likely enough to help.

An explicit recall has no threshold: it returns the best there is, and says how likely each hit is to help.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import compress, repeat
from typing import TYPE_CHECKING

from tidal_plugins.language.importance import VITAL
from tidal_plugins.model.entry import SYNTHESIS
from tidal_plugins.retrieval.candidates import Candidates
from tidal_plugins.retrieval.deduplicate import first_of_kind
from tidal_plugins.retrieval.head import shipped
from tidal_plugins.retrieval.lasting import is_lasting
from tidal_plugins.retrieval.selection import sources
from tidal_plugins.retrieval.state import State
from tidal_plugins.retrieval.traits import traits_of
from tidal_plugins.scoring.context import margin
from tidal_plugins.storage.columns.filters import among

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAID = 3.0
"""Importance from which on an entry says more than a phrase."""

UNRELATED = 0.3
"""Nearness that unrelated texts have."""

NEAR = 1.5 * UNRELATED
"""Nearness below which an entry is short of being near."""


def estimate_confidence(state: State) -> None:
    """Estimate the chance that the recall holds something that helps, and the chance of each entry to do so.

    Entries that say nearly the same are no rivals. The chances are lower if the query names people who speak in this
    scope and none of them said the first. The first entry's chance is higher the further it stands ahead of the rest.
    """
    import numpy as np

    settings, found = state.settings, state.ranked
    if not len(found):
        return
    found = replace(found, leader=first_of_kind(found, settings.whisper.alike, state.channels))
    rivals = _without_derived(found.take(found.leader == found.rows), state)
    stands_out, head = _margin(rivals, state), shipped(state.request.profile)
    first, *others = rivals.standing(settings.recall).tolist()
    ahead = max(0.0, first - max([UNRELATED, *others]))
    state.confidence = float(head.of_recall({"margin": stands_out}))
    near = found.standing(settings.recall)
    features = {
        "margin": np.full(len(found), stands_out),
        "behind": np.minimum(0.0, near - first),
        "short": np.minimum(0.0, near - NEAR),
        "ahead": np.where(found.leader == rivals.rows[0], ahead, 0.0),
    }
    state.ranked = replace(found, confidence=state.confidence * head.of_hit(features), features=features)


def drop_shouts(state: State) -> None:
    """Drop entries that are shouted, unless one is the very first: what is said loudly must be the best there is.

    What another one would show in fourth place, a shout would show everywhere. It runs when few are left, since to tell
    a shout takes a while.
    """
    found = state.ranked
    if len(found) < 2:
        return
    loud = traits_of(found.columns).shouted(found.columns, found.rows)
    loud[0] = False
    state.ranked = found.take(~loud)
    state.drop("threshold", found.take(loud).ids, repeat("is shouted, and another one is nearer"))


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
    found, state.threshold = state.ranked, (threshold := max(threshold, _needed(state)))
    if state.confidence < threshold:
        reason = f"confidence {state.confidence:.3f} under the threshold of {threshold:.3f}"
        spared = _spared(state, threshold)
        reasons = [reason] * len(found)
    else:
        chances = state.confidence * shipped(profile).of_line(found.features) if len(found) else found.score
        spared = chances >= line
        reasons = [f"confidence {chance:.3f} under a line's threshold of {line:.3f}" for chance in chances.tolist()]
    state.ranked = found.take(spared)
    state.drop("threshold", found.take(~spared).ids, compress(reasons, (~spared).tolist()))


def _needed(state: State) -> float:
    """Return the chance that a turn of thanks and the like needs: that of a statement, and more than any for another
    mere phrase.

    Without that a short turn in a language that the tagger hardly knows is near to whatever a small memory holds.
    """
    found = state.ranked
    if not state.query.is_social or state.query.names or not len(found):
        return 0.0
    if float(found.columns.arrays.importance[found.rows[0]]) < SAID:
        return 1.0
    settings = state.settings.whisper
    return settings.statement_threshold * settings.share(state.request.profile)


def _spared(state: State, threshold: float) -> NDArray[np.bool_]:
    """Return what the person said that matters for good, if it is among the first and the turn asks.

    «Is this safe for me to eat?» has hardly a word of «I'm allergic to walnuts», and to miss it is worse than a line
    too many.
    """
    import numpy as np

    settings, found = state.settings, state.ranked
    spared = np.zeros(len(found), bool)
    if state.query.only_tells or state.confidence < settings.whisper.important * threshold:
        return spared
    first = settings.whisper.max_entries
    spared[:first] = is_lasting(found.take(slice(first)), VITAL)
    return spared


def least(state: State) -> float:
    """Return the chance below which nothing surfaces for the turn."""
    settings, query = state.settings.whisper, state.query
    return settings.least(query.only_tells, len(query.text.split())) * settings.share(state.request.profile)


def _without_derived(rivals: Candidates, state: State) -> Candidates:
    """Return the rivals without those that memory made of others: an entry is no rival of what it was made from.

    If the first is such an entry, its sources are none.
    """

    arrays = rivals.columns.arrays
    made = among(arrays.channel[rivals.rows], arrays.names.known([SYNTHESIS]))
    if not made.any():
        return rivals
    first = state.channels.entries(rivals.ids[:1]) if made[0] else {}
    made_from = {id_ for entry in first.values() for id_ in sources(entry)}
    made[0] = False
    return rivals.take(~made).without(made_from)


def _margin(rivals: Candidates, state: State) -> float:
    settings = state.settings
    said = rivals.columns.arrays.speaker[rivals.rows[0]]
    named = rivals.columns.arrays.names[said] in state.query.names
    words = float(rivals.strength[: settings.whisper.max_entries].max())
    return margin(
        rivals.standing(settings.recall).tolist(),
        rivals.cosine.tolist(),
        settings.whisper.keywords * words,
        rivals=settings.recall.reach - 1,
        topic=settings.whisper.topic,
    ) - settings.recall.speaker * bool(state.query.names and not named)
