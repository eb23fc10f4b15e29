"""The words after a verb: a phrase of the kind that the verb asks for, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

from tidal_plugins.english.calendar import MONTHS, WEEKDAYS
from tidal_plugins.english.clauses import TRAIL
from tidal_plugins.english.objects import (
    AFTER_STATE,
    CLAUSE_START,
    EMPTY_OBJECT,
    GUESSED,
    HOLLOW_END,
    IMPERSONAL,
    OBJECT_ARTICLE,
    PAST_VERBS,
    POINTING,
    PREPOSITION,
    RELATIVE_CLAUSE,
)
from tidal_plugins.english.small_talk import TRAILING_CHATTER
from tidal_plugins.graph.reading.clauses import HUSH, MASK
from tidal_plugins.graph.reading.vocabulary import CUE, STATES
from tidal_plugins.patterns import lazy_re

MAX_WORDS = 7
"""Words of a phrase. Longer ones are clauses."""
MAX_DEED_WORDS = 16
"""Words of a decision or a rule."""
MAX_LISTED = 2
"""Words of a phrase in a list."""

Span = tuple[int, int]

_END = lazy_re(r"[;!?()\n–—]|,(?!\d)|[.:](?!\w)|$")
_CONJUNCTION = (
    r"because|since|so|but|until|till|while|which|that|who|although|though|if|unless|when|whenever|whereas|yet|except"
)
_TASTE_BREAK = lazy_re(rf"\s(?:{_CONJUNCTION}|and|or|nor|as|than|instead)\b", re.IGNORECASE)
_BREAK = lazy_re(rf"{_TASTE_BREAK.pattern}|\s(?:after|before|by)\b", re.IGNORECASE)
_DEED_BREAK = lazy_re(rf"\s(?:{_CONJUNCTION})\b", re.IGNORECASE)
_CAPITAL = lazy_re(r"(?:[^\W\d_a-z][\w’'-]*[^\W_])(?:[ ](?:(?:de|del|la|do|of|am)(?=\s)|[^\W\d_a-z][\w’'-]*[^\W_]))*")
_NAME = lazy_re(rf"(?:(?:the|our|an?)\s+)?(?:{CUE}\s+)?(?P<name>{MASK}+)")
_AND = lazy_re(r"\s+and\s", re.IGNORECASE)
_LIST = lazy_re(r"\s*(?:,\s*and\s+|,\s*|\s+and\s+)")
_CHOSEN_RIVAL = lazy_re(r"\s+(?:over|rather\s+than|instead\s+of)\s+", re.IGNORECASE)
_DOING = lazy_re(r"\w+ing\s+\S")
_RIVAL = lazy_re(r"\s+(?:over|to|rather\s+than|instead\s+of)\s+", re.IGNORECASE)
_VALUE = lazy_re(
    rf"(?P<value>(?:{MASK}+|[^\s,;!?]*[^\s,;!?.:])"
    r"(?:\s(?:ms|milliseconds?|seconds?|minutes?|hours?|days?|weeks?|[kMGT]i?B|percent)\b)?)"
)
_VERSION = lazy_re(r"v?(?P<version>\d+(?:\.\d+)*(?:-?[a-z]+\d*)?)(?![\w.]*\w)")
_STATE = lazy_re(rf"\s*(?P<state>{STATES})(?!\w|-)", re.IGNORECASE)
_HAVE = lazy_re(r"have\b", re.IGNORECASE)
_BE = lazy_re(r"be\s", re.IGNORECASE)


def spans(kind: str, masked: str, start: int) -> tuple[list[Span], list[Span]]:
    """Return the objects that stand at ``start``, and those that are ruled out («tabs rather than spaces»)."""
    read = _READERS.get(kind)
    return read(masked, start) if read else ([], [])


def phrase(masked: str, start: int, *breaks: re.Pattern[str], words: int = MAX_WORDS) -> Span | None:
    """Return the phrase at ``start`` without its article and its trailing words, or ``None`` if it says too little."""
    end = _END.search(masked, start).start()  # type: ignore[union-attr]  # it matches at the end
    for pattern in breaks:
        stop = pattern.search(masked, start, end)
        end = stop.start() if stop else end
    for trail in (TRAILING_CHATTER.search(masked[start:end]), TRAIL.search(masked[start:end])):
        end = min(end, start + trail.start()) if trail else end
    article = OBJECT_ARTICLE.match(masked, start, end)
    start = article.end() if article else start
    end = start + len(masked[start:end].rstrip(" \t\r*_\"'”»-–"))
    said = masked[start:end]
    if not said or HUSH in said or EMPTY_OBJECT.match(said) or HOLLOW_END.search(said) or len(said.split()) > words:
        return None
    return start, end


def name(masked: str, start: int) -> Span | None:
    """Return the piece of code at ``start``."""
    found = _NAME.match(masked, start)
    return found.span("name") if found else None


def listed(masked: str, start: int, *breaks: re.Pattern[str]) -> list[Span]:
    """Return the phrases of a list, such as «jazz, blues and soul», each of one or two words."""
    first = name(masked, start) or phrase(masked, start, *breaks)
    if not first or (masked[first[0]] != MASK and RELATIVE_CLAUSE.match(masked, first[1])):
        return []  # «games that make one think» are not games
    found, bound = [first], ""
    if first[0] > start and masked[first[0]] != MASK:  # «the arts and crafts fair» is no list
        return [] if _AND.match(masked, first[1]) else found
    while len(masked[slice(*found[-1])].split()) <= MAX_LISTED:
        comma = _LIST.match(masked, found[-1][1])
        following = comma and (name(masked, comma.end()) or phrase(masked, comma.end(), *breaks, words=MAX_LISTED))
        if not comma or not following or CLAUSE_START.match(masked, following[0]) or not _ends(masked, following[1]):
            break
        found.append(following)
        bound = comma[0]
    return found if "and" in bound else found[:1]


def _ends(masked: str, end: int) -> bool:
    """Return whether a list goes on or ends here; words with a verb after them are another clause."""
    return bool(_LIST.match(masked, end) or _END.match(masked, end) or PREPOSITION.match(masked, end))


def _liked(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    return listed(masked, start, _TASTE_BREAK), []


def _preferred(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    found = listed(masked, start, _RIVAL, _TASTE_BREAK)
    rival = _RIVAL.match(masked, found[-1][1]) if found else None
    if rival and rival[0].split()[0].lower() == "to" and len(found) > 1:
        return found, []
    against = rival and (name(masked, rival.end()) or phrase(masked, rival.end(), _BREAK))
    return found, [against] if against else []


def _used(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    return listed(masked, start, PREPOSITION, _BREAK), []


def _named(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    if not name(masked, start):
        return [], []
    return [span for span in listed(masked, start, PREPOSITION, _BREAK) if masked[span[0]] == MASK], []


def _part(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    if name(masked, start):
        return _named(masked, start)
    if not OBJECT_ARTICLE.match(masked, start):
        return [], []
    found = phrase(masked, start, PREPOSITION, _BREAK, words=4)
    return [found] if found else [], []


def _cure(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    doing = _DOING.match(masked, start)
    found = phrase(masked, start, _DEED_BREAK) if doing else None
    return ([found], []) if found else _part(masked, start)


def _chosen(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    found = name(masked, start) or phrase(masked, start, _RIVAL, PREPOSITION, _BREAK, words=4)
    if not found or masked[start : start + 3].lower() == "to ":
        return [], []
    rival = _CHOSEN_RIVAL.match(masked, found[1])
    against = rival and (name(masked, rival.end()) or phrase(masked, rival.end(), PREPOSITION, _BREAK))
    return [found], [against] if against else []


def _matter(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    found = name(masked, start) or phrase(masked, start, _BREAK)
    return [found] if found else [], []


def _deed(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    found = phrase(masked, start, _DEED_BREAK, words=MAX_DEED_WORDS)
    return [found] if found and not POINTING.match(masked, *found) else [], []


def _rule(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    return ([], []) if _HAVE.match(masked, start) else _deed(masked, start)


def _duty(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    if GUESSED.match(masked, start) or (masked.rstrip().endswith("!") and _BE.match(masked, start)):
        return [], []
    return _deed(masked, start)


def _habit(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    verb = masked[start:].split(maxsplit=1)
    word = verb[0].lower().strip(".,;:!?") if verb else ""
    if (
        len(verb) < 2
        or word in PAST_VERBS
        or IMPERSONAL.match(word)
        or (word.endswith("ed") and not word.endswith("eed"))
    ):
        return [], []
    found, against = _deed(masked, start)
    return [span for span in found if " " in masked[slice(*span)]], against


def _capital(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    found = _CAPITAL.match(masked, start)
    if not found or found[0].split()[0].lower() in (*MONTHS, *WEEKDAYS):
        return [], []
    return [found.span()], []


def _kind(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    found = phrase(masked, start, PREPOSITION, _BREAK, words=4)
    return [found] if found and MASK not in masked[slice(*found)] else [], []


def _value(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    found = _VALUE.match(masked, start)
    return [found.span("value")] if found and HUSH not in found[0] else [], []


def _version(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    found = _VERSION.match(masked, start)
    return [found.span("version")] if found else [], []


def _state(masked: str, start: int) -> tuple[list[Span], list[Span]]:
    found = _STATE.match(masked, start)
    if not found or not _finished(masked, found.end()):
        return [], []
    return [found.span("state")], []


def _finished(masked: str, end: int) -> bool:
    """Return whether the state ends here: «open to ideas» and «full of holes» are other states."""
    return AFTER_STATE.match(masked, end) is not None


_READERS: dict[str, Callable[[str, int], tuple[list[Span], list[Span]]]] = {
    "preferred": _preferred,
    "liked": _liked,
    "used": _used,
    "named": _named,
    "error": _named,
    "part": _part,
    "cure": _cure,
    "chosen": _chosen,
    "matter": _matter,
    "deed": _deed,
    "duty": _duty,
    "rule": _rule,
    "habit": _habit,
    "person": _capital,
    "place": _capital,
    "organisation": _capital,
    "kind": _kind,
    "value": _value,
    "version": _version,
    "state": _state,
}
