"""First step of a recall: a request, checked once, and its text as words, names, times and a vector, and the mood it is
read in."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Self, get_args

from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.embedding.identity import QueryVector, StoreEmbedder
from tidal_plugins.english.moods import MARKS
from tidal_plugins.english.sentences import sentences
from tidal_plugins.english.times import Event, Period, event, periods
from tidal_plugins.english.words import PLEASANTRIES
from tidal_plugins.errors import InvalidInput
from tidal_plugins.language.tagger import tag
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import EPISODE, FACT, GRAPH_CHANNEL, KINDS, Filter, Scope, bare_id
from tidal_plugins.model.sentence import SentenceTags
from tidal_plugins.patterns import lazy_re
from tidal_plugins.retrieval.weights import RecallTuning, WhisperTuning
from tidal_plugins.scoring.text import terms
from tidal_plugins.settings import Profile, Settings
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Corpus, Where
from tidal_plugins.validation import MAX_LABEL, check_choice, check_flag, check_int, clean, is_unicode, mapping

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.embedding.identity import QueryVector

MAX_CHARS = 4_000
"""Characters of a turn that are read as a query: an embedder reads no more."""
MAX_LIMIT = 1000
"""Hits that one recall may return."""
MAX_FILTER_BYTES = 64 * 1024
"""Bytes of the metadata in a filter, as JSON: as many as metadata may have."""
MAX_FILTER_NAMES = 10_000
"""Names of one sort in a filter, such as threads or ids to leave out: a recall with as many took 12 ms longer."""
MAX_WINDOW = 50
"""Turns before and after a hit that one recall may return with it."""
HOT = "hot"
"""The profile of a recall without a query."""

MAX_HOPS = 10
"""Hops that one recall may take."""


@dataclass(frozen=True, slots=True)
class Request:
    """A question to a store: up to ``limit`` entries for ``text`` that pass ``where``, in one scope.

    ``affect`` is the mood that influences the order. A request that gives ``mood`` takes the current one from there
    (:meth:`now_felt`), and a whisper gives ``felt``, which reads it off that and the text's vector. ``associative``
    appends entries that are associated with the hits, beyond the limit. ``session`` is the one whose signals influence
    this recall, in addition to those of the scope. ``window`` is the number of turns before and after each hit that
    come with it. ``vector`` is that of ``text``, if it is known. ``hops`` is the number of hops of the whole recall.
    """

    scope: Scope
    text: str
    where: Where
    now: datetime
    limit: int
    affect: Affect = Affect()
    profile: str = "balanced"
    associative: bool = False
    session: int | None = None
    window: int = 0
    hops: int = 1
    vector: QueryVector | None = None
    mood: AffectLoop | None = None
    felt: Callable[[Affect, NDArray[np.float32]], Affect] | None = None

    @classmethod
    def of(
        cls,
        scope: Scope,
        query: str | None,
        now: datetime,
        settings: Settings,
        mood: AffectLoop,
        filter: Mapping[str, Any],
        *,
        limit: int | None,
        window: int,
        hops: int | None,
        associative: bool,
        as_of: datetime | None,
        session: int | None,
        affect: Affect | None,
        profile: str | None,
    ) -> Self:
        """Return the request of ``TidalMemory.recall``, whose arguments these are. Raises ``InvalidInput``."""
        filter, now = checked_filter(filter, "recall"), now if as_of is None else aware(as_of, "as_of")
        kinds = filter.get("kinds")
        graph = kinds is not None and FACT in _kinds(kinds)  # they are found only by their kind
        where = active(now, **filter, as_of=as_of and now, graph=graph)
        hops = check_int(settings.recall.hops if hops is None else hops, "hops", 1, MAX_HOPS)
        hot = isinstance(profile, str) and profile == HOT  # an array compares with each of its elements
        if query is None or hot:
            if query is not None or not (hot or profile is None):
                raise InvalidInput(f"the profile {HOT} ranks without a query, and the others need one")
            profile, hops, associative = HOT, 1, False  # there is nothing to lead on from
        else:
            profile = _checked_profile(settings.recall.profile if profile is None else profile)
        return cls(
            scope,
            "" if query is None else checked_query(query, settings),
            where,
            now,
            checked_limit(settings.recall.limit if limit is None else limit),
            affect=_given_mood(affect),
            profile=profile,
            associative=check_flag(associative, "associative"),
            session=session,
            window=check_int(window, "window", 0, MAX_WINDOW),
            hops=hops,
            mood=mood if affect is None and as_of is None else None,
        )

    @classmethod
    def of_turn(
        cls,
        scope: Scope,
        turn: str,
        now: datetime,
        settings: Settings,
        mood: AffectLoop,
        *,
        exclude: Collection[str],
        session: int | None,
        affect: Affect | None,
        as_of: datetime | None = None,
        profile: str | None = None,
    ) -> Self:
        """Return the request of ``TidalMemory.whisper``, whose arguments these are. Raises ``InvalidInput``."""
        turn = clean(turn.strip()[:MAX_CHARS] if isinstance(turn, str) else turn, max_chars=MAX_CHARS, name="a turn")
        now = now if as_of is None else aware(as_of, "as_of")
        return cls(
            scope,
            turn,
            active(now, exclude=exclude, as_of=as_of and now),
            now,
            max(settings[WhisperTuning].candidates, settings.whisper.max_entries),
            affect=_given_mood(affect),
            profile=_checked_profile(settings.recall.profile if profile is None else profile),
            session=session,
            mood=mood if affect is None and as_of is None else None,
            felt=partial(mood.felt, turn) if affect is None else None,
        )

    def now_felt(self) -> Self:
        """Return the request with the current mood, if it takes that: read in the open snapshot, for one statement."""
        return self if self.mood is None else replace(self, affect=self.mood.current(self.scope, self.now), mood=None)


def active(
    now: datetime,
    *,
    kinds: Collection[str] | None = None,
    threads: Collection[str] | None = None,
    speakers: Collection[str] | None = None,
    sources: Collection[str] | None = None,
    tags: Collection[str] | None = None,
    metadata: Mapping[str, str | int | float | bool | None] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    as_of: datetime | None = None,
    exclude: Collection[str] = (),
    include_archived: bool = False,
    graph: bool = False,
) -> Where:
    """Return the filter of entries that are valid and not archived now, or raise ``InvalidInput``.

    ``as_of`` asks for the entries that were known and valid then. ``graph`` includes the entries of the graph. They are
    excluded by default because they were read out of texts, and would take the places of those texts.
    """
    return Where(
        kinds=_kinds(kinds),
        threads=_names(threads, "threads"),
        speakers=_names(speakers, "speakers"),
        sources=_names(sources, "sources"),
        tags=_names(tags, "tags"),
        metadata=_metadata(metadata),
        since=None if since is None else aware(since, "since"),
        until=None if until is None else aware(until, "until"),
        known_at=as_of,
        active_at=as_of or now,
        include_archived=check_flag(include_archived, "include_archived"),
        exclude=[bare_id(id_) for id_ in _names(exclude, "exclude") or ()],
        not_channels=() if graph else (GRAPH_CHANNEL,),
    )


def visible(where: Where) -> Where:
    """Return the part of a filter that says which entries are visible at all, without the caller's own wishes."""
    return Where(
        known_at=where.known_at,
        active_at=where.active_at,
        include_archived=where.include_archived,
        exclude=where.exclude,
        not_channels=where.not_channels,
    )


def checked_limit(limit: int) -> int:
    """Return a limit as it is, or raise ``InvalidInput``."""
    return check_int(limit, "limit", 1, MAX_LIMIT)


def limit_of(k: int | None, limit: int | None) -> int | None:
    """Return the limit that a framework gave under either name, or ``None``. Raises ``InvalidInput``, naming it."""
    if k is not None and limit is not None:
        raise InvalidInput("k= and limit= mean the same; give one of them")
    if k is not None:
        return check_int(k, "k", 1, MAX_LIMIT)
    return None if limit is None else checked_limit(limit)


def checked_query(text: str, settings: Settings) -> str:
    """Return a query as it is stored, or raise ``InvalidInput``."""
    return clean(text, max_chars=settings.recording.max_chars, name="a query")


def checked_filter(given: Mapping[str, Any], function: str) -> Mapping[str, Any]:
    """Return a filter whose fields all exist, or raise ``TypeError`` as Python does for an unknown argument."""
    for name in given:
        if name not in Filter.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {shown(name)}")
    return given


def _checked_profile(profile: str) -> str:
    check_choice(profile, "profile", get_args(Profile))
    return profile


def _given_mood(affect: Affect | None) -> Affect:
    """Return the mood that a request gives; none where it gives none."""
    if affect is not None and not isinstance(affect, Affect):
        raise InvalidInput(f"affect must be an Affect(valence, arousal), got {shown(affect)}")
    return affect or Affect()


def _kinds(kinds: Collection[str] | None) -> Collection[str]:
    if kinds is None:
        return KINDS
    known = [*KINDS, EPISODE]
    several = isinstance(kinds, Collection) and not isinstance(kinds, str)
    if not several or not all(isinstance(kind, str) and kind in known for kind in kinds):
        raise InvalidInput(f"kinds must be a set of {', '.join(sorted(known))}, got {shown(kinds)}")
    return tuple(kinds)


def _metadata(metadata: Mapping[str, str | int | float | bool | None] | None) -> Mapping[str, Any]:
    return {} if metadata is None else mapping(metadata, "metadata", MAX_FILTER_BYTES)


def _names(values: Collection[str] | None, name: str) -> Collection[str] | None:
    if values is None:
        return None
    several = isinstance(values, Collection) and not isinstance(values, str)
    if not several or not all(isinstance(value, str) for value in values):
        raise InvalidInput(f"{name} must be a collection of strings, got {shown(values)}")
    if len(values) > MAX_FILTER_NAMES:
        raise InvalidInput(
            f"{name} names {len(values):,} things, and a filter may name {MAX_FILTER_NAMES:,}: ask twice"
        )
    if not all(map(is_unicode, values)):
        raise InvalidInput(f"one of {name} holds a lone surrogate, which no stored name does: leave it out")
    if any(len(value) > MAX_LABEL for value in values):
        raise InvalidInput(f"each of {name} has at most {MAX_LABEL:,} characters, as stored names do: leave it out")
    return tuple(values)


# understanding


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


def understand(request: Request, query: Query, corpus: Corpus, embedder: StoreEmbedder, settings: Settings) -> Question:
    """Return a request with its vector, its mood and the times that it names.

    The text is embedded unless the request brings its vector. The mood is read off the vector if the request asks for
    that. Times are used by the profile ``balanced`` alone.
    """
    known = request.vector
    embedded = embedder.embed_queries([query.meaning], checked=False)[0] if known is None else known
    affect = request.affect if request.felt is None else request.felt(request.affect, embedded.vector)
    if request.profile != "balanced" or not settings[RecallTuning].time:
        return Question(request, query, corpus, embedded, affect)
    times = periods(request.text, request.now.astimezone(settings.zone))
    told = query.only_tells  # «I'm tired since I slept badly» gives a reason
    if times or told or not (named := event(request.text)):
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
