"""Find the words by which a sentence says that something has changed, and the value that it had, where it is named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tidal_plugins.english.questions import ends_asking
from tidal_plugins.english.quotations import FENCED
from tidal_plugins.english.sentences import LONGEST, sentences
from tidal_plugins.english.values import Value
from tidal_plugins.patterns import lazy_re


@dataclass(frozen=True, slots=True)
class Change:
    """A sentence that says that something has changed.

    ``start`` and ``end`` are where its ``cue`` stands, the words that say so. ``old`` is what held before and ``new``
    what holds instead, each empty where the cue does not name it. ``ends`` says that ``old`` holds no more.
    """

    sentence: str
    start: int
    end: int
    old: str = ""
    new: str = ""
    ends: bool = False

    @property
    def cue(self) -> str:
        return self.sentence[self.start : self.end].rstrip(".")

    def covers(self, value: Value) -> bool:
        """Return whether a value of the sentence stands within the cue."""
        return self.start <= value.start and value.end <= self.end


@lru_cache(maxsize=1024)
def changes(text: str) -> Sequence[Change]:
    """Return the changes that a text states, in order. Questions, conditions, wishes and guesses state none."""
    plain = FENCED.sub(" ", text)
    spans = [span for span in sentences(plain) if span[1] - span[0] <= LONGEST]
    return [change for start, end in spans for change in _changes(plain[start:end])]


def is_unsure(sentence: str) -> bool:
    """Return whether a sentence has words of doubt, of a condition, of a wish or of a plan."""
    return _UNSURE.search(sentence) is not None


_WORD = r"[^\s,;:!?()\n–—]+"
_STOP = (
    r"(?=\s*(?:[,;:!?()\n–—]|\.(?!\d)|\Z|\s(?:and|but|because|since|so|as|for|which|who|from|by|after|before|please|at|"
    r"in|on|with|now|then|due)\b))"
)
_PHRASE = rf"{_WORD}(?:\s+{_WORD}){{0,4}}?"
_UNSURE = lazy_re(
    r"\b(?:if|unless|whether|suppos(?:e|ing)|imagin\w+|maybe|perhaps|probably|possibly|wonder\w*|not sure|would|could|"
    r"might|should|wish\w*|hop(?:e|es|ing)|joking|kidding|joke\w*|thinking (?:of|about)|think|i want|we want|"
    r"plan(?:s|ning)? to|going to|gonna|like to|let['’]?s|why|how|when|consider\w*|never|used to|propos\w+|suggest\w*|"
    r"ask\w* (?:for|whether|if|to)|"
    r"try(?:ing)? to|need(?:s)? to|have to|has to|dream\w*|can we|(?-i:may)|almost|nearly|tempted)\b",
    re.IGNORECASE,
)
_AGO = lazy_re(
    r"\b(?:ago|last (?:year|month|week|summer|winter|spring|autumn|fall)|as a (?:child|kid)|back (?:then|in \d{4}))\b",
    re.I,
)

_VERB = (
    r"(?:mov|chang|switch|rais|lower|reschedul|postpon|push|shift|increas|reduc|updat|renam|bump|upgrad|downgrad|"
    r"delay|migrat|swap|extend)(?:e|es|ed|ing|s)?"
)
CHANGE_VERB = lazy_re(rf"\b{_VERB}\b", re.IGNORECASE)
"""Verbs of change, in any form: what was moved is not about moving."""
_STATED = (
    lazy_re(
        rf"\b(?:{_VERB}|go(?:es)?|went|put|brought|cut|set)\b[^.;!?]{{0,50}}?\bfrom\s+(?P<old>{_PHRASE})\s+to\s+(?P<new>{_PHRASE}){_STOP}",
        re.IGNORECASE,
    ),
    lazy_re(
        rf"(?P<new>{_PHRASE})\s+(?:now\s+)?(?:instead\s+of|rather\s+than)\s+(?:the\s+)?(?P<old>{_PHRASE}){_STOP}",
        re.IGNORECASE,
    ),
    lazy_re(
        rf"\b(?:no|not)\s(?:\w+\s){{0,4}}?on\s+(?P<old>{_PHRASE}),\s+(?:but\s+)?(?:it['’]s|it\s+is)\s+(?:now\s+)?(?P<new>{_PHRASE}){_STOP}",
        re.IGNORECASE,
    ),
    lazy_re(
        rf"\bnot\s+(?!only\b|just\b|merely\b|simply\b)(?P<old>{_PHRASE})\s+but\s+(?P<new>{_PHRASE}){_STOP}",
        re.IGNORECASE,
    ),
    lazy_re(
        rf"(?P<new>{_PHRASE}),\s+not\s+(?:on\s+|at\s+)?(?:the\s+)?(?!just\b|only\b|even\b|to\b|that\b|a\b|an\b|another\b|any\b|some\b|my\b|your\b|because\b|like\b|for\b|from\b|in\b|yet\b)"
        rf"(?P<old>{_WORD}(?:\s+{_WORD}){{0,2}}?){_STOP}",
        re.IGNORECASE,
    ),
    lazy_re(
        rf"\b(?:mov|switch|migrat)(?:e|es|ed|ing)\s+(?:off|away\s+from)\s+(?P<old>{_PHRASE}),?\s+(?:and\s+)?(?:on)?to\s+(?P<new>{_PHRASE}){_STOP}",
        re.IGNORECASE,
    ),
    lazy_re(
        rf"(?P<new>{_PHRASE})\s+(?:has\s+|have\s+)?replac(?:es|ed)\s+(?:the\s+)?(?P<old>{_PHRASE}){_STOP}",
        re.IGNORECASE,
    ),
)
"""Changes that name what held before."""
_ENDED = (
    lazy_re(rf"\bno\s+longer\s+(?P<old>{_PHRASE}){_STOP}", re.IGNORECASE),
    lazy_re(r"(?:\bnot|n['’]t)\s+(?P<old>[^.;,!?]{3,60}?)\s+any\s?more\b", re.IGNORECASE),
    lazy_re(
        rf"['’](?:m|re|s)\s+not\s+(?P<old>(?!going\b|being\b|doing\b|getting\b|looking\b|saying\b|feeling\b)\w+ing){_STOP}",
        re.IGNORECASE,
    ),
    lazy_re(
        r"\bcancel(?:l?ed|s)\b|\bcalled\s+off\b|\b(?:is|are)\s+(?:all\s+)?off\b(?!\s+(?:to|on|with|for|the|from|limits|work))"
        r"|\bfell\s+through\b|\bwon['’]t\s+(?:happen|take\s+place)\b|\b(?:is|are)\s+no\s+good\b|\b(?:slot|one)\s+is\s+gone\b",
        re.IGNORECASE,
    ),
)
"""Ends of what held before."""
_CUES = lazy_re(
    rf"\b{_VERB}\b(?!\s+(?:forward|on|ahead|along)\b(?!\s+to\b))(?=[^;!?]{{0,50}}\b(?:to|until|till)\b|:)|\b(?:brought|put|set)\s+(?:\w+\s+)?(?:forward|back|off)\b(?=[^;!?]{{0,20}}\b(?:to|until|till)\b)"
    r"|\binstead\b|\bback\s+to\b|\bfrom\s+now\s+on\b|\bas\s+of\s+(?:now|today|tomorrow|next|this)\b|\b(?:from|starting)\s+(?:today|tomorrow)\b"
    r"|(?:\b(?:is|are|am)|['’](?:s|re|m))\s+now\b|\bnow\s+(?:is|are|at|on|due)\b"
    r"|(?:\b(?:is|are|has|have|owns|runs|takes)|['’](?:s|re))\s[^;!?,]{1,60}?(?<!right\s)(?<!for\s)(?<!by\s)(?<!until\s)\bnow\b(?!\s+(?:and|on)\b)"
    r"|\bnow\s+(?:has|have|owns|runs|takes)\b"
    r"|(?:\b(?:is|are|on)|['’](?:s|re))\s[^;!?,]{1,40}?\bthis\s+(?:year|season|term|semester)\b"
    r"|\bnew\s+(?:[\w-]+\s+){1,4}?(?:is|are|please|will\s+be)\b:?|\bthe\s+new\s+\w+\b(?=\s+is\b)"
    r"|\bmake\s+(?:it|that)\b(?=\s+(?:\d|\w+day\b|the\s+\d))|\bcorrection\b|\bcorrected\b|\bscratch\s+that\b|\bi\s+meant\b|\bsorry,"
    r"|\bactually\b(?=\s+(?:it|on|at|the)\b)|\b(?:weeks?|days?|months?|hours?)\s+(?:later|earlier)\b|\bdoubles\b|\bafter\s+all\b",
    re.IGNORECASE,
)
"""Words that say that something is new, without what it was."""


_HINT = lazy_re(
    r"\bfrom\b|instead|rather|\bnot?\b|n['’]t\b|replac|\boff\b|away|longer|cancel|through|\bgone\b", re.IGNORECASE
)
"""Words of which every change that names the old value, and every end, has one: most sentences have none."""


def _changes(sentence: str) -> list[Change]:
    if ends_asking(sentence) or _AGO.search(sentence):
        return []
    found: list[Change] = []
    if _HINT.search(sentence):
        for patterns, ends in ((_STATED, False), (_ENDED, True)):
            matches = (match for pattern in patterns for match in pattern.finditer(sentence))
            found += (_named(sentence, match, ends) for match in matches)
    found = found or [Change(sentence, match.start(), match.end()) for match in _CUES.finditer(sentence)]
    return [change for change in found if not _UNSURE.search(sentence, 0, change.end)]


def _named(sentence: str, match: re.Match[str], ends: bool) -> Change:
    said = match.groupdict()
    return Change(sentence, match.start(), match.end(), said.get("old") or "", said.get("new") or "", ends)
