"""Find what a sentence says of a slot that holds one thing at a time: who holds something, what its owner, its provider
or somebody's favourite is, and where somebody lives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tidal_plugins.english.calendar import MONTHS
from tidal_plugins.english.opposites import STATES
from tidal_plugins.english.statements import SINGULAR_ATTRIBUTES
from tidal_plugins.english.subjects import NOBODY


@dataclass(frozen=True, slots=True)
class Slot:
    """What a sentence says of one slot.

    ``kind`` is ``holder``, ``attribute``, ``state`` or ``home``. ``thing`` are the words for that which is held, for
    the attribute, for that which is in a state, or for the person. ``value`` is who holds it, what it is, or where.
    ``cue`` are the words that say that this is new, empty where none do. A value that has ended is ``over``.
    """

    kind: str
    thing: str
    value: str
    cue: str = ""
    over: bool = False


@lru_cache(maxsize=1024)
def news(sentence: str) -> tuple[Slot, ...]:
    """Return what a sentence says of slots that may be new: it has a cue, or tells a state, which is one of now."""
    if not (NEW.search(sentence) or _HINT.search(sentence)):
        return ()
    return tuple(slot for slot in slots(sentence) if slot.cue or slot.kind == "state")


@lru_cache(maxsize=1024)
def slots(sentence: str) -> tuple[Slot, ...]:
    """Return what a sentence says of slots, in the order of the patterns."""
    return tuple(
        slot
        for kind, pattern, over in _PATTERNS
        for match in pattern.finditer(sentence)
        if (slot := _slot(kind, match, over, sentence)) and _is_one(slot)
    )


_NAME = r"(?-i:[A-ZÀ-ÖØ-Þ][\w-]+(?:[ -][A-ZÀ-ÖØ-Þ][\w-]+){0,2})"
_THING = r"(?:the|our|my|your|all|this)?\s*(?P<thing>[\w-]+(?:\s(?!now\b|from\b|since\b|and\b|instead\b)[\w-]+){0,4}?)"
_END = (
    r"(?=\s*(?:[,;:.!()\n–—]|\Z|\s(?:now|from|since|and|but|instead|in|for|again|because|until|after|with|at|on|by)\b))"
)
_NOW = r"(?:(?:now|currently)\s+)?"
_CHARGE = (
    r"(?:owns?|runs?|leads?|manages?|maintains?|handles?|coordinates?|chairs?|looks\s+after|takes\s+care\s+of|"
    r"is\s+(?:now\s+)?(?:responsible\s+for|in\s+charge\s+of|on))"
)
_TAKES = r"(?:takes\s+over|took\s+over|has\s+taken\s+over|is\s+taking\s+over|will\s+take\s+over|inherits|inherited)"
_POST = r"(?:owner|lead|maintainer|contact|manager|keeper|chair|reviewer|organi[sz]er|coordinator|coach|captain)"
_SINGLE = (
    rf"(?:{'|'.join(sorted(SINGULAR_ATTRIBUTES))}|{_POST}|supplier|carrier|doctor|dentist|landlord|landlady|teacher|"
    r"therapist|vendor|venue|editor)"
)
_ATTRIBUTE = (
    r"(?P<thing>(?:[\w'’-]+\s){0,3}?"
    rf"(?:favou?rite(?:\s[\w-]+){{1,2}}?|{_SINGLE}(?:\s(?:of|for)\s(?:the\s)?[\w-]+(?:\s[\w-]+)?)?))"
)
_VALUE = (
    r"(?P<value>(?!not\b|no\b|very\b|so\b|too\b|that\b|to\b|it\b|what\b|how\b|in\b|on\b|at\b|up\b|going\b|being\b)"
    r"[^\s,;:.!?()\n–—\d]+(?:\s(?!now\b|from\b|and\b|but\b|these\b|instead\b|because\b|since\b)[^\s,;:.!?()\n–—\d]+){0,3}?)"
)
_OFF = (
    r"(?!work|duty|sick|the\s+hook|limits|"
    r"the\s+(?:phone|table|charts?|grid|record|rails|menu|beaten|top|ground|mark)\b)"
)
_STATE = "|".join(sorted(STATES))
_PATTERNS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE), over)
    for kind, pattern, over in (
        ("holder", rf"(?P<value>{_NAME})\s+{_NOW}{_CHARGE}\s+{_THING}{_END}", False),
        ("holder", rf"(?P<value>{_NAME})\s+(?P<cue>{_TAKES})\s+{_THING}{_END}", False),
        ("holder", rf"(?P<value>{_NAME})\s+(?:has|does|builds|keeps)\s+{_THING}{_END}", False),
        (
            "holder",
            rf"\b{_THING}\s+(?:is|are)\s+{_NOW}(?P<value>{_NAME})['’]s?(?=\s*(?:[,;.!]|\Z|\s(?:now|from)\b))",
            False,
        ),
        ("holder", rf"\b{_THING}\s+{_NOW}belongs?\s+{_NOW}to\s+(?P<value>{_NAME})", False),
        (
            "holder",
            rf"\b{_THING}\s+(?:is|are)\s+{_NOW}(?:owned|run|led|managed|maintained|handled)\s+by\s+(?P<value>{_NAME})",
            False,
        ),
        (
            "holder",
            rf"\b{_THING}\s+(?P<cue>(?:goes|went|passes|passed|(?:was|is)\s+handed)(?:\s+over)?\s+to)\s+(?P<value>{_NAME})",
            False,
        ),
        ("holder", rf"\b{_POST}\s+(?:of|for)\s+{_THING}\s*(?:\s(?:is|are)\s+{_NOW}|:\s)(?P<value>{_NAME})", False),
        (
            "holder",
            rf"(?P<value>{_NAME})\s+(?:is|has\s+(?:come|gone)|came|went)\s+(?P<cue>off)\s+{_OFF}{_THING}{_END}",
            True,
        ),
        ("holder", rf"(?P<value>{_NAME})\s+(?P<cue>no\s+longer)\s+{_CHARGE}\s+{_THING}{_END}", True),
        ("attribute", rf"\b{_ATTRIBUTE}\s+(?:is|are)\s+{_NOW}(?:called\s+)?(?:the\s+|an?\s+)?{_VALUE}{_END}", False),
        ("attribute", rf"\b{_ATTRIBUTE}:\s+{_VALUE}{_END}", False),
        ("attribute", rf"(?P<value>{_NAME})\s+is\s+{_NOW}(?:the|our|my)\s+(?P<new>new\s+)?{_ATTRIBUTE}{_END}", False),
        (
            "attribute",
            rf"\b(?P<cue>(?:switch|chang|mov)(?:e|es|ed))\s+(?:(?:the|our|my)\s+)?{_ATTRIBUTE}\s+(?:over\s+)?to\s+{_VALUE}{_END}",
            False,
        ),
        (
            "state",
            rf"\b{_THING}\s+(?:is|are|went|has\s+been)\s+(?:(?:now|back|fully|again)\s+){{0,2}}(?P<value>{_STATE}){_END}",
            False,
        ),
        ("state", rf"\bstatus:\s+{_THING}\s+(?P<value>{_STATE}){_END}", False),
        (
            "home",
            rf"\b(?P<thing>I|we|{_NAME})\s+{_NOW}(?:lives?|(?:am|are|is)\s+living)\s+in\s+(?P<value>{_NAME})",
            False,
        ),
        (
            "home",
            rf"\b(?P<thing>I|we|{_NAME})\s+(?:have\s+|has\s+)?(?P<cue>(?:just\s+)?moved\s+to)\s+(?P<value>{_NAME})",
            False,
        ),
    )
)
NEW = re.compile(
    r"\bnow\b(?!\s+(?:and\s+then|that)\b)|\bfrom\s+(?:now\s+on|today|tomorrow|this\s+(?:week|month)|next\s+(?:week|month)|\w+day)\b"
    r"|\bas\s+of\s+(?:now|today|this)\b|\binstead\b|\bnew\b|\bthese\s+days\b|\bnowadays\b"
    r"|\bthis\s+(?:year|season|term|semester)\b",
    re.IGNORECASE,
)
"""Words that say that something is new."""
_HINT = re.compile(
    rf"\b(?:{_STATE}|tak(?:es|ing|en)?|took|inherit\w*|off|longer|goes|went|pass\w*|hand\w*|switch\w*|chang\w*|moved?)\b",
    re.IGNORECASE,
)
"""Words of which every other sentence with a cue or a state has one: most sentences have none."""
_NOT_NAMES = (
    NOBODY | frozenset(month.lower() for month in MONTHS) | frozenset("noted done ok okay yes no status".split())
)


def _slot(kind: str, match: re.Match[str], over: bool, sentence: str) -> Slot | None:
    said = match.groupdict()
    cue = said.get("cue") or ""
    if not cue and (found := NEW.search(sentence)):
        cue = found[0]
    value = said["value"].strip()
    return Slot(kind, said["thing"].strip(), value, cue, over)


def _is_one(slot: Slot) -> bool:
    """Return whether a match names somebody, and a thing."""
    named = slot.value if slot.kind in ("holder", "home") else ""
    return not any(word.lower() in _NOT_NAMES for word in named.split()) and slot.thing.lower() not in _NOT_NAMES - {
        "i",
        "we",
    }
