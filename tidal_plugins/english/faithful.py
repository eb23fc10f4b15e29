"""Check whether a text says what a claim says of numbers, dates, times, names, identifiers and quotations.

Each of these must occur in the text, in whatever form: «three» for 3, «4:30 pm» for 16:30, «5 March» for a Thursday of
which the date is known, «Mel» for Melanie. Denials are not checked, nor which of the people in the text did something.
Figures that were worked out («three weeks later») count as unsupported, unless they are small numbers in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date

from tidal_plugins.english.numbers import Value, differ, figures, values
from tidal_plugins.english.words import MONTHS, SHORT_MONTHS, STOP_WORDS, WEEKDAYS
from tidal_plugins.patterns import lazy_re

ROUNDED = 0.05
"""Share by which a number may differ that is said to be rounded: «about 40,000» for 39,800. Ours."""
COUNTABLE = 10
"""Number in a word up to which somebody may have counted what a text lists: «two people» for Ann and Bo. Ours."""
_SHORTEST = 3  # letters of a short form of a name
_HOURS = 24
_ROOT = 5  # letters that a country and its people share: «Germany» and «Germans»

_ABOUT = lazy_re(
    r"(?:about|around|some|roughly|nearly|almost|over|approximately|circa|more than|less than|~)\s*[€$£]?\Z", re.I
)
_NUMERIC_DATE = lazy_re(r"(?<![\d.])(\d{1,2})[./](\d{1,2})[./](\d{4}|\d\d)(?!\d)")
_NAME = lazy_re(r"(?<![\w`/.-])[A-ZÀ-ÖØ-Þ][\w’'-]*")
_OPENING = lazy_re(r"(?:\A|[.!?:;•\n]|[-–—(]) *\Z")
_PERSONAL = lazy_re(
    r"\s+(?:said|told|wants?|thinks?|promised|agreed|asked|believes|lives|works|bought|owes|prefers|likes|decided|moved|"
    r"wrote|called|paid|has|had|will|and [A-Z]\w+)\b|['’]s\s+\w+|\s+[A-Z]\w"
)
"""What follows a name at the beginning of a sentence, and seldom a common word."""
_PEOPLE = "user agent assistant person people client customer team tool ok note mr mrs ms dr prof".split()
"""Words that a summary has for those who talk, and that a text need not have."""
_NO_NAMES = frozenset((*MONTHS, *SHORT_MONTHS, *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS))).union(STOP_WORDS, _PEOPLE)
_QUOTED = lazy_re(r"`([^`\n]+)`|«([^»]*)»|“([^”]*)”|\"([^\"\n]*)\"")
_IDENTIFIER = lazy_re(r"(?<![\w/.-])(?=\S*[A-Za-z])(?=[\w./:#@-]*[\w][_/.#@:][\w])[\w./:#@-]*\w")
_NOT_A_WORD = lazy_re(r"[^\w]+")
_BEFORE_DATE = lazy_re(
    r"\b(?:since|before|after|until|till|within|last|past|previous)\b(?=[^.\n]{0,12}(?:\d|day\b))", re.I
)
_INITIALS = lazy_re(r"\b[A-Z]{2,5}\b")


def unsupported(claim: str, text: str, days: Iterable[date] = (), names: Iterable[str] = ()) -> list[str]:
    """Return what a claim has that a text has not: ``date``, ``name``, ``number``, ``quotation``. None if it can stand.

    ``days`` are the dates of what the text names by «yesterday» and the like, and of when it was said. ``names`` are
    known from elsewhere: one of them at the beginning of a claim is no common word.
    """
    said = _Said(text, days)
    bare = _QUOTED.sub(lambda match: " " * len(match[0]), claim)
    plain = _in_full(_NUMERIC_DATE.sub(lambda match: " " * len(match[0]), bare))
    identifiers = [match[0] for match in _IDENTIFIER.finditer(plain) if _is_identifier(match[0])]
    for identifier in identifiers:
        plain = plain.replace(identifier, " " * len(identifier))
    known = frozenset(map(str.lower, names))
    found = {
        "date": all(map(said.has_date, _dates(plain)))
        and all(any(day in said.days for day in _read(match)) for match in _NUMERIC_DATE.finditer(bare)),
        "name": all(map(said.has_name, _names(plain, known))),
        "number": said.has_numbers(plain),
        "quotation": all(map(said.has_words, [*_quoted(claim), *identifiers])),
    }
    return [kind for kind, has in found.items() if not has]


def names_in(text: str) -> set[str]:
    """Return the words of a text that begin with a capital and stand at the beginning of no sentence."""
    return {match[0] for match in _NAME.finditer(text) if not _OPENING.search(text[: match.start()])}


class _Said:
    """What a text says, in forms that can be compared."""

    def __init__(self, text: str, days: Iterable[date]) -> None:
        self.folded = f" {_NOT_A_WORD.sub(' ', text.lower())} "
        self.words = frozenset(self.folded.split())
        self.capitals = {match[0].lower() for match in _NAME.finditer(text)}
        self.initials = _INITIALS.findall(text)
        text = _in_full(text)
        self.values = values(text)
        self.days = {*days, *_days(text)}
        undated = _blanked(text, [value for value in self.values if value.kind in ("date", "time")])
        self.figures = {option for figure in figures(undated) for option in figure.options}
        self.figures |= {float(day.year) for day in self.days}

    def has_words(self, quoted: str) -> bool:
        return _NOT_A_WORD.sub(" ", quoted.lower()).strip() in self.folded

    def has_date(self, claimed: Value) -> bool:
        parts = claimed.parts.items()
        if any(all(_part_of(day, name) == said for name, said in parts) for day in self.days):
            return True
        return any(
            value.kind == claimed.kind and all(value.parts.get(name) == said for name, said in parts)
            for value in self.values
        ) or ("time" in claimed.parts and self._on_the_hour(claimed))

    def _on_the_hour(self, claimed: Value) -> bool:
        """Return whether the text names an hour without minutes: «between 8 and 12»."""
        return any(claimed.parts["time"] == (int(hour) % 12, 0) for hour in self.figures if hour <= _HOURS)

    def has_numbers(self, claim: str) -> bool:
        claim = _blanked(claim, _dates(claim))
        counted = {value.start: value for value in values(claim) if value.kind == "number"}
        for figure in figures(claim):
            if figure.options & self.figures:
                continue
            number = max(figure.options)
            if figure.in_words and number <= COUNTABLE:
                value = counted.get(figure.start)
                if value and any(differ(value, other) for other in self.values):
                    return False  # «two people» for three, rather than for Ann and Bo
            elif not (
                _ABOUT.search(claim[: figure.start]) and any(abs(number - x) <= ROUNDED * x for x in self.figures)
            ):
                return False
        return True

    def has_name(self, name: str) -> bool:
        parts = [part for part in re.split(r"[-’']", name.lower()) if len(part) > 1]
        return all(map(self._has, parts)) or self._abbreviates(name)

    def _has(self, part: str) -> bool:
        forms = {part, part.removesuffix("s"), part.removesuffix("es"), f"{part}s", f"{part}es"}
        if forms & self.words or part in _NO_NAMES:
            return True
        return len(part) >= _SHORTEST and any(
            word.startswith(part)
            or (len(word) >= _SHORTEST and part.startswith(word))
            or (word[:_ROOT] == part[:_ROOT] and len(part) > _ROOT)
            for word in self.capitals
        )

    def _abbreviates(self, name: str) -> bool:
        """Return whether a name has the initials of words of the text, or begins what an abbreviation stands for."""
        initials = "".join(word[0] for word in self.folded.split())
        return (name.isupper() and name.lower() in initials) or any(name[0] in word for word in self.initials)


def _is_identifier(word: str) -> bool:
    return not re.fullmatch(r"[A-Za-z]+[/:][A-Za-z]+|[\d:.,]+[A-Za-z]{0,2}|(?:[A-Za-z]\.)+[A-Za-z]", word)


def _quoted(claim: str) -> Iterator[str]:
    yield from (next(part for part in match.groups() if part is not None) for match in _QUOTED.finditer(claim))


def _in_full(text: str) -> str:
    """Return a text without the words before a date that keep :func:`values` from reading it: «until 9 March»."""
    return _BEFORE_DATE.sub(lambda match: " " * len(match[0]), text)


def _blanked(text: str, found: Iterable[Value]) -> str:
    for value in found:
        text = text[: value.start] + " " * (value.end - value.start) + text[value.end :]
    return text


def _dates(claim: str) -> list[Value]:
    return [value for value in values(claim) if value.kind in ("date", "time")]


def _days(text: str) -> Iterator[date]:
    for value in values(text):
        if {"day", "month", "year"} <= value.parts.keys():
            yield from _day(*(int(str(value.parts[name])) for name in ("year", "month", "day")))
    for match in _NUMERIC_DATE.finditer(text):
        yield from _read(match)


def _read(match: re.Match[str]) -> Iterator[date]:
    """Yield what a date in numbers may mean: the day first, and the month first."""
    year = int(match[3]) + (2000 if len(match[3]) == 2 else 0)
    yield from _day(year, int(match[2]), int(match[1]))
    yield from _day(year, int(match[1]), int(match[2]))


def _day(year: int, month: int, day: int) -> Iterator[date]:
    try:
        yield date(year, month, day)
    except ValueError:  # 31 June
        return


def _part_of(day: date, name: str) -> object:
    return WEEKDAYS[day.weekday()] if name == "weekday" else getattr(day, name, None)


def _names(claim: str, known: frozenset[str]) -> Iterator[str]:
    for match in _NAME.finditer(claim):
        name = re.sub(r"['’]s?\Z", "", match[0])
        if name.lower() in _NO_NAMES or len(name) < 2:
            continue
        opens = _OPENING.search(claim[: match.start()]) is not None
        if not opens or name.lower() in known or _PERSONAL.match(claim, match.end()):
            yield name
