"""What was said around a hit, to be read with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidal_plugins.model.entry import Entry
from tidal_plugins.model.recall import Recall, Window
from tidal_plugins.retrieval.request import visible
from tidal_plugins.retrieval.search import Search


def with_window(search: Search, recall: Recall, turns: int) -> Recall:
    """Return the recall, each hit with up to so many entries before it and after it in its thread.

    They are what the filter lets be seen at all; what else it asks for is asked of hits alone, so that «what did Ann
    say» shows the question that Ann answered.
    """
    beside = search.storage.adjacent(search.scope, recall.ids, turns, visible(search.where))
    entries = search.entries(list(dict.fromkeys(item.other for item in beside)))
    around: dict[str, list[tuple[int, Entry]]] = {}
    for item in beside:
        if item.other in entries:
            around.setdefault(item.id, []).append((item.places, entries[item.other]))
    return replace(recall, hits=tuple(replace(hit, window=_window(around.get(hit.id, ()))) for hit in recall))


def _window(placed: Sequence[tuple[int, Entry]]) -> Window:
    ordered = sorted(placed, key=lambda item: item[0])
    return Window(
        tuple(entry for place, entry in ordered if place < 0), tuple(entry for place, entry in ordered if place > 0)
    )
