"""Stages ``read_times`` and ``add_from_times``: the times that the text speaks of, and the entries from then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidal_plugins.model.entry import KINDS
from tidal_plugins.retrieval.request import visible
from tidal_plugins.retrieval.search import Channels, intact, join, nearness
from tidal_plugins.retrieval.state import State
from tidal_plugins.retrieval.time import Event, Period, event, periods
from tidal_plugins.retrieval.understand import to_query


def read_times(state: State) -> None:
    """Read the times off the text, in words or as those before or after an event that the memory knows.

    Times are used by the profile ``balanced`` alone.
    """
    request = state.request
    if request.profile != "balanced" or not state.settings.recall.time:
        return
    state.times = periods(request.text, request.now)
    if not state.times and (named := event(request.text)):
        state.times = _known(state, named)


def add_from_times(state: State) -> None:
    """Let the nearest entries from each time take part, wherever they stand.

    The best by keywords of each time would change no answer on the development conversations.
    """
    if state.times:
        reach, where = state.settings.recall.reach, state.request.where
        near = (match for time in state.times for match in state.channels.nearest(reach, time.within(where)))
        join(state, {match.id for match in near})


def _known(state: State, named: Event) -> Sequence[Period]:
    """Return the time before or after an event, as the nearest memory tells, if it is near enough."""
    request, settings, storage = state.request, state.settings.recall, state.store.storage
    query, where = to_query(named.name, ()), replace(visible(request.where), kinds=KINDS)
    channels = Channels(storage, request.scope, query, state.store.embedder.embed([query.meaning])[0], where)
    with storage.snapshot():
        found = channels.found(settings.shortlist, settings)
        best = min(found, key=lambda item: (-nearness(item, settings), item.id), default=None)
        if best is None or nearness(best, settings) < settings.event:
            return ()
        told = intact(lambda ids: storage.summaries(request.scope, ids), [best.id], channels.damaged)
    return tuple(named.at(time, id_) for id_, item in told.items() if (time := item.occurred_at))
