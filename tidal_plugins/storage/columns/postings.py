"""Keyword search: which passages of a scope have a word, and how often, in memory for the words that were asked for.

Columns hold the lengths of passages, so BM25 is computed over these arrays, as FTS5 computes it, exactly and over every
word of a query.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.storage.columns.tables import Arrays, Rows, places_of

K1, B = 1.2, 0.75
"""The parameters of BM25."""

LEAST_RARITY = 1e-6
"""The rarity of a word that more than half of all passages have."""


def rarity(passages: int, having: int) -> float:
    """Return how much a word counts that ``having`` of all passages have."""
    return max(math.log(max(passages - having + 0.5, LEAST_RARITY) / (having + 0.5)), LEAST_RARITY)


def frequency(times: Any, length: Any, mean_length: float) -> Any:
    """Return how much it counts that a passage of ``length`` tokens has a word so many times.

    Both may be arrays of numbers, which give an array.
    """
    return times * (K1 + 1) / (times + K1 * (1 - B + B * length / mean_length))


NAME = "postings"

MAX_TERMS = 64
"""Words that one keyword search looks for, the first of those given; a query has rarely ten."""

MOST_POSTINGS = 8_000_000
"""Postings of a scope that are kept, 6 bytes each. A million turns have about ten million of them, and the words of
most queries are a small part."""


class Posting(NamedTuple):
    """The passages that have a word, up to the key ``last``: their rows, and how often each has it.

    ``having`` counts those that are damaged and have no row, too.
    """

    last: int
    having: int
    rows: NDArray[np.int32]
    times: NDArray[np.uint16]


Read = Callable[[Sequence[tuple[str, Posting | None]]], NDArray[np.int64]]
"""A function that returns what the store has beyond the known postings of words: rows of the place of a word, the key
of a passage, and how often it has the word."""


class Postings:
    """The postings of the words that were asked for last in one scope, as long as no passage of it goes."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Posting] = OrderedDict()
        self._lock = threading.Lock()
        self._size = 0

    def of(self, read: Read, words: Sequence[str], arrays: Arrays) -> list[Posting]:
        """Return the postings of words, and read at once what is not known of them yet."""
        held = [self._known.get(word) for word in words]
        last = int(arrays.passages["key"][-1]) if len(arrays.passages["key"]) else 0
        behind = [place for place, one in enumerate(held) if one is None or one.last < last]
        if behind:
            asked = [(words[place], held[place]) for place in behind]
            new = gathered([known for _, known in asked], read(asked), arrays, last)
            for place, posting in zip(behind, new, strict=True):
                held[place] = posting
        found = [posting for posting in held if posting is not None]
        with self._lock:
            for word, posting in zip(words, found, strict=True):
                self._keep(word, posting)
            while self._size > MOST_POSTINGS:
                self._size -= len(self._known.popitem(last=False)[1].rows)
        return [_within(posting, len(arrays.passages["key"])) for posting in found]

    def _keep(self, word: str, posting: Posting) -> None:
        known = self._known.pop(word, None)
        if known is not None:
            self._size -= len(known.rows)
            posting = max(known, posting, key=lambda one: one.last)
        self._known[word] = posting
        self._size += len(posting.rows)


def scored(
    postings: Sequence[Posting], words: NDArray[np.int32], passages: int, mean_words: float
) -> tuple[Rows, NDArray[np.float64]]:
    """Return the rows of the passages that have any of some words, and the BM25 of each over all of them.

    ``words`` are the lengths of the scope's passages, ``passages`` and ``mean_words`` are of the whole index.
    """
    if not any(len(posting.rows) for posting in postings):
        return np.empty(0, np.int64), np.empty(0)
    rows = np.concatenate([posting.rows for posting in postings])
    times = np.concatenate([posting.times for posting in postings])
    weights = [rarity(passages, posting.having) for posting in postings]
    each = np.repeat(weights, [len(posting.rows) for posting in postings])
    weighed = np.bincount(rows, each * frequency(times, words[rows], mean_words or 1.0))
    scores = np.asarray(weighed, np.float64)
    found = np.flatnonzero(scores > 0).astype(np.int64)  # of numbers themselves it would take five times as long
    return found, scores[found]


def distinct(terms: Sequence[str]) -> list[str]:
    """Return the words that a search looks for."""
    return list(dict.fromkeys(terms))[:MAX_TERMS]


def gathered(asked: Sequence[Posting | None], found: NDArray[np.int64], arrays: Arrays, last: int) -> list[Posting]:
    """Return postings with what is new of each: ``found`` has a row for each passage and word, with the place of the
    word among those asked for, the key of the passage and how often it has the word. ``last`` is the last key read."""
    found = found[np.lexsort((found[:, 1], found[:, 0]))]
    ends, keys = np.searchsorted(found[:, 0], np.arange(len(asked)), "right").tolist(), arrays.passages["key"]
    places, there = places_of(keys, found[:, 1])
    rows, times = places.astype(np.int32), found[:, 2].clip(max=2**16 - 1).astype(np.uint16)
    postings = list[Posting]()
    for known, start, end in zip(asked, [0, *ends], ends, strict=False):
        chosen = there[start:end]
        new = Posting(
            max(last, int(found[end - 1, 1]) if end > start else 0),
            end - start,
            rows[start:end][chosen],
            times[start:end][chosen],
        )
        postings.append(_joined(known, new) if known else new)
    return postings


def _within(posting: Posting, passages: int) -> Posting:
    """Return the postings of the first so many passages: another thread may have read newer columns meanwhile."""
    if not len(posting.rows) or posting.rows[-1] < passages:
        return posting
    here = int(posting.rows.searchsorted(passages))
    later = len(posting.rows) - here
    return Posting(posting.last, posting.having - later, posting.rows[:here], posting.times[:here])


def _joined(known: Posting, new: Posting) -> Posting:
    rows, times = np.concatenate([known.rows, new.rows]), np.concatenate([known.times, new.times])
    return Posting(new.last, known.having + new.having, rows, times)
