"""Find what a sentence says of a slot that holds one thing at a time: who holds something, what its owner, its provider
or somebody's favourite is, and where somebody lives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from tidal_plugins.english.calendar import MONTHS
from tidal_plugins.english.clauses import LEAD
from tidal_plugins.english.opposites import STATES
from tidal_plugins.english.slot_forms import FORMS, WHOLE_FORMS, Form
from tidal_plugins.english.subjects import NOBODY
from tidal_plugins.patterns import lazy_re


@dataclass(frozen=True, slots=True)
class Slot:
    """What a sentence says of one slot.

    ``kind`` is that of the form, such as ``holder``, ``attribute``, ``state``, ``home`` or ``place``. ``thing`` are the
    words for that which is held, for the attribute, for that which is in a state, or for the person. ``value`` is who
    holds it, what it is, or where. ``cue`` are the words that say that this is new, empty where none do. A value that
    has ended is ``over``. ``role`` is how somebody holds a thing (the owner, the lead), or that a
    thing is kept somewhere.
    """

    kind: str
    thing: str
    value: str
    cue: str = ""
    over: bool = False
    role: str = ""


@lru_cache(maxsize=1024)
def news(sentence: str) -> tuple[Slot, ...]:
    """Return what a sentence says of slots that may be new: it has a cue, or tells a state, which is one of now."""
    if not (NEW.search(sentence) or _HINT.search(sentence)):
        return ()
    return tuple(slot for slot in slots(sentence) if slot.cue or slot.kind == "state")


@lru_cache(maxsize=1024)
def slots(sentence: str) -> tuple[Slot, ...]:
    """Return what a sentence says of slots, in the order of the forms."""
    line = _line(sentence)
    loose = tuple(
        slot
        for form in FORMS
        if form.may_be_in(line)
        for match in form.pattern.finditer(sentence)
        if (slot := _slot(form, match, sentence)) and _is_one(slot)
    )
    return loose + tuple(slot for slot in _told(sentence, WHOLE_FORMS) if slot.kind not in ("diet", "use"))


@lru_cache(maxsize=1024)
def told(sentence: str) -> tuple[Slot, ...]:
    """Return the slots that the clauses of a sentence fill, and say nothing else. What is quoted fills none."""
    return tuple(_told(sentence, _TOLD))


def role_of(word: str) -> str:
    """Return what a verb or a noun says that somebody is to a thing: «owner» of «maintains». Empty for other words."""
    return next((name for name, words in _ROLES if words.match(word)), "") if word else ""


NEW = lazy_re(
    r"\bnow\b(?!\s+(?:and\s+then|that)\b)|\bfrom\s+(?:now\s+on|today|tomorrow|this\s+(?:week|month)|next\s+(?:week|month)|\w+day)\b"
    r"|\bas\s+of\s+(?:now|today|this)\b|\binstead\b|\bnew\b|\bthese\s+days\b|\bnowadays\b"
    r"|\bthis\s+(?:year|season|term|semester)\b",
    re.IGNORECASE,
)
"""Words that say that something is new."""
_STATE = "|".join(sorted(STATES))
_HINT = lazy_re(
    rf"\b(?:{_STATE}|tak(?:es|ing|en)?|took|inherit\w*|off|longer|goes|went|pass\w*|hand\w*|switch\w*|chang\w*|moved?)\b",
    re.IGNORECASE,
)
"""Words of which every other sentence with a cue or a state has one: most sentences have none."""
_TOLD = (*(form for form in FORMS if form.kind in ("holder", "attribute", "home") and not form.over), *WHOLE_FORMS)
_SUBJECT = r"(?:i|we|you|he|she|it|they|that|there|this|the|my|our|his|her|their|is|has|have)\b"
_TAIL = lazy_re(
    r"(?:\s+(?:now|currently|nowadays|these\s+days|at\s+the\s+moment|again|myself))?"
    r"(?:\s*[.!:)]*\s*\Z|\s*(?:[;(–—]|\s-)|,\s(?!(?:except|but\s+not|apart|or|only|and\s+(?!"
    + _SUBJECT
    + r"))\b)|\s(?:and\s(?="
    + _SUBJECT
    + r")|but\s(?!not\b|only\b)|so\s|because\s|since\s))",
    re.IGNORECASE,
)
"""What may follow a statement without making it another."""
_CLAUSE = lazy_re(rf"[,;:(–—]\s+|\s(?:but|so|because|since|and(?=\s{_SUBJECT}))\s+", re.IGNORECASE)
"""What ends in front of a clause."""
_QUOTED = lazy_re(r"[\"“”«»`]")
_ROLES = tuple(
    (name, lazy_re(rf"(?:(?:is|are|takes|now|always|still)\s+)*(?:{words})", re.IGNORECASE))
    for name, words in (
        ("owner", r"own|maintain|respons|in\s+charge|looks|care\s+of|belong|(?:\w+\s+)+over|inherit|s\Z"),
        ("lead", r"lead|led\b"),
        ("manager", r"manag"),
        ("captain", r"captain"),
        ("kept", r"kept|stor|hid|hang|live|keep|locat|based|headq|host"),
    )
)
"""What a verb or a noun says that somebody is to a thing. Others, such as reviewers, a thing has several of."""
_LEAD = lazy_re(rf"{LEAD}(?:(?:note|remember|fyi|by the way|update|correction)\b[,:]?\s+)?", re.IGNORECASE)
_NOT_NAMES = (
    NOBODY | frozenset(month.lower() for month in MONTHS) | frozenset("noted done ok okay yes no status".split())
)


def _told(sentence: str, forms: Iterable[Form]) -> Iterator[Slot]:
    """Yield the slots of forms that reach from the first word of a clause to its last."""
    if _QUOTED.search(sentence):
        return
    line = _line(sentence)
    forms = [form for form in forms if form.may_be_in(line)]
    starts = {match.end() for match in _CLAUSE.finditer(sentence)}
    for start in sorted({lead.end() for at in (0, *starts) if (lead := _LEAD.match(sentence, at))}):
        for form in forms:
            match = form.pattern.match(sentence, start)
            if match and _TAIL.match(sentence, match.end()):
                slot = _slot(form, match, sentence)
                if slot and _is_named(slot):
                    yield slot


def _line(sentence: str) -> str:
    """Return a sentence in lower case and with single spaces, as the cues of forms are."""
    return " ".join(sentence.lower().split())


def _slot(form: Form, match: re.Match[str], sentence: str) -> Slot | None:
    said = match.groupdict()
    cue = said.get("cue") or ""
    if not cue and (found := NEW.search(sentence)):
        cue = found[0]
    thing, role = said["thing"].strip(), said.get("role") or ""
    if (own := said.get("own") or "").lower() in ("our", "my"):
        thing = f"{own} {thing}"
    if said.get("when"):
        thing += f" {said['when']}"
    return Slot(form.kind, thing, said["value"].strip(), cue, form.over, role_of(role))


def _is_one(slot: Slot) -> bool:
    """Return whether a match names somebody, and a thing."""
    return _is_named(slot) and slot.thing.lower() not in _NOT_NAMES - {"i", "we"}


def _is_named(slot: Slot) -> bool:
    named = slot.value if slot.kind in ("holder", "home") else ""
    return not any(word.lower() in _NOT_NAMES for word in named.split())
