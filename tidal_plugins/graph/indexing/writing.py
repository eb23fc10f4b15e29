"""Writing what was read in an episode into the graph, in portions that one short transaction can write [SIYA §3.3].

What an extractor read is checked first: nothing is written that the text does not support.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from typing import get_args

from tidal_plugins.english.dates import named_days
from tidal_plugins.english.sentences import sentences
from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.indexing.stale import mark_stale
from tidal_plugins.graph.reading.mentions import PRONOUNS
from tidal_plugins.graph.records.entities import (
    MAX_NAME,
    Named,
    Place,
    bare,
    entity_id,
    is_in_talk,
    is_speaker,
    name_entities,
    spoken,
    stands_in,
)
from tidal_plugins.graph.records.merging import merged
from tidal_plugins.graph.records.relations import (
    MAX_ASSERTIONS,
    Times,
    Triple,
    Validity,
    add_evidence,
    chain,
    known_among,
    new_row,
    numbered,
    piece,
    with_confidence,
)
from tidal_plugins.graph.stored import GraphTuning
from tidal_plugins.model.clock import MICROSECOND, aware, to_micros
from tidal_plugins.model.entry import Link, Scope
from tidal_plugins.model.exchange import Episode, Message
from tidal_plugins.model.graph import STRUCTURE, WORD, Applied, Assertion, Category, Extraction, Mention, Reading
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage

MAX_MENTIONS = 500
"""Mentions that are kept of one message."""


Said = tuple[Triple, Assertion]


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A part of the mentions and assertions of one message; all mentions come before the assertions.

    Of what is ``parsed`` from code recall gets entries for a few relations only.
    """

    place: Place
    named: Sequence[Named] = ()
    said: Sequence[Said] = ()
    parsed: bool = False

    def __len__(self) -> int:
        return len(self.named) + len(self.said)


@dataclass(slots=True)
class WriteBatch:
    """Entities and assertions of an episode that one transaction writes."""

    parts: list[MessagePart] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self.parts))


def to_batches(
    scope: Scope, episode: Episode, readings: Sequence[Reading], settings: GraphTuning, paths: dict[str, str]
) -> tuple[list[WriteBatch], int]:
    """Return the readings of an episode as batches of at most ``settings.slice`` things, to be written in order.

    Files go by their whole paths in ``paths``. The second value counts the mentions and assertions that the texts do
    not support. Raises ``InvalidInput`` for a reading that is no extraction.
    """
    checked = [_renamed(supported(episode, reading, settings), paths) for reading in readings]
    batches: list[WriteBatch] = []
    for found in checked:
        for part in _parts(scope, found, settings.slice):
            if not batches or len(batches[-1]) + len(part) > settings.slice:
                batches.append(WriteBatch())
            batches[-1].parts.append(part)
    return batches, sum(found.dropped for found in checked)


def _renamed(found: Supported, paths: dict[str, str]) -> Supported:
    """Return what was found, with files by their whole paths."""

    def whole(one: Mention) -> Mention:
        return replace(one, name=paths[bare(one.name)]) if one.type == "file" and bare(one.name) in paths else one

    said = [replace(one, subject=whole(one.subject), object=whole(one.object)) for one in found.assertions]
    return replace(found, mentions=list(map(whole, found.mentions)), assertions=said) if paths else found


def _parts(scope: Scope, found: Supported, size: int) -> Iterator[MessagePart]:
    """Yield what one message names, including the ends of its assertions, and then its assertions."""
    known: dict[tuple[str, str, str], str] = {}

    def identify(mention: Mention) -> str:
        key = (mention.name, mention.type, mention.category)
        if key not in known:
            known[key] = entity_id(scope, mention)
        return known[key]

    named: dict[str, Named] = {}
    for mention in _all(found.mentions, found.assertions):
        id_ = identify(mention)
        item = named.setdefault(id_, Named(id_, mention.name, mention.type, mention.category))
        if (mention.start, mention.end) not in item.spans:
            item.spans.append((mention.start, mention.end))
    said = [(Triple(identify(a.subject), a.predicate, identify(a.object), a.negated), a) for a in found.assertions]
    items = list(named.values())
    place = found.place
    parsed, starts = found.parsed, (range(0, len(items), size), range(0, len(said), size))
    yield from (MessagePart(place, named=items[start : start + size], parsed=parsed) for start in starts[0])
    yield from (MessagePart(place, said=said[start : start + size], parsed=parsed) for start in starts[1])


def _all(mentions: Iterable[Mention], assertions: Iterable[Assertion]) -> Iterator[Mention]:
    yield from mentions
    for assertion in assertions:
        yield assertion.subject
        yield assertion.object


def apply(storage: Storage, scope: Scope, batch: WriteBatch, now: datetime, settings: GraphTuning) -> Applied:
    """Write a batch in one transaction, mark the changed entities and relations as stale, and return their ids.

    How parsed code is built has no entries for recall, which would be by far the most of all: it is not marked.

    Joins a transaction that is open. Writing the same batch again changes nothing.
    """
    with storage.transaction():
        writer = _BatchWriter(storage, scope, settings.functional, now)
        for part in batch.parts:
            writer.write(part)
        mark_stale(storage, scope, now, entities=writer.entities, relations=writer.relations)
    return Applied(tuple(writer.entities), tuple(writer.relations))


class _BatchWriter:
    """Writes parts inside one transaction, and keeps the ids of the entities and relations that changed."""

    def __init__(self, storage: Storage, scope: Scope, functional: Collection[str], now: datetime) -> None:
        self.entities: dict[str, None] = {}
        self.relations: dict[str, None] = {}
        self._storage = storage
        self._scope = scope
        self._functional = functional
        self._now = now
        self._merged = merged(storage, scope)
        self._validity = Validity(storage, scope, functional, self._merged, now)

    def write(self, part: MessagePart) -> None:
        named = {item.id: item for item in part.named}
        changed = name_entities(self._storage, self._scope, named, part.place, self._now)
        if not part.parsed:
            self.entities |= dict.fromkeys(changed)
        for said, assertion in self._assert_new(part):
            relations = self._assert(part.place, said, assertion)
            if not _unseen(part, said) or assertion.valid_until:  # what ends leaves recall, too
                self.relations |= dict.fromkeys(sorted(relations))

    def _assert_new(self, part: MessagePart) -> list[Said]:
        """Write at once what was never said before and can contradict nothing; return the rest."""
        all_said = part.said
        known = known_among(self._storage, self._scope, {one for said, _ in all_said for one in (said, said.denied)})
        links: list[Link] = []
        others = []
        for said, assertion in all_said:
            if assertion.ended or self._may_contradict(said) or said in known or said.denied in known:
                others.append((said, assertion))
            else:
                known.add(said)
                row, evidence = self._first(said, part.place, assertion)
                self.relations |= {} if _unseen(part, said) else {row.id: None}
                links += [row, evidence]
        self._storage.put_links(self._scope, links)
        return others

    def _may_contradict(self, said: Triple) -> bool:
        """Return whether anything but its exact denial may contradict it: merged entities may deny it, too."""
        alone = self._merged.alone(said.subject) and self._merged.alone(said.object)
        return said.predicate in self._functional or not alone

    def _first(self, triple: Triple, place: Place, said: Assertion) -> tuple[Link, Link]:
        """Return the links of a new relation and of its evidence."""
        times = (said.valid_from or place.at, said.valid_until, self._now)
        opened, id_ = to_micros(self._now), numbered(self._scope, triple, 0)
        row = new_row(id_, triple, self._functional, *times, opened=opened, confidence=said.confidence)
        return row, piece(self._scope, row, place, (said.start, said.end), said.confidence, self._now, _stated(said))

    def _assert(self, place: Place, triple: Triple, said: Assertion) -> set[str]:
        """Write what was said before or may contradict something, and return the ids of the relations that changed."""
        if said.ended and not chain(self._storage, self._scope, triple):
            row, evidence = self._first(triple, place, _over(said, place.at))
            self._storage.put_links(self._scope, [row, evidence])
            return {row.id}
        begins = self._begin(triple, said, place.at)
        row, changed = self._validity.hold(triple, begins, said.valid_until, place.at, confidence=said.confidence)
        evidence = piece(self._scope, row, place, (said.start, said.end), said.confidence, self._now, _stated(said))
        fresh = add_evidence(self._storage, self._scope, evidence)
        if fresh and changed != {row.id}:  # else it is new, and this is all its evidence
            [heavier] = with_confidence(self._storage, self._scope, [row])
            self._storage.put_links(self._scope, [replace(heavier, anchored_at=self._now)])
            changed.add(row.id)
        return changed

    def _begin(self, triple: Triple, said: Assertion, at: datetime) -> datetime:
        """Return since when a relation holds: one that is over, since it was known."""
        if said.valid_from or not said.ended:
            return said.valid_from or at
        known = [row.valid_from for row in chain(self._storage, self._scope, triple) if row.valid_from]
        return max((begin for begin in known if begin <= at), default=at)


def _unseen(part: MessagePart, said: Triple) -> bool:
    """Return whether a relation gets no entry for recall: how code is built is asked of the graph."""
    return part.parsed and said.predicate in STRUCTURE


def _over(said: Assertion, at: datetime) -> Assertion:
    """Return what is over and was not known before: since when it was true, nobody has said."""
    end = said.valid_until or at
    return replace(said, valid_from=said.valid_from or min(at, end - MICROSECOND), valid_until=end)


def _stated(said: Assertion) -> Times:
    return said.valid_from, said.valid_until


# checks


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
    given_mentions = [_mention(mention, said) for mention in found.mentions[:MAX_MENTIONS]]
    given_assertions = [_assertion(assertion, said) for assertion in found.assertions[:MAX_ASSERTIONS]]
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
    text = said.text
    if not isinstance(mention, Mention) or not _spans(mention.start, mention.end, text):
        return None
    if not isinstance(mention.name, str) or not bare(mention.name) or len(mention.name) > MAX_NAME:
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
