"""Find praise of what somebody just said or made: «this is absolutely perfect», «you nailed it», «makes sense»."""

from __future__ import annotations

import re

from tidal_plugins.english.clauses import LEAD
from tidal_plugins.patterns import lazy_re

_MADE = (
    r"(?:this|that|it|these|those|everything|(?:this|that|the|your) (?:\w+ ){0,2}?(?:plan|approach|strategy|outline|"
    r"draft|list|version|schedule|itinerary|table|summary|breakdown|structure|layout|answer|idea|suggestion)s?)"
)
_GOOD = (
    r"(?:perfect|fantastic|great|excellent|solid|proper|spot[ -]on|brilliant|wonderful|amazing|awesome|super|ideal|"
    r"helpful|manageable|straightforward|fabulous|on point|(?:exactly|just) what i (?:need|meant|want|was|had|'m))"
)
_JOB = r"(?:job|work|thinking|call|stuff|on ya|on you|one|shout|point|idea)"
_PRAISE = lazy_re(
    rf"{LEAD}(?:(?:my guy|mate|man|dude|sharp)\W+)*(?:"
    rf"{_MADE}(?:'s| is| are| looks?| sounds?| feels?| seems?) "
    rf"(?:(?!the\b|an?\b|not\b|no\b|never\b)\w+ ){{0,3}}?{_GOOD}\b"
    r"|you(?:'ve| have)? (?:\w+ly )?(?:nailed|outdone yourself|thought of everything|read my mind|"
    r"covered everything)\b"
    rf"|(?:good|great|nice|excellent|amazing) {_JOB}\b"
    r"|(?:(?:that|it|this|which) )?(?:all )?makes (?:\w+ ){0,2}sense\b(?! to )"
    r"|i (?:\w+ly )?(?:like|love|appreciate) (?:how|that|the way|what) (?:you|it)\b)",
    re.IGNORECASE,
)
_TELLS = lazy_re(r"\d|(?<=[a-z] )[A-Z]\w|`|\b(?:but|except|although|though|because|so we|instead)\b")
_MOST = 25
"""Words of praise; a longer sentence says something else besides."""


def praises(sentence: str) -> bool:
    """Return whether a sentence is praise of an answer and tells nothing: it has no name, number, or objection."""
    plain = sentence.replace("’", "'")
    return len(plain.split()) <= _MOST and _PRAISE.match(plain) is not None and _TELLS.search(plain) is None
