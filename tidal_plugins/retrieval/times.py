"""Stages ``read_times`` and ``add_from_times``: the times that the text speaks of, and the entries from then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tidal_plugins.english.times import Event, Period, event, periods
from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import KINDS
from tidal_plugins.retrieval.candidates import Candidates
from tidal_plugins.retrieval.request import visible
from tidal_plugins.retrieval.search import Channels, join
from tidal_plugins.retrieval.state import State
from tidal_plugins.retrieval.understand import to_query
from tidal_plugins.scoring.time import closeness
from tidal_plugins.storage.base import Where
from tidal_plugins.tuning import RecallTuning

if TYPE_CHECKING:
    from tidal_plugins.retrieval.candidates import Reals

_DAY = 86_400_000_000  # microseconds


def read_times(state: State) -> None:
    """Read the times off the text, in words or as those before or after an event that the memory knows.

    Times are used by the profile ``balanced`` alone.
    """
    request = state.request
    if request.profile != "balanced" or not state.settings.recall.time:
        return
    state.times = periods(request.text, request.now.astimezone(state.settings.zone))
    if not state.times and (named := event(request.text)):
        state.times = _known(state, named)


def add_from_times(state: State) -> None:
    """Let the nearest entries from each time take part, wherever they stand.

    The best by keywords of each time would change no answer on the development conversations.
    """
    import numpy as np

    if state.times:
        reach, where = state.settings.recall.reach, state.request.where
        near = [state.channels.nearest(reach, narrowed(where, time)).entries for time in state.times]
        join(state, np.concatenate(near))


def closest(found: Candidates, periods: Iterable[Period], settings: RecallTuning) -> Reals:
    """Return how near each entry is to the nearest of some periods, in [0, 1].

    The memory that tells of the move is not from before the move, nor from after it.
    """
    import numpy as np

    moments, ids = found.columns.arrays.occurred_at[found.rows], found.ids
    slack, best = settings.slack * _DAY, np.zeros(len(found))
    for period in periods:
        start, end = (None if time is None else to_micros(time) for time in (period.start, period.end))
        near = closeness(moments, start, end, slack=slack)
        if period.known_from in ids:
            near[ids.index(period.known_from)] = 0.0
        best = np.maximum(best, near)
    return best


def narrowed(where: Where, period: Period) -> Where:
    """Return a filter, narrowed to a time."""
    since = max(filter(None, (period.start, where.since)), default=None)
    return replace(where, since=since, until=min(filter(None, (period.end, where.until)), default=None))


def _known(state: State, named: Event) -> Sequence[Period]:
    """Return the time before or after an event, as the nearest memory tells, if it is near enough."""
    request, settings, storage = state.request, state.settings.recall, state.store.storage
    query, where = to_query(named.name, ()), replace(visible(request.where), kinds=KINDS)
    embedder = state.store.embedder
    [embedded] = embedder.embed_queries([query.meaning])
    with storage.snapshot():
        vector = embedder.current(embedded, query.meaning).vector
        columns = storage.columns(request.scope)
        channels = Channels(storage, request.scope, query, vector, where, columns, state.statistics.corpus)
        found = channels.found(settings.shortlist, settings)
        near = found.nearness(settings)
        if not len(near) or near.max() < settings.event:
            return ()
        told = channels.entries(found.take([int(near.argmax())]).ids)
    zone = state.settings.zone
    return tuple(named.at(item.occurred_at.astimezone(zone), id_) for id_, item in told.items())
