"""Checks of what an extractor read: nothing is indexed that the text does not support.

A file is one entity by its place below the project's root, however much of its path a text says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import get_args

from tidal_plugins.actions.paths import absolute
from tidal_plugins.english.dates import named_days
from tidal_plugins.english.sentences import sentences
from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.code.reader import CodeReading
from tidal_plugins.graph.indexing.stale import mark_around
from tidal_plugins.graph.reading.mentions import PRONOUNS
from tidal_plugins.graph.records.entities import (
    MAX_ENDS,
    Place,
    bare,
    entity_id,
    files_called,
    is_in_talk,
    is_speaker,
    nodes,
    spoken,
    stands_in,
)
from tidal_plugins.graph.records.merging import join, merges, undo_merge
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.graph import WORD, Assertion, Category, Extraction, Mention, Reading
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import GraphTuning


def with_full_paths(storage: Storage, scope: Scope, readings: Sequence[Reading], code: CodeReading) -> dict[str, str]:
    """Return the files that the readings name by a part of their path, with their whole paths below the root.

    A part that two files end with stands for itself: packages of a monorepo have files of the same name.
    """
    said = {bare(mention.name) for reading in readings for mention in _mentions(reading) if mention.type == "file"}
    if not said:
        return {}
    full = {path: code.project.place(path) for path in said if absolute(path)}
    ids = files_called(storage, scope, {full.get(path, path) for path in said})
    known = nodes(storage, scope, {id_ for many in ids.values() for id_ in many})
    found = {}
    for path in said:
        part = full.get(path, path)
        names = {known[id_].name for id_ in ids.get(part, ()) if id_ in known and known[id_].type == "file"}
        whole = {name for name in names | code.paths if name.endswith(f"/{part}")}
        alone = len(whole) == 1 and part not in code.paths and code.project.file(part) is None
        found[path] = next(iter(whole)) if alone else part
    return {path: name for path, name in found.items() if name != path}


def renamed(mentions: Iterable[Mention], paths: dict[str, str]) -> list[Mention]:
    return [_renamed(mention, paths) for mention in mentions]


def renamed_ends(assertions: Collection[Assertion], paths: dict[str, str]) -> list[Assertion]:
    return [
        replace(said, subject=_renamed(said.subject, paths), object=_renamed(said.object, paths)) for said in assertions
    ]


def _renamed(mention: Mention, paths: dict[str, str]) -> Mention:
    if mention.type != "file" or bare(mention.name) not in paths:
        return mention
    return replace(mention, name=paths[bare(mention.name)])


def _mentions(reading: Reading) -> Iterable[Mention]:
    if reading.parsed:
        return ()
    ends = (end for said in reading.extraction.assertions for end in (said.subject, said.object))
    return (*reading.extraction.mentions, *ends)


def join_shorter(storage: Storage, scope: Scope, code: CodeReading, now: datetime) -> None:
    """Merge files that were only said by the end of their path with the new files that they turn out to be.

    An end that two files share stands for neither: a merge from the time when there was one is undone. A merge that a
    user has undone is not made again. Call it in the transaction that writes the new files.
    """
    ends = {end for path in code.project.new() for end in _ends(path)}
    code.project.load(ends)
    ends = {end for end in ends if code.project.file(end) is None}
    said = {_id(scope, end): end for end in ends}
    there = {id_: said[id_] for id_, node in nodes(storage, scope, said).items() if node.type == "file"}
    if not there:
        return
    all_called = files_called(storage, scope, there.values())
    known = nodes(storage, scope, {id_ for many in all_called.values() for id_ in many})
    made = {(merge.kept, merge.absorbed): merge for merge in merges(storage, scope)}
    for id_, end in there.items():
        whole = {
            other
            for other in all_called[end]
            if other in known.keys() - there.keys() and known[other].name.endswith(f"/{end}")
        }
        held = [merge for (_, absorbed), merge in made.items() if absorbed == id_ and merge.undone_at is None]
        if len(whole) > 1:
            for merge in held:
                undo_merge(storage, scope, merge.id, now)
                mark_around(storage, scope, now, [merge.kept, merge.absorbed])
        elif whole and not held and (next(iter(whole)), id_) not in made:
            join(storage, scope, next(iter(whole)), id_, now)
            mark_around(storage, scope, now, [*whole, id_])


def _ends(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(1, len(parts)) if parts[start]][-MAX_ENDS:]


def _id(scope: Scope, path: str) -> str:
    return entity_id(scope, Mention(path, "file", "technical", 0, 0))


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
