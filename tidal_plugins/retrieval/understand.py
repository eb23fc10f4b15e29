"""First step of a recall: the text of a request as words, names, times and a vector, and the mood it is read in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidal_plugins.embedding.identity import QueryVector, StoreEmbedder
from tidal_plugins.english.moods import MARKS
from tidal_plugins.english.sentences import sentences
from tidal_plugins.english.times import Event, Period, event, periods
from tidal_plugins.english.words import PLEASANTRIES
from tidal_plugins.language.tagger import tag
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.sentence import SentenceTags
from tidal_plugins.patterns import lazy_re
from tidal_plugins.retrieval.request import MAX_CHARS, Request
from tidal_plugins.scoring.text import terms
from tidal_plugins.storage.base import Corpus
from tidal_plugins.tuning import Tuning

ASKS = 0.15
"""Chance of a question or a request from which on a turn may ask for something."""

SOCIAL = 0.5
"""Chance of a mere phrase from which on a sentence may ask for no memory."""

ROLES = frozenset({"user", "human", "assistant", "ai", "agent", "bot", "system", "tool"})
"""Names that some frameworks give to speakers. They say nothing in a query."""


@dataclass(frozen=True, slots=True)
class Query:
    """A text as the channels search for it.

    ``terms`` are distinct and leave out the names of speakers. ``meaning`` is the text to embed, likewise without them.
    ``names`` are the speakers of the scope that the text names. ``goes_on`` says whether it goes on with something
    begun earlier, and does more than ask, ``only_tells`` whether it asks for nothing, and ``is_social`` whether all of
    it is thanks, greetings and the like.
    """

    text: str
    terms: tuple[str, ...]
    meaning: str
    names: frozenset[str]
    goes_on: bool
    only_tells: bool
    is_social: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A request that was understood: everything that is known before the store is searched.

    ``times`` are those that the text names. If it names an ``event`` instead, as in «before the move», its time is that
    of the memory nearest to ``event_query``, whose vector is ``event_vector``.
    """

    request: Request
    query: Query
    corpus: Corpus
    embedded: QueryVector
    affect: Affect
    times: Sequence[Period] = ()
    event: Event | None = None
    event_query: Query | None = None
    event_vector: QueryVector | None = None

    def current(self, embedder: StoreEmbedder) -> Question:
        """Return the question with vectors made anew if the open snapshot sees a store that was re-embedded since."""
        embedded = embedder.current(self.embedded, self.query.meaning)
        return self if embedded is self.embedded else replace(self, embedded=embedded)


def understand(request: Request, query: Query, corpus: Corpus, embedder: StoreEmbedder, settings: Tuning) -> Question:
    """Return a request with its vector, its mood and the times that it names.

    The text is embedded unless the request brings its vector. The mood is read off the vector if the request asks for
    that. Times are used by the profile ``balanced`` alone.
    """
    known = request.vector
    embedded = embedder.embed_queries([query.meaning], checked=False)[0] if known is None else known
    affect = request.affect if request.felt is None else request.felt(embedded.vector)
    if request.profile != "balanced" or not settings.recall.time:
        return Question(request, query, corpus, embedded, affect)
    times = periods(request.text, request.now.astimezone(settings.zone))
    if times or not (named := event(request.text)):
        return Question(request, query, corpus, embedded, affect, times)
    about = to_query(named.name, ())
    [vector] = embedder.embed_queries([about.meaning])
    return Question(request, query, corpus, embedded, affect, (), named, about, vector)


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
    said = [text[start:end] for start, end in sentences(text)]
    marked, again = any(mark in one for one in said for mark in MARKS), _CONTINUING.search(text) is not None
    phrase = not PLEASANTRIES.isdisjoint(words) or sum(map(_is_foreign, text)) > sum(map(str.isalpha, text)) / 2
    read = tag(said) if again or phrase or not marked else ()  # of a plain question nothing more is asked
    social = phrase and all(one.scores["social"] >= SOCIAL for one in read)
    goes_on, asks = again and not all(one.act == "question" for one in read), marked or any(map(_asks, said, read))
    return Query(text, words, " ".join(meaning.split()), frozenset(named), goes_on, not (again or asks), social)


def _is_foreign(character: str) -> bool:
    """Return whether a character is a letter of a script that the tagger was not fitted on."""
    return character > "ɏ" and character.isalpha()


def _asks(said: str, read: SentenceTags) -> bool:
    return read.scores["question"] + read.scores["request"] >= ASKS or _UNKNOWN.search(said) is not None


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?:['’]s)?(?!\w)", re.IGNORECASE)


_CONTINUING = lazy_re(
    r"\b(?:we|we['’](?:ve|re|d|ll)|us|our|let['’]?s|again|back|next|continue|resume|ready|still)\b", re.IGNORECASE
)
"""Words for what both sides share («we decided»), for coming back to it, and for its next step."""

_UNKNOWN = lazy_re(
    r"\b(?:not sure|no idea|wonder\w*|forg[eo]t(?:ten)?|ask(?:s|ed|ing)?"
    r"|(?:ca|do|does|did)n['’]t (?:remember|recall|know|find))\b",
    re.IGNORECASE,
)
"""Words for what somebody does not know, which a statement may tell: «I forgot where the key is»."""
