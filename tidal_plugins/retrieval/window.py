"""What was said around a hit, to be read with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.recall import Hit, Window
from tidal_plugins.retrieval.request import visible
from tidal_plugins.storage.base import Storage, Where

Read = Callable[[Sequence[str]], Mapping[str, Entry]]
"""Entries by id; those whose rows are damaged are left out."""


def with_window(storage: Storage, scope: Scope, hits: Sequence[Hit], turns: int, where: Where, read: Read) -> list[Hit]:
    """Return the hits, each with up to so many entries before it and after it in its session.

    They are what ``where`` lets be seen at all; what else it asks for is asked of hits alone, so that «what did Ann
    say» shows the question that Ann answered.
    """
    beside = storage.beside(scope, [hit.id for hit in hits], turns, visible(where)) if turns else []
    entries = read(list(dict.fromkeys(item.other for item in beside)))
    around: dict[str, list[tuple[int, Entry]]] = {}
    for item in beside:
        if item.other in entries:
            around.setdefault(item.id, []).append((item.places, entries[item.other]))
    return [replace(hit, window=_window(around[hit.id])) if hit.id in around else hit for hit in hits]


def _window(placed: Sequence[tuple[int, Entry]]) -> Window:
    ordered = sorted(placed, key=lambda item: item[0])
    return Window(
        tuple(entry for place, entry in ordered if place < 0), tuple(entry for place, entry in ordered if place > 0)
    )
