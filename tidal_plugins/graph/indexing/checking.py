"""Checks of what an extractor read: nothing is indexed that the text does not support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.records.entities import Place
from tidal_plugins.graph.records.names import bare, is_speaker, spoken, stands_in
from tidal_plugins.model.clock import aware
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.graph import WORD, Assertion, Category, Extraction, Mention, Reading
from tidal_plugins.shown import shown
from tidal_plugins.tuning import GraphTuning

CATEGORIES = frozenset(get_args(Category))


@dataclass(frozen=True, slots=True)
class Supported:
    """The part of a reading that its message supports, and how many mentions and assertions were ``dropped``."""

    place: Place
    mentions: Sequence[Mention]
    assertions: Sequence[Assertion]
    dropped: int


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
    )
    given_mentions = [_mention(m, message, speaker, settings) for m in found.mentions[: settings.max_mentions]]
    given_assertions = [_assertion(a, message, speaker, settings) for a in found.assertions[: settings.max_assertions]]
    mentions = [mention for mention in given_mentions if mention is not None]
    assertions = [assertion for assertion in given_assertions if assertion is not None]
    dropped = len(found.mentions) + len(found.assertions) - len(mentions) - len(assertions)
    return Supported(place, mentions, assertions, dropped)


def _mention(mention: object, message: Message, speaker: str, settings: GraphTuning) -> Mention | None:
    """Return a mention under its entity's name, or ``None`` if its span does not support it."""
    if not isinstance(mention, Mention) or not _spans(mention.start, mention.end, message.text):
        return None
    if not isinstance(mention.name, str) or not bare(mention.name) or len(mention.name) > settings.max_name:
        return None
    if not isinstance(mention.type, str) or not WORD.fullmatch(mention.type) or mention.category not in CATEGORIES:
        return None
    if not is_speaker(mention) and not stands_in(mention.name, message.text[mention.start : mention.end]):
        return None
    return replace(mention, name=spoken(mention, speaker))


def _assertion(said: object, message: Message, speaker: str, settings: GraphTuning) -> Assertion | None:
    """Return an assertion with its entities' names, or ``None`` if the text does not support it or its times are
    not in order."""
    if not isinstance(said, Assertion) or not _spans(said.start, said.end, message.text):
        return None
    subject, object_ = (_mention(end, message, speaker, settings) for end in (said.subject, said.object))
    if subject is None or object_ is None or not isinstance(said.predicate, str):
        return None
    if not WORD.fullmatch(said.predicate) or not _certain(said.confidence):
        return None
    try:
        begins, ends = (time and aware(time) for time in (said.valid_from, said.valid_until))
    except InvalidInput:
        return None
    if ends and ends <= (begins or message.at or ends.min.replace(tzinfo=ends.tzinfo)):
        return None
    return replace(said, subject=subject, object=object_, valid_from=begins, valid_until=ends)


def _spans(start: object, end: object, text: str) -> bool:
    return type(start) is int and type(end) is int and 0 <= start < end <= len(text) and not text[start:end].isspace()


def _certain(confidence: object) -> bool:
    return isinstance(confidence, int | float) and not isinstance(confidence, bool) and 0 < confidence <= 1
