"""Compare the words by which two clauses name the thing that they are about: its nouns, and what tells it from others
of its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

from tidal_plugins.english.changes import CHANGE_VERB
from tidal_plugins.english.questions import AUXILIARIES
from tidal_plugins.english.stems import stem
from tidal_plugins.english.tags import DULL
from tidal_plugins.english.verbs import is_past
from tidal_plugins.patterns import lazy_re

Parts = Mapping[tuple[str, str], frozenset[str]]


def are_apart(one: str, other: str) -> bool:
    """Return whether two clauses put different words in the same place: the school trip and the school concert, the
    kitchen budget and the bathroom budget, the meeting with Priya and the one with Omar, mornings and evenings."""
    mine, theirs = _stems(one), _stems(other)
    day, others_day = _daytimes(one), _daytimes(other)
    if day and others_day and not day & others_day:
        return True
    here, there = _parts(one), _parts(other)
    return any(
        here[place] - theirs and there[place] - mine and not here[place] & there[place]
        for place in here.keys() & there.keys()
    )


def covers(one: str, other: str) -> bool:
    """Return whether one of two clauses names no more than the other does: «the lease» of «the lease of the shop»."""
    mine, theirs = _stems(one) - _LIGHT, _stems(other) - _LIGHT
    return mine <= theirs or theirs <= mine


def overlap(one: str, other: str) -> bool:
    """Return whether two clauses have a word for a thing in common."""
    return bool((_stems(one) & _stems(other)) - _LIGHT)


def has_things(clause: str) -> bool:
    """Return whether a clause names anything: «it moved to Friday» does not."""
    return bool(_stems(clause) - _LIGHT)


_WORD = lazy_re(r"[^\W\d_](?:[\w'’-]*\w)?")
_DAYTIME = lazy_re(r"\b(?:morning|afternoon|evening|night)(?=s?\b)", re.IGNORECASE)
_DETERMINERS = frozenset("the a an my our your his her their its this that these those".split())
_PLACES = {"of": "of", "for": "of", "with": "with", "in": "in", "at": "at", "from": "from", "to": "to", "by": "by"}
"""What joins a noun to the words that tell which one it is: «the rent of», «the rent for»."""
_LIGHT = frozenset(
    map(
        stem,
        "due deadline date start begin happen take place plan book schedule meet go leave run hold set put end finish "
        "note remember noted sorry hi hello update correction reminder still again use keep".split(),
    )
)
"""Stems of words by which one thing may be told of in two ways: «the rent is due», «the deadline of the rent»."""


def _content(word: str) -> str:
    """Return the stem of a word that names something, or an empty text."""
    folded = word.lower().removesuffix("'s").removesuffix("’s")
    if folded in DULL or is_past(folded) or (CHANGE_VERB.fullmatch(folded) and folded[-1] in "sdg"):
        return ""  # «the move» is a thing, and «moved» says nothing of one
    return stem(folded) if len(folded) > 1 else ""


@lru_cache(maxsize=1024)
def _stems(clause: str) -> frozenset[str]:
    return frozenset(filter(None, (_content(match[0]) for match in _WORD.finditer(clause))))


def _daytimes(clause: str) -> frozenset[str]:
    return frozenset(found.lower() for found in _DAYTIME.findall(clause))


@lru_cache(maxsize=1024)
def _parts(clause: str) -> Parts:
    """Return, by noun and place, the stems of the words that say which one it is."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    for noun, place, words in _places(clause):
        found[noun, place] = found.get((noun, place), frozenset()) | words
    return found


def _places(clause: str) -> Iterator[tuple[str, str, frozenset[str]]]:
    tokens = list(_WORD.finditer(clause))
    said = [_content(token[0]) for token in tokens]
    joined = [clause[one.end() : other.start()] == " " for one, other in pairwise(tokens)]
    joined.append(False)
    for index, noun in enumerate(said):
        if not noun or not joined[index]:
            continue
        following = said[index + 1]
        if following:
            yield following, "of", frozenset([noun])
            if _is_noun(index + 1, tokens, joined):
                yield noun, "after", frozenset([following])
        elif place := _PLACES.get(tokens[index + 1][0].lower()):
            yield noun, place, frozenset(_phrase(index + 2, tokens, said, joined))


def _is_noun(index: int, tokens: list[re.Match[str]], joined: list[bool]) -> bool:
    """Return whether what follows a word shows that it is no verb: a verb, or nothing."""
    if not joined[index]:
        return not tokens[index][0].endswith("s")
    after = tokens[index + 1][0].lower()
    return after in AUXILIARIES or is_past(after) or CHANGE_VERB.fullmatch(after) is not None


def _phrase(index: int, tokens: list[re.Match[str]], said: list[str], joined: list[bool]) -> Iterator[str]:
    """Yield the stems of the words after a preposition, up to the end of its noun."""
    while index < len(tokens) and joined[index - 1]:
        if said[index]:
            yield said[index]
        elif tokens[index][0].lower() not in _DETERMINERS:
            return
        index += 1
