"""Rules that assess which parts of a query texts leave open, and which names in them lead further."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tidal_plugins.model.recall import Coverage
from tidal_plugins.retrieval.small_talk import COURTESY
from tidal_plugins.scoring.context import dated
from tidal_plugins.scoring.text import STOP_WORDS, sentences, terms

NEW_WORDS = 3
"""Words beyond the query's up to which a text without a name leads on by them: a short text says one thing."""

_LARGE = r"(?<!\w)[^\W\d_a-z][\w'’-]*"
_NAME = re.compile(rf"{_LARGE}(?: {_LARGE})*")
_TOKEN = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_./:]++[^\W_]++)*+")
_IDENTIFIER = re.compile(r"[_./:]|\d|[a-z][A-Z]|-[A-Z]")
_LONGEST = 64
"""Characters up to which a token is an identifier. A longer one is data."""
_POSSESSIVE = re.compile(r"['’]s?$")
_SUFFIX = re.compile(r"(?<=...)(?:ing|ed|es|s|e)$")
_SUBJECT = 1
"""The rank of a name that begins a sentence, where any word has a capital. It leads on after the others."""
_NAMELESS = 2
"""The rank of a lead without a name."""


class Lead(NamedTuple):
    """A name that a text brings up, or its new words, with the ``gap``: the query's words that the text lacks."""

    apart: bool
    open: int
    rank: int
    place: int
    name: str
    gap: tuple[str, ...]


class HeuristicAssessor:
    """Assesses coverage without a model.

    A query is covered if one text has all of its words. Otherwise a text that has some of them may name somebody or
    something new. That name is asked for, together with the words that the text lacks: for «What does Ada's sister
    play?» the text «Maria is Ada's sister» leads to «Maria play». Texts that share a name with the query lead first,
    then texts that share a name with those, then the ones that lack the fewest words.
    """

    def assess(self, query: str, texts: Sequence[str]) -> Coverage:
        """Return which parts of the query ``texts`` leave open. The time is linear in their length."""
        wanted = _stems(query)
        covered = [wanted.keys() & _stems(text).keys() for text in texts]
        if not wanted or any(len(found) == len(wanted) for found in covered):
            return Coverage()
        open_ = tuple(word for stem, word in wanted.items() if not any(stem in found for found in covered))
        leads = dict.fromkeys(f"{lead.name} {' '.join(lead.gap)}" for lead in sorted(_leads(query, texts)))
        return Coverage(open_ or tuple(wanted.values()), tuple(leads))


def _leads(query: str, texts: Sequence[str]) -> Iterator[Lead]:
    wanted = _stems(query)
    named = {stem for name, _ in _names(query) for stem in _stems(name)}
    anchors = named or set(wanted)
    stems = [_stems(text) for text in texts]
    names = [list(_names(text)) for text in texts]
    near = [not anchors.isdisjoint(found) for found in stems]
    known = {
        stem for found, there in zip(names, near, strict=True) if there for name, _ in found for stem in _stems(name)
    }
    for place, (found, there) in enumerate(zip(stems, near, strict=True)):
        linked = there or not known.isdisjoint(found)
        gap = tuple(word for stem, word in wanted.items() if stem not in found and stem not in named)
        if not gap or not (linked or not wanted.keys().isdisjoint(found)):
            continue
        fresh = [(name, first) for name, first in names[place] if wanted.keys().isdisjoint(_stems(name))]
        for name, first in fresh:
            yield Lead(not linked, len(gap), _SUBJECT if first else 0, place, name, gap)
        new = [word for stem, word in found.items() if stem not in wanted]
        if not fresh and 0 < len(new) <= NEW_WORDS:
            yield Lead(not linked, len(gap), _NAMELESS, place, " ".join(new), gap)


def _names(text: str) -> Iterator[tuple[str, bool]]:
    """Yield capitalised words and identifiers of a text, each with whether it begins a sentence."""
    starts = {start for start, _ in sentences(text)}
    for match in _NAME.finditer(text):
        first = match.start() in starts
        words = [_POSSESSIVE.sub("", word) for word in match[0].split()]
        if not words[0][:1].isupper():
            continue
        while words and (words[0].lower() in STOP_WORDS | COURTESY or not terms(words[0])):
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
    """Return the words of a text by their rough stems: «plays» and «played» have the same."""
    return {_SUFFIX.sub("", word).replace("y", "i"): word for word in terms(text)}
