"""The postings of words in an SQLite file, as the keyword index holds them.

FTS5 finds the passages of a word fast, and takes nine tenths of a search to look up the length of each. Columns hold
the lengths, so only passages and numbers are read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidal_plugins.storage.columns.postings import Posting
from tidal_plugins.storage.sqlite.base import mark
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.schema import TOKENIZER
from tidal_plugins.storage.values import to_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


def read_postings(db: Connections, scope: int, asked: Sequence[tuple[str, Posting | None]]) -> NDArray[np.int64]:
    """Return what the index has beyond the known postings of words, in two statements at most."""
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
    return np.concatenate(parts)


def quoted(word: str) -> str:
    """Return a word as a phrase of FTS5's query language."""
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'


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
