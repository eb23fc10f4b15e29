"""Complaints of repetition, bare curses and denied feelings, which readers of feelings miss.

«This is the third time» has no charged word, «S***!» is a word that neither lexicon nor vector knows, and a vector
reads «I'm not angry» as anger.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tidal_plugins.english.complaints import complains, curses, denies_feeling, may_complain
from tidal_plugins.english.sentences import sentences
from tidal_plugins.model.affect import Affect
from tidal_plugins.patterns import lazy_re

COMPLAINT = -0.3
"""Valence of a complaint of repetition in a quiet voice. Ours: one such turn moves the mood to −.15, below the level at
which it can be told from chance (±.1), and does not count as stirred by itself."""

LOUD = -0.6
"""The same with emphasis, in capitals or with an exclamation mark, and a curse that stands alone: stirred, as an open
insult is."""

READ_CHARS = 2_000
"""Of a longer text the first and the last half of this are read, as by the readers of feelings."""

_MAY_CURSE = lazy_re(r"\*\*|ck|shit|damn|crap", re.IGNORECASE)
_CAPITALS = lazy_re(r"\b[A-Z]{5,}\b|\b[A-Z]{2,}\W+[A-Z]{2,}\b")


def provoked(text: str, felt: Affect) -> Affect:
    """Return how a text feels that is read as ``felt``: no better than its curses and complaints allow.

    A text that only denies a bad feeling is neutral.
    """
    if felt.valence < 0 and denies_feeling(text):
        return Affect()
    if len(text) > READ_CHARS:
        text = f"{text[: READ_CHARS // 2]}\n\n{text[-READ_CHARS // 2 :]}"
    valence = felt.valence
    if not may_complain(text) and not _MAY_CURSE.search(text):
        return felt
    for start, end in sentences(text):
        sentence = text[start:end]
        if curses(sentence):
            valence = min(valence, LOUD)
        elif complains(sentence):
            valence = min(valence, LOUD if _is_loud(sentence) else COMPLAINT)
    return replace(felt, valence=valence) if valence < felt.valence else felt


def is_provoked(sentence: str) -> bool:
    """Return whether a sentence is a bare curse or a complaint of repetition."""
    return curses(sentence) or complains(sentence)


def _is_loud(sentence: str) -> bool:
    return "!" in sentence or _CAPITALS.search(sentence) is not None
