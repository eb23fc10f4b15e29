"""The clauses of a sentence, and the words that keep it from telling anything: conditions, questions, jokes, roles."""

from __future__ import annotations

import re

from tidal_plugins.english.questions import asks
from tidal_plugins.patterns import lazy_re

BREAK = lazy_re(
    r"\A|(?<=[;:(–—])\s*|,\s+|\s-+\s|[.!]\s+|\s(?:and|but|so|because|since|cause|though|although|while|then|plus"
    r"|where)\s+|"
    r"\b(?:glad|happy|great|good|sorry|nice|wonderful|awesome|fantastic|thrilled|stoked)\s+"
    r"(?:to\s+(?:hear|know|see)\s+(?:that\s+)?|that\s+)?(?=(?:you|your|i|we|he|she|my|our)(?:['’]|\s))|"
    r"\b(?:let\s+you\s+know|tell\s+you|told\s+you|mention|forgot\s+to\s+(?:say|mention)|news\s+is|thing\s+is)\s+"
    r"(?:that\s+)?(?=(?:i|we|my|our)(?:['’]|\s))|"
    r"\bthat['’]s\s+why\s+|\s(?:now|so)\s+that\s+|\btell\s+(?:mum|mom|dad|him|her|them|(?-i:[A-Z]\w+))\s+(?:that\s+)?",
    re.IGNORECASE,
)
LEADS = lazy_re(
    r"(?:(?:since we last (?:spoke|talked|met)|(?:since|in) (?:\w+ )?(?:19|20)\d\d|"
    r"yes|yeah|yep|yup|ok|okay|oh|ah|wow|well|so|and|but|also|plus|hey|hi"
    r"|hello|thanks|sure|now|then|actually|honestly|"
    r"since we last spoke|luckily|unfortunately|sadly|btw|by the way|lately|recently|currently|today|yesterday"
    r"|tomorrow|tonight|finally|anyway|"
    r"because|since|though|although|while|that['’]s why|news|update|note|noted|for me|like i said|turns out|these days|"
    r"right now|at the moment|last (?:week|month|year|night|weekend|summer|winter|\w+day)|"
    r"next (?:week|month|year|weekend|\w+day)|this (?:week|month|year|weekend|morning|afternoon|evening)|on \w+day|"
    r"(?:a |two |three |few |couple of )+(?:days|weeks|months|years) ago|since we last spoke|after that|just|even"
    r"|good news)\b"
    r"[\s,:!.–-]*)*[\"“*_\s•>-]*",
    re.IGNORECASE,
)
"""Words that may lead a clause and change nothing of what it says."""
CONDITION = lazy_re(
    r"\b(?:if|unless|whether|suppos(?:e|ing)|imagine|assuming|pretend\w*|maybe|perhaps|hypothetically|ideally|"
    r"as (?:a|an) (?:child|kid|teenager)|should we|(?:used|nice|great|fun) if)\b|\bonce\b|\b(?:when|whenever)\s+"
    r"(?:i|we|you|he|she|they|it)\b",
    re.IGNORECASE,
)
AFTERWARDS = lazy_re(r"[^.;!?]*?\b(?:if|unless)\b(?!\s+(?:need be|possible|necessary))", re.IGNORECASE)
JOKE = lazy_re(r"\b(?:joke|jokes|joking|kidding|jk|just teasing|haha+|lol)\b", re.IGNORECASE)
PLAYED = lazy_re(
    r"(?:\A|[.!?\n])[\s\"“*]{0,4}+"
    r"(?:(?:now,? |please,? |no,? |hi,? |i want you to |you will |you are going to |let['’]s )?"
    r"(?:act|pretend|imagine|role-?play|simulate)\b|"
    r"you(?:['’]re| are) (?:an?|the)\b|(?:would|could|can) you (?:please )?(?:act|pretend))|\bscenario\s+\d",
    re.IGNORECASE,
)
"""Requests to play a role: what they say is of nobody."""
DRAFTED = lazy_re(
    r"\A\W*(?:please\s+|kindly\s+|(?:can|could|would|will)\s+you\s+(?:please\s+)?|now\s+|i\s+want\s+you\s+to\s+){0,2}"
    r"(?:expand|rewrite|re-write|rephrase|paraphrase|summari[sz]e|translate|proofread|polish|improve|reword|shorten|edit)\s+"
    r"[^.!?\n]{0,60}?\b(?:this|these|following|content|texts?|paragraphs?|article|e-?mail|essay|post|story|letter|abstract"
    r"|sentences?|above|below|code|message|paper|copy)\b",
    re.IGNORECASE,
)
"""Requests to work on a text, which follows and says nothing of whoever asks."""
_ASIDE = lazy_re(
    r"\s[-–—]+\s|[;:]\s|,\s+(?=(?:what|how|who|where|when|why|do|did|are|is|have|any|right|huh|eh)\b)", re.IGNORECASE
)
"""What stands between a statement and a question after it."""
SINCE = lazy_re(
    r"\bsince\b|\bfor\s+(?:\d|a|two|three|many|over|almost|years|ages)\b|\ball\s+(?:my|his|her)\s+life\b", re.I
)
"""Words that make «have lived» a state that goes on, not an experience."""


def stated(said: str) -> str:
    """Return what a sentence states before it asks: of «I eat no meat now - what about you?» the first part."""
    if not asks(said):
        return said
    *_, last = ((0, 0), *(match.span() for match in _ASIDE.finditer(said)))
    before = said[: last[0]]
    return "" if asks(before) or not asks(said[last[1] :]) else before
