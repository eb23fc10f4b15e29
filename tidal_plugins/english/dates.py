"""The days that a sentence names, resolved by when it was said: «yesterday», «by Friday», «next week», «the 17th».

Whether a bare weekday is behind or ahead is told by the tense of the verb that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta

from tidal_plugins.english.numbers import NUMBER_WORDS
from tidal_plugins.english.words import ANY_MONTH, MONTH, MONTHS, WEEKDAY, WEEKDAYS, is_past, month_number
from tidal_plugins.patterns import lazy_re

_WORD = lazy_re(r"n't\b|'[a-z]+|[a-z]+?(?=n't\b)|[a-z]+")
_CLAUSE_END = lazy_re(r"[,.;!?\n]")
_IRREGULAR = frozenset(
    "met saw knew got had was were thought came did heard ate said left felt lost became began been forgot understood "
    "fell broke rang flew won spent stood sat slept swam threw woke grew rode rose sang sank stole tore wore drank fed "
    "hung led lay lit shot shook slid struck stuck swore swept fought caught bit hid beat".split()
)
_UNCHANGED = frozenset("put set cut let hit read shut quit hurt cost".split())
"""Verbs whose past is like their infinitive."""
_AHEAD = frozenset(
    "will wo 'll shall gonna must can ca may might should would could is are am 's 're 'm has have 've need needs want "
    "wants plan plans hope hopes expect expects".split()
)
"""Words of what is and of what will be. «Has» and «have» become past by the participle after them."""
_SCHEDULED = frozenset(
    word
    for verb in (
        "come go leave arrive depart return land fly start begin open close end finish stop expire run play meet "
        "happen ship launch move sail"
    ).split()
    for word in (verb, f"{verb}s", f"{verb}es")
)
"""Verbs whose present tells of what is on a timetable: «the train leaves on Friday»."""
_BE = frozenset("is are am 's 're 'm be being get gets getting".split())
"""A past form after one of these is a participle: «it is delivered on Friday»."""
_DETERMINERS = frozenset("the a an my our your his her its their this that these those no some any".split())
"""A past form after one of these is an adjective, and a verb a noun: «the updated plan», «a start»."""
_BARE = frozenset(("to", "n't", "not", "never", "did"))
"""Words before an infinitive, whose tense is that of the verb before."""
_HAVE = frozenset("have has 've 's".split())
_INTENDED = frozenset(
    "decided agreed promised planned offered wanted intended arranged scheduled asked told needed hoped expected "
    "reminded invited".split()
)
"""What was meant to be: the infinitive after it is ahead."""
_ARRANGED = frozenset("booked scheduled planned arranged reserved".split())
"""What was done for a day ahead: «I booked the dentist on Friday»."""
_IS = lazy_re(r"\s+(?:is|are|will|would|should|can|works?|suits?|fits?)\b", re.IGNORECASE)
"""What is said of a day that is the subject: «he said Friday works»."""
_NEXT = lazy_re(r"\s+([a-z]+)\b(?!['’])", re.IGNORECASE)


def is_behind(before: str, after: str = "") -> bool:
    """Return whether a day is behind, by the text before and after it."""
    if _IS.match(after):
        return False
    following = _NEXT.match(after)
    if following and _is_past(following[1].lower(), "on"):  # «Friday was a mess», «the talk on Friday went well»
        return True
    said = list(_tenses(_CLAUSE_END.split(before)[-1]))
    if said:
        return said[-1]
    return next(_tenses(_CLAUSE_END.split(after, maxsplit=1)[0]), False)


def _tenses(clause: str) -> Iterator[bool]:
    """Yield for each verb of a clause whether it is past."""
    words = _WORD.findall(clause.lower().replace("’", "'"))
    last = ""
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if before in _DETERMINERS:
            continue
        scheduled = word in _SCHEDULED and before not in _BARE
        if word in _AHEAD or scheduled or (word == "to" and last in _INTENDED):
            yield False
        elif _is_past(word, before):
            last = word
            yield not (word in _ARRANGED and place + 1 < len(words))


def _is_past(word: str, before: str) -> bool:
    if word in _UNCHANGED:
        return before not in _BARE and before not in ("", "please") and before not in _AHEAD
    if word == "got" and before in _HAVE:
        return False
    return before not in _BE and (word in _IRREGULAR or is_past(word))


_COUNTS = NUMBER_WORDS | {"a": 1, "an": 1}
_COUNT = rf"(?:\d{{1,3}}|{'|'.join(_COUNTS)})"
_NOT_A_DATE = rf"(?![\w'’-]|,?\s+(?:{WEEKDAY}\s+)?(?:the\s+)?\d|,?\s+{ANY_MONTH}\b|\s*\()"
"""What follows a day that is no date by itself: «Friday 20 March» needs no help."""
_PART = r"(?:morning|afternoon|evening|night)\b"
_RELATIVE = lazy_re(
    rf"(?P<code>`[^`\n]*`)"
    rf"|\b(?P<day>(?:the\s+)?day\s+(?:before\s+yesterday|after\s+tomorrow)|yesterday|tomorrow|last\s+night){_NOT_A_DATE}"
    rf"|\b(?:(?P<way>last|this|next|by|until|till|to|for|since|on|from)\s+)?(?P<weekday>{WEEKDAY})(?:\s+{_PART})?+{_NOT_A_DATE}"
    rf"|\b(?P<which>last|this|next)\s+(?P<unit>week|weekend|month)\b(?!\s+(?:in|of)\s+)(?!['’]s){_NOT_A_DATE}"
    rf"|\b(?:in\s+(?P<ahead>(?!one\b){_COUNT})|(?P<ago>{_COUNT}))\s+(?P<length>day|week)s?(?P<back>\s+ago)?\b(?!['’]){_NOT_A_DATE}"
    r"|\bthe\s+(?P<nth>\d{1,2})(?:st|nd|rd|th)\b"
    rf"(?=\s*(?:[.,;:!?)]|$|\b(?:and|but|it|in|at|by|with|like|then|is|or|for|so|as|already|instead|anyway|to|i|we|he|she|they|the|my|our)\b)){_NOT_A_DATE}",
    re.IGNORECASE,
)
_BEFORE_CHARS = 200
"""Characters before a day that are read with it: a clause. More would make a long list of days quadratic."""
_AFTER_CHARS = 100
"""Characters after a day that are read with it."""
_BEFORE = lazy_re(
    rf"{ANY_MONTH}\.?,?\s*\Z|\d\s*\Z|\b(?:(?:every|each)(?:\s+\w+)?|instead of|not|not on|like(?: only| just)?)\s+\Z",
    re.IGNORECASE,
)
_HABIT = lazy_re(r"\b(?:always|never|usually|normally|mostly)\b[^.,;:!?\n]*\Z", re.IGNORECASE)
"""Words of habits and rules, of which a weekday is not one day: «never deploy on Friday»."""
_HOLIDAY = lazy_re(r"\b(?:Black|Good|Casual|Man|Cyber|Easter|Palm|Ash|Holy|Shrove|Whit)\s+\Z")
_STARTS = lazy_re(r"(?:\A|[.!?:;–—\n(*-])[\s*-]*\Z")
"""Where a sentence begins, and a word has a capital that is no name."""
_STATED = lazy_re(rf"(?:\d\s+{ANY_MONTH}|{ANY_MONTH}\s+\d{{1,2}})\)?,?\s*\Z", re.IGNORECASE)
"""A date that stands right before a day: «(5 March), the 5th»."""
_FORWARD = frozenset(("by", "until", "till", "to", "for", "next", "this"))
_TOWARDS = lazy_re(rf"\b(?:by|until|till|to|for)\s+(?:{WEEKDAY}\s+)?\Z", re.IGNORECASE)
_LISTED = lazy_re(rf"(?:\s*[,/&–-]\s*(?:and\s+)?|\s+and\s+){WEEKDAY}", re.IGNORECASE)
_LISTING = lazy_re(rf"{WEEKDAY}(?:\s*[,/&–-]\s*(?:and\s+)?|\s+and\s+)\Z", re.IGNORECASE)
"""Several weekdays in a row, which are a habit: «Monday, Wednesday and Friday»."""
_SINCE = lazy_re(r"\bsince\s+\Z", re.IGNORECASE)
_WEEKDAY_BEFORE = lazy_re(rf"\b({WEEKDAY}),?\s+\Z", re.IGNORECASE)
_FORBIDDEN = lazy_re(
    r"(?:(?:\A|[.!?;:,–—\n(*-]|\b(?:and|but|so|then|please))[\s*-]*(?:please\s+)?(?:do not|don['’]t)\s+"
    r"(?!forget\b|let\b|miss\b|be\b|worry\b)"
    r"|\b(?:must not|mustn['’]t|may not|should not|shouldn['’]t|not allowed to)\s)[^,.;:!?\n]*\Z",
    re.IGNORECASE,
)
"""What must not be done on a day, which is a rule or concerns any such day: «don't deploy on Friday»."""


def with_dates(text: str, at: datetime) -> str:
    """Return a text with the date behind each day that it names by the time ``at`` which it was said.

    «Due by Friday» becomes «Due by Friday (20 March)». Dates, habits and rules («never deploy on Friday»), names
    («Black Friday») and code stay as they are. A weekday is today or the next one, or the last one if the verb that it
    belongs to is in the past.
    """
    return _RELATIVE.sub(lambda match: _with_date(text, match, at.date()), text)


def _with_date(text: str, match: re.Match[str], today: date) -> str:
    before = text[max(0, match.start() - _BEFORE_CHARS) : match.start()]
    listed = match["weekday"] and (_LISTED.match(text, match.end()) or _LISTING.search(before))
    if match["code"] or listed or _BEFORE.search(before) or _STATED.search(before) or _is_name(before, match):
        return match[0]
    try:
        after = text[match.end() : match.end() + _AFTER_CHARS]
        found = next((read(before, after, match, today) for name, read in _READERS.items() if match[name]), "")
    except OverflowError:  # the calendar ends
        return match[0]
    return f"{match[0]} ({found})" if found else match[0]


def _is_name(before: str, match: re.Match[str]) -> bool:
    """Return whether a day is a part of a name or a title: «Black Friday», «the song Yesterday»."""
    if match["weekday"]:
        return _HOLIDAY.search(before) is not None
    return bool(match["day"]) and match[0][0].isupper() and _STARTS.search(before) is None


def _named_day(before: str, after: str, match: re.Match[str], today: date) -> str:
    said = match["day"].lower()
    days = 1 if "tomorrow" in said else -1
    return _shown(today + timedelta(days=2 * days if "day " in said else days), today)


def _weekday(before: str, after: str, match: re.Match[str], today: date) -> str:
    way, number = (match["way"] or "").lower(), WEEKDAYS.index(match["weekday"].lower())
    behind = is_behind(before, after)
    if way in ("", "on", "for", "from") and not behind and (_HABIT.search(before) or _FORBIDDEN.search(before)):
        return ""
    if way == "next":
        day = today + timedelta(days=7 - today.weekday() + number)
    elif way in ("last", "since") or (way not in _FORWARD and behind):
        day = today - timedelta(days=(today.weekday() - number - 1) % 7 + 1)
    else:
        day = today + timedelta(days=(number - today.weekday()) % 7)
    return _shown(day, today)


def _stretch(before: str, after: str, match: re.Match[str], today: date) -> str:
    step = {"last": -1, "this": 0, "next": 1}[match["which"].lower()]
    monday = today + timedelta(days=7 * step - today.weekday())
    unit = match["unit"].lower()
    if unit == "week":
        return f"week of {_shown(monday, today)}"
    if unit == "weekend":
        first, last = monday + timedelta(days=5), monday + timedelta(days=6)
        begins = str(first.day) if first.month == last.month else _shown(first, today)
        return f"{begins}–{_shown(last, today)}"
    months = today.year * 12 + today.month - 1 + step
    if not MINYEAR <= months // 12 <= MAXYEAR:
        raise OverflowError
    return f"{MONTHS[months % 12].capitalize()}{'' if months // 12 == today.year else f' {months // 12}'}"


def _counted(before: str, after: str, match: re.Match[str], today: date) -> str:
    said = (match["ahead"] or match["ago"]).lower()
    if not match["ahead"] and not match["back"]:
        return ""
    days = (_COUNTS[said] if said in _COUNTS else int(said)) * (7 if match["length"].lower() == "week" else 1)
    return _shown(today + timedelta(days=days if match["ahead"] else -days), today)


def _nth(before: str, after: str, match: re.Match[str], today: date) -> str:
    weekday = _WEEKDAY_BEFORE.search(before)
    clause = before[: weekday.start()] if weekday else before
    past = (is_behind(clause, after) or _SINCE.search(clause)) and not _TOWARDS.search(before)
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


_READERS: dict[str, Callable[[str, str, re.Match[str], date], str]] = {
    "day": _named_day,
    "weekday": _weekday,
    "unit": _stretch,
    "length": _counted,
    "nth": _nth,
}


def _shown(day: date, today: date) -> str:
    year = "" if day.year == today.year else f" {day.year}"
    return f"{day.day} {MONTHS[day.month - 1].capitalize()}{year}"


_NAMED = lazy_re(
    rf"\b(?P<y>\d{{4}})-(?P<m>\d\d)-(?P<d>\d\d)\b|\b(?:(?P<first>\d{{1,2}})\s?[–-]\s?)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{ANY_MONTH})\b"
    rf"(?:,?\s+(?P<year>20\d\d))?|\b(?P<month2>{ANY_MONTH})\.?\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year2>20\d\d))?",
    re.IGNORECASE,
)


_WEEK = lazy_re(r"\(week of (?P<monday>[^()]{1,30})\)")


def named_days(text: str, at: datetime) -> list[date]:
    """Return the days that a text names, said ``at`` a time: of «21–22 March» both, of a week the first and the last.

    A day without a year is that which is nearest; the end of a month is its last day.
    """
    dated = with_dates(text, at)
    days = [day for match in _NAMED.finditer(dated) for day in _days_of(match, at.date())]
    mondays = (day for match in _WEEK.finditer(dated) for day in named_days(match["monday"], at))
    return [*days, *(monday + timedelta(days=6) for monday in mondays), *_ends_of_months(text, at.date())]


_END = lazy_re(rf"\b(?:the )?end of (?:(?P<this>the|this) month|(?P<month>{MONTH}))\b", re.IGNORECASE)


def _ends_of_months(text: str, today: date) -> Iterator[date]:
    for match in _END.finditer(text):
        month = today.month if match["this"] else month_number(match["month"])
        first = min((date(year, month, 1) for year in _years(today)), key=lambda day: abs(day - today))
        yield (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def _years(today: date) -> list[int]:
    return [year for year in (today.year - 1, today.year, today.year + 1) if MINYEAR <= year < MAXYEAR]


def _days_of(match: re.Match[str], today: date) -> Iterator[date]:
    numbers = [match["d"]] if match["y"] else [match["first"], match["day"] or match["day2"]]
    for number in filter(None, numbers):
        if day := _nearest(match, int(number), today):
            yield day


def _nearest(match: re.Match[str], number: int, today: date) -> date | None:
    if match["y"]:
        month, year = int(match["m"]), match["y"]
    else:
        month = month_number(match["month"] or match["month2"])
        year = match["year"] or match["year2"]
    days = []
    for each in [int(year)] if year else [today.year - 1, today.year, today.year + 1]:
        try:
            days.append(date(each, month, number))
        except ValueError:  # 31 June
            continue
    return min(days, key=lambda day: abs(day - today), default=None)
