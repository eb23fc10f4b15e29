"""Checks of what an extractor read: nothing is indexed that the text does not support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import get_args

from tidal_plugins.english.dates import named_days
from tidal_plugins.english.sentences import sentences
from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.reading.vocabulary import PRONOUNS
from tidal_plugins.graph.records.entities import Place
from tidal_plugins.graph.records.names import bare, is_in_talk, is_speaker, spoken, stands_in
from tidal_plugins.model.clock import aware
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.graph import WORD, Assertion, Category, Extraction, Mention, Reading
from tidal_plugins.shown import shown
from tidal_plugins.tuning import GraphTuning

DAY = timedelta(days=1)

CATEGORIES = frozenset(get_args(Category))

OF_PEOPLE = frozenset(
    (
        "likes dislikes prefers wants plans owns has_pet lives_in from_place works_at works_as studies attends "
        "visited plays takes diet age_is has_condition allergic_to appointment"
    ).split()
)
"""Predicates of what only people are, have, like and mean to do."""


@dataclass(frozen=True, slots=True)
class Supported:
    """The part of a reading that its message supports, and how many mentions and assertions were ``dropped``."""

    place: Place
    mentions: Sequence[Mention]
    assertions: Sequence[Assertion]
    dropped: int
    parsed: bool = False


def supported(episode: Episode, reading: Reading, settings: GraphTuning) -> Supported:
    """Return the part of a reading that its message supports. Raises ``InvalidInput`` for what is no extraction."""
    if not isinstance(reading, Reading) or not 0 <= reading.position < len(episode.messages):
        raise InvalidInput(f"a Reading names a message of the episode and what was read in it, got {shown(reading)}")
    found = reading.extraction
    if not isinstance(found, Extraction):
        raise InvalidInput(f"an extractor must return an Extraction for each text, got {type(found).__name__}")
    message = episode.messages[reading.position]
    speaker = message.speaker or message.role
    place = Place(
        episode=episode.id,
        position=reading.position,
        entry=reading.entry,
        thread=episode.thread,
        speaker=speaker,
        at=message.at or episode.occurred_at,
        call=reading.call,
        reader=reading.reader,
    )
    said = _Said(
        _text(message, reading),
        speaker,
        _addressed(episode, reading.position, speaker),
        place.at,
        settings,
        reading.parsed,
        tuple(message.text for message in episode.messages[: reading.position]),
        reading.elsewhere,
    )
    given_mentions = [_mention(mention, said) for mention in found.mentions[: settings.max_mentions]]
    given_assertions = [_assertion(assertion, said) for assertion in found.assertions[: settings.max_assertions]]
    mentions = [mention for mention in given_mentions if mention is not None]
    assertions = [assertion for assertion in given_assertions if assertion is not None]
    dropped = len(found.mentions) + len(found.assertions) - len(mentions) - len(assertions)
    return Supported(place, mentions, assertions, dropped, reading.parsed)


def _text(message: Message, reading: Reading) -> str:
    """Return the text that the spans of a reading are those of."""
    if reading.call is None:
        return message.text
    return message.tool_calls[reading.call].text if 0 <= reading.call < len(message.tool_calls) else ""


@dataclass(frozen=True, slots=True)
class _Said:
    """A text with its ``speaker``, the one ``addressed`` by it, if that is known, and its time."""

    text: str
    speaker: str
    addressed: str | None
    at: datetime
    settings: GraphTuning
    parsed: bool
    earlier: tuple[str, ...]
    """What the episode has said before, where somebody may be named who is «she» here."""
    elsewhere: frozenset[str] = frozenset()


def _addressed(episode: Episode, position: int, speaker: str) -> str | None:
    """Return who is spoken to in a message: the other person or role of the episode who spoke last before it."""
    before = reversed(episode.messages[:position])
    others = (message.speaker or message.role for message in before if message.role in ("user", "assistant"))
    return next((other for other in others if other != speaker), None)


def _mention(mention: object, said: _Said) -> Mention | None:
    """Return a mention under its entity's name, or ``None`` if its span does not support it."""
    text, settings = said.text, said.settings
    if not isinstance(mention, Mention) or not _spans(mention.start, mention.end, text):
        return None
    if not isinstance(mention.name, str) or not bare(mention.name) or len(mention.name) > settings.max_name:
        return None
    if not isinstance(mention.type, str) or not WORD.fullmatch(mention.type) or mention.category not in CATEGORIES:
        return None
    if said.parsed:
        return mention
    if not is_in_talk(mention) and not _is_named(mention, said):
        return None
    name = spoken(mention, said.speaker, said.addressed)
    return replace(mention, name=name) if name else None


def _is_named(mention: Mention, said: _Said) -> bool:
    """Return whether a name stands in its span, or elsewhere if it may: in an earlier message if its span is a
    pronoun."""
    words = said.text[mention.start : mention.end]
    if mention.name in said.elsewhere or stands_in(mention.name, words):
        return True
    return words.casefold() in PRONOUNS and any(stands_in(mention.name, text) for text in said.earlier)


def _assertion(assertion: object, said: _Said) -> Assertion | None:
    """Return an assertion with its entities' names, or ``None`` if the text does not support it or its times are
    not in order."""
    if not isinstance(assertion, Assertion) or not _spans(assertion.start, assertion.end, said.text):
        return None
    subject, object_ = (_mention(end, said) for end in (assertion.subject, assertion.object))
    if subject is None or object_ is None or not isinstance(assertion.predicate, str):
        return None
    if not WORD.fullmatch(assertion.predicate) or not _certain(assertion.confidence):
        return None
    own = is_speaker(assertion.subject) or is_speaker(assertion.object)
    if (
        said.speaker == "assistant"
        and own
        and (assertion.predicate in OF_PEOPLE or assertion.predicate.endswith("_of"))
    ):
        return None  # an assistant without a name has no home and no taste; «I» in a draft is somebody else
    try:
        begins, ends = (time and aware(time) for time in (assertion.valid_from, assertion.valid_until))
    except InvalidInput:
        return None
    if assertion.ended:
        ends = ends or _last_day(assertion, said)
    elif ends and ends <= (begins or said.at):
        return None
    return replace(assertion, subject=subject, object=object_, valid_from=begins, valid_until=ends)


def _last_day(assertion: Assertion, said: _Said) -> datetime:
    """Return when a relation ends that a text calls over: on the first later day that its sentence names, or now."""
    text = said.text
    start, end = next(span for span in sentences(text) if span[1] > assertion.start)
    days = (datetime.combine(day, time(), said.at.tzinfo) for day in named_days(text[start:end], said.at))
    return min((day + DAY for day in days if day + DAY > said.at), default=said.at)


def _spans(start: object, end: object, text: str) -> bool:
    return type(start) is int and type(end) is int and 0 <= start < end <= len(text) and not text[start:end].isspace()


def _certain(confidence: object) -> bool:
    return isinstance(confidence, int | float) and not isinstance(confidence, bool) and 0 < confidence <= 1
