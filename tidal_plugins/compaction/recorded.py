"""The episodes behind a history's turns: what may be dropped because it stands in the store, verbatim [SIYA §3.1]."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b

from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.compaction.state import Covered, Turn
from tidal_plugins.errors import CompactionError, InvalidInput
from tidal_plugins.ingestion.episodes import from_entry, read_episodes, unframed
from tidal_plugins.ingestion.record import record
from tidal_plugins.ingestion.tombstones import add_tombstones
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.jobs.worker import Worker
from tidal_plugins.model.compaction import LossLedger
from tidal_plugins.model.delimiters import FRAMED, Delimiters
from tidal_plugins.model.entry import EPISODE, Scope
from tidal_plugins.model.exchange import FORGOTTEN_TEXT, Episode, Exchange, Message, ToolCall, asked_by_agent
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Where
from tidal_plugins.validation import is_short, mapping, storable

MAX_CHARS = 100_000_000
"""Characters of a message that a compaction records: one that may not be stored could never leave the context."""

MAX_NAME = 200
"""Characters of a tool's name, and of an id, that the store takes."""


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn and the episode that holds it. ``places`` are the indexes of its messages in the episode, in order."""

    turn: Turn
    episode: Episode
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Recorder:
    """Finds the episodes of turns, and records those that have none yet; in a ``nested`` run as asked by an agent."""

    writer: Writer
    affect: AffectLoop
    worker: Worker
    scope: Scope
    nested: bool = False

    def recorded(self, turns: Sequence[Turn], thread: str | None, now: datetime) -> list[StoredTurn]:
        """Return each turn with the episode that holds all of it. Raises ``CompactionError`` for one that cannot be
        stored, and so may not be dropped."""
        said = {turn.key: self._said(turn) for turn in turns}
        exchanges = {turn.key: Exchange(_distinct(said[turn.key]), thread, _label(turn.key)) for turn in turns}
        ids = {key: self.episode_id(exchange.thread, str(exchange.key)) for key, exchange in exchanges.items()}
        known = self.episodes(ids.values())
        unknown = {key: said[key] for key, id_ in ids.items() if id_ not in known}
        found = {key: known.get(id_) for key, id_ in ids.items()} | self._twins(unknown, known, thread)
        found |= {key: self._tombstone(ids[key], thread, now) for key in unknown if not said[key]}
        missing = [key for key, episode in found.items() if _places(self.writer.delimiters, said[key], episode) is None]
        found |= self._record({key: exchanges[key] for key in missing}, now)
        # Where the episode under this key says something else, it stays as it is, and the turn gets a key of its own.
        marks = {turn.key: turn.mark for turn in turns}
        edited = [key for key in missing if _places(self.writer.delimiters, said[key], found[key]) is None]
        apart = {key: Exchange(_unnamed(said[key]), thread, f"{_label(key)}#{marks[key]}") for key in edited}
        found |= self._record(apart, now)
        return [_recorded(self.writer.delimiters, turn, said[turn.key], found[turn.key]) for turn in turns]

    def episodes(self, ids: Iterable[str]) -> dict[str, Episode]:
        """Return the episodes found, by id."""
        return read_episodes(self.writer.storage, self.scope, dict.fromkeys(ids))

    def episode_id(self, thread: str | None, key: str) -> str:
        """Return the id of the episode that holds the turn ``key`` of a thread, recorded or not."""
        return self.writer.episode_id(self.scope, thread, key)

    def tombstoned(self, ids: Iterable[str]) -> set[str]:
        """Return those of ``ids`` that were forgotten on request."""
        return self.writer.tombstoned(self.scope, ids)

    def _record(self, exchanges: Mapping[str, Exchange], now: datetime) -> dict[str, Episode]:
        if not exchanges:
            return {}
        settings = self.writer.settings
        roomy = settings.recording.model_copy(update={"max_chars": MAX_CHARS})
        writer = replace(self.writer, settings=settings.model_copy(update={"recording": roomy}))
        try:
            with self.worker.recording(self.scope):
                episodes = record(writer, self.affect, self.scope, list(exchanges.values()), now, blank=True)
        except InvalidInput as error:
            raise CompactionError(f"a turn cannot be recorded, and so may not be dropped: {error}") from error
        return dict(zip(exchanges, episodes, strict=True))

    def _said(self, turn: Turn) -> tuple[Message, ...]:
        """Return the messages of a turn as they can be stored.

        Nothing is returned for a turn without ids that has forgotten words in it: it cannot be known by its key, and
        its words must not come back.
        """
        said = self.writer.redaction.comparable(list(map(storable_message, turn.said)))
        if self.nested:
            said = asked_by_agent(said)
        texts = {message.text for message in said if message.text}
        return () if not turn.named and self.writer.forgotten(self.scope, texts) else said

    def _tombstone(self, id_: str, thread: str | None, now: datetime) -> Episode:
        """Leave a tombstone for a turn that was forgotten under another key, and return its episode."""
        add_tombstones(self.writer.storage, self.scope, [id_], now)
        return Episode(id_, self.scope, (), FORGOTTEN_TEXT, now, now, thread)

    def _twins(
        self, turns: Mapping[str, Sequence[Message]], known: Collection[str], thread: str | None
    ) -> dict[str, Episode]:
        """Return the episodes of the thread with the same words as the turns of unknown keys, each for one turn.

        A turn without ids, or with new ids each time, is known by its words.
        """
        if not turns or thread is None:
            return {}
        entries = self.writer.storage.find(self.scope, Where(kinds={EPISODE}, threads={thread}))
        unclaimed: dict[object, list[Episode]] = {}
        for episode in map(from_entry, entries):
            if episode.id not in known:
                unclaimed.setdefault(self._words(episode.messages), []).append(episode)
        return {key: same.pop(0) for key, said in turns.items() if (same := unclaimed.get(self._words(said)))}

    def _words(self, messages: Iterable[Message]) -> object:
        plain = unframed(messages, self.writer.delimiters)
        return tuple((m.role, m.text, tuple((call.name, call.id) for call in m.tool_calls)) for m in plain)


def forgotten(episode: Episode) -> bool:
    """Return whether an episode was forgotten as a whole, so that only its mark is left."""
    return not episode.messages


def covered_turn(stored: StoredTurn) -> Covered:
    """Return a recorded turn as one that a state covers."""
    plain = stored.places == tuple(range(len(stored.places)))
    places = None if plain else stored.places
    return Covered(stored.turn.key, stored.turn.mark, stored.episode.id, len(stored.places), places)


def check_ledger(
    writer: Writer, ledger: LossLedger, episodes: Mapping[str, Episode], messages: Sequence[Message]
) -> None:
    """Raise ``CompactionError`` if a message does not stand in its episode at the place that the ledger names."""
    for loss in ledger:
        episode = episodes.get(loss.episode)
        if episode and not forgotten(episode) and not _holds(writer, episode, loss.index, messages[loss.position]):
            raise CompactionError(f"message {loss.position} is not number {loss.index} of [ep:{loss.episode}]")


def _holds(writer: Writer, episode: Episode, index: int, message: Message) -> bool:
    """Return whether a message stands verbatim at this place in an episode, or has been forgotten there."""
    if index >= len(episode.messages):
        return False
    stored = episode.messages[index]  # nearly always as it was said
    if same_message(message, stored, writer.delimiters):
        return True
    return is_one_of(stored_forms(writer, message), stored, writer.delimiters)


def stored_forms(writer: Writer, message: Message) -> tuple[Message, ...]:
    """Return a message as an episode may hold it: the question of a nested run stands there as an agent's."""
    said = writer.redaction.comparable([storable_message(message)])
    return said if message.role != "user" else said + asked_by_agent(said)


def is_one_of(forms: Sequence[Message], stored: Message, delimiters: Delimiters) -> bool:
    """Return whether one of the forms of a message is the one of an episode."""
    return any(same_message(form, stored, delimiters) for form in forms)


def storable_message(message: Message) -> Message:
    """Return a message as an episode can hold it.

    A turn that cannot be recorded could never be left out, so values that no store takes (NUL, very long names,
    arguments that are no JSON) are replaced by something near to them.
    """
    return replace(
        message,
        text=storable(message.text),
        id=_label(message.id),
        speaker=_label(message.speaker),
        tool_call_id=_label(message.tool_call_id),
        tool_calls=tuple(map(_storable_call, message.tool_calls)),
    )


def _storable_call(call: ToolCall) -> ToolCall:
    try:
        arguments = mapping(call.arguments, "arguments", MAX_CHARS)
    except InvalidInput:
        arguments = {"arguments": storable(repr(call.arguments))[:MAX_CHARS]}
    name = storable(str(call.name)).strip()[:MAX_NAME] or "unnamed"
    return replace(call, name=name, arguments=arguments, id=_label(call.id))


def _label(value: str | None) -> str | None:
    """Return an id as a label. A very long id is cut and told from others by its hash."""
    if value is None or not value.strip():
        return None
    text = storable(value)
    return text if is_short(text) else f"{text[:200]}#{blake2b(text.encode(), digest_size=12).hexdigest()}"


def _distinct(said: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages, without the id of an earlier one: an id that occurs twice identifies nothing."""
    seen: set[str | None] = set()
    messages = []
    for message in said:
        messages.append(replace(message, id=None) if message.id in seen else message)
        seen.add(message.id)
    return tuple(messages)


def _unnamed(said: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(replace(message, id=None) for message in said)


def _recorded(delimiters: Delimiters, turn: Turn, said: Sequence[Message], episode: Episode | None) -> StoredTurn:
    places = _places(delimiters, said, episode, len(turn.said))
    if episode is None or places is None:
        raise CompactionError(f"the turn {shown(turn.key)} was recorded otherwise than it stands in the history")
    return StoredTurn(turn, episode, places)


def _places(
    delimiters: Delimiters, said: Sequence[Message], episode: Episode | None, size: int = 0
) -> tuple[int, ...] | None:
    """Return the position of each message in an episode, or ``None`` if one is missing."""
    if episode is None:
        return None
    if forgotten(episode):
        return tuple(range(max(len(said), size)))
    places: list[int] = []
    for message in said:
        at = _index(delimiters, message, episode.messages, taken=places)
        if at is None:
            return None
        places.append(at)
    return tuple(places)


def _index(delimiters: Delimiters, message: Message, stored: Sequence[Message], taken: Sequence[int]) -> int | None:
    """Return the position of a message. Turns are recorded in order, so it is nearly always the next position."""
    following = taken[-1] + 1 if taken else 0
    order = itertools.chain(range(following, len(stored)), range(min(following, len(stored))))
    return next((at for at in order if same_message(message, stored[at], delimiters) and at not in taken), None)


def same_message(message: Message, stored: Message, delimiters: Delimiters) -> bool:
    """Return whether a message that was made storable is the one of an episode, which may have been forgotten there."""
    if message.role != stored.role:
        return False
    if stored.text == FORGOTTEN_TEXT:
        return True
    if message.text != stored.text and any(FRAMED in text for text in (message.text, stored.text)):
        message, stored = unframed([message, stored], delimiters)  # what was shown may have been forgotten there
    return message.text == stored.text and _content(message) == _content(stored)


def _content(message: Message) -> object:
    calls = [(call.name, call.id, call.arguments) for call in message.tool_calls]
    return message.tool_call_id, message.error, calls
