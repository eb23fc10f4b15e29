"""Resolve the days that a sentence names by when it was said: «yesterday», «by Friday», «next week», «the 17th»."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

from tidal_plugins.english.calendar import ANY_MONTH, MONTHS, WEEKDAY, WEEKDAYS, month_number
from tidal_plugins.english.objects import PAST_VERBS
from tidal_plugins.english.values import NUMBER_WORDS
from tidal_plugins.english.verbs import is_past

_COUNTS = NUMBER_WORDS | {"a": 1, "an": 1}
_COUNT = rf"(?:\d{{1,3}}|{'|'.join(_COUNTS)})"
_NOT_A_DATE = rf"(?![\w'’-]|,?\s+(?:{WEEKDAY}\s+)?(?:the\s+)?\d|,?\s+{ANY_MONTH}\b|\s*\()"
"""What follows a day that is no date by itself: «Friday 20 March» needs no help."""
_PART = r"(?:morning|afternoon|evening|night)\b"
_RELATIVE = re.compile(
    rf"(?P<code>`[^`\n]*`)"
    rf"|\b(?P<day>(?:the\s+)?day\s+(?:before\s+yesterday|after\s+tomorrow)|yesterday|tomorrow|last\s+night){_NOT_A_DATE}"
    rf"|\b(?:(?P<way>last|this|next|by|until|till|to|for|since|on|from)\s+)?(?P<weekday>{WEEKDAY})(?:\s+{_PART})?{_NOT_A_DATE}"
    rf"|\b(?P<which>last|this|next)\s+(?P<unit>week|weekend|month)\b(?!\s+(?:in|of)\s+)(?!['’]s){_NOT_A_DATE}"
    rf"|\b(?:in\s+(?P<ahead>(?!one\b){_COUNT})|(?P<ago>{_COUNT}))\s+(?P<length>day|week)s?(?P<back>\s+ago)?\b(?!['’]){_NOT_A_DATE}"
    r"|\bthe\s+(?P<nth>\d{1,2})(?:st|nd|rd|th)\b"
    rf"(?=\s*(?:[.,;:!?)]|$|\b(?:and|but|it|in|at|by|with|like|then|is|or|for|so|as|already|instead|anyway|to)\b)){_NOT_A_DATE}",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_BEFORE = re.compile(rf"{ANY_MONTH}\.?,?\s*\Z|\d\s*\Z|\b(?:every|each|instead of|not|not on)\s+\Z", re.IGNORECASE)
_FORWARD = frozenset(("by", "until", "till", "to", "for", "next", "this"))
_TOWARDS = re.compile(rf"\b(?:by|until|till|to|for)\s+(?:{WEEKDAY}\s+)?\Z", re.IGNORECASE)
_LISTED = re.compile(rf"(?:\s*[,/&]\s*(?:and\s+)?|\s+and\s+){WEEKDAY}", re.IGNORECASE)
_LISTING = re.compile(rf"{WEEKDAY}(?:\s*[,/&]\s*(?:and\s+)?|\s+and\s+)\Z", re.IGNORECASE)
"""Several weekdays in a row, which are a habit: «Monday, Wednesday and Friday»."""
_SINCE = re.compile(r"\bsince\s+\Z", re.IGNORECASE)
_WEEKDAY_BEFORE = re.compile(rf"\b({WEEKDAY})\s+\Z", re.IGNORECASE)
_PAST = PAST_VERBS | frozenset("was were had did fell broke rang began".split())


def with_dates(text: str, at: datetime) -> str:
    """Return a text with the date behind each day that it names by the time ``at`` which it was said.

    «Due by Friday» becomes «Due by Friday (20 March)». Dates, habits («every Friday») and code stay as they are. A
    weekday is the next one, or the last one in a sentence about the past.
    """
    return _RELATIVE.sub(lambda match: _with_date(text, match, at.date()), text)


def _with_date(text: str, match: re.Match[str], today: date) -> str:
    listed = match["weekday"] and (_LISTED.match(text, match.end()) or _LISTING.search(text, 0, match.start()))
    if match["code"] or listed or _BEFORE.search(text, 0, match.start()):
        return match[0]
    found = next((read(text, match, today) for name, read in _READERS.items() if match[name]), "")
    return f"{match[0]} ({found})" if found else match[0]


def _named_day(text: str, match: re.Match[str], today: date) -> str:
    said = match["day"].lower()
    days = 1 if "tomorrow" in said else -1
    return _shown(today + timedelta(days=2 * days if "day " in said else days), today)


def _weekday(text: str, match: re.Match[str], today: date) -> str:
    way, number = (match["way"] or "").lower(), WEEKDAYS.index(match["weekday"].lower())
    ahead = (number - today.weekday() - 1) % 7 + 1
    if way == "next":
        day = today + timedelta(days=7 - today.weekday() + number)
    elif way in ("last", "since") or (way not in _FORWARD and _is_past(text[: match.start()])):
        day = today - timedelta(days=(today.weekday() - number - 1) % 7 + 1)
    else:
        day = today + timedelta(days=ahead)
    return _shown(day, today)


def _stretch(text: str, match: re.Match[str], today: date) -> str:
    step = {"last": -1, "this": 0, "next": 1}[match["which"].lower()]
    monday = today + timedelta(days=7 * step - today.weekday())
    unit = match["unit"].lower()
    if unit == "week":
        return f"week of {_shown(monday, today)}"
    if unit == "weekend":
        first, last = monday + timedelta(days=5), monday + timedelta(days=6)
        return f"{first.day}–{_shown(last, today)}" if first.month == last.month else _shown(first, today)
    months = today.year * 12 + today.month - 1 + step
    return f"{MONTHS[months % 12].capitalize()}{'' if months // 12 == today.year else f' {months // 12}'}"


def _counted(text: str, match: re.Match[str], today: date) -> str:
    said = (match["ahead"] or match["ago"]).lower()
    if not match["ahead"] and not match["back"]:
        return ""
    days = (_COUNTS[said] if said in _COUNTS else int(said)) * (7 if match["length"].lower() == "week" else 1)
    return _shown(today + timedelta(days=days if match["ahead"] else -days), today)


def _nth(text: str, match: re.Match[str], today: date) -> str:
    before = text[: match.start()]
    weekday = _WEEKDAY_BEFORE.search(before)
    past = (_is_past(before) or _SINCE.search(before)) and not _TOWARDS.search(before) and not weekday
    number = int(match["nth"])
    for step in range(12 if weekday else 3):
        months = today.year * 12 + today.month - 1 + (-step if past else step)
        try:
            day = date(months // 12, months % 12 + 1, number)
        except ValueError:  # there is no 31 June
            continue
        if weekday and day.weekday() != WEEKDAYS.index(weekday[1].lower()):
            continue
        if day <= today if past else day >= today:
            return _shown(day, today)
    return ""


_READERS: dict[str, Callable[[str, re.Match[str], date], str]] = {
    "day": _named_day,
    "weekday": _weekday,
    "unit": _stretch,
    "length": _counted,
    "nth": _nth,
}


def _is_past(before: str) -> bool:
    """Return whether the clause before a day has a verb in the past."""
    clause = re.split(r"[,.;!?\n]", before)[-1].lower()
    return any(word in _PAST or is_past(word) for word in _WORD.findall(clause))


def _shown(day: date, today: date) -> str:
    year = "" if day.year == today.year else f" {day.year}"
    return f"{day.day} {MONTHS[day.month - 1].capitalize()}{year}"


_NAMED = re.compile(
    rf"\b(?P<y>\d{{4}})-(?P<m>\d\d)-(?P<d>\d\d)\b|\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{ANY_MONTH})\b"
    rf"(?:,?\s+(?P<year>20\d\d))?|\b(?P<month2>{ANY_MONTH})\.?\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year2>20\d\d))?",
    re.IGNORECASE,
)


def named_days(text: str, at: datetime) -> list[date]:
    """Return the days that a text names, said ``at`` a time. A day without a year is that which is nearest."""
    return [day for match in _NAMED.finditer(with_dates(text, at)) if (day := _nearest(match, at.date()))]


def _nearest(match: re.Match[str], today: date) -> date | None:
    if match["y"]:
        month, number, year = int(match["m"]), int(match["d"]), match["y"]
    else:
        month, number = month_number(match["month"] or match["month2"]), int(match["day"] or match["day2"])
        year = match["year"] or match["year2"]
    days = []
    for each in [int(year)] if year else [today.year - 1, today.year, today.year + 1]:
        try:
            days.append(date(each, month, number))
        except ValueError:  # 31 June
            continue
    return min(days, key=lambda day: abs(day - today), default=None)
