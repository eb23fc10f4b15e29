"""Stages that read the text of a request: as words, names and a vector, and the mood it is read in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tidal_plugins.retrieval.state import State
from tidal_plugins.scoring.context import goes_on, only_tells
from tidal_plugins.scoring.text import terms

MAX_CHARS = 4_000
"""Characters of a turn that are read as a query: an embedder reads no more."""
ROLES = frozenset({"user", "human", "assistant", "ai", "agent", "bot", "system", "tool"})
"""Names that some frameworks give to speakers. They say nothing in a query."""


@dataclass(frozen=True, slots=True)
class Query:
    """A text as the channels search for it.

    ``terms`` are distinct and leave out the names of speakers. ``meaning`` is the text to embed, likewise without them.
    ``names`` are the speakers of the scope that the text names. ``goes_on`` says whether it goes on with something
    begun earlier, and does more than ask, ``only_tells`` whether it asks for nothing.
    """

    text: str
    terms: tuple[str, ...]
    meaning: str
    names: frozenset[str]
    goes_on: bool
    only_tells: bool


def understand(state: State) -> None:
    """Read the words of the text and the people that it names."""
    state.statistics = state.store.storage.statistics(state.request.scope)
    state.query = to_query(state.request.text, state.statistics.speakers)


def embed(state: State) -> None:
    """Embed the text, unless the request brings its vector. ``check_vector`` checks by whom."""
    known, embedder = state.request.vector, state.store.embedder
    state.embedded = embedder.embed_queries([state.query.meaning], checked=False)[0] if known is None else known


def check_vector(state: State) -> None:
    """Embed the text anew if the store was re-embedded since."""
    state.embedded = state.store.embedder.current(state.embedded, state.query.meaning)


def feel(state: State) -> None:
    """Read the mood off the text's vector, if the request asks for that."""
    if state.request.felt is not None:
        state.affect = state.request.felt(state.embedded.vector)


def to_query(text: str, speakers: Sequence[str]) -> Query:
    """Return a text as a query.

    The names of participants are taken out of the terms and the meaning. In a conversation between two people half of
    all turns carry each name, so that a word or a vector near the name says nothing about the topic.
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
    words = tuple(dict.fromkeys(terms(meaning)))
    return Query(text, words, " ".join(meaning.split()), frozenset(named), goes_on(text), only_tells(text))


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?:['’]s)?(?!\w)", re.IGNORECASE)
