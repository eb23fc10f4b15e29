"""Find sentences that ask, with a question mark or without."""

from __future__ import annotations

import re

from tidal_plugins.english.sentences import sentences

_CLOSERS = " \t\r\n\"'”’»)]*_"
MARKS = ("?", "？", "؟")
_SOMEBODY = r"(?:i|we|you|he|she|they|there|my|our|your|this|that|these|those|any(?:one|body)|some(?:one|body))"
_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|can|could|should|shall|will|would|have|has|may|might)(?:n['’]t)?"
    r"|['’](?:s|re|d|ll)"
)
_UNMARKED = re.compile(
    r"\W*(?:(?:and|so|but|also|ok(?:ay)?|hey|hi|hmm+|right|well|then|by\s+the\s+way)\b\W*)*(?:"
    rf"(?:who|whom|what|when|where|why|how)(?:\s+|(?=['’]))(?:{_AUXILIARY})\b"
    rf"|(?:whose|which|what|how)\s+(?!{_SOMEBODY}\b)[\w-]+(?:\s+[\w-]+)?\s+(?:{_AUXILIARY})\s+(?:the|it|{_SOMEBODY})\b"
    rf"|(?:do|does|did|can|could|should|shall|will|would|are|is)\s+{_SOMEBODY}\b(?!\s+(?:for|as|if))"
    r")",
    re.IGNORECASE,
)


def asks(text: str) -> bool:
    """Return whether a text ends with a question mark."""
    return text.rstrip(_CLOSERS).endswith(MARKS)


def is_asked(sentence: str) -> bool:
    """Return whether a sentence asks: «where can I leave the keys» does so without a question mark."""
    return asks(sentence) or _UNMARKED.match(sentence) is not None


def has_question(text: str) -> bool:
    """Return whether a sentence of a text asks."""
    return any(is_asked(text[start:end]) for start, end in sentences(text))
