"""The time that a query speaks of: «last Tuesday», «in May», «two weeks ago», «before the move».

English patterns find the words, dateparser reads them, so that "may" and "second" are dates only where they stand like
dates. A query without such words costs one search of a pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from tidal_plugins.english.words import MONTH, SHORT_MONTH, WEEKDAY
from tidal_plugins.patterns import lazy_re

MAX_TIMES = 2
"""Times that count of one query, the first ones."""


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time, ``[start, end)``, open where ``None``, and the words that speak of it.

    ``known_from`` is the id of the memory that tells when it was, where none but a memory does.
    """

    words: str
    start: datetime | None = None
    end: datetime | None = None
    known_from: str = ""

    def __str__(self) -> str:
        start, end = (f"{time:%Y-%m-%d}" if time else "" for time in (self.start, self.end))
        return f"«{self.words}» {start}…{end}"


@dataclass(frozen=True, slots=True)
class Event:
    """A time ``before`` or after something else, whose ``name`` a memory may have."""

    words: str
    name: str
    before: bool

    def at(self, time: datetime, id: str) -> Period:
        """Return the time before or after the event, given the time of the memory that tells of it."""
        return Period(self.words, None, time, id) if self.before else Period(self.words, time, None, id)


def periods(text: str, now: datetime) -> tuple[Period, ...]:
    """Return the past times that a text speaks of, seen from ``now``, in its time zone."""
    if not _CUE.search(text):
        return ()
    reader = _Reader(now)
    found = [reader.span(match) for match in islice(_SPAN.finditer(text), MAX_TIMES)]
    return tuple(item for item in found if item and (item.start is None or item.start <= now))


def event(text: str) -> Event | None:
    """Return an event whose time only the memory knows: «before the move»."""
    match = _EVENT.search(text)
    return Event(match[0], match["event"], match["before"] is not None) if match else None


# the words

_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The months in which they begin, north of the equator."""
_COUNTS = {"a couple of": "2", "couple of": "2", "a few": "3", "few": "3", "several": "4", "fortnight": "2 weeks"}


def _any(*words: str) -> str:
    return f"(?:{'|'.join(words)})"


_WEEKDAY = rf"{WEEKDAY}\b(?![@.]\w)"  # not that of an address
_NAMED = _any(MONTH, rf"{SHORT_MONTH}\b\.?")
_SEASON = _any(*_SEASONS)
_YEAR = r"(?:19|20)\d\d\b"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?\b"
_NUMBER = _any(
    r"\d{1,3}", "an?", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "a couple of", "couple of", "a few", "several",
)  # fmt: skip
_UNIT = r"(?:hour|day|week|fortnight|month|year)s?"
_PART = r"(?:\s+(?:morning|afternoon|evening|night))?"
_DATE = _any(
    r"\d{4}-\d\d-\d\d",
    r"\d{1,2}[/.]\d{1,2}[/.]\d{4}",
    rf"{_DAY}(?:\s+of)?\s+{_NAMED}(?:,?\s*{_YEAR})?",
    rf"{_NAMED}\s+(?:the\s+)?{_DAY}(?:,?\s*{_YEAR})?",
    rf"{_NAMED},?\s+(?:of\s+)?{_YEAR}",
    rf"{_SEASON}\s+(?:of\s+)?{_YEAR}",
)
_PAST = r"(?:last|past|previous|this\s+past|this)"
_SAID = _any(  # what is a time wherever it stands
    rf"{_PAST}\s+{_any(_WEEKDAY + _PART, MONTH, _SEASON, 'weekend', 'week', 'month', 'year')}\b",
    rf"{_NUMBER}\s+{_UNIT}\s+(?:ago|back)\b",
    r"(?:the\s+)?day\s+before\s+yesterday\b",
    rf"yesterday\b{_PART}",
    r"last\s+night\b",
    r"(?:earlier\s+today|this\s+(?:morning|afternoon))\b",
    rf"(?:last|past)\s+{_NUMBER}\s+{_UNIT}\b",
    rf"(?<!every )(?<!each )(?<!next )\b{_WEEKDAY}\b{_PART}",
)
_NO_NAME = r"\b(?!\s+(?-i:[A-Z][a-z]))"  # "in spring", not "in Spring Boot"
_PART_OF = r"(?:(?:the|early|mid|late)[\s-]+)*"
_PLACED = rf"{_PART_OF}{_any(_DATE, MONTH, _SEASON + _NO_NAME, 'weekend', _YEAR)}\b"  # after a preposition
_EARLIER = _any("before", r"prior\s+to")
_BEFORE = _any(_EARLIER, "until", "till")
_AFTER = _any("after", "since", "following")
_FROM = _any("between", "from")
_AT = _any("in", "on", "of", "during", "by", "over", "around")
_COUNT = rf"(?:by|over)\s+{_YEAR}"  # "over 2000 rows"
_LEAD = rf"(?:{_any('week', 'weekend', 'day', 'night', 'month', 'year', _WEEKDAY)}|{_NUMBER}\s+{_UNIT})"

_CUE = lazy_re(
    _any(r"\d", "hour", "day", "week", "fortnight", "month", "year", "morning", "afternoon", "night", MONTH, _SEASON),
    re.IGNORECASE,
)
"""A part of every time there is. The pattern of times takes 25 ms to compile, and most queries have none."""

_WHEN = _any(_SAID, _PLACED)
_SPAN = lazy_re(
    r"\b"
    + _any(
        rf"(?P<lead>{_LEAD})\s+(?P<way>before|after)\s+(?P<anchor>{_DATE})",
        rf"{_FROM}\s+(?P<first>{_WHEN})\s+(?:and|to|until|till)\s+(?P<second>{_WHEN})",
        rf"(?P<before>{_BEFORE})\s+(?P<until>{_WHEN})",
        rf"(?P<after>{_AFTER})\s+(?P<since>{_WHEN})",
        rf"(?!{_COUNT}){_AT}\s+(?P<placed>{_WHEN})",
        rf"(?P<said>{_any(_DATE, _SAID)})",
    ),
    re.IGNORECASE,
)
_EVENT = lazy_re(
    rf"\b(?:(?P<before>{_EARLIER})|{_AFTER})\s+"
    r"(?P<event>(?:(?:the|my|our|his|her|their|we|i|he|she|they)\s|\w+ing\s|\w+['’]s\s)[^,.;:?!\n]{2,60})",
    re.IGNORECASE,
)  # no "you": who tells an agent what to do after it is done asks for no memory; no "until": that is ahead
_BOUND = lazy_re(rf"(?:last|past)\s+({_NUMBER}\s+{_UNIT})", re.IGNORECASE)
_NAME = lazy_re(
    rf"(?P<past>{_PAST}\s+)?{_PART_OF}(?P<name>{_any(_SEASON, 'weekend')})(?:\s+(?:of\s+)?(?P<year>{_YEAR}))?",
    re.IGNORECASE,
)


class _Reader:
    """Reads what the patterns found, seen from ``now``."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def span(self, match: re.Match[str]) -> Period | None:
        try:
            return self._span(match)
        except (OverflowError, ValueError):  # before the year 1 or after 9999
            return None

    def _span(self, match: re.Match[str]) -> Period | None:
        said, words = {name: text for name, text in match.groupdict().items() if text}, match[0]
        if "anchor" in said:
            found = self._relative(said["lead"], said["way"].lower(), said["anchor"])
        elif "second" in said:
            found = self._between(said["first"], said["second"])
        elif "until" in said:
            found = self._read(said["until"], self._now)
            found = found and Period(words, None, found.start)
        elif "since" in said:
            found = self._read(said["since"], self._now)
            found = found and Period(words, found.start if said["after"].lower() == "since" else found.end)
        else:
            found = self._read(said.get("placed") or said["said"], self._now)
        return found and replace(found, words=words)

    def _relative(self, lead: str, way: str, anchor: str) -> Period | None:
        """Read a time relative to a date: «two weeks before 11 August» is two weeks ago, seen from that date."""
        there = self._read(anchor, self._now)
        if there is None or there.start is None:
            return None
        if re.fullmatch(_NUMBER + r"\s+" + _UNIT, lead, re.IGNORECASE):
            return self._read(f"{lead} ago" if way == "before" else f"in {lead}", there.start)
        length = _LENGTHS.get(lead.lower())
        if length is None:
            return self._read(lead, there.start, past=way == "before")
        edge = there.start if way == "before" else there.end or there.start
        return Period("", edge - length, edge) if way == "before" else Period("", edge, edge + length)

    def _between(self, first: str, second: str) -> Period | None:
        last = self._read(second, self._now)
        begun = self._read(first, last.end - timedelta(days=1)) if last and last.end else None
        return Period("", begun.start, last.end) if begun and last else None

    def _read(self, words: str, base: datetime, *, past: bool = True) -> Period | None:
        """Return the whole day, week, month or year that words name, or the stretch of time."""
        if match := _BOUND.fullmatch(words):
            begun = self._read(f"{match[1]} ago", base)
            return begun and Period("", begun.start, base)
        if match := _NAME.fullmatch(words):
            return _weekend(base, match) if match["name"].lower() == "weekend" else _season(base, match)
        moment, unit = _parsed(_plain(words), base, past)
        return _whole(moment, unit) if moment else None


_LENGTHS = {
    "week": timedelta(days=7), "day": timedelta(days=1), "night": timedelta(days=1), "month": timedelta(days=30),
    "weekend": timedelta(days=7), "year": timedelta(days=365),
}  # fmt: skip


def _plain(words: str) -> str:
    """Return words as dateparser knows them: it has no «a few days ago» and no «last May»."""
    words = re.sub(r"\s+", " ", words.lower())
    words = re.sub(r"^(?:earlier today|this (?:morning|afternoon))$", "today", words)
    words = re.sub(r"^(?:the |early[ -]|mid[ -]|late[ -])+", "", words)
    words = re.sub(r"(?<=day) (?:morning|afternoon|evening|night)$", "", words)
    words = re.sub(r"\bback$", "ago", words)
    words = re.sub(r"^this past ", "last ", words)
    words = re.sub(rf"^(?:last|past|previous|this) (?={_any(MONTH, _WEEKDAY)}\b)", "", words)
    words = re.sub(r"^(?:past|previous) ", "last ", words)
    for vague, number in _COUNTS.items():
        words = re.sub(rf"\b{vague}\b", number, words)
    return words


def _parsed(words: str, base: datetime, past: bool) -> tuple[datetime | None, str]:
    from dateparser.date import DateDataParser

    day = base.replace(hour=12, minute=0, second=0, microsecond=0, tzinfo=None)
    # Without a zone dateparser asks for the machine's, and fails where TZ is one in POSIX form.
    prefer = {"RELATIVE_BASE": day, "TIMEZONE": "UTC", "PREFER_DATES_FROM": "past" if past else "future"}
    order = {"DATE_ORDER": "DMY"} if re.search(r"\d\.\d", words) else {}  # who writes dots writes the day first
    found = DateDataParser(languages=["en"], settings=prefer | order).get_date_data(words)
    moment = found.date_obj
    return (moment.replace(tzinfo=base.tzinfo) if moment else None), found.period or "day"


def _whole(moment: datetime, unit: str) -> Period:
    """Return the day, week, month or year that a moment lies in."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        monday = day - timedelta(days=day.weekday())
        return Period("", monday, monday + timedelta(days=7))
    if unit == "month":
        return Period("", day.replace(day=1), _month(day.year, day.month + 1, day))
    if unit == "year":
        return Period("", day.replace(month=1, day=1), day.replace(year=day.year + 1, month=1, day=1))
    return Period("", day, day + timedelta(days=1))


def _month(year: int, month: int, like: datetime) -> datetime:
    """Return the first day of a month, counted on beyond December."""
    years, month = divmod(month - 1, 12)
    return like.replace(year=year + years, month=month + 1, day=1, hour=0, minute=0, second=0, microsecond=0)


def _season(base: datetime, match: re.Match[str]) -> Period:
    """Return the season of a year, or the last one that has begun.

    «Last summer», said in a summer, is the one before.
    """
    month = _SEASONS[match["name"].lower()]
    if match["year"]:
        return Period("", start := _month(int(match["year"]), month, base), _month(start.year, month + 3, base))
    year = base.year if _month(base.year, month, base) <= base else base.year - 1
    if base < _month(year, month + 3, base) and (match["past"] or "").strip().lower() in ("last", "previous"):
        year -= 1
    return Period("", _month(year, month, base), _month(year, month + 3, base))


def _weekend(base: datetime, match: re.Match[str]) -> Period:
    """Return the last weekend that has begun. «Last weekend», said in one, is the one before."""
    day = base.replace(hour=0, minute=0, second=0, microsecond=0)
    saturday = day - timedelta(days=(day.weekday() - 5) % 7)
    if day.weekday() >= 5 and (match["past"] or "").strip().lower() in ("last", "previous", "past"):
        saturday -= timedelta(days=7)
    return Period("", saturday, saturday + timedelta(days=2))
