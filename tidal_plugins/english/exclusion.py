"""Compare two values of one slot, and tell slots that keep their value from those that change by themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tidal_plugins.english.kinds import CONTAINERS, ROOMS, WIDE, kind_of
from tidal_plugins.english.opposites import are_opposed
from tidal_plugins.english.slots import Slot
from tidal_plugins.english.stems import stem
from tidal_plugins.english.subjects import OPINION
from tidal_plugins.english.values import differ, values
from tidal_plugins.patterns import lazy_re

BUILDINGS = frozenset(
    "office headquarters hq depot warehouse shop store branch factory plant school clinic hospital archive library "
    "museum studio bakery restaurant datacentre datacenter laboratory lab workshop".split()
)
"""Nouns of buildings, and of what stays where it stands."""
POSTS = frozenset(
    "landlord landlady dentist gp physician accountant godmother godfather headmaster headmistress".split()
)
"""Nouns of people of whom one has one at a time, beside those that statements name."""
ONLY = "="
"""Stands before a value of a tool of which a sentence says that it is the one in use."""


def exclude(kind: str, one: str, other: str) -> bool:
    """Return whether two values of one slot of a kind cannot both hold."""
    if kind in _EXCLUDES:
        return _EXCLUDES[kind](one, other)
    return _apart(one, other)


def keeps(slot: Slot) -> bool:
    """Return whether two statements on a slot may be held against each other at all.

    A thing has one owner and several reviewers. An office stays in its town; a cat is now here and now there.
    """
    thing = slot.thing.lower().split()
    if slot.kind == "holder":
        return slot.role in ("owner", "lead", "manager", "captain") and thing[0] not in _VAGUE and thing != ["way"]
    if slot.kind == "attribute" and thing[-1] in POSTS:
        return all(word[:1].isupper() for word in slot.value.split())
    if slot.kind == "attribute":
        return any(word in ("favourite", "favorite") for word in thing) and "of" not in thing and _is_taste(slot)
    if slot.kind == "place":
        own = thing[-1] in _TAKEN_ALONG and thing[0] in _POSSESSIVES
        return slot.role == "kept" or (bool(_FIXED.intersection(thing[-1:] + thing[:1])) and not own)
    if slot.kind == "name":  # «the song is called …» may be any song
        return thing[0] in _POSSESSIVES or "'s" in thing[0]
    if slot.kind == "colour":
        return thing[-1] not in _CHANGING
    return slot.kind != "day"  # a choir may meet on two days of the week


_HIDDEN = frozenset(
    "key keys passport passports testament certificate papers kit epipen fusebox stopcock valve safe codes torch "
    "extinguisher".split()
)
_FIXED = BUILDINGS | _HIDDEN
"""Nouns of things that stay where they are, or where they are put for good."""
_POSSESSIVES = frozenset("my our his her their".split())
_TAKEN_ALONG = frozenset(["key", "keys"])
"""Things that their owner has now here and now there, unless they are the spare ones."""
_CHANGING = frozenset(
    "sky sea water light lights lamp led leaf leaves traffic signal indicator status build builds pipeline tests ci "
    "dashboard face hair eyes screen line graph bar flag icon cell card week weather nails skin button".split()
)
"""Nouns of things whose colour says how they are."""
_VAGUE = frozenset("a an some his her their its no many several two three four one every another more".split())
_NO_TASTE = frozenset("part thing things way time bit moment memory one day person place memories".split())
_OPENS = {"opens": "open", "closes": "closed"}
_FOODS = {
    "meat": "meat chicken beef pork lamb ham bacon steak turkey sausage sausages burgers",
    "fish": "fish salmon tuna prawns shrimp seafood sushi",
    "animal": "eggs egg cheese dairy milk butter yoghurt yogurt honey",
}
_FOOD = {word: kind for kind, words in _FOODS.items() for word in words.split()}
_FORBIDDEN = {"vegan": {"meat", "fish", "animal"}, "vegetarian": {"meat", "fish"}}
_MARRIED = ({"married", "single"}, {"married", "divorced"}, {"married", "widowed"}, {"single", "widowed"})
_SAME_COLOUR = {"gray": "grey", "violet": "purple"}
_PREPOSITION = lazy_re(r"(?:in|inside|under|underneath|beneath|behind|on|above|beside|next to|on top of|at|for)\s+")
_WORD = lazy_re(r"[^\W_]+")
_STREETS = frozenset("street road avenue lane square".split())
_EMPTY = frozenset("the our my a an".split())


def _is_taste(slot: Slot) -> bool:
    value = slot.value.lower().split()
    nameless = (
        OPINION.search(slot.value)
        or value[0] in _VAGUE
        or value[0] in ("my", "when", "definitely", "probably", "still")
        or value[-1] == "one"
    )
    return not nameless and not (_NO_TASTE.intersection(slot.thing.lower().split()))


def _apart(one: str, other: str) -> bool:
    """Return whether neither value has all the words of the other."""
    mine, theirs = _words(one), _words(other)
    return bool(mine and theirs) and not (mine <= theirs or theirs <= mine)


def _words(value: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(value.lower()) if word not in _EMPTY)


def _towns(one: str, other: str) -> bool:
    """Return whether two places are others, and of one width: a street is in a town, and a town in a country."""
    return _apart(one, other) and _width(one) == _width(other)


def _width(place: str) -> tuple[bool, bool]:
    words = _WORD.findall(place.lower())
    return bool(WIDE.intersection(words)), bool(_STREETS.intersection(words[-1:]))


def _spots(one: str, other: str) -> bool:
    """Return whether a thing cannot be in both places: in two towns, in two rooms, in or under two containers."""
    mine, theirs = (_PREPOSITION.sub("", place, count=1) for place in (one, other))
    if mine[:1].isupper() or theirs[:1].isupper():
        return mine[:1].isupper() and theirs[:1].isupper() and _towns(mine, theirs)
    here, there = mine.lower().split()[-1], theirs.lower().split()[-1]
    for places in (ROOMS, CONTAINERS):
        if here in places and there in places:
            return here != there and here not in theirs and there not in mine
    return False


def _employers(one: str, other: str) -> bool:
    """Return whether two employers are others: by name, or at two places. Who works at a library works for a town."""
    (at, _, mine), (at_other, _, theirs) = one.partition(" "), other.partition(" ")
    return (
        (mine[:1].isupper() == theirs[:1].isupper()) and (mine[:1].isupper() or at == at_other) and _apart(mine, theirs)
    )


def _hours(one: str, other: str) -> bool:
    return are_opposed(_OPENS.get(one.lower(), one.lower()), _OPENS.get(other.lower(), other.lower()))


def _times(one: str, other: str) -> bool:
    mine, theirs = (values(value if re.search(r"\D", value) else f"{value}:00") for value in (one, other))
    return bool(mine and theirs) and differ(mine[0], theirs[0])


def _tools(one: str, other: str) -> bool:
    """Return whether two tools of a kind are others, and one of them is said to be the one in use."""
    alone = one.startswith(ONLY) or other.startswith(ONLY)
    return alone and kind_of(one) == kind_of(other) and _apart(one.lstrip(ONLY), other.lstrip(ONLY))


def _diets(one: str, other: str) -> bool:
    """Return whether one of two says what somebody eats, and the other forbids it."""
    for diet, eaten in ((one.lower(), other.lower()), (other.lower(), one.lower())):
        if _FORBIDDEN.get(diet, set()) & {_FOOD.get(word) for word in _WORD.findall(eaten)}:
            return True
    return False


def _colours(one: str, other: str) -> bool:
    mine, theirs = one.lower(), other.lower()
    return _SAME_COLOUR.get(mine, mine) != _SAME_COLOUR.get(theirs, theirs)


_EXCLUDES: Mapping[str, Callable[[str, str], bool]] = {
    "home": _towns,
    "origin": _towns,
    "place": _spots,
    "work": _employers,
    "hours": _hours,
    "hour": _times,
    "tool": _tools,
    "day": lambda one, other: one.lower().rstrip("s") != other.lower().rstrip("s"),
    "diet": _diets,
    "colour": _colours,
    "civil": lambda one, other: {one.lower(), other.lower()} in _MARRIED,
}
