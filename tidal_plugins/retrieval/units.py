"""Units of a text that a whisper may show, such as sentences and lines of code, and the one that answers the turn."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.embedding.identity import embed
from tidal_plugins.english.sentences import sentences, trim
from tidal_plugins.errors import EmbeddingError
from tidal_plugins.language.tagger import tag
from tidal_plugins.model.entry import CONVERSATION
from tidal_plugins.model.recall import Dropped, Hit, Recall
from tidal_plugins.patterns import lazy_re
from tidal_plugins.retrieval.understand import Question
from tidal_plugins.retrieval.weights import WhisperTuning
from tidal_plugins.scoring.ranking import coverage, rarity
from tidal_plugins.scoring.text import stems

_FENCE = lazy_re(r"^[ \t]*(`{3,}+(?=[^`\n]*$)|~{3,})[^\n]*\n?", re.MULTILINE)
"""A line that opens or closes a block of code."""

_HEADING = lazy_re(r"#{1,6}[ \t]|(?:\|.*\n[ \t]*)?\|(?=[ \t:|]*--)[ \t:|-]+(?:\n|\Z)")
"""A heading, or the first row of a table, which names its columns, with the line below it."""

_ITEM = lazy_re(r"(?:[-*+•>]|\d{1,3}[.)])[ \t]")

MAX_ITEM = 240
"""Characters of a list item that is one unit, as many as a line may show; a longer one is told sentence by sentence."""

MAX_CHARS = 6_000
"""Characters of a text that are read for units, around the passage that matched."""

UNITS = "units"
"""The name of this step among what is degraded."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of a hit's text with its stems. ``hit`` is the place of the hit, and the offsets are of its text."""

    hit: int
    start: int
    end: int
    text: str
    stems: frozenset[str]


def with_units(recall: Recall, question: Question, settings: WhisperTuning) -> Recall:
    """Return a recall that notes for each hit the unit of its text that answers the turn best."""
    found = [unit for place, hit in enumerate(recall.hits) for unit in units(place, hit)]
    if not found:
        return recall
    wanted, weights = set(stems(question.query.text)), rarity([unit.stems for unit in found])
    shares = [coverage(unit.stems, wanted, weights) for unit in found]
    try:
        cosines, degraded = _cosines(found, shares, question, settings), recall.degraded
    except EmbeddingError as error:
        logger.warning("the units of a whisper are chosen by their words alone: %s", error)
        cosines, degraded = [0.0] * len(found), (*recall.degraded, UNITS)
    empty = emptiness([unit.text for unit in found])
    best: dict[int, tuple[float, int]] = {}
    chosen: dict[int, int] = {}
    for index, (unit, share, cosine) in enumerate(zip(found, shares, cosines, strict=True)):
        score = share + settings.unit_meaning * cosine - settings.unit_empty * empty[index]
        merit = score, len(unit.stems)  # «Thanks!» says least
        if unit.hit not in best or merit > best[unit.hit]:
            best[unit.hit], chosen[unit.hit] = merit, index
    hits, dropped = [], []
    for place, hit in enumerate(recall.hits):
        at = chosen.get(place)
        if at is None:
            hits.append(hit)
        elif hit.entry.kind == CONVERSATION and empty[at] >= settings.empty:
            dropped.append(Dropped(hit.id, UNITS, "only asks, thanks or the like", hit.origin))
        else:
            hits.append(replace(hit, unit=(found[at].start, found[at].end)))
    return replace(recall, hits=tuple(hits), dropped=(*dropped, *recall.dropped), degraded=degraded)


def emptiness(texts: Sequence[str], role: str | Sequence[str] = "user") -> list[float]:
    """Return for each unit the chance that it tells nothing: that it asks, thanks, greets or praises.

    A request counts by half: «Please keep our budget in mind» tells something, «Let's go on!» nothing.
    """
    return [read.scores["question"] + read.scores["social"] + read.scores["request"] / 2 for read in tag(texts, role)]


def units(place: int, hit: Hit) -> list[Unit]:
    """Return the units of a hit's text: all of a short text, else those around the passage that matched."""
    text = hit.text
    first = max(0, text.find(hit.passage) - MAX_CHARS // 2) if len(text) > MAX_CHARS else 0
    last = first + MAX_CHARS
    found = list(_joined(text, _whole(spans(text, first, last), first > 0, last < len(text))))
    told = [span for span in found if not _HEADING.match(text, span[0])]
    return [Unit(place, start, end, text[start:end], frozenset(stems(text[start:end]))) for start, end in told or found]


def without_fences(text: str) -> str:
    """Return a text without the lines that open and close its blocks of code."""
    return _FENCE.sub("", text)


def blocks(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the fenced blocks of code in a text, with their fences. The last may have no end."""
    found: list[tuple[int, int]] = []
    start, mark = 0, ""
    for fence in _FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        if not mark:
            start, mark = fence.start(), fence[1]
        elif fence[1].startswith(mark):
            found.append((start, fence.end()))
            mark = ""
    return [*found, (start, len(text))] if mark else found


def spans(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """Return the offsets of the sentences, and of the lines of code, in a part of a text, in order."""
    found: list[tuple[int, int]] = []
    at = first
    for start, end in blocks(text):
        if end > at and start < last:
            found += _moved(sentences(text[at:start]), at)
            found += _lines(text, max(start, first), min(end, last))
            at = end
    return found + _moved(sentences(text[at:last]), at)


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


def _cosines(
    found: Sequence[Unit], shares: Sequence[float], question: Question, settings: WhisperTuning
) -> Sequence[float]:
    """Return the cosine of the units that may be the best of their text; 0 for units that were not embedded."""
    alone = {unit.hit for unit in found} - {unit.hit for unit, after in pairwise(found) if unit.hit == after.hit}
    order = sorted(range(len(found)), key=lambda index: -shares[index])
    order.sort(key=lambda index: found[index].hit >= settings.max_entries)  # it may match by meaning alone
    open_ = [index for index in order if found[index].hit not in alone][: settings.unit_pool]
    if not open_ or not settings.unit_meaning:
        return [0.0] * len(found)
    asked = question.embedded
    rows: NDArray[np.float32] = embed(asked.embedder, [found[index].text for index in open_])
    known = dict(zip(open_, asked.scale.of_question(rows @ asked.vector).tolist(), strict=True))
    return [known.get(index, 0.0) for index in range(len(found))]


def _moved(found: list[tuple[int, int]], by: int) -> list[tuple[int, int]]:
    return [(start + by, end + by) for start, end in found]


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for line in text[start:end].splitlines(keepends=True):
        if not _FENCE.match(line) and (found := trim(text, start, start + len(line))):
            yield found
        start += len(line)
