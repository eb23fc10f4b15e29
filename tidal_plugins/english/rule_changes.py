"""Tell whether a rule takes the place of an earlier one: the same order, with another value in one place.

Prohibitions add up, and so do orders with nothing else in common, which only knowledge of the world tells apart: by
meaning, tabs and spaces (a cosine of .36) are further from each other than gloves and helmets (.50).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidal_plugins.english.calendar import MONTHS, WEEKDAYS
from tidal_plugins.english.stems import stem
from tidal_plugins.english.stop_words import STOP_WORDS
from tidal_plugins.english.values import NUMBER_WORDS
from tidal_plugins.patterns import lazy_re

_CHANGES = lazy_re(
    r"\b(?:from now on|new rule|as of (?:today|now)|instead|any ?more|after all|rather than)\b|, not\b", re.I
)
"""The words by which a rule says that another one held before."""
_ADDS = lazy_re(r"\b(?:also|too|as well|both|in addition)\b", re.IGNORECASE)
_REPLACED = lazy_re(r"(?:\b(?:instead of|rather than)|, not)\s+(?P<old>[^.;!?]+)", re.IGNORECASE)
_MARKERS = lazy_re(
    r"\b(?:from now on|(?:new|standing|house) rule|as of (?:today|now)|always|please|instead|only|just|ok(?:ay)?|and|"
    r"so|but|the|a|an|our|my)\b",
    re.IGNORECASE,
)
_WORD = lazy_re(r"[^\W_]+(?:[-_.:'’][^\W_]+)*")
_DENIED = frozenset("never no not don't dont without".split())
_CHOICES = frozenset("use prefer choose pick take".split())
"""Verbs of choosing one thing for a purpose: «use pnpm for the site»."""
_PREPOSITIONS = frozenset("for in on with by to at via as of from after before during per".split())
_VALUES = frozenset(WEEKDAYS) | {f"{day}s" for day in WEEKDAYS} | frozenset(MONTHS) | NUMBER_WORDS.keys()
_MOST = 3
"""Words of a value."""


def changes_rule(sentence: str) -> bool:
    """Return whether a rule says that another one held before."""
    return _CHANGES.search(sentence) is not None


def replaces(newer: str, older: str) -> bool:
    """Return whether a rule, as it was said, replaces an earlier one."""
    if not changes_rule(newer) or _ADDS.search(newer):
        return False
    after, before = _words(newer), _words(older)
    if not after or not before or stem(after[0].lower()) != stem(before[0].lower()):
        return False
    if match := _REPLACED.search(newer):
        named = _stems(_WORD.findall(match["old"]))
        return bool(named) and named <= _stems(before)
    return _differs_in_one_place(after, before)


def differs_in_one_value(newer: str, older: str) -> bool:
    """Return whether a rule says the same as an earlier one, with another value in one place."""
    return _differs_in_one_place(_words(newer), _words(older))


def _words(rule: str) -> list[str]:
    """Return the words of a rule, from its verb on."""
    return _WORD.findall(_MARKERS.sub(" ", rule))


def _stems(words: Sequence[str]) -> frozenset[str]:
    return frozenset(stem(word.lower()) for word in words if word.lower() not in STOP_WORDS)


def _differs_in_one_place(after: Sequence[str], before: Sequence[str]) -> bool:
    one, other = [stem(word.lower()) for word in after], [stem(word.lower()) for word in before]
    shorter = min(len(one), len(other))
    start = next((place for place in range(shorter) if one[place] != other[place]), shorter)
    rest = shorter - start
    end = next((place for place in range(rest) if one[-1 - place] != other[-1 - place]), rest)
    new, old = after[start : len(one) - end], before[start : len(other) - end]
    if not start or not (0 < len(new) <= _MOST and 0 < len(old) <= _MOST):
        return False
    if _is_value(new) and _is_value(old):
        return True
    if not _DENIED.isdisjoint(word.lower() for word in [*after, *before]):
        return False
    return (_is_name(new) and _is_name(old)) or _is_same_slot(one[:start], one[len(one) - end :], len(new), len(old))


def _is_same_slot(lead: Sequence[str], tail: Sequence[str], new: int, old: int) -> bool:
    """Return whether what stands around two values says that they are values of one thing."""
    if tail and tail[0] not in _PREPOSITIONS and new == old == 1:  # «British spelling», «American spelling»
        return True
    if len(tail) > 1 and lead[0] in _CHOICES:  # «use … for the site»
        return True
    return len(lead) > 2 and lead[-1] in _PREPOSITIONS  # «indent Go code with …»


def _is_value(words: Sequence[str]) -> bool:
    return any(word[0].isdigit() or word.lower() in _VALUES for word in words)


def _is_name(words: Sequence[str]) -> bool:
    return all(word[0].isupper() for word in words)
