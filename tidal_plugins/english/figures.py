"""Find the dates, times, amounts and numbers of a sentence."""

from __future__ import annotations

import re

from tidal_plugins.english.calendar import ANY_MONTH, WEEKDAY
from tidal_plugins.patterns import lazy_re

_COUNTED = (
    r"(?:euros?|dollars?|pounds?|percent|%|€|k|kg|km|minutes?|hours?|days?|weeks?|months?|years?|people|seats?|rooms?|"
    r"thousand|hundred|million|tokens?|rows?|lines?|requests?|ms|s|gb|mb|tb)"
)
_NUMBER = (
    r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|seventy|"
    r"eighty|ninety|(?:a|one) hundred|(?:a|one) thousand)"
)
_DATED = lazy_re(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {ANY_MONTH}\b|{ANY_MONTH} \d{{1,2}}\b|{WEEKDAY}s?\b|(?:19|20)\d\d-\d\d"
    rf"|\d{{1,2}}:\d\d\b|\d[\d.,]* ?{_COUNTED}(?!\w)|\d{{2,}}(?:[.,]\d+)*\b|{_NUMBER} {_COUNTED}\b"
    r"|(?:tonight|tomorrow|noon|midnight)\b)|[€$£] ?\d",
    re.IGNORECASE,
)
_DIGIT = lazy_re(r"\d")
_WHOLE = lazy_re(r"\d(?<!\w\d)\d+\b")
"""Most of what is found, which is quick to find."""
_CUES = (
    "day", "night", "noon", "tomorrow", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "fift", "twent", "thirt", "fort", "hundred", "thousand",
)  # fmt: skip
"""Parts of what has no digit, which are quick to find."""


def dated(sentence: str) -> bool:
    """Return whether a sentence has a date, a time, an amount or a number of more than one digit."""
    if not _DIGIT.search(sentence) and not any(map(sentence.lower().__contains__, _CUES)):
        return False
    return _WHOLE.search(sentence) is not None or _DATED.search(sentence) is not None
