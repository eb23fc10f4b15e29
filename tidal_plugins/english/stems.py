"""Reduce words to their stems, so that «use», «using» and «used» are one."""

from __future__ import annotations

from functools import lru_cache

from snowballstemmer.english_stemmer import EnglishStemmer

from tidal_plugins.english.verbs import PAST_FORMS


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a lower-case word by Snowball's English rules; an irregular past has that of its present.

    Safe to use from several threads: a stemmer keeps the word that it works on, so that each call has its own.
    """
    return str(EnglishStemmer().stemWord(PAST_FORMS.get(word, word)))
