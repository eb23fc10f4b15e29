"""Find whether a text asks for what was before."""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

_FORMER = lazy_re(
    r"\b(?:before (?:that|this|it|the|we|i|then)|used to|previous(?:ly)?|former(?:ly)?|original(?:ly)?|initial(?:ly)?|"
    r"at first|earlier|back then|the old|my old|our old|once was|had been|no longer|"
    r"until then)\b|\bbefore\s*[?.!]*\s*$|\bin the beginning\b",
    re.IGNORECASE,
)
"""Words for a value that is no longer the newest: «where did I live before?», «what was the old time?»."""
_ASKED = r"\b(?:who|whom|whose|what|when|where|why|which|how)(?:\s+(?!(?:is|are|am|do|does|can|will)\b)[\w'’-]+){0,4}?"
_NOW = r"(?:is|are|am|do|does|can|could|will|should|shall|must|may)"
_THEN = r"(?:was|were|did|had|used\s+to)"
_PRESENT = lazy_re(
    rf"{_ASKED}(?:\s+|(?=['’]))(?:{_NOW}|['’](?:s|re))\b|(?:\A|[.,;:!?]\s+|\band\s+){_NOW}\s+", re.IGNORECASE
)
"""The beginnings of questions for what is: «when is …», «can it be …»."""
_PAST = lazy_re(rf"{_ASKED}\s+{_THEN}\b|(?:\A|[.,;:!?]\s+|\band\s+){_THEN}\s+", re.IGNORECASE)
"""The beginnings of questions for what was."""
_WHEN_WAS = lazy_re(r"\bwhen\s+(?:was|were)\b(?![^?]*\bagain\b)", re.IGNORECASE)
_SUBJECT = lazy_re(
    r"(?:\b(?:is|are)|['’](?:s|re))\s+(?:the|my|our|your|his|her|their)\s+"
    r"(?:old|previous|former|original|initial|earlier)\b",
    re.IGNORECASE,
)
"""What is asked for is the former one: «what is the old address?»."""


def asks_for_former(text: str, past: bool) -> bool:
    """Return whether a text asks for a value that is no longer the newest. ``past``: it names a time that is over.

    A question in the present tense asks for the newest, whatever else was before: «yesterday I forgot to ask when the
    concert is». Words alone, without a question, ask for the former if they say so.
    """
    former = past or _FORMER.search(text) is not None
    if _PAST.search(text):
        return former or _WHEN_WAS.search(text) is not None
    if _PRESENT.search(text):
        return _SUBJECT.search(text) is not None
    return former
