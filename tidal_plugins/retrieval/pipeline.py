"""The read path: recall and whisper as lists of stages over one state [Tidal §2.3], [Anamnesis].

Each stage is a function of :class:`State`, in the module that its import names. A stage that has nothing to do for a
request leaves the state as it is. Reading writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidal_plugins.model.recall import Recall
from tidal_plugins.retrieval.boost import add_rewarded, boost, read_signals
from tidal_plugins.retrieval.context import add_neighbours
from tidal_plugins.retrieval.deduplicate import drop_alike, drop_echoes, read_news
from tidal_plugins.retrieval.lasting import prefer_lasting
from tidal_plugins.retrieval.rank import rank
from tidal_plugins.retrieval.read import add_windows, read, trim
from tidal_plugins.retrieval.recency import prefer_recent
from tidal_plugins.retrieval.request import Request
from tidal_plugins.retrieval.rerank import rerank
from tidal_plugins.retrieval.search import search
from tidal_plugins.retrieval.small_talk import skip_small_talk
from tidal_plugins.retrieval.state import Stage, State, Store
from tidal_plugins.retrieval.supersede import drop_superseded, newest_first, read_supersessions
from tidal_plugins.retrieval.threshold import apply_threshold, drop_shouts, estimate_confidence
from tidal_plugins.retrieval.times import add_from_times, read_times
from tidal_plugins.retrieval.understand import check_vector, embed, feel, understand
from tidal_plugins.retrieval.units import choose_units
from tidal_plugins.storage.damage import ENTRIES, noticed


def in_snapshot(*stages: Stage) -> Stage:
    """Return one stage that runs several, which all read the same state of the store."""

    def together(state: State) -> None:
        with state.store.storage.snapshot():
            for stage in stages:
                stage(state)

    return together


def add_associated(state: State) -> None:
    """Append the entries that the hits lead to, if the request says so. The graph's modules load when one does."""
    if state.request.associative:
        from tidal_plugins.retrieval.associate import associate

        associate(state)


CANDIDATES: Sequence[Stage] = (
    check_vector,
    read_signals,
    search,
    add_neighbours,
    add_from_times,
    add_rewarded,
    rank,
)
"""The stages that recall and whisper have in common: from the query to every candidate with its score."""

RECALL: Sequence[Stage] = (
    understand,
    embed,
    read_times,
    in_snapshot(
        *CANDIDATES,
        estimate_confidence,
        prefer_recent,
        prefer_lasting,
        boost,
        read_supersessions,
        newest_first,
        read,
    ),
    rerank,
    newest_first,  # a reranker knows nothing of what changed
    trim,
    add_associated,
    add_windows,
)
"""An explicit recall returns the best there is."""

WHISPER: Sequence[Stage] = (
    understand,
    skip_small_talk,
    embed,
    feel,
    read_times,
    in_snapshot(
        *CANDIDATES,
        drop_echoes,
        estimate_confidence,
        prefer_recent,
        boost,
        apply_threshold,
        drop_shouts,
        read_supersessions,
        newest_first,
        drop_superseded,
        drop_alike,
        read_news,
    ),
    rerank,
    newest_first,
    trim,
    choose_units,
)
"""A whisper returns what is worth showing to a model that did not ask. ``whisper.compose`` makes a text of it, after
the hits of peers were merged in."""


@dataclass(frozen=True, slots=True)
class Recaller(Store):
    """One store, asked without its peers."""

    def recall(self, request: Request) -> Recall:
        """Return the entries that rank highest, and why the other candidates fell out."""
        return run(RECALL, self, request).recall

    def whisper(self, request: Request) -> Recall:
        """Return the entries to show in a whisper, and why the other candidates fell out."""
        return run(WHISPER, self, request).recall


def run(stages: Sequence[Stage], store: Store, request: Request) -> State:
    """Run stages over one store, until one of them says that the rest has nothing to do.

    Damaged rows that were left out are told in ``degraded``, by their tables; damaged candidates are among ``dropped``.
    """
    state = State(store, request, request.affect)
    with noticed() as left_out:
        for stage in stages:
            stage(state)
            if state.done:
                break
    told = {item.id for item in state.recall.dropped}
    tables = [row.table for row in left_out if row.table != ENTRIES or row.name not in told]
    if tables:
        degraded = (*state.recall.degraded, *(f"damaged {table}" for table in dict.fromkeys(tables)))
        state.recall = replace(state.recall, degraded=degraded)
    return state
