"""Learning: what was read in an episode becomes entities, relations and their evidence, in one transaction [SIYA §3.3].

Nothing is learned that the text does not support: what an extractor invented is left out and counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import get_args

from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.knowledge.entities import Named, Place, learn
from tidal_plugins.graph.knowledge.merging import Merged, merged
from tidal_plugins.graph.knowledge.names import bare, entity_id, is_speaker, spoken, stands_in
from tidal_plugins.graph.knowledge.relations import Triple, known_among, new_row, numbered, piece, support, weighed
from tidal_plugins.graph.knowledge.validity import Validity
from tidal_plugins.model.clock import aware, to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.graph import WORD, Applied, Assertion, Category, Extraction, Mention, Reading
from tidal_plugins.model.link import Link
from tidal_plugins.settings import GraphSettings
from tidal_plugins.storage.base import Storage

CATEGORIES = frozenset(get_args(Category))


def apply(
    storage: Storage,
    scope: Scope,
    episode: Episode,
    readings: Sequence[Reading],
    now: datetime,
    settings: GraphSettings,
) -> Applied:
    """Learn what was read in an episode, whole or not at all. Once more it changes nothing but what is new in it.

    Joins a transaction that is open. Spans are positions in the message's text. Raises ``InvalidInput`` for what is no
    extraction.
    """
    checked = [_checked(episode, reading, settings) for reading in readings]
    learner = _Learner(storage, scope, settings.functional, now)
    with storage.transaction():
        for place, mentions, assertions, _ in checked:
            learner.learn(place, mentions, assertions)
    return Applied(tuple(learner.entities), tuple(learner.relations), sum(dropped for *_, dropped in checked))


class _Learner:
    """Takes in what messages say, inside one transaction, and keeps which entities and relations that changed."""

    def __init__(self, storage: Storage, scope: Scope, functional: Collection[str], now: datetime) -> None:
        self.entities: dict[str, None] = {}
        self.relations: dict[str, None] = {}
        self._storage = storage
        self._scope = scope
        self._functional = functional
        self._now = now
        self._ids: dict[tuple[str, str, str], str] = {}

    def learn(self, place: Place, mentions: Iterable[Mention], assertions: Sequence[Assertion]) -> None:
        """Take in one message: its mentions, those in assertions too, and what it asserts."""
        named: dict[str, Named] = {}
        for mention in _all(mentions, assertions):
            id_ = self._id(mention)
            item = named.setdefault(id_, Named(id_, mention.name, mention.type, mention.category))
            if (mention.start, mention.end) not in item.spans:
                item.spans.append((mention.start, mention.end))
        changed = learn(self._storage, self._scope, named, place, self._now)
        self.entities |= dict.fromkeys(changed)
        repeated = self._assert_new(place, assertions)
        if repeated:
            validity = self._validity(merged(self._storage, self._scope))
            for assertion in repeated:
                self._assert(validity, place, assertion)

    def _validity(self, known: Merged) -> Validity:
        return Validity(self._storage, self._scope, self._functional, known, self._now)

    def _id(self, mention: Mention) -> str:
        key = (mention.name, mention.type, mention.category)
        if key not in self._ids:
            self._ids[key] = entity_id(self._scope, mention)
        return self._ids[key]

    def _triple(self, said: Assertion) -> Triple:
        return Triple(self._id(said.subject), said.predicate, self._id(said.object), said.negated)

    def _assert_new(self, place: Place, assertions: Iterable[Assertion]) -> list[Assertion]:
        """Take in at once what was never said before and can contradict nothing; return the others."""
        triples = [(self._triple(said), said) for said in assertions]
        known = known_among(self._storage, self._scope, {one for said, _ in triples for one in (said, said.denied)})
        links: list[Link] = []
        others = []
        for triple, said in triples:
            if triple.predicate in self._functional or triple in known or triple.denied in known:
                others.append(said)
            else:
                known.add(triple)
                links += self._first(triple, place, said)
        self._storage.put_links(self._scope, links)
        return others

    def _first(self, triple: Triple, place: Place, said: Assertion) -> tuple[Link, Link]:
        """A relation that is new, and its evidence."""
        times = (said.valid_from or place.at, said.valid_until, self._now)
        opened, id_ = to_micros(self._now), numbered(self._scope, triple, 0)
        row = new_row(id_, triple, self._functional, *times, opened=opened, confidence=said.confidence)
        self.relations[row.id] = None
        return row, piece(self._scope, row, place, (said.start, said.end), said.confidence, self._now)

    def _assert(self, validity: Validity, place: Place, said: Assertion) -> None:
        triple = self._triple(said)
        times = (said.valid_from or place.at, said.valid_until, place.at)
        row, changed = validity.hold(triple, *times, confidence=said.confidence)
        span = (said.start, said.end)
        fresh = support(self._storage, self._scope, row, place, span, said.confidence, self._now)
        if fresh and changed != {row.id}:  # else it is new, and this is all its evidence
            [heavier] = weighed(self._storage, self._scope, [row])
            self._storage.put_links(self._scope, [replace(heavier, anchored_at=self._now)])
            changed.add(row.id)
        self.relations |= dict.fromkeys(sorted(changed))


def _all(mentions: Iterable[Mention], assertions: Iterable[Assertion]) -> Iterator[Mention]:
    yield from mentions
    for assertion in assertions:
        yield assertion.subject
        yield assertion.object


# checking


def _checked(
    episode: Episode, reading: Reading, settings: GraphSettings
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
        session=episode.session,
        speaker=speaker,
        at=message.at or episode.occurred_at,
    )
    mentions = [_mention(m, message, speaker, settings) for m in found.mentions[: settings.max_mentions]]
    assertions = [_assertion(a, message, speaker, settings) for a in found.assertions[: settings.max_assertions]]
    kept = [m for m in mentions if m is not None], [a for a in assertions if a is not None]
    dropped = len(found.mentions) + len(found.assertions) - len(kept[0]) - len(kept[1])
    return place, *kept, dropped


def _mention(mention: object, message: Message, speaker: str, settings: GraphSettings) -> Mention | None:
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


def _assertion(said: object, message: Message, speaker: str, settings: GraphSettings) -> Assertion | None:
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
