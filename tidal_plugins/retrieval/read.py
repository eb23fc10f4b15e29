"""Stages ``read``, ``trim`` and ``add_windows``: a ranking as hits, with the texts of their entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat

from tidal_plugins.model.entry import Entry
from tidal_plugins.model.recall import Dropped, Recall, Window
from tidal_plugins.retrieval.candidates import Candidates, Links
from tidal_plugins.retrieval.request import visible
from tidal_plugins.retrieval.state import State

NO_LINKS: Links = ((), ())


def read(state: State) -> None:
    """Read the first entries of the ranking, and leave out those that are damaged."""
    state.ranked, state.entries = read_first(state, depth(state))


def trim(state: State) -> None:
    """Cut the ranking at the limit, and put the recall together."""
    request, limit = state.request, state.request.limit
    ids, scores = state.ranked.ids, state.ranked.score.tolist()
    links = [state.links.get(id_, NO_LINKS) for id_ in ids[:limit]]
    hits = state.ranked.hits([state.entries[id_] for id_ in ids[:limit]], request.profile, links)
    placed = enumerate(scores[limit:], limit + 1)
    beyond = (f"score {score:.3f} at place {place}" for place, score in placed)
    trimmed = map(Dropped, ids[limit:], repeat("trim"), beyond)
    there = set(ids)  # a supersession may bring back what was far down
    far = [id_ for id_ in state.far.ids if id_ not in there]
    state.drop("shortlist", far, repeat("too far down in both channels together"))
    state.dropped |= {item.id: item for item in state.channels.unreadable()}
    state.recall = Recall(
        query=request.text,
        words=state.query.terms,
        hits=tuple(hits),
        dropped=(*trimmed, *state.dropped.values()),
        affect=state.affect,
        profile=request.profile,
        at=request.now,
        degraded=tuple(state.channels.degraded),
        confidence=state.confidence,
        times=tuple(map(str, state.times)),
        threshold=state.threshold,
    )


def add_windows(state: State) -> None:
    """Give each hit the entries before it and after it in its thread, as many turns as the request asks for.

    Neighbours only have to be visible at all. The rest of the filter applies to hits alone, so that «what did Ann say»
    shows the question that Ann answered.
    """
    recall, request = state.recall, state.request
    if not request.window:
        return
    adjacent = state.store.storage.adjacent(request.scope, recall.ids, request.window, visible(request.where))
    entries = state.channels.entries(list(dict.fromkeys(item.other for item in adjacent)))
    near: dict[str, list[tuple[int, Entry]]] = {}
    for item in adjacent:
        if item.other in entries:
            near.setdefault(item.id, []).append((item.places, entries[item.other]))
    state.recall = replace(recall, hits=tuple(replace(hit, window=_window(near.get(hit.id, ()))) for hit in recall))


def read_first(state: State, most: int) -> tuple[Candidates, dict[str, Entry]]:
    """Return the ranking without damaged entries, and the first ``most`` entries of it."""
    entries = state.channels.entries(state.ranked.ids, most)
    return state.ranked.without(state.channels.damaged), entries


def depth(state: State) -> int:
    """Return how many entries of a ranking are read: the limit, or more if a reranker reads them."""
    return max(state.request.limit, state.settings.rerank.depth if state.store.reranker else 0)


def _window(placed: Sequence[tuple[int, Entry]]) -> Window:
    ordered = sorted(placed, key=lambda item: item[0])
    return Window(
        tuple(entry for place, entry in ordered if place < 0), tuple(entry for place, entry in ordered if place > 0)
    )
