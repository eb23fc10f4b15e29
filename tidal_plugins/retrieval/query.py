"""A turn as a query: words for the keyword channel, a text for the vector channel, the people it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tidal_plugins.scoring.text import terms

MAX_CHARS = 4_000
"""Of a longer turn, its beginning is the query: an embedder reads no more."""
ROLES = frozenset({"user", "human", "assistant", "ai", "agent", "bot", "system", "tool"})
"""Names that some frameworks give to speakers, and that say nothing when a query has them."""


@dataclass(frozen=True, slots=True)
class Query:
    """``terms`` are distinct and leave out the names of speakers; ``meaning`` is the text to embed, likewise without
    them; ``names`` are the speakers of the scope that it names."""

    text: str
    terms: tuple[str, ...]
    meaning: str
    names: frozenset[str]


def understand(text: str, speakers: Sequence[str]) -> Query:
    """Read a turn.

    The names of participants are taken out of what is searched for: in a conversation between two people half of all
    turns carry each name, so that a word or a vector near the name says nothing about the topic.
    """
    text = text[:MAX_CHARS]
    folded = text.casefold()
    people = [name for name in speakers if name.casefold() in folded and name.casefold() not in ROLES and terms(name)]
    named = {name: pattern for name in people if (pattern := _pattern(name)).search(text)}
    meaning = text
    for pattern in named.values():
        meaning = pattern.sub(" ", meaning)
    if not terms(meaning):
        meaning = text  # somebody asks about nothing but a person
    return Query(text, tuple(dict.fromkeys(terms(meaning))), " ".join(meaning.split()), frozenset(named))


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?:['’]s)?(?!\w)", re.IGNORECASE)
