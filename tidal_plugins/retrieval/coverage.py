"""Rules for the parts of a query that found texts leave open: words that are not covered, names that lead further."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tidal_plugins.english.sentences import sentences
from tidal_plugins.english.words import PLEASANTRIES, STOP_WORDS, stem
from tidal_plugins.model.recall import Coverage
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.context import dated
from tidal_plugins.scoring.text import terms

NEW_WORDS = 3
"""Words that a text without a name may have beyond the query's to lead on by them: what is short says one thing."""

_LARGE = r"(?<!\w)[^\W\d_a-z][\w'’-]*"
_NAME = lazy_re(rf"{_LARGE}(?: {_LARGE})*")
_TOKEN = lazy_re(r"(?<![^\W_])[^\W_]++(?:[-_./:]++[^\W_]++)*+")
_IDENTIFIER = lazy_re(r"[_./:]|\d|[a-z][A-Z]|-[A-Z]")
_LONGEST = 64
"""Characters of an identifier; what is longer is data."""
_POSSESSIVE = lazy_re(r"['’]s?$")
_SUBJECT = 1
"""Rank of a name that begins a sentence, where any word is written large: it leads on after the others."""
_NAMELESS = 2
"""Rank of what leads on without a name."""


class Lead(NamedTuple):
    """A further query: a name that a text brings up, or its new words, with the words that the text lacks."""

    apart: bool
    open: int
    rank: int
    place: int
    name: str
    gap: tuple[str, ...]


class HeuristicAssessor:
    """Assesses coverage without a model.

    A query is covered where one text has all of its words. Else what a text says of some of them names somebody or
    something new, and that name is asked for together with the words that the text leaves open: of «What does Ada's
    sister play?» the text «Maria is Ada's sister» leads to «Maria play». Texts that name whom the query names lead
    first, and those that name who is named there; then those that leave least open.
    """

    def assess(self, query: str, texts: Sequence[str]) -> Coverage:
        """Return what ``texts`` leave open; linear in their length."""
        wanted = _stems(query)
        covered = [wanted.keys() & _stems(text).keys() for text in texts]
        if not wanted or any(len(found) == len(wanted) for found in covered):
            return Coverage()
        open_ = tuple(word for root, word in wanted.items() if not any(root in found for found in covered))
        leads = dict.fromkeys(f"{lead.name} {' '.join(lead.gap)}" for lead in sorted(_leads(query, texts)))
        return Coverage(open_ or tuple(wanted.values()), tuple(leads))


def _leads(query: str, texts: Sequence[str]) -> Iterator[Lead]:
    wanted = _stems(query)
    named = {root for name, _ in _names(query) for root in _stems(name)}
    anchors = named or set(wanted)
    stems = [_stems(text) for text in texts]
    names = [list(_names(text)) for text in texts]
    near = [not anchors.isdisjoint(found) for found in stems]
    known = {
        root for found, there in zip(names, near, strict=True) if there for name, _ in found for root in _stems(name)
    }
    for place, (found, there) in enumerate(zip(stems, near, strict=True)):
        linked = there or not known.isdisjoint(found)
        gap = tuple(word for root, word in wanted.items() if root not in found and root not in named)
        if not gap or not (linked or not wanted.keys().isdisjoint(found)):
            continue
        fresh = [(name, first) for name, first in names[place] if wanted.keys().isdisjoint(_stems(name))]
        for name, first in fresh:
            yield Lead(not linked, len(gap), _SUBJECT if first else 0, place, name, gap)
        new = [word for root, word in found.items() if root not in wanted]
        if not fresh and 0 < len(new) <= NEW_WORDS:
            yield Lead(not linked, len(gap), _NAMELESS, place, " ".join(new), gap)


def _names(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the names in a text, each with whether it begins a sentence.

    A name is known by its form: capitalised words, or an identifier.
    """
    starts = {start for start, _ in sentences(text)}
    for match in _NAME.finditer(text):
        first = match.start() in starts
        words = [_POSSESSIVE.sub("", word) for word in match[0].split()]
        if not words[0][:1].isupper():
            continue
        while words and (words[0].lower() in STOP_WORDS | PLEASANTRIES or not terms(words[0])):
            words, first = words[1:], False
        if words and not dated(" ".join(words)) and words != ["May"]:
            yield " ".join(words), first
    for match in _TOKEN.finditer(text):
        if (
            match.end() - match.start() <= _LONGEST
            and _IDENTIFIER.search(match[0])
            and re.search("[^\\W\\d_]{2}", match[0])
        ):
            yield match[0], False


def _stems(text: str) -> dict[str, str]:
    """Return the words of a text by their stems."""
    return {stem(word): word for word in terms(text)}
