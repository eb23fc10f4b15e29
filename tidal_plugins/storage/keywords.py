"""Words as the keyword index keeps them: the analysis of FTS5."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from snowballstemmer.porter_stemmer import PorterStemmer

from tidal_plugins.patterns import lazy_re

LONGEST_WORD = 64
"""Bytes of the longest word that is stemmed."""

_MARK = "s1x"  # the SQLite engine marks every word so; it has part in the rules of stemming
_WORD = lazy_re(r"[^\W_]+")


@lru_cache(maxsize=1 << 14)
def tokens(word: str) -> tuple[str, ...]:
    """Return a word in the form in which it is compared: by its stem, without case and accents. One that punctuation
    divides is several tokens."""
    letters = unicodedata.normalize("NFD", _MARK + word.lower())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return tuple(_stem(token) for token in _WORD.findall(plain))


def _stem(token: str) -> str:
    if len(token.encode(errors="replace")) > LONGEST_WORD:
        return token
    if token.endswith("bly"):  # a rule that FTS5 has beyond Porter's first ones
        token = token[:-1] + "e"
    return str(PorterStemmer().stemWord(token))
