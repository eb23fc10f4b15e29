"""The values in a sentence: dates, times of day, numbers and versions, each with what it is a value of.

And every number of a text, in digits and in words, with the values that it may stand for."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tidal_plugins.english.words import (
    ANY_MONTH,
    CLEAR_MONTH,
    MONTHS,
    STOP_WORDS,
    WEEKDAY,
    WEEKDAYS,
    month_number,
    stem,
)
from tidal_plugins.patterns import lazy_re


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a sentence, which stands from ``start`` to ``end`` in it.

    ``parts`` are what it says, by name: a date may have a weekday, a day, a month and a year, and needs none of them.
    ``slots`` are the stems of the words beside a number, which say what it counts or numbers, and ``unit`` is what
    follows it directly: a unit, or the stem of a noun.
    """

    kind: str
    start: int
    end: int
    text: str
    parts: Mapping[str, object]
    slots: frozenset[str] = field(default_factory=frozenset)
    unit: str = ""


def values(sentence: str) -> list[Value]:
    """Return the values of a sentence, in order. Code and addresses hold none, nor does what is past or a limit:
    «last Tuesday», «below 75 %»."""
    if sentence.isascii() and _WORDS.isdisjoint(_TOKEN.findall(sentence.lower())):
        return []
    plain = _CODE.sub(_spaces, sentence)
    dates = [_date(match) for match in _DATE.finditer(plain)]
    plain = _without(plain, dates)
    times = [_time(match) for match in _TIME.finditer(plain)]
    found = [*dates, *times, *_numbers(_without(plain, times))]
    return sorted(
        (value for value in found if not _ASIDE.search(sentence, max(0, value.start - _ASIDE_REACH), value.start)),
        key=lambda item: item.start,
    )


def differ(one: Value, other: Value) -> bool:
    """Return whether two values cannot both be that of one thing: they are of one kind, and a part that both have is
    not the same. Numbers are of one kind when they count or number the same."""
    return _comparable(one, other) and any(
        one.parts[name] != other.parts[name] for name in one.parts.keys() & other.parts.keys()
    )


def agree(one: Value, other: Value) -> bool:
    """Return whether two values say the same, as far as both say anything. A number that counts nothing agrees with
    the same number of anything: «88 instead of 75»."""
    common = one.parts.keys() & other.parts.keys()
    named = one.kind == other.kind and (
        one.kind != "number" or not one.slots or not other.slots or _comparable(one, other)
    )
    return named and bool(common) and all(one.parts[name] == other.parts[name] for name in common)


def _comparable(one: Value, other: Value) -> bool:
    if one.kind != other.kind or one.kind not in ("number", "version"):
        return one.kind == other.kind
    units = {one.unit, other.unit}
    return bool(one.slots & other.slots) and (len(units) == 1 or not units & _CLEAR_UNITS)


NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty".split(),
        1,
    )
}
"""Numbers as words, as far as people write them out."""
_CODE = lazy_re(r"`[^`\n]*`|(?<!\S)(?=[^\s/\\_]*+[/\\_])\S++")
_ASIDE = lazy_re(
    r"\b(?:last|past|previous|since|below|under|before|after|until|till|within|least|most)\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
_ASIDE_REACH = 40
"""Characters before a value that are read for such a word: more than the longest of them and «the» have."""
_DAY, _NTH = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:st|nd|rd|th)"
_DATE = lazy_re(
    rf"\b(?P<y0>\d{{4}})-(?P<m0>\d\d)-(?P<d0>\d\d)\b"
    rf"|\b(?:(?P<w1>{WEEKDAY}),?\s+)?(?:the\s+)?(?P<d1>{_DAY}){_NTH}?\s+(?:of\s+)?(?P<m1>{ANY_MONTH})\b(?:,?\s+(?P<y1>20\d\d))?"
    rf"|\b(?:(?P<w2>{WEEKDAY}),?\s+)?(?P<m2>{ANY_MONTH})\.?\s+(?:the\s+)?(?P<d2>{_DAY}){_NTH}?\b(?![:%.]\d)(?:,?\s+(?P<y2>20\d\d))?"
    rf"|\b(?:(?P<w3>{WEEKDAY}),?\s+)?the\s+(?P<d3>{_DAY}){_NTH}\b"
    rf"|\b(?P<w4>{WEEKDAY})\b"
    rf"|\b(?P<m5>{CLEAR_MONTH}|(?-i:May))\b",
    re.IGNORECASE,
)
_HOUR_WORDS = "|".join([*list(NUMBER_WORDS)[:12], "noon"])
_TIME = lazy_re(
    r"(?<![\d.:])(?P<hour>[01]?\d|2[0-4])(?:[:.](?P<minute>[0-5]\d))?\s*(?:[ap]\.?m\b)"
    r"|(?<![\d.:])(?P<hour2>[01]?\d|2[0-4]):(?P<minute2>[0-5]\d)(?![\d:])"
    rf"|(?<=\bat\s)(?P<word>{_HOUR_WORDS})\b(?!\s+(?!and\b|on\b|in\b|at\b|for\b|with\b|instead\b|now\b)\w)",
    re.IGNORECASE,
)
_UNIT = r"%|[€$£]|mg|mcg|µg|g|kg|ml|l|km|m|cm|mm|ms|s|h|min|[kmgt]b|k"
_CLEAR_UNITS = frozenset("% € $ £".split())
_NUMBER = lazy_re(
    rf"(?P<money>[€$£])?(?<![\w.#-])(?P<number>\d+(?:[.,]\d+)*)(?:\s?(?P<unit>{_UNIT})(?!\w))?(?![\w-])"
    rf"|(?<![\w-])(?P<word>{'|'.join(NUMBER_WORDS)})(?![\w-])",
    re.IGNORECASE,
)
_TOKEN = lazy_re(r"[a-z]+|\d")
_WORDS = frozenset((*NUMBER_WORDS, *WEEKDAYS, *MONTHS, "noon", *string.digits))
"""Of which each value has one."""
_THOUSANDS = lazy_re(r"\d{1,3}(?:,\d{3})+")
_CLAUSE_END = lazy_re(r"[;!?\n()–—]|[.,](?=\s|$)")
_WORD = lazy_re(r"[^\W\d_][\w'’-]*")
_BEFORE, _AFTER = 3, 2
"""Words before and after a number that may say what it counts or numbers."""


def _spaces(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _without(text: str, found: list[Value]) -> str:
    for value in found:
        text = text[: value.start] + " " * (value.end - value.start) + text[value.end :]
    return text


def _date(match: re.Match[str]) -> Value:
    parts: dict[str, object] = {}
    for name, said in match.groupdict().items():
        if not said:
            continue
        if name[0] == "w":
            parts["weekday"] = said.lower()
        elif name[0] == "m":
            parts["month"] = int(said) if said.isdigit() else month_number(said)
        else:
            parts["day" if name[0] == "d" else "year"] = int(said)
    return Value("date", match.start(), match.end(), match[0], parts)


def _time(match: re.Match[str]) -> Value:
    word = (match["word"] or "").lower()
    hour = NUMBER_WORDS.get(word, 12) if word else int(match["hour"] or match["hour2"])
    minute = int(match["minute"] or match["minute2"] or 0)
    return Value("time", match.start(), match.end(), match[0], {"time": (hour % 12, minute)})


def _numbers(text: str) -> Iterator[Value]:
    for match in _NUMBER.finditer(text):
        said, word = match["number"] or "", (match["word"] or "").lower()
        unit = (match["unit"] or match["money"] or _following(text, match)).lower()
        slots = frozenset(_context_words(text, match))
        if said.count(".") > 1:
            yield Value("version", match.start(), match.end(), match[0].strip(), {"version": said}, slots)
        elif said:
            plain = said.replace(",", "") if _THOUSANDS.fullmatch(said) else said.replace(",", ".", 1)
            if plain.count(".") < 2 and "," not in plain:
                yield Value(
                    "number", match.start(), match.end(), match[0].strip(), {"number": float(plain)}, slots, unit
                )
        elif slots and _WORD.match(text[match.end() :].lstrip(" ")):  # «one» alone counts nothing
            number = float(NUMBER_WORDS[word])
            yield Value("number", match.start(), match.end(), match[0], {"number": number}, slots)


def _following(text: str, match: re.Match[str]) -> str:
    """Return the stem of the noun that follows a number, such as that of «attempts», if one does."""
    word = _WORD.match(text[match.end() :].removeprefix(" "))
    return stem(word[0].lower()) if word and word[0].lower() not in STOP_WORDS else ""


def _context_words(text: str, match: re.Match[str]) -> Iterator[str]:
    """Yield the stems of the words on either side of a number, within its clause."""
    before = _CLAUSE_END.split(text[: match.start()])[-1]
    after = _CLAUSE_END.split(text[match.end() :])[0]
    for word in [*_WORD.findall(before)[-_BEFORE:], *_WORD.findall(after)[:_AFTER]]:
        folded = word.lower().removesuffix("'s").removesuffix("’s")
        if folded not in STOP_WORDS:
            yield stem(folded)


_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9, "dozen": 12, "hundred": 100}
_TENS = {word: 10 * n for n, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_ALONE = {"zero": 0, "once": 1, "twice": 2, "half": 0.5, "dozen": 12, "hundred": 100, "thousand": 1000, "both": 2}
_SINGLE = {**NUMBER_WORDS, **_ALONE, **{word: n for n, word in enumerate(_ORDINALS, 1)}}
_FIGURE = lazy_re(
    r"(?P<digits>\d+(?:[.,’'\u00a0\u202f]\d+)*)"
    rf"|\b(?P<tens>{'|'.join(_TENS)})(?:[- ](?P<ones>{'|'.join(list(NUMBER_WORDS)[:9])})\b)?"
    rf"|\b(?P<single>{'|'.join(sorted(_SINGLE, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
_SCALE = lazy_re(rf"[ -]?({'|'.join(_SCALES)})\b", re.IGNORECASE)
_GROUPED = lazy_re(r"\d{1,3}(?:[.,’'\u00a0\u202f]\d{3})+")


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a text: the values that it may have («5 m» is 5 or five million), and where it begins."""

    options: frozenset[float]
    start: int
    in_words: bool


def figures(text: str) -> Iterator[Figure]:
    """Yield the numbers of a text. Of words that need not mean one («one», «first») each is a number as well."""
    end = 0
    for match in _FIGURE.finditer(text):
        if match.start() < end:  # «hundred» in «two hundred»
            continue
        numbers = list(_worth(match))
        scale = _SCALE.match(text, match.end())
        if scale:
            numbers += [number * _SCALES[scale[1].lower()] for number in numbers]
            end = scale.end()
        yield Figure(frozenset(numbers), match.start(), match["digits"] is None)


def _worth(match: re.Match[str]) -> Iterator[float]:
    if match["single"]:
        yield float(_SINGLE[match["single"].lower()])
    elif match["tens"]:
        yield float(_TENS[match["tens"].lower()] + NUMBER_WORDS.get((match["ones"] or "").lower(), 0))
    elif _GROUPED.fullmatch(match["digits"]):
        yield float(re.sub(r"\D", "", match["digits"]))
        yield from _decimal(match["digits"])
    else:
        yield from _decimal(match["digits"])


def _decimal(digits: str) -> Iterator[float]:
    parts = re.findall(r"\d+", digits)
    yield float(".".join(parts)) if len(parts) <= 2 else float("".join(parts))
