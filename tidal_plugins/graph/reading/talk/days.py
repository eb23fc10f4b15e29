"""The days and hours that people name for what is ahead."""

from __future__ import annotations

from tidal_plugins.english.calendar import ANY_MONTH, WEEKDAY
from tidal_plugins.graph.reading.clauses import MASK

_DAY = (
    rf"(?:{WEEKDAY}s?(?:,?\s+(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?(?:\s+(?:of\s+)?{ANY_MONTH})?)?(?:\s+(?:morning"
    "|afternoon|evening|night))?"
    rf"|(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{ANY_MONTH}|{ANY_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?"
    rf"|the\s+\d{{1,2}}(?:st|nd|rd|th)"
    rf"|tomorrow|tonight|(?:next|this)\s+(?:week|weekend|month|year|{WEEKDAY})|{MASK}{{10,}})"
)
_AT = (
    r"(?:,?\s+(?:at|around|about)\s+(?:\d{1,2}(?:[:.]\d\d)?(?:\s*[ap]\.?m\.?)?|half\s+past\s+\w+|\w+\s+o['’]clock"
    r"|noon|midnight|one|two|three|four|five|six|seven|eight|nine|ten)|,?\s+\d{1,2}[:.]\d\d)?"
)
DATED = rf"{_DAY}{_AT}"
"""A day, with a time of the day or without one."""
