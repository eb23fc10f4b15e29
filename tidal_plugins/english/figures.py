"""Find the dates, times, amounts and numbers of a sentence."""

from __future__ import annotations

import re

from tidal_plugins.english.calendar import ANY_MONTH, WEEKDAY

_COUNTED = (
    r"(?:euros?|dollars?|pounds?|percent|%|€|k|kg|km|minutes?|hours?|days?|weeks?|months?|years?|people|seats?|rooms?|"
    r"thousand|hundred|million|tokens?|rows?|lines?|requests?|ms|s|gb|mb|tb)"
)
_NUMBER = (
    r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|seventy|"
    r"eighty|ninety|(?:a|one) hundred|(?:a|one) thousand)"
)
DATED = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {ANY_MONTH}\b|\b{ANY_MONTH} \d{{1,2}}\b|\b{WEEKDAY}s?\b|\b(?:19|20)\d\d-\d\d"
    rf"|\b\d{{1,2}}:\d\d\b|[€$£] ?\d|\b\d[\d.,]* ?{_COUNTED}(?!\w)|\b\d{{2,}}(?:[.,]\d+)*\b|\b{_NUMBER} {_COUNTED}\b"
    r"|\b(?:tonight|tomorrow|noon|midnight)\b",
    re.IGNORECASE,
)
"""A date, a time, an amount or a number of more than one digit."""
