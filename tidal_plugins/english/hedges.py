"""Find the words that make a sentence less than a plain statement of the present: doubt, hearsay, wishes, plans.

Each word stands here once; a reader takes the patterns that it needs.
"""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

_IF = r"if|unless|whether|suppos(?:e|ing)|imagin\w+|pretend\w*|hypothetical\w*"
_WHEN = r"when|whenever"
_PERHAPS = r"maybe|perhaps|probably|possibly|apparently|guess\w*|wonder(?:s|ed|ing)?|not sure"
_HEARSAY = r"says?|said|rumou?rs?"
_JOKES = r"joking|kidding"
_WOULD = r"would|could|might|should"

_HEDGES = f"{_IF}|{_PERHAPS}|{_HEARSAY}|{_JOKES}"

HEDGED = lazy_re(rf"\b(?:{_HEDGES}|{_WOULD}|supposed)\b")
"""Hedges that make a lower-case sentence of a note unsure. A statement that becomes a fact must pass more."""
DOUBT = lazy_re(
    rf"\b(?:{_HEDGES}|{_WHEN}|assum\w+|as though|wish\w*|hop(?:e|es|ed|ing)|think|thinks|thought|believ\w+|"
    r"feels? like|seem\w*|doubt\w*|unsure|presumably|allegedly|supposedly|reportedly|likely|not true|heard|hear|"
    r"claim\w*|told|tells?|according to|asked|asks|used to|was once|formerly|previously|at the time|back then|"
    r"in those days|once upon|until recently|no longer true|for example|e\.g|for instance|let's say|"
    r"in the (?:story|book|film|movie|game|novel|song|dream)|dream(?:t|ed)?|joke)\b",
    re.IGNORECASE,
)
"""Words anywhere in a sentence that make it no plain statement of the present."""
MODAL = lazy_re(
    rf"\b(?:{_WOULD}|(?-i:may)|shall|will|must|can|wo|gonna|going to|about to|want\w*|expect\w*|"
    r"plan(?:s|ned|ning)?\s+(?:to|on|for)|how|why|where|who|what)\b|['’](?:ll|d)\b",
    re.IGNORECASE,
)
"""The same, of the words before the claim has been made."""
UNSURE = lazy_re(
    r"\b(?:almost|nearly|let['’]?s|lets|in case|joked|nobody|hardly|rarely|seldom|sometimes|in theory|ideally|"
    r"in my (?:last|old|previous) \w+|former|as a (?:child|kid|student)|yesterday|"
    r"last (?:week|month|year)|years? ago)\b",
    re.IGNORECASE,
)
"""Words that say of a habit or a taste that it does not hold now."""
ELSEWHERE = lazy_re(
    r"\b(?:once|after|as soon as|sometimes|often|usually|every|each|tomorrow|next (?:week|month|year|time)|on \w+days?|"
    r"at night|(?:in|by) \d{4}|translate|repeat|grammar|example|scenario|story|opposite|not the case)\b|"
    r"\A\W*(?:in|on|at)\s+(?!(?:fact|the moment|short|present|summary)\b)[^,]{1,40},",
    re.IGNORECASE,
)
"""Words before a claim about other times and places, and about exercises."""
