"""Name months and weekdays, and describe them as patterns."""

from __future__ import annotations

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
SHORT_MONTHS = ("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "sep", "oct", "nov", "dec")
CLEAR_MONTHS = tuple(month for month in MONTHS if month != "may")
"""The months whose names mean nothing else: «may» is a verb more often than a month."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

MONTH = rf"(?:{'|'.join(MONTHS)})"
CLEAR_MONTH = rf"(?:{'|'.join(CLEAR_MONTHS)})"
SHORT_MONTH = rf"(?:{'|'.join(SHORT_MONTHS)})"
ANY_MONTH = rf"(?:{'|'.join((*MONTHS, *SHORT_MONTHS))})"
WEEKDAY = rf"(?:{'|'.join(WEEKDAYS)})"


def month_number(name: str) -> int:
    """Return the number of a month, 1 to 12, by its name or the beginning of it; three letters are enough."""
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name[:3].lower()))


TIME_WORDS = frozenset(
    "yesterday today tonight tomorrow ago recently weekend last next week weeks month months year years".split()
).union(CLEAR_MONTHS, WEEKDAYS, (f"{day}s" for day in WEEKDAYS))
"""Words by which a text says when something was."""
