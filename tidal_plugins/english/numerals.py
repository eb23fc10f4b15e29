"""Find the numbers of a text, in digits and in words, each with the values that it may stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tidal_plugins.english.values import NUMBER_WORDS
from tidal_plugins.patterns import lazy_re

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
        numbers = list(_numbers(match))
        scale = _SCALE.match(text, match.end())
        if scale:
            numbers += [number * _SCALES[scale[1].lower()] for number in numbers]
            end = scale.end()
        yield Figure(frozenset(numbers), match.start(), match["digits"] is None)


def _numbers(match: re.Match[str]) -> Iterator[float]:
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
