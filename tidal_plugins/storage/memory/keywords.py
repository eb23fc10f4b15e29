"""Words as the keyword index keeps them, and their scores: the analysis and the BM25 of FTS5."""

from __future__ import annotations

import math
import unicodedata
from functools import lru_cache

from snowballstemmer.porter_stemmer import PorterStemmer

from tidal_plugins.patterns import lazy_re

K1, B = 1.2, 0.75
"""The parameters of BM25."""

LEAST_RARITY = 1e-6
"""The rarity of a word that more than half of all passages have."""

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


def rarity(passages: int, having: int) -> float:
    """Return how much a word counts that ``having`` of all passages have."""
    return max(math.log((passages - having + 0.5) / (having + 0.5)), LEAST_RARITY)


def frequency(times: int, length: int, mean_length: float) -> float:
    """Return how much it counts that a passage of ``length`` tokens has a word so many times."""
    return times * (K1 + 1) / (times + K1 * (1 - B + B * length / mean_length))


def _stem(token: str) -> str:
    if len(token.encode(errors="replace")) > LONGEST_WORD:
        return token
    if token.endswith("bly"):  # a rule that FTS5 has beyond Porter's first ones
        token = token[:-1] + "e"
    return str(PorterStemmer().stemWord(token))
