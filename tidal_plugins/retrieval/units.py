"""Stage ``choose_units``: the unit of each hit's text that answers the turn, by its words and by its meaning."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from tidal_plugins.embedding.identity import embed
from tidal_plugins.english.moods import asks
from tidal_plugins.errors import EmbeddingError
from tidal_plugins.model.recall import Hit
from tidal_plugins.patterns import lazy_re
from tidal_plugins.retrieval.spans import spans
from tidal_plugins.retrieval.state import State
from tidal_plugins.scoring.text import stems
from tidal_plugins.scoring.units import coverage, rarity
from tidal_plugins.tuning import WhisperTuning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HEADING = lazy_re(r"#{1,6}[ \t]|(?:\|.*\n[ \t]*)?\|(?=[ \t:|]*--)[ \t:|-]+(?:\n|\Z)")
"""A heading, or the first row of a table, which names its columns, with the line below it."""

_ITEM = lazy_re(r"(?:[-*+•>]|\d{1,3}[.)])[ \t]")

MAX_ITEM = 240
"""Characters of a list item that is one unit, as many as a line may show; a longer one is told sentence by sentence."""

UNITS = "units"
"""The name of this stage among what is degraded."""

logger = logging.getLogger(__name__)

MAX_CHARS = 6_000
"""Characters of a text that are read for units, around the passage that matched."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of a hit's text with its stems. ``hit`` is the place of the hit, and the offsets are of its text."""

    hit: int
    start: int
    end: int
    text: str
    stems: frozenset[str]


def choose_units(state: State) -> None:
    """Note for each hit the unit of its text that answers the turn best."""
    hits, settings = state.recall.hits, state.settings.whisper
    found = [unit for place, hit in enumerate(hits) for unit in units(place, hit)]
    if not found:
        return
    scores = _scores(found, state, settings)
    merits = [(score, len(unit.stems)) for unit, score in zip(found, scores, strict=True)]  # «Thanks!» says least
    best: dict[int, int] = {}
    for index, unit in enumerate(found):
        if unit.hit not in best or merits[index] > merits[best[unit.hit]]:
            best[unit.hit] = index
    chosen = {place: found[index] for place, index in best.items()}
    state.recall = replace(
        state.recall,
        hits=tuple(
            replace(hit, unit=(chosen[place].start, chosen[place].end)) if place in chosen else hit
            for place, hit in enumerate(hits)
        ),
    )


def units(place: int, hit: Hit) -> list[Unit]:
    """Return the units of a hit's text: all of a short text, else those around the passage that matched."""
    text = hit.text
    first = max(0, text.find(hit.passage) - MAX_CHARS // 2) if len(text) > MAX_CHARS else 0
    last = first + MAX_CHARS
    found = list(_joined(text, _whole(spans(text, first, last), first > 0, last < len(text))))
    told = [span for span in found if not _HEADING.match(text, span[0])]
    return [Unit(place, start, end, text[start:end], frozenset(stems(text[start:end]))) for start, end in told or found]


def _whole(found: Sequence[tuple[int, int]], cut_before: bool, cut_after: bool) -> Sequence[tuple[int, int]]:
    """Return the sentences of a part of a text without those that were cut, unless there are no others."""
    return found[cut_before : len(found) - cut_after] or found


def _joined(text: str, found: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield spans, a list item as one, and a question together with what follows it on its line: «Sick? Ring us.»"""
    open_: tuple[int, int] | None = None
    for span in found:
        if open_ and "\n" not in text[open_[1] : span[0]] and span[1] - open_[0] <= MAX_ITEM:
            span = open_[0], span[1]
        elif open_:
            yield open_
        open_ = None
        said = text[span[0] : span[1]]
        if said.endswith("?") or (_ITEM.match(said) and "\n" not in said):
            open_ = span
        else:
            yield span
    if open_:
        yield open_


def _scores(found: Sequence[Unit], state: State, settings: WhisperTuning) -> list[float]:
    """Return the score of each unit: the share of the query's rare words that it has, and its cosine."""
    wanted = set(stems(state.query.text))
    weights = rarity([unit.stems for unit in found])
    shares = [coverage(unit.stems, wanted, weights) for unit in found]
    cosines = _cosines(found, shares, state, settings)
    return [
        share + settings.unit_meaning * cosine - settings.unit_question * asks(unit.text)
        for unit, share, cosine in zip(found, shares, cosines, strict=True)
    ]


def _cosines(found: Sequence[Unit], shares: Sequence[float], state: State, settings: WhisperTuning) -> Sequence[float]:
    """Return the cosine of the units that may be the best of their text; 0 for the others, and where there is one."""
    alone = {unit.hit for unit in found} - {unit.hit for unit, after in pairwise(found) if unit.hit == after.hit}
    order = sorted(range(len(found)), key=lambda index: -shares[index])
    order.sort(key=lambda index: found[index].hit >= settings.max_entries)  # a text without its words may mean them
    open_ = [index for index in order if found[index].hit not in alone][: settings.unit_pool]
    if not open_ or not settings.unit_meaning:
        return [0.0] * len(found)
    try:
        rows = embed(state.embedded.embedder, [found[index].text for index in open_])
    except EmbeddingError as error:
        logger.warning("the units of a whisper are chosen by their words alone: %s", error)
        state.recall = replace(state.recall, degraded=(*state.recall.degraded, UNITS))
        return [0.0] * len(found)
    known = dict(zip(open_, _dot(rows, state.embedded.vector), strict=True))
    return [known.get(index, 0.0) for index in range(len(found))]


def _dot(rows: NDArray[np.float32], vector: NDArray[np.float32]) -> list[float]:
    values: list[float] = (rows @ vector).tolist()
    return values
