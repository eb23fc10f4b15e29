"""Stages ``read_times`` and ``add_from_times``: the times that the text speaks of, and the entries from then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from tidal_plugins.english.times import Event, Period, event, periods
from tidal_plugins.model.entry import KINDS
from tidal_plugins.retrieval.request import visible
from tidal_plugins.retrieval.search import Channels, intact, join, nearness
from tidal_plugins.retrieval.state import State
from tidal_plugins.retrieval.understand import to_query
from tidal_plugins.scoring.time import closeness
from tidal_plugins.storage.base import EntrySummary, Where
from tidal_plugins.tuning import RecallTuning


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
    if state.times:
        reach, where = state.settings.recall.reach, state.request.where
        near = (match for time in state.times for match in state.channels.nearest(reach, narrowed(where, time)))
        join(state, (match.id for match in near))


def closest(summary: EntrySummary, periods: Iterable[Period], settings: RecallTuning) -> float:
    """Return how near an entry is to the nearest of some periods, in [0, 1]; 0 if there are none.

    The memory that tells of the move is not from before the move, nor from after it.
    """
    slack, moment = timedelta(days=settings.slack), summary.occurred_at
    if moment is None:
        return 0.0
    others = (item for item in periods if item.known_from != summary.id)
    return max((closeness(moment, item.start, item.end, slack=slack) for item in others), default=0.0)


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
        channels = Channels(storage, request.scope, query, vector, where)
        found = channels.found(settings.shortlist, settings)
        best = max(found, key=lambda item: nearness(item, settings), default=None)
        if best is None or nearness(best, settings) < settings.event:
            return ()
        told = intact(lambda ids: storage.summaries(request.scope, ids), [best.id], channels.damaged)
    zone = state.settings.zone
    return tuple(named.at(time.astimezone(zone), id_) for id_, item in told.items() if (time := item.occurred_at))
