"""Postings: which passages of a scope have a word, and how often, held in memory for the words that were asked for.

FTS5 finds the passages of a word fast, and takes nine tenths of a search to look up the length of each. Columns hold
the lengths, so BM25 is computed over these arrays instead, exactly and over every word of a query.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tidal_plugins.storage.bm25 import frequency, rarity
from tidal_plugins.storage.search import MAX_TERMS
from tidal_plugins.storage.sqlite.base import mark
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.schema import TOKENIZER
from tidal_plugins.storage.values import to_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.storage.columns.view import Arrays, Rows

NAME = "postings"

MOST = 8_000_000
"""Postings of a scope that are kept, 6 bytes each. A million turns have about ten million of them, and the words of
most queries are a small part."""

_NEWER = """
    SELECT j.value ->> 0, k.rowid, times(keywords) FROM json_each(?) j CROSS JOIN keywords k
    WHERE k.keywords MATCH j.value ->> 1 AND k.rowid > j.value ->> 2
"""
_ALL = """
    SELECT j.value ->> 0, (SELECT group_concat(v.doc) FROM temp.keyword_places v WHERE v.term = j.value ->> 1)
    FROM json_each(?) j
"""
"""SQL for the passages that have words, after some key, with how often each has them; and for all that have a word as
the index holds it, each as often as it has it, in a text: that takes a seventh of the time, but cannot begin at a key.
"""


class Posting(NamedTuple):
    """The passages that have a word, up to the key ``last``: their rows, and how often each has it.

    ``having`` counts those that are damaged and have no row, too.
    """

    last: int
    having: int
    rows: NDArray[np.int32]
    times: NDArray[np.uint16]


class Postings:
    """The postings of the words that were asked for last in one scope, as long as no passage of it goes."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Posting] = OrderedDict()
        self._lock = threading.Lock()
        self._size = 0

    def of(self, db: Connections, scope: int, words: Sequence[str], arrays: Arrays) -> list[Posting]:
        """Return the postings of words, and read what is not known of them yet in one statement."""
        held = [self._known.get(word) for word in words]
        last = int(arrays.passages["key"][-1]) if len(arrays.passages["key"]) else 0
        behind = [place for place, one in enumerate(held) if one is None or one.last < last]
        if behind:
            asked = [(words[place], held[place]) for place in behind]
            for place, read in zip(behind, _read(db, scope, asked, arrays, last), strict=True):
                held[place] = read
        found = [posting for posting in held if posting is not None]
        with self._lock:
            for word, posting in zip(words, found, strict=True):
                self._keep(word, posting)
            while self._size > MOST:
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
    import numpy as np

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


def quoted(word: str) -> str:
    """Return a word as a phrase of FTS5's query language."""
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'


def distinct(terms: Sequence[str]) -> list[str]:
    """Return the words that a search looks for."""
    return list(dict.fromkeys(terms))[:MAX_TERMS]


def _read(
    db: Connections, scope: int, asked: Sequence[tuple[str, Posting | None]], arrays: Arrays, last: int
) -> list[Posting]:
    """Return the postings of words with what is new of each."""
    import numpy as np

    words = [mark(scope) + word for word, _ in asked]
    tokens = [None if known else token for token, (_, known) in zip(_tokens(db, words), asked, strict=True)]
    whole = [(place, token) for place, token in enumerate(tokens) if token]
    newer = [
        (place, quoted(word), known.last if known else 0)
        for place, (word, token, (_, known)) in enumerate(zip(words, tokens, asked, strict=True))
        if not token
    ]
    parts = [np.array(db.rows(_NEWER, to_json(newer)), np.int64).reshape(-1, 3)] if newer else []
    if whole:
        parts += [_counted(*row) for row in db.rows(_ALL, to_json(whole))]
    found = np.concatenate(parts)
    found = found[np.argsort(found[:, 0], kind="stable")]
    ends, keys = np.searchsorted(found[:, 0], np.arange(len(asked)), "right").tolist(), arrays.passages["key"]
    rows = np.searchsorted(keys, found[:, 1]).clip(max=max(len(keys) - 1, 0))
    there = keys[rows] == found[:, 1] if len(keys) else np.zeros(len(found), bool)
    rows, times = rows.astype(np.int32), found[:, 2].clip(max=2**16 - 1).astype(np.uint16)
    postings = list[Posting]()
    for (_, known), start, end in zip(asked, [0, *ends], ends, strict=False):
        chosen = there[start:end]
        new = Posting(
            max(last, int(found[end - 1, 1]) if end > start else 0),
            end - start,
            rows[start:end][chosen],
            times[start:end][chosen],
        )
        postings.append(_joined(known, new) if known else new)
    return postings


def _tokens(db: Connections, words: Sequence[str]) -> list[str | None]:
    """Return words as the index holds them, ``None`` for one that it holds as several."""
    import apsw

    analysed = db.get().fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))
    found = []
    for word in words:
        tokens: Any = analysed(word.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
        found.append(tokens[0][0] if len(tokens) == 1 else None)
    return found


def _counted(place: int, passages: str | None) -> NDArray[np.int64]:
    """Return a row of a place, a key and a number of times for each passage in a text, which are in order."""
    import numpy as np

    keys = np.fromstring(passages or "", np.int64, sep=",")
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return np.column_stack([np.full(len(first), place), keys[first], np.diff(first, append=len(keys))])


def _within(posting: Posting, passages: int) -> Posting:
    """Return the postings of the first so many passages: another thread may have read newer columns meanwhile."""
    if not len(posting.rows) or posting.rows[-1] < passages:
        return posting
    here = int(posting.rows.searchsorted(passages))
    later = len(posting.rows) - here
    return Posting(posting.last, posting.having - later, posting.rows[:here], posting.times[:here])


def _joined(known: Posting, new: Posting) -> Posting:
    import numpy as np

    rows, times = np.concatenate([known.rows, new.rows]), np.concatenate([known.times, new.times])
    return Posting(new.last, known.having + new.having, rows, times)
