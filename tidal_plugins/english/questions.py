"""Find sentences that ask, with a question mark or without."""

from __future__ import annotations

import re

from tidal_plugins.english.clauses import LEAD
from tidal_plugins.english.sentences import sentences
from tidal_plugins.patterns import lazy_re

MARKS = ("?", "？", "؟")
ASKING = tuple("who whom whose what when where why how which".split())
AUXILIARIES = tuple("do does did is are am was were can could would should will shall may might have has had".split())
SOMEBODY = (
    r"(?:i|we|you|he|she|it|they|there|this|that|these|those|the|my|our|your|his|her|their|anyone|anybody|somebody)"
)

_CLOSERS = " \t\r\n\"'”’»)]*_"
_DENIED = r"(?:isn|aren|wasn|weren|don|doesn|didn|haven|hasn|won|wouldn|can|couldn)['’]t"
_UNMARKED = lazy_re(
    rf"{LEAD}(?:(?:{'|'.join(AUXILIARIES)}|{_DENIED})\s+{SOMEBODY}\b"
    rf"|(?:{'|'.join(word for word in ASKING if word != 'when')})\b"
    r"|when\s+(?:is|are|was|do|does|did|will|can)\b)",
    re.IGNORECASE,
)
"""The beginnings of questions, which people who type fast leave without a mark, and of exclamations."""
_TAG = lazy_re(rf", *{_DENIED} (?:it|they|he|she|you|we|that|i)\W*\Z", re.IGNORECASE)
"""A question at the end: «that's the offset, isn't it»."""
_BEGINS = lazy_re(rf"\W*(?:{'|'.join((*ASKING, *AUXILIARIES))})\b", re.IGNORECASE)


def ends_asking(text: str) -> bool:
    """Return whether a text ends with a question mark."""
    return text.rstrip(_CLOSERS).endswith(MARKS)


def asks(sentence: str) -> bool:
    """Return whether a sentence asks: «where can I leave the keys» does so without a question mark."""
    said = sentence.strip()
    return ends_asking(said) or _UNMARKED.match(said) is not None or _TAG.search(said) is not None


def has_question(text: str) -> bool:
    """Return whether a sentence of a text asks."""
    return any(asks(text[start:end]) for start, end in sentences(text))


def stated(sentence: str) -> str:
    """Return the part of a sentence that states something: of «It's on Friday, isn't it?», all before the comma."""
    if not ends_asking(sentence):
        return sentence
    before = sentence.rpartition(",")[0]
    return "" if _BEGINS.match(before) else before
