"""The times that a sentence states for a statement: «since 2019», «until March 2031»."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from tidal_plugins.english.calendar import month_number
from tidal_plugins.graph.reading.arguments import Sentence
from tidal_plugins.graph.reading.clauses import MASK
from tidal_plugins.graph.reading.vocabulary import DATE, PERIOD
from tidal_plugins.patterns import lazy_re

_OVER = r"(?=\s*(?:[^\w\s]|\Z|(?:and|but|so|or|because|until|till|when|with|in|at|as|now|already)\b))"
"""Text after a year; «2000 requests» has none."""
_FROM = lazy_re(
    rf"\b(?:(?:since|as\s+of|starting|effective|from)\s+(?P<date>{MASK}+)|since\s+(?P<period>{PERIOD}){_OVER})",
    re.IGNORECASE,
)
_UNTIL = lazy_re(
    rf"\b(?:(?:until|till|through)\s+(?P<date>{MASK}+)|(?:until|till)\s+(?P<period>{PERIOD}){_OVER})",
    re.IGNORECASE,
)
_LEADING = lazy_re(
    rf"\b(?:(?:on|in|since|as\s+of)\s+(?P<date>{MASK}+)|since\s+(?P<period>{PERIOD})),?\s*$", re.IGNORECASE
)
_APART = lazy_re(
    r"[;:()\n–—]|,(?!\s*(?:since|until|till)\b)|\b(?:and|but|or|which|who|whose|where|that|because)\b", re.IGNORECASE
)
"""Words between a statement and a time that belongs to another one."""


def validity(sentence: Sentence, start: int, end: int) -> tuple[datetime | None, datetime | None]:
    """Return since when and until when the statement in ``masked[start:end]`` is true, as far as its sentence says."""
    masked = sentence.masked
    since = _after(_FROM, masked, end) or _LEADING.search(masked, 0, start)
    return _date(sentence, since), _date(sentence, _after(_UNTIL, masked, end))


def _after(pattern: re.Pattern[str], masked: str, end: int) -> re.Match[str] | None:
    """Return the time stated for the phrase that ends there, and not for a later one."""
    found = pattern.search(masked, end)
    return None if found is None or _APART.search(masked, end, found.start()) else found


def _date(sentence: Sentence, match: re.Match[str] | None) -> datetime | None:
    if match is None:
        return None
    if match["period"]:
        return _read_period(match["period"])
    name = sentence.names.get(match.start("date"))
    return _read_date(name.name) if name and name.type == "date" else None


def _read_period(said: str) -> datetime:
    """Return when a year, or a month of one, begins, at midnight UTC."""
    *month, year = said.split()
    return datetime(int(year), month_number(month[0]) if month else 1, 1, tzinfo=UTC)


def _read_date(said: str) -> datetime | None:
    """Return the day that a date names, at midnight UTC, or ``None`` if there is no such day."""
    match = DATE.fullmatch(said)
    if match is None:
        return None
    try:
        if match["iso"]:
            return datetime.fromisoformat(said).replace(tzinfo=UTC)
        day, month, year = (match[name + "1"] or match[name + "2"] for name in "dmy")
        return datetime(int(year), month_number(month), int(day), tzinfo=UTC)
    except ValueError:
        return None
