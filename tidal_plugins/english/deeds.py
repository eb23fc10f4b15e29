"""Read who or what a sentence reports as done: the words before and after «sent», «paid», «is done»."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidal_plugins.english.calendar import TIME_WORDS
from tidal_plugins.english.small_talk import SMALL_TALK
from tidal_plugins.english.stems import stem
from tidal_plugins.english.stop_words import STOP_WORDS
from tidal_plugins.english.tasks import DONE
from tidal_plugins.english.verbs import is_past
from tidal_plugins.patterns import lazy_re

_WORD = lazy_re(r"[a-z0-9à-öø-ÿ]+(?:[-_.][a-z0-9à-öø-ÿ]+)*|[^\w\s']")
_ENDS = frozenset(",;:.!?–—()")
_JOINS = frozenset("and but so because that which who when while if then or".split())
_PREPOSITIONS = frozenset(
    "to with about for from in on at by of into before after until till since during via as off out up".split()
)
_AUXILIARIES = frozenset("is are was were be been being has have had got get gets s re ve".split())
_PEOPLE = frozenset(("i", "we"))
_GENERIC = frozenset(map(stem, "item task thing point action todo ticket news everything".split()))
"""Subjects that stand for a task: «that item is closed»."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What one word reports as done. ``verb`` is its stem; ``is_done`` that it says so of whatever it was: «settled».

    ``subject`` and ``object`` are the stems of the words for what did it or was done, and of what it was done to, each
    with its main word last. A subject that is the person who speaks, or that stands for a task, is empty.
    """

    verb: str
    subject: tuple[str, ...]
    object: tuple[str, ...]
    is_done: bool


def deeds(sentence: str) -> list[Deed]:
    """Return what a lower-case sentence reports as done."""
    found = list(_WORD.finditer(sentence))
    words = [match[0] for match in found]
    cues = {match.start(): match.end() for match in DONE.finditer(sentence)}
    made = []
    for place, match in enumerate(found):
        if match.start() in cues:
            after = next((n for n in range(place, len(found)) if found[n].start() >= cues[match.start()]), len(found))
        elif is_past(match[0]):
            after = place + 1
        else:
            continue
        made.append(Deed(stem(match[0]), _subject(words[:place]), phrase(words[after:]), match.start() in cues))
    return made


def words_of(text: str) -> list[str]:
    """Return the words and marks of a lower-case text."""
    return _WORD.findall(text)


def phrase(words: Iterable[str]) -> tuple[str, ...]:
    """Return the stems of the thing that some words begin with: «the login bug in the form» begins with «login bug».

    A preposition, a mark and a word that joins end it; one preposition may stand before it.
    """
    found: list[str] = []
    for place, word in enumerate(words):
        if word in _ENDS or word in _JOINS or (word in _PREPOSITIONS and (place or found)):
            break
        if not (word in STOP_WORDS or word in SMALL_TALK or word in TIME_WORDS or word.endswith("ly")):
            found.append(stem(word))
    numbers = [word for word in found if word.isdigit()]
    return (*numbers, *(word for word in found if not word.isdigit()))


def _subject(words: Sequence[str]) -> tuple[str, ...]:
    """Return the thing that the last clause of some words begins with."""
    start = max((place + 1 for place, word in enumerate(words) if word in _ENDS or word in _JOINS), default=0)
    clause = words[start:]
    if _PEOPLE.intersection(clause):
        return ()
    found = phrase(clause[: next((place for place, word in enumerate(clause) if word in _AUXILIARIES), len(clause))])
    return () if found and found[-1] in _GENERIC else found
