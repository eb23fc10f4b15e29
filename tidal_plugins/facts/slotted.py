"""What facts and sentences say of slots that hold one value at a time, in a form in which both can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidal_plugins.english.calendar import WEEKDAY
from tidal_plugins.english.exclusion import BUILDINGS, ONLY, exclude
from tidal_plugins.english.hedges import DOUBT
from tidal_plugins.english.kinds import KIND_MEMBERS, MEMBERS, kind_named, kind_of
from tidal_plugins.english.opposites import COLOURS
from tidal_plugins.english.slots import Slot, role_of, told
from tidal_plugins.english.statements import NATIONALITY
from tidal_plugins.facts.claims import words_of
from tidal_plugins.facts.phrases import Phrase, phrases
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.fact import Claim
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import stems, terms

_OWN = {
    "user": frozenset("i me my mine we us our it".split()),
    "assistant": frozenset("you your we us our it".split()),
}
"""Whose things a fact is about, in the words of a speaker: facts are the user's."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A slot with its value: two with equal ``kind`` and ``about`` are of one thing."""

    kind: str
    about: tuple[str, ...]
    says: str
    value: str


def filled(slot: Slot) -> Filled | None:
    """Return a slot in the form in which it is compared, or ``None`` if it is of nothing."""
    if slot.kind in ("tool", "use"):
        kind, says = kind_of(slot.value), slot.value if slot.kind == "use" else ONLY + slot.value
        return Filled("tool", (kind,), says, slot.value) if kind else None
    thing = tuple(stems(slot.thing.lower().replace("favorite", "favourite").replace("color", "colour")))
    if slot.kind in _PERSONAL and slot.thing.lower() in ("i", "we"):
        thing = ("self",)
    role = (slot.role,) if slot.kind == "holder" else ()
    return Filled(slot.kind, (*role, *thing), slot.value, slot.value) if thing else None


def slot_claims(entry: Entry, values: Mapping[str, Any]) -> Iterator[Claim]:
    """Yield what an entry says of facts in other words: «Bo maintains the parser» of «owner of the parser»."""
    said = [(phrase, slot) for phrase in phrases(entry) for slot in _said(phrase, entry.role)]
    if not said:
        return
    for key, value in values.items():
        mine = list(filter(None, map(filled, _slots_of(key, value)))) if isinstance(value, str) else []
        for phrase, slot in said:
            if any(_is_other(one, slot) for one in mine):
                yield Claim(key, slot.value, phrase.raw, explicit=True)
                break


def other_words(key: str, value: Any) -> frozenset[str]:
    """Return the words, other than those of its key and value, by which a sentence may speak of a fact."""
    if not isinstance(value, str):
        return frozenset()
    kinds = {slot.kind for slot in _slots_of(key, value)}
    words = {word for kind in kinds for word in _VERBS.get(kind, "").split()}
    return frozenset(
        words.union(*(KIND_MEMBERS[kind_of(value)].replace("_", " ").split() for kind in kinds & {"tool"}))
    )


_PERSONAL = ("home", "work", "origin", "diet", "civil")
_VERBS = {
    "home": "live lives living moved",
    "work": "work works",
    "diet": "eat eats vegan vegetarian",
    "civil": "married single divorced widowed",
}
_FILLER = frozenset("my our the current main usual primary default new who is what whose".split())
_HOME = frozenset("home city town hometown residence".split())
_WORK = frozenset("employer workplace company".split())
_WHERE = frozenset("location city town room".split())
_TIME = frozenset("time start hour".split())
_PETS = frozenset("cat dog pet hamster rabbit horse parrot kitten puppy".split())
_KIN = frozenset("wife husband partner son daughter sister brother girlfriend boyfriend fiance fiancee".split())
_NAMED = frozenset("network wifi wlan boat ship yacht ferry band choir team project product app codename".split())
"""Nouns of what people speak of by its name."""
_NAME = lazy_re(r"[A-ZÀ-ÖØ-Þ][\w'’.-]*(?: [A-ZÀ-ÖØ-Þ][\w'’.-]*){0,2}")
_SPOT = lazy_re(r"(?:in|inside|under|underneath|beneath|behind|on|above|beside|next to|on top of) \w.*", re.IGNORECASE)
_CLOCK = lazy_re(r"\d{1,2}(?:[:.]\d\d)?(?: ?[ap]m)?", re.IGNORECASE)
_WEEKDAY = lazy_re(rf"{WEEKDAY}s?", re.IGNORECASE)
_OPEN = lazy_re(r"(?:open|closed|shut)", re.IGNORECASE)
_MEMBER = lazy_re(rf"(?:\w+ ){{0,2}}(?:{MEMBERS})", re.IGNORECASE)


def _is_other(fact: Filled, said: Filled) -> bool:
    return fact.kind == said.kind and fact.about == said.about and exclude(fact.kind, fact.says, said.says)


def _said(phrase: Phrase, role: str | None) -> Iterator[Filled]:
    """Yield the slots that a sentence fills, of the user's things and of those of nobody."""
    if not phrase.sure or DOUBT.search(phrase.raw):
        return
    own = _OWN.get(role or "", _OWN["user"] | _OWN["assistant"])
    for slot in told(phrase.raw):
        persons = _PERSON.findall(slot.thing.lower())
        named = slot.kind != "attribute" or (_NAME.fullmatch(slot.value) and not NATIONALITY.search(slot.value))
        if named and own.issuperset(persons) and (found := filled(slot)):
            yield found


_PERSON = lazy_re(r"\b(?:i|me|my|mine|we|us|our|you|your|he|she|his|her|they|their|it|its)\b")


def _slots_of(key: str, value: str) -> Iterator[Slot]:
    """Yield the slots that a fact fills, by the last noun of its key and the form of its value."""
    words = [word.lower() for word in words_of(key)]
    while words and words[0] in _FILLER:
        words = words[1:]
    if not words:
        return
    joint = next((word for word in ("of", "for") if word in words[1:]), "")
    at = words.index(joint) if joint else len(words) - 1
    head, thing = (words[at - 1], words[at + 1 :]) if joint else (words[-1], words[:-1])
    whole, of = " ".join(words), " ".join(word for word in thing if word not in ("the", "my", "our"))
    value = value.strip()
    yield from _by_head(head, whole, of, value)
    yield from _by_value(whole, of, value)


def _by_head(head: str, whole: str, of: str, value: str) -> Iterator[Slot]:
    person = of if of not in ("", "home") else "I"
    named = _NAME.fullmatch(value) is not None
    role = role_of(head)
    if of and named and role not in ("", "kept"):
        yield Slot("holder", of, value, role=role)
    if head in ("colour", "color") and of:
        yield Slot("colour", of, value)
    if head in _HOME and named:
        yield Slot("home", person, value)
    if named and ((head in _WHERE and of) or (head in BUILDINGS and " " not in value)):  # «Rose Hall» is in a town
        yield Slot("place", of if head in _WHERE else whole, f"in {value}")
    if head in _WORK and (named or value.startswith("the ")):
        yield Slot("work", person, f"at {value}")
    if head == "language" and of:
        yield Slot("written", of, value)
    if head in _PETS | _KIN and named:
        yield Slot("name", whole, value)
    if head in ("diet", "eating"):
        yield Slot("diet", person, value)
    if kind_named(whole) and _MEMBER.fullmatch(value) and kind_of(value) == kind_named(whole):
        yield Slot("tool", "my", value)
    if head in ("status", "marital") and "marital" in whole:
        yield Slot("civil", "I", value)
    if head in _NAMED and named:
        yield Slot("name", whole, value)
    if head == "day" and of and _WEEKDAY.fullmatch(value):
        yield Slot("day", of, value)
    if head in _TIME and of and _CLOCK.fullmatch(value):
        yield Slot("hour", of, value)


def _by_value(whole: str, of: str, value: str) -> Iterator[Slot]:
    if value.lower() in COLOURS:
        yield Slot("colour", whole, value)
    if _SPOT.fullmatch(value):
        yield Slot("place", whole, value)
    if _CLOCK.fullmatch(value):
        yield Slot("hour", whole, value)
    if _WEEKDAY.fullmatch(value):
        yield Slot("day", whole, value)
    if _OPEN.fullmatch(value) and terms(whole):
        yield Slot("hours", whole, value)
    if _NAME.fullmatch(value) and not kind_of(value):
        yield Slot("attribute", whole, value)
