"""Rules and decisions that a user gave: which sentences are such, and which older ones a newer one replaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tidal_plugins.english.cues import CUE
from tidal_plugins.english.sentences import sentences
from tidal_plugins.model.sentence import SentenceTags
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import terms
from tidal_plugins.summarising.noted import Noted
from tidal_plugins.summarising.quotes import folded
from tidal_plugins.summarising.weights import readings

_MARK = lazy_re(r"(?:\(?\d{1,2}[.)]|[-*•])\s+")
"""The mark of an item in a list, which a sentence does not need alone."""
_DECIDED = lazy_re(
    r"\b(?:we|i|let)\b.{0,12}\b(?:decide|decided|agreed|settled|chose|go with|going with|stick with)\b|\bdecision\b"
)
_RULED, _LASTING = 0.12, 0.5
"""Chances of a rule, and of what is of use in months, that together are enough for a rule."""
_CLEAR = 0.6
"""Chance of a rule from which on it needs none of its words."""
_CUE = lazy_re(r"\b(?:always|never|must|only|don['’]t|do not|rules?|from now on|at (?:most|least))\b", re.IGNORECASE)
_SURE = 0.5
"""Chance of an act from which on a sentence is taken for a question or a request."""
_WORD = lazy_re(r"[^\W_]+(?:[-_.:'’][^\W_]+)*")
_AROUND, _MOST = 4, 3
"""Words that two rules share around the one place where they differ, and the most that differ there."""
_SAME = 0.6
"""Share of the words of a rule from which a newer one is taken to replace it. Set by hand."""


def rules(text: str) -> list[str]:
    """Return the sentences of a user that set a rule or take a decision, verbatim."""
    found = [folded(text[start:end]) for start, end in sentences(text[:8_000])]
    said = [one[mark.end() :] if (mark := _MARK.match(one)) else one for one in found]
    return [one for one, read in zip(said, readings(said, ["user"] * len(said)), strict=True) if _is_rule(one, read)]


def _is_rule(said: str, read: SentenceTags) -> bool:
    chances = read.scores
    if said.endswith(("?", "？", "؟")) or chances["question"] >= _SURE:
        return False
    ruled = "rule" in read.tags or (chances["rule"] >= _RULED and chances["lasting"] >= _LASTING)
    clear = chances["rule"] >= _CLEAR or _CUE.search(said) is not None
    return (ruled and clear) or _DECIDED.search(said.lower()) is not None


def replaced(known: Sequence[Noted], said: Sequence[str]) -> tuple[list[Noted], list[str]]:
    """Return the known rules that stay beside new ones, and the texts of those that hold no longer.

    A rule gives way to one that shares most words of the shorter of the two. That it no longer holds is sure only where
    they share most words of the longer one, and the newer one says that another held before or has another value.
    """
    words = [frozenset(terms(text)) for text in said]
    old = [(each, frozenset(terms(each.text))) for each in known]
    kept = [each for each, before in old if not any(_shared(before, new, min) >= _SAME for new in words)]
    lifted = [
        each.text
        for each, before in old
        if any(
            before != new and _shared(before, new, max) >= _SAME and _changes(text, each.text)
            for new, text in zip(words, said, strict=True)
        )
    ]
    return kept, lifted


def _changes(newer: str, older: str) -> bool:
    """Return whether a rule says that another held before, or what an older one says with other words in one place."""
    return CUE.search(newer) is not None or _differ_in_one_place(newer, older)


def _differ_in_one_place(newer: str, older: str) -> bool:
    one, other = (_WORD.findall(CUE.sub(" ", text).lower()) for text in (newer, older))
    shorter = min(len(one), len(other))
    start = next((place for place in range(shorter) if one[place] != other[place]), shorter)
    rest = shorter - start
    end = next((place for place in range(rest) if one[-1 - place] != other[-1 - place]), rest)
    return start > 0 and start + end >= _AROUND and all(0 < len(words) - start - end <= _MOST for words in (one, other))


def _shared(one: frozenset[str], other: frozenset[str], of: Callable[[int, int], int]) -> float:
    return len(one & other) / of(len(one), len(other)) if one and other else 0.0
