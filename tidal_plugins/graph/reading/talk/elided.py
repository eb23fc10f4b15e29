"""Clauses without a subject that tell of the speaker: «Had a check-up», «Been swimming», «Thinking of moving»."""

from __future__ import annotations

import re

from tidal_plugins.graph.reading.arguments import Sentence
from tidal_plugins.patterns import lazy_re

_ADVERBS = r"(?:(?:just|also|finally|recently|still|even|really|actually|definitely|super|so|pretty)\s+){0,2}"
_DROPPED = lazy_re(
    rf"{_ADVERBS}(?:"
    r"(?P<am>gonna|planning|thinking|looking\s+(?:for|into|at)|hoping|trying|working|heading|getting\s+(?:ready|into)|"
    r"reading|learning|studying|taking|off\s+to|back\s+from|ready\s+to|keen\s+(?:to|on)|eager\s+to|excited\s+to|"
    r"hyped\s+to|determined\s+to|obsessed|hooked)"
    r"(?![^.!?;,]*\s(?:is|are|was|has|can|will|must|helps?|makes?|sounds?|feels?|gives?|brings?)\s)"
    r"|(?P<have>been)"
    r"|(?P<did>had|got|went|came|saw|met|took|made|did|ran|won|lost|bought|found|gave|wrote|drew|built|baked|cooked|"
    r"painted|started|finished|completed|submitted|tried|visited|explored|attended|joined|signed|moved|adopted|ordered|"
    r"picked\s+up|hosted|organi[sz]ed|volunteered|played|watched|booked|celebrated|(?:need|want|plan|hope)(?:ed)?\s+to|"
    r"gotta|used\s+to)"
    r")(?![\w'’-])",
    re.IGNORECASE,
)
"""The verbs that people begin with when they leave «I» out. No imperative begins with one of them."""
_HOLLOW = lazy_re(
    r"got\s+(?:it|you|ya|this|that)\b|been\s+(?:a|so|too|there|forever|ages)\b|made\s+(?:me|my|it)\b", re.IGNORECASE
)
_OPENED = lazy_re(r"\W*(?:thanks?|appreciate|sorry|yes|yeah|yep|no|nope|not|nothing|same|cheers|ha|oh|hey|hi)\b", re.I)
"""The beginning of a sentence whose later clauses have nobody else as their subject."""


def with_speaker(sentence: Sentence, start: int, *, first: bool) -> tuple[Sentence, int] | None:
    """Return the rest of a sentence from ``start`` with the auxiliary that goes with the missing «I».

    The number is the place of its first word. ``first`` is whether no clause stands before.
    Returns ``None`` if no verb stands there that only the speaker can mean.
    """
    verb = _DROPPED.match(sentence.masked, start)
    if verb is None or _HOLLOW.match(sentence.masked, start):
        return None
    if not first and (verb["am"] or not _OPENED.match(sentence.masked)):
        return None
    before = " am " if verb["am"] else " have " if verb["have"] else " "
    shift = len(before) - start
    names = {place + shift: name for place, name in sentence.names.items() if place >= start}
    rest = Sentence(sentence.text, sentence.start - shift, before + sentence.masked[start:], names)
    return rest, len(before)
