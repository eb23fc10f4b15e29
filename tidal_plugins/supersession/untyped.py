"""Values without a form of their own: another owner, another favourite, another home, in the words of a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tidal_plugins.english.changes import is_unsure
from tidal_plugins.english.opposites import are_opposed
from tidal_plugins.english.questions import ends_asking
from tidal_plugins.english.sentences import LONGEST, sentences
from tidal_plugins.english.slots import Slot, news, slots
from tidal_plugins.english.statements import SINGULAR_ATTRIBUTES
from tidal_plugins.english.stems import stem
from tidal_plugins.model.supersession import Replacement, Utterance
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import terms

SLOT = 0.8
"""A cue, and another value of the same slot."""
STATE = 0.6
"""The opposite state of the same thing."""

_TAKEN = lazy_re(
    r"(?P<name>[A-ZÀ-ÖØ-Þ][\w-]+(?: [A-ZÀ-ÖØ-Þ][\w-]+){0,2}) "
    r"(?:has (?:it|that|this) now|takes (?:it )?over|took (?:it )?over)\b"
)
_GENERIC = frozenset(map(stem, (*SINGULAR_ATTRIBUTES, *"new my our the your favourite favorite of for".split())))
_OWN = lazy_re(r"\b(?:i|we|my|our|your)\b")
_POSSESSOR = lazy_re(r"\b(?:his|her|their|its|\w+(?=['’]s\b))")


def other_value(later: Utterance, earlier: Utterance) -> Iterator[Replacement]:
    """Yield how a later statement fills a slot of an earlier one with another value.

    The later one must have a cue. «I» and «we» are the same person only if the same person speaks.
    """
    new = _slots(later.text, news)
    if not new:
        return
    for before in (slot for slot in _slots(earlier.text, slots) if not slot.over):
        for after in new:
            if _one_slot(after, before, later, earlier) and _excludes(after, before):
                value = _successor(later.text) if after.over else after.value
                yield Replacement(before.value, value, after.cue, SLOT if after.cue else STATE)


def tells_news(text: str) -> bool:
    """Return whether a text may say something new of a slot."""
    return bool(_slots(text, news))


def _slots(text: str, read: Callable[[str], tuple[Slot, ...]]) -> list[Slot]:
    found: list[Slot] = []
    for start, end in sentences(text):
        if end - start <= LONGEST and (said := read(text[start:end])):
            found += () if ends_asking(text[start:end]) or is_unsure(text[start:end]) else said
    return found


def _one_slot(after: Slot, before: Slot, later: Utterance, earlier: Utterance) -> bool:
    one, other = after.thing.lower(), before.thing.lower()
    if after.kind != before.kind or _possessors(one) != _possessors(other):
        return False
    own = bool(_OWN.search(one)) and bool(_OWN.search(other))
    if own and None not in (later.speaker, earlier.speaker) and later.speaker != earlier.speaker:
        return False
    if after.kind == "home":
        return own or one == other
    new, old = _words(after.thing), _words(before.thing)
    common = new & old
    if after.kind == "state":
        return new == old != frozenset()
    if not common or common not in (new, old):
        return False
    return own or len(common) > 1 or bool(common - _GENERIC) or before.value.casefold() in later.text.casefold()


def _possessors(thing: str) -> frozenset[str]:
    """Return those whose thing it is, but for the speakers themselves."""
    return frozenset(_POSSESSOR.findall(thing))


def _excludes(after: Slot, before: Slot) -> bool:
    """Return whether two values differ, or the later one is the end of the earlier one."""
    if after.kind == "state":
        return are_opposed(after.value.lower(), before.value.lower())
    new, old = _words(after.value), _words(before.value)
    return bool(new & old) if after.over else bool(new and old) and not new & old


def _successor(text: str) -> str:
    found = _TAKEN.search(text)
    return found["name"] if found else ""


def _words(text: str) -> frozenset[str]:
    return frozenset(map(stem, terms(text.replace("_", " "))))
