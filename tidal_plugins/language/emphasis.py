"""Find sentences that demand attention by their form: capitals, exclamation marks, heaps of «urgent» and «remember».

To say something louder tells nothing more of it. What the tagger reads as vital is never taken for mere shouting.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tidal_plugins.english.sentences import sentences
from tidal_plugins.language.tagger import tag
from tidal_plugins.patterns import lazy_re

CAPITALS, WORDS = 0.6, 4
"""Share of the words of a sentence in capitals, of so many words at least, from which on it is loud. Names such as
«PDF» and «EU» make no such share."""
HEAP = 3
"""Calls for attention from which on a sentence shouts without a raised voice. «It is important to remember» has two."""
HALF = 0.5
"""Share of the characters of a text, in sentences that shout, from which on the whole text does."""
VITAL = 0.4
"""Chance from which on a sentence is taken to be vital."""
WANTED, WANTED_LOUDLY = 0.4, 0.1
"""Chances of a request, or a rule, from which on a sentence wants something, and the same of one in capitals."""
_READ = 2_000

_ATTENTION = (
    r"important(?:ly)?|critical(?:ly)?|urgent(?:ly)?|crucial|essential|vital|mandatory|imperative|attention|emergency|"
    r"asap|warning|(?:top|highest|first|number one|absolute|maximum|utmost) priority|priority one|"
    r"remember|forget|forever|obey|at all costs|no matter what|immediately|listen"
)
_DEMAND = lazy_re(rf"\b(?:{_ATTENTION}|always|never|must|from now on|do not|don['’]t|only|have to|need to)\b", re.I)
_DEMANDS = lazy_re(rf"\b(?:{_ATTENTION})\b", re.I)
_OVERRIDE = lazy_re(
    r"\b(?:ignore|disregard|forget|override)\b.{0,20}\b(?:previous|prior|earlier|above|other|your)\b.{0,20}"
    r"\b(?:instructions?|rules?|prompts?|guidelines)\b|\b(?:system|admin\w*|developer) (?:override|prompt|mode)\b",
    re.IGNORECASE,
)
_LOUD = lazy_re(r"!\s*!")
_WORD = lazy_re(r"[^\W\d_]{2,}")
_HINT = lazy_re(rf"[^\W\d_a-z]{{2}}|!\s*!|\b(?i:{_ATTENTION}|ignore|disregard|override|system|admin|developer)")
"""Two letters that are not small, two exclamation marks or a word of which every sentence that shouts has one."""
_EMPTY = lazy_re(
    rf"(?:\W|\b(?:{_ATTENTION}|this|is|it|and|very|so|please|note|system|override|all|the|a|an|do|not|never|don['’]t)\b)*",
    re.IGNORECASE,
)


@lru_cache(maxsize=1 << 12)
def shouts(sentence: str) -> bool:
    """Return whether a sentence demands attention more than it says something."""
    if not _HINT.search(sentence):
        return False
    if _OVERRIDE.search(sentence):
        return True
    [calm] = tag([" ".join(_DEMANDS.sub(" ", _LOUD.sub("!", sentence.lower())).split())])
    if calm.scores["vital"] >= VITAL:
        return False
    if len({found.lower() for found in _DEMANDS.findall(sentence)}) >= HEAP:
        return True
    words = _WORD.findall(sentence)
    in_capitals = len(words) >= WORDS and sum(map(str.isupper, words)) >= CAPITALS * len(words)
    if in_capitals and "!" in sentence:
        return True
    wanted = max(calm.scores["request"], calm.scores["rule"])
    wants = wanted >= (WANTED_LOUDLY if in_capitals else WANTED) or _DEMAND.search(sentence) is not None
    return wants and (in_capitals or _LOUD.search(sentence) is not None)


@lru_cache(maxsize=1 << 12)
def is_shouted(text: str) -> bool:
    """Return whether at least half of a text, of its first 2,000 characters, shouts."""
    text = text[:_READ]
    if not _HINT.search(text):
        return False
    spans = list(sentences(text))
    loud = sum(end - start for start, end in spans if shouts(text[start:end]))
    return loud > 0 and loud >= HALF * sum(end - start for start, end in spans)


def only_shouts(sentence: str) -> bool:
    """Return whether a sentence demands attention and says nothing else: «URGENT! This is critical!»."""
    return _DEMANDS.search(sentence) is not None and _EMPTY.fullmatch(sentence) is not None
