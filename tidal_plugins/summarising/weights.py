"""Weights of sentences: what somebody would write down of a turn first."""

from __future__ import annotations

from functools import lru_cache

from tidal_plugins.english.figures import dated
from tidal_plugins.english.importance import BASE, importance
from tidal_plugins.scoring.priority import MIN_PRIORITY, sentence_priority
from tidal_plugins.scoring.text import terms

FACT = 1.5
"""Factor of a sentence with a date, a time, an amount or a number: what a person would write down first."""
LEAST_WORDS, MAX_CHATTER, CHATTER = 3, 60, 0.6
"""Words with a content that a sentence has, and the factor of one that has fewer, in so many characters at most."""
SAME, REPEATED = 0.6, 0.4
"""Share of a sentence's words by which it repeats what the other side said, and what is left of its priority."""


@lru_cache(maxsize=8_192)
def content(text: str) -> frozenset[str]:
    """Return the words of a text with a content: each text is weighed several times."""
    return frozenset(terms(text))


def weight(said: str, role: str) -> float:
    """Return the priority of a sentence. One with hardly a word comes late, but is not silenced for it."""
    found = sentence_priority(importance(said), base=BASE, role=role)
    if not role:
        return found
    if dated(said):
        return found * FACT
    short = len(said) <= MAX_CHATTER and said.isascii() and len(content(said)) < LEAST_WORDS
    return max(found * CHATTER, min(found, MIN_PRIORITY)) if short else found


def repeats(words: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether most of the words, and every number among them, stand in another sentence."""
    if not words or len(words & others) < SAME * len(words):
        return False
    return {word for word in words if any(map(str.isdigit, word))} <= others
