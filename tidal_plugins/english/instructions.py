"""Find what is said to an agent: who it is, and what it does when."""

from __future__ import annotations

import re

from tidal_plugins.english.requests import requests
from tidal_plugins.patterns import lazy_re

IDENTITY = lazy_re(
    r"\byour (?:name|role|job|voice|tone|task) (?:is|should be)\b|\byou are (?:called|an? (?:\w+ ){0,3}"
    r"(?:assistant|agent|bot|engineer|analyst|tutor|coach))\b|\bcall yourself\b",
    re.IGNORECASE,
)
ROUTINE = lazy_re(
    r"\bevery (?:\d+ )?(?:minutes?|hours?|morning|day|evening|night|week|loop|cycle|thread|hour)\b"
    r"|\b(?:at the (?:start|end) of|before|after) (?:each|every) (?:loop|cycle|thread|run|day|turn)\b"
    r"|\bfirst thing\b",
    re.IGNORECASE,
)
_TOLD_TO = lazy_re(r"\byou\b|\bplease\b|\b(?:must|should|never|always)\b|\bagents?\b", re.IGNORECASE)
OWN_PLANS = lazy_re(r"\bi(?:'ll|'ve|'m| will| have| am)?\b")
"""Statements of people about themselves, which are no rules for an agent."""


def is_routine(sentence: str) -> bool:
    """Return whether a sentence tells an agent what to do regularly: «every morning check the queue».

    «Every evening it is gone for a minute» only tells of something.
    """
    if not ROUTINE.search(sentence) or OWN_PLANS.search(sentence.replace("’", "'").lower()):
        return False
    rest = ROUTINE.sub("", sentence).strip(" ,:;-–—")
    return _TOLD_TO.search(sentence) is not None or requests(rest)


RULE = lazy_re(
    r"\bfrom now on\b|\b(?:standing |house |new )?rule:|\b(?:standing|house|new) rule\b"
    r"|(?:^|[,;:] |\b(?:and|but|so|please|you|to) )(?:always|never|don't ever|do not ever) \w+|, (?:always|never)\W*$"
    r"|^(?:please )?(?:do not|don't) \w+|\b(?:must|may|should)(?: not| never| always| only) \w"
    r"|\bmust be (?:at|in|on|no|under|over|within|the|an?|sent|done|signed|kept|paid|\w+ed)\b"
    r"|\b(?:make sure (?:to|that)|forbidden|not allowed|no more than|no less than|at most|at least|only ever"
    r"|keep it (?:under|below|within|short))\b"
)
"""Rules that somebody gives to an agent, in lower-case sentences: sterner than :data:`STANDING_RULE`."""
DECISION = lazy_re(
    r"\b(?:we|i)(?:'ve| have|'ll| will|'re| are|'d)? (?:now |all |both |just |finally )*(?:decided?|agreed|settled on"
    r"|chose|opted|going with|go with|went with|stay with|staying with|stick with|sticking with|stick to|drop|dropped"
    r"|postponed?|mov(?:e|ed|ing) (?:off|over|from|away)|switch(?:ed|ing)? (?:to|from|over)|won't|do(?:n't| not) use)\b"
    r"|\b(?:the|my|our|final) decision\b|\bit(?:'s| is) decided\b|\blet's (?:go|stay|stick) with\b|\binstead of\b"
)
"""Statements of what was decided, in lower-case sentences."""
