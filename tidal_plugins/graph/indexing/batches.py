"""Learning: what was read in an episode becomes entities, relations and their evidence [SIYA §3.3].

Nothing is learned that the text does not support: what an extractor invented is left out and counted. An episode that
says much is learned in parts, so that nobody waits long for the write lock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.records.entities import Named, Place, learn
from tidal_plugins.graph.records.merging import merged
from tidal_plugins.graph.records.names import bare, entity_id, is_speaker, spoken, stands_in
from tidal_plugins.graph.records.relations import (
    Times,
    Triple,
    known_among,
    new_row,
    numbered,
    piece,
    support,
    weighed,
)
from tidal_plugins.graph.records.validity import Validity
from tidal_plugins.model.clock import aware, to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.graph import WORD, Applied, Assertion, Category, Extraction, Mention, Reading
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import GraphTuning

CATEGORIES = frozenset(get_args(Category))


Said = tuple[Triple, Assertion]


@dataclass(frozen=True, slots=True)
class Lesson:
    """Part of what one message names and says: what it says comes after all that it names."""

    place: Place
    named: tuple[Named, ...] = ()
    said: tuple[Said, ...] = ()

    def __len__(self) -> int:
        return len(self.named) + len(self.said)


def apply(
    storage: Storage,
    scope: Scope,
    episode: Episode,
    readings: Sequence[Reading],
    now: datetime,
    settings: GraphTuning,
) -> Applied:
    """Learn what was read in an episode, whole or not at all. Once more it changes nothing but what is new in it.

    Joins a transaction that is open. Spans are positions in the message's text. Raises ``InvalidInput`` for what is no
    extraction.
    """
    parts, dropped = lessons(scope, episode, readings, settings)
    done = take_in(storage, scope, [lesson for part in parts for lesson in part], now, settings)
    return replace(done, dropped=dropped)


def lessons(
    scope: Scope, episode: Episode, readings: Sequence[Reading], settings: GraphTuning
) -> tuple[list[list[Lesson]], int]:
    """Return what was read in an episode, in parts of ``settings.slice`` things at most, to be taken in one after the
    other; and how much of it the text does not support. Nothing is stored."""
    checked = [_checked(episode, reading, settings) for reading in readings]
    parts: list[list[Lesson]] = []
    for place, mentions, assertions, _ in checked:
        for lesson in _lessons(scope, place, mentions, assertions, settings.slice):
            if parts and sum(map(len, parts[-1])) + len(lesson) <= settings.slice:
                parts[-1].append(lesson)
            else:
                parts.append([lesson])
    return parts, sum(dropped for *_, dropped in checked)


def take_in(storage: Storage, scope: Scope, lessons: Iterable[Lesson], now: datetime, settings: GraphTuning) -> Applied:
    """Learn a part of an episode in one transaction. Once more it changes nothing."""
    with storage.transaction():
        learner = _Learner(storage, scope, settings.functional, now)
        for lesson in lessons:
            learner.learn(lesson)
    return Applied(tuple(learner.entities), tuple(learner.relations))


def _lessons(
    scope: Scope, place: Place, mentions: Iterable[Mention], assertions: Sequence[Assertion], size: int
) -> Iterator[Lesson]:
    """What one message names, those in assertions too, and then what it asserts."""
    known: dict[tuple[str, str, str], str] = {}

    def identify(mention: Mention) -> str:
        key = (mention.name, mention.type, mention.category)
        if key not in known:
            known[key] = entity_id(scope, mention)
        return known[key]

    named: dict[str, Named] = {}
    for mention in _all(mentions, assertions):
        id_ = identify(mention)
        item = named.setdefault(id_, Named(id_, mention.name, mention.type, mention.category))
        if (mention.start, mention.end) not in item.spans:
            item.spans.append((mention.start, mention.end))
    said = [(Triple(identify(a.subject), a.predicate, identify(a.object), a.negated), a) for a in assertions]
    items = tuple(named.values())
    yield from (Lesson(place, named=items[start : start + size]) for start in range(0, len(items), size))
    yield from (Lesson(place, said=tuple(said[start : start + size])) for start in range(0, len(said), size))


class _Learner:
    """Takes in what messages say, inside one transaction, and keeps which entities and relations that changed."""

    def __init__(self, storage: Storage, scope: Scope, functional: Collection[str], now: datetime) -> None:
        self.entities: dict[str, None] = {}
        self.relations: dict[str, None] = {}
        self._storage = storage
        self._scope = scope
        self._functional = functional
        self._now = now
        self._merged = merged(storage, scope)
        self._validity = Validity(storage, scope, functional, self._merged, now)

    def learn(self, lesson: Lesson) -> None:
        named = {item.id: item for item in lesson.named}
        self.entities |= dict.fromkeys(learn(self._storage, self._scope, named, lesson.place, self._now))
        for said in self._assert_new(lesson.place, lesson.said):
            self._assert(lesson.place, *said)

    def _assert_new(self, place: Place, all_said: Sequence[Said]) -> list[Said]:
        """Take in at once what was never said before and can contradict nothing; return the others."""
        known = known_among(self._storage, self._scope, {one for said, _ in all_said for one in (said, said.denied)})
        links: list[Link] = []
        others = []
        for said, assertion in all_said:
            if self._may_contradict(said) or said in known or said.denied in known:
                others.append((said, assertion))
            else:
                known.add(said)
                links += self._first(said, place, assertion)
        self._storage.put_links(self._scope, links)
        return others

    def _may_contradict(self, said: Triple) -> bool:
        """Whether something else than its own denial may: of what goes by the same entity it may be denied, too."""
        alone = self._merged.alone(said.subject) and self._merged.alone(said.object)
        return said.predicate in self._functional or not alone

    def _first(self, triple: Triple, place: Place, said: Assertion) -> tuple[Link, Link]:
        """A relation that is new, and its evidence."""
        times = (said.valid_from or place.at, said.valid_until, self._now)
        opened, id_ = to_micros(self._now), numbered(self._scope, triple, 0)
        row = new_row(id_, triple, self._functional, *times, opened=opened, confidence=said.confidence)
        self.relations[row.id] = None
        return row, piece(self._scope, row, place, (said.start, said.end), said.confidence, self._now, _stated(said))

    def _assert(self, place: Place, triple: Triple, said: Assertion) -> None:
        times = (said.valid_from or place.at, said.valid_until, place.at)
        row, changed = self._validity.hold(triple, *times, confidence=said.confidence)
        evidence = piece(self._scope, row, place, (said.start, said.end), said.confidence, self._now, _stated(said))
        fresh = support(self._storage, self._scope, evidence)
        if fresh and changed != {row.id}:  # else it is new, and this is all its evidence
            [heavier] = weighed(self._storage, self._scope, [row])
            self._storage.put_links(self._scope, [replace(heavier, anchored_at=self._now)])
            changed.add(row.id)
        self.relations |= dict.fromkeys(sorted(changed))


def _stated(said: Assertion) -> Times:
    return said.valid_from, said.valid_until


def _all(mentions: Iterable[Mention], assertions: Iterable[Assertion]) -> Iterator[Mention]:
    yield from mentions
    for assertion in assertions:
        yield assertion.subject
        yield assertion.object


# checking


def _checked(
    episode: Episode, reading: Reading, settings: GraphTuning
) -> tuple[Place, list[Mention], list[Assertion], int]:
    """A message's place, what its text supports of what was read in it, and how much it does not support."""
    if not isinstance(reading, Reading) or not 0 <= reading.position < len(episode.messages):
        raise InvalidInput(f"a Reading names a message of the episode and what was read in it, got {reading!r:.200}")
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
    mentions = [_mention(m, message, speaker, settings) for m in found.mentions[: settings.max_mentions]]
    assertions = [_assertion(a, message, speaker, settings) for a in found.assertions[: settings.max_assertions]]
    kept = [m for m in mentions if m is not None], [a for a in assertions if a is not None]
    dropped = len(found.mentions) + len(found.assertions) - len(kept[0]) - len(kept[1])
    return place, *kept, dropped


def _mention(mention: object, message: Message, speaker: str, settings: GraphTuning) -> Mention | None:
    """A mention under the name that its entity has, where its span supports it."""
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
    """An assertion whose ends and span the text supports, and whose times are in order."""
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
