"""The objects of what people say: what they like, own, plan, where they live, and when something is."""

from __future__ import annotations

import re
from collections.abc import Callable

from tidal_plugins.english.calendar import WEEKDAY, WEEKDAYS
from tidal_plugins.english.objects import POINTING
from tidal_plugins.english.small_talk import TRAILING_CHATTER
from tidal_plugins.graph.reading.clauses import HUSH
from tidal_plugins.graph.reading.objects import listed, name, phrase
from tidal_plugins.graph.reading.talk.days import DATED
from tidal_plugins.graph.reading.talk.hollow import INTENT, NO_SPOT, NOT_OWNED
from tidal_plugins.graph.reading.talk.words import ILLNESS, KIND, MEDICINE, NAME, OF, PETS, ROLE
from tidal_plugins.patterns import lazy_re

MAX_PLAN_WORDS = 12
"""Words of a plan or a wish. More are left out: the evidence has them."""

Found = tuple[int, int, str | None]
"""Where an object stands, and the predicate that its words ask for, if it is not the form's own."""

_CLAUSE = lazy_re(
    r"\s(?:because|since|so|but|until|till|while|which|that|who|although|though|if|unless|when|whenever|whereas|yet|"
    r"except|as|cause|cuz|where|and\s+(?:i|we|he|she|it|they|that|then)|just|even)\b",
    re.IGNORECASE,
)
_PLAN_END = lazy_re(
    _CLAUSE.pattern.replace("until|till|", r"(?:until|till)(?!\s+(?:\d|noon|midnight))|"), re.IGNORECASE
)
"""The end of a plan, whose hour belongs to it: «watch until 14:28»."""
_VERB_THAT = lazy_re(
    r"(?!(?:hope|say|tell|know|think|promise|admit|mention|note)\b)(?:\w+ly\s+)?[\w-]+\s+(?:(?:out|up|down|into|through|on|at)\s+)?that\s+(?=\w)",
    re.IGNORECASE,
)
"""A verb whose object «that» points at: «fine-tune that plan»."""
_TASTE = lazy_re(
    rf"{_CLAUSE.pattern}|\s(?:and|or|nor|than|instead|of\s+course|to\s+(?:help|keep|get|make))\b", re.IGNORECASE
)
_LONG = r"(?:an?|one|two|three|four|five|six|\d+|(?:a\s+)?few|several)\s+(?:minute|hour|day|week|month|year)s?"
_AFTER = lazy_re(
    rf"\s(?:for|to|in|on|at|with|from|by|via|inside|about|during|into|now|then|too|yesterday|today|already|instead|"
    rf"before|after|over|last|this|next|recently|tonight|tomorrow|online|around|again|as|there|here|right|ready|handy|{WEEKDAY}"
    rf"|{_LONG}\s+(?:ago|back))\b",
    re.IGNORECASE,
)
_SHOWN = lazy_re(r"(?:this|these)\s+(?=\w)", re.IGNORECASE)
_BEING = lazy_re(r"(?:not\s+)?being\s+(?=\w)", re.IGNORECASE)
_MARKS = lazy_re(
    r"[*_]+|(?:all\s+(?:kinds|sorts)|different\s+(?:types|kinds|styles)|lots|a\s+lot|a\s+bunch)\s+of\s+(?=\w)", re.I
)
_YOURS = lazy_re(r"\byou(?:r|rs)?\b", re.IGNORECASE)
_MANNER = lazy_re(r"\w+ly", re.IGNORECASE)
_LEADING = lazy_re(r"(?:(?:definitely|really|then|also|just|now|properly|probably)\s+)+", re.IGNORECASE)
_PARTICLES = frozenset("out up down into on through over off".split())
_DASH = lazy_re(r"\s-+\s|(?<=\w)-+\s")
_CUT = frozenset("and or but to of with for in on at by from a an the my our your his her their".split())
"""Words that no plan ends with."""
_WHEN = lazy_re(
    r"\s(?:last|next|yesterday|today|tonight|tomorrow|recently|during|(?:a\s+)?(?:few|two|three"
    rf"|couple)\b[^.,]{{0,12}}\bago|"
    rf"and|but|once|twice|every|each|with\s+(?:my|our|some)|on\s+{WEEKDAY}|this\s+(?:morning|week|weekend|year|month)|to\s+(?:see|get|help|celebrate|support))\b"
    r"|\s-+\s",
    re.IGNORECASE,
)
_AND = lazy_re(r"\s(?:and|or|plus)\b", re.IGNORECASE)
_HAD = lazy_re(r"(?:an?|some|my\s+own|two|three|four|five|six|\d+)\s+(?=\S)", re.IGNORECASE)
_GOT = lazy_re(
    rf"{_HAD.pattern}|(?:the|this|that|these|my|our|new)\s+(?!(?:as|for|to|in|at|on|from|with|and|or|is|was)\b)(?=\S)",
    re.IGNORECASE,
)
_PET = lazy_re(
    rf"(?:an?|two|three|four|my|our|some)\s+(?:[\w-]+\s+){{0,2}}?(?P<pet>{PETS})\b(?:,?\s+(?:named|called"
    rf"|by\s+the\s+name\s+of)\s+(?P<name>{NAME}))?",
    re.IGNORECASE,
)
_KIN = lazy_re(
    rf"(?:an?|two|three|four|five|one)\s+{OF}(?P<kin>{KIND})s?\b(?:,?\s+(?:named|called)?\s*(?P<name>{NAME}))?",
    re.IGNORECASE,
)
_ILL = lazy_re(rf"(?:an?\s+|the\s+|my\s+|some\s+)?(?P<ill>{ILLNESS})\b", re.IGNORECASE)
_MEDICINE = lazy_re(
    r"(?:(?:my|the|some|a|an)\s+)?(?:\d[\d.,]*\s*(?:mg|milligrams?|micrograms?|mcg|ml|g)\s+(?:of\s+)?)?"
    rf"(?P<drug>{MEDICINE})\b",
    re.IGNORECASE,
)
_CAPITAL = lazy_re(
    r"(?:the\s+)?(?P<place>(?-i:[^\W\d_a-z])[\w’'-]*[^\W_](?:[ ](?:(?:de|del|la|do|of|am|and the)(?=\s)|\d[\w-]*|"
    r"(?-i:[^\W\d_a-z])[\w’'-]*[^\W_]))*)",
    re.IGNORECASE,
)
_SPOT = lazy_re(r"(?:the|my|our|his|her|their|your|an?)\s+\S", re.IGNORECASE)
_JOB = lazy_re(rf"(?:(?:an?|the|our|my|their)\s+)?(?P<role>{ROLE})(?![\w-])", re.IGNORECASE)
_DEED = lazy_re(r"(?:[^;!?()\n–—,.:]|,(?=\d)|[.:](?=\w))*")
_DATED = lazy_re(rf"{DATED}(?!\w)", re.IGNORECASE)
_PRICE = lazy_re(
    r"(?:about\s+|around\s+)?(?P<price>[$€£]\s?\d[\d.,]*\d?k?|\d[\d.,]*\d?\s*(?:euros?|dollars?|pounds?|bucks|€|\$"
    r"|£|quid)(?:\s+(?:a|per)\s+\w+)?|free\b)",
    re.IGNORECASE,
)
_DIET = lazy_re(
    r"(?P<diet>(?:healthier|vegetarian|vegan|pescatarian|gluten[- ]free|dairy[- ]free|keto|less\s+\w+(?:\s+\w+)?"
    r"|more\s+\w+|no\s+\w+))\b",
    re.IGNORECASE,
)


def objects(kind: str, masked: str, start: int) -> list[Found]:
    """Return the objects of a kind that stand at ``start``."""
    marks = _MARKS.match(masked, start)
    return _READERS[kind](masked, marks.end() if marks else start)


def _plain(span: tuple[int, int] | None, predicate: str | None = None) -> list[Found]:
    return [(*span, predicate)] if span else []


def _liked(masked: str, start: int) -> list[Found]:
    shown, being = _SHOWN.match(masked, start), _BEING.match(masked, start)
    if being:
        state = phrase(masked, being.end(), _TASTE, _DASH)
        return [(start, state[1], None)] if state else []
    found = listed(masked, shown.end() if shown else start, _TASTE, _DASH)
    if shown and found and " " not in masked[slice(*found[0])]:
        return []  # «love this place»: only the talk before knows which
    return [(*span, None) for span in found if not POINTING.match(masked, *span) and not _YOURS.search(masked, *span)]


def _thing(masked: str, start: int) -> list[Found]:
    found = name(masked, start) or phrase(masked, start, _CLAUSE, _AFTER, _AND, _DASH, words=6)
    return [] if found and _MANNER.fullmatch(masked, *found) else _plain(found)


def _things(masked: str, start: int) -> list[Found]:
    return [(*span, None) for span in listed(masked, start, _TASTE, _AFTER)]


def _matter(masked: str, start: int) -> list[Found]:
    return _plain(name(masked, start) or phrase(masked, start, _CLAUSE, words=8))


def _whole(masked: str, start: int) -> list[Found]:
    """Return a matter with its article, by which it is known from a verb: «a party», not «party»."""
    return [(start, end, predicate) for _, end, predicate in _matter(masked, start)]


def _had(masked: str, start: int) -> list[Found]:
    """Return what somebody has: a pet, a relative, an illness, or a thing."""
    for pattern, group, predicate in ((_PET, "pet", "has_pet"), (_KIN, "kin", "kin"), (_ILL, "ill", "has_condition")):
        match = pattern.match(masked, start)
        if match:
            said = match.groupdict()
            return [(*match.span("name" if said.get("name") else group), predicate)]
    return _gotten(masked, start) if _HAD.match(masked, start) else []


def _gotten(masked: str, start: int) -> list[Found]:
    pet, article = _PET.match(masked, start), _GOT.match(masked, start)
    if pet:
        return [(*pet.span("name" if pet["name"] else "pet"), "has_pet")]
    found = article and phrase(masked, article.end(), _CLAUSE, _AFTER, _AND, _DASH, words=5)
    if not found or _MANNER.fullmatch(masked, *found) or NOT_OWNED.search(masked[found[0] : found[1]]):
        return []
    return _plain(found)


def _place(masked: str, start: int) -> list[Found]:
    match = _CAPITAL.match(masked, start)
    if match and match["place"].split()[0].lower().strip(",.") not in WEEKDAYS:
        return _plain(match.span("place"))
    return []


def _spot(masked: str, start: int) -> list[Found]:
    """Return a place that may have a common name: «the blue bag by the door»."""
    capital = _place(masked, start)
    if capital or not _SPOT.match(masked, start):
        return capital
    found = phrase(masked, start, _CLAUSE, _AND, words=7)
    return [] if not found or NO_SPOT.search(masked[slice(*found)]) else _plain(found)


def _firm(masked: str, start: int) -> list[Found]:
    capital = _place(masked, start)
    if capital or not _SPOT.match(masked, start):
        return capital
    found = phrase(masked, start, _CLAUSE, _AFTER, _AND, words=4)
    return [] if not found or NO_SPOT.search(masked[slice(*found)]) else _plain(found)


def _deed(masked: str, start: int) -> list[Found]:
    """Return what is planned: a verb with its words."""
    leading = _LEADING.match(masked, start)
    start = leading.end() if leading else start
    end = start + len(_DEED.match(masked, start)[0].rstrip(" *_"))  # type: ignore[index]  # it matches nothing, too
    that = _VERB_THAT.match(masked, start, end)
    for pattern in (_PLAN_END, _DASH, TRAILING_CHATTER):
        stop = pattern.search(masked, that.end() if that else start, end)
        end = stop.start() if stop else end
    words = masked[start:end].split(" ")
    kept = words[:MAX_PLAN_WORDS]
    while len(words) > MAX_PLAN_WORDS and kept[-1].lower() in _CUT:
        kept.pop()
    end = start + len(" ".join(kept).rstrip(" ,"))
    last = masked[start:end].split()[-1:]
    if (
        HUSH in masked[start:end]
        or len(words) < 2
        or (len(words) == 2 and words[1] in _PARTICLES)
        or INTENT.match(masked, start)
        or POINTING.fullmatch(masked, start, end)
        or not last
        or last[0].lower() in _CUT
    ):
        return []
    return [(start, end, None)]


def _event(masked: str, start: int) -> list[Found]:
    """Return what somebody went to."""
    found = phrase(masked, start, _CLAUSE, _WHEN, words=9)
    if not found or NO_SPOT.search(masked[slice(*found)]) or POINTING.match(masked, *found):
        return []
    return _plain(found)


def _matched(pattern: re.Pattern[str], group: str | int) -> Callable[[str, int], list[Found]]:
    """Return a reader of the objects that a pattern matches as its group."""

    def read(masked: str, start: int) -> list[Found]:
        match = pattern.match(masked, start)
        return _plain(match.span(group)) if match else []

    return read


_READERS: dict[str, Callable[[str, int], list[Found]]] = {
    "liked": _liked,
    "thing": _thing,
    "things": _things,
    "matter": _matter,
    "whole": _whole,
    "had": _had,
    "gotten": _gotten,
    "ill": _matched(_ILL, "ill"),
    "drug": _matched(_MEDICINE, "drug"),
    "place": _place,
    "spot": _spot,
    "firm": _firm,
    "job": _matched(_JOB, "role"),
    "deed": _deed,
    "event": _event,
    "day": _matched(_DATED, 0),
    "price": _matched(_PRICE, "price"),
    "diet": _matched(_DIET, "diet"),
}
