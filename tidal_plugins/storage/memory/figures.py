"""Entries and passages as they are stored, and the figures that are kept about them."""

from __future__ import annotations

from typing import NamedTuple

from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.storage.base import Span, Volume
from tidal_plugins.storage.memory.state import Draft


class Kept(NamedTuple):
    """An entry as it is stored. ``number`` is its place in the order in which entries were stored, ``changed`` the
    number of the change of its scope by which it was written last."""

    number: int
    entry: Entry
    passages: tuple[int, ...] = ()
    changed: int = 0


class KeptPassage(NamedTuple):
    """A passage as it is stored."""

    span: Span
    has_vector: bool


def count(draft: Draft, scope: Scope, entry: Entry, sign: int) -> None:
    """Count an entry in the figures of its scope (``sign`` 1), or out of them (−1)."""
    volumes, sort = draft.change(scope, "volumes"), (entry.kind, entry.channel)
    volume: Volume = volumes.pop(sort, Volume())
    if entries := volume.entries + sign:
        volumes[sort] = Volume(entries, volume.characters + sign * len(entry.text))
    if entry.speaker is not None:
        speakers = draft.change(scope, "speakers")
        if said := speakers.pop(entry.speaker, 0) + sign:
            speakers[entry.speaker] = said


def count_passage(draft: Draft, passage: KeptPassage, sign: int) -> None:
    """Count a passage in the figures of the store (``sign`` 1), or out of them (−1)."""
    corpus = draft.change("corpus")
    added = {
        "passages": passage.span.words > 0,
        "words": passage.span.words,
        "vectors": passage.has_vector,
    }
    for name, number in added.items():
        corpus[name] = corpus.get(name, 0) + sign * number


def next_change(draft: Draft, scope: Scope) -> int:
    """Return the number of a new change of a scope."""
    figures = draft.change(scope, "figures")
    figures["changes"] = figures.get("changes", 0) + 1
    return int(figures["changes"])


def content_changed(draft: Draft, scope: Scope) -> None:
    """Let the number of erasures rise."""
    figures = draft.change(scope, "figures")
    figures["erasures"] = figures.get("erasures", 0) + 1
