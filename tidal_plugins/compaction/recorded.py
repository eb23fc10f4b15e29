"""The episodes behind a history's turns: what may be dropped because it stands in the store, verbatim [SIYA §3.1]."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.compaction.turns import Turn
from tidal_plugins.errors import CompactionError, InvalidInput
from tidal_plugins.ingestion.clean import storable
from tidal_plugins.ingestion.episodes import FORGOTTEN_TEXT, from_entry
from tidal_plugins.ingestion.record import episode_id, known_episodes, record
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.entry import EPISODE, Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Exchange, Message, ToolCall
from tidal_plugins.model.fence import strip_frames
from tidal_plugins.storage.base import Where


@dataclass(frozen=True, slots=True)
class Recorded:
    """A turn and the episode that holds it. ``places`` are the indexes in the episode of what was said, in order."""

    turn: Turn
    episode: Episode
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Recorder:
    """Finds the episodes of turns, and records those that have none yet."""

    writer: Writer
    affect: AffectLoop
    scope: Scope

    def recorded(self, turns: Sequence[Turn], session: str | None, now: datetime) -> list[Recorded]:
        """Return each turn with the episode that holds all of it. Raises ``CompactionError`` for one that cannot be
        stored, and so may not be dropped."""
        exchanges = {turn.key: _exchange(turn, session) for turn in turns}
        ids = {key: episode_id(self.scope, exchange) for key, exchange in exchanges.items()}
        known = self.episodes(ids.values())
        twins = self._twins([turn for turn in turns if not turn.named and ids[turn.key] not in known], session)
        found = {key: twins.get(key) or known.get(id_) for key, id_ in ids.items()}
        missing = [turn for turn in turns if not _holds(found[turn.key], turn)]
        found |= self._record({turn.key: exchanges[turn.key] for turn in missing}, now)
        edited = [turn for turn in missing if not _holds(found[turn.key], turn)]
        if edited:  # the episode under this key says something else, and stays as it is
            found |= self._record({turn.key: _apart(turn, session) for turn in edited}, now)
        return [_recorded(turn, found[turn.key]) for turn in turns]

    def episodes(self, ids: Iterable[str]) -> dict[str, Episode]:
        """Return the episodes found, by id."""
        return known_episodes(self.writer, self.scope, dict.fromkeys(ids))

    def buried(self, ids: Iterable[str]) -> set[str]:
        """Return those of ``ids`` that were forgotten on request."""
        return self.writer.buried(self.scope, ids)

    def _record(self, exchanges: dict[str, Exchange], now: datetime) -> dict[str, Episode]:
        try:
            episodes = record(self.writer, self.affect, self.scope, list(exchanges.values()), now, blank=True)
        except InvalidInput as error:
            raise CompactionError(f"a turn cannot be recorded, and so may not be dropped: {error}") from error
        return dict(zip(exchanges, episodes, strict=True))

    def _twins(self, turns: Sequence[Turn], session: str | None) -> dict[str, Episode]:
        """Episodes of the session that say what turns without ids say, each for one turn."""
        if not turns or session is None:
            return {}
        entries = self.writer.storage.find(self.scope, Where(kinds={EPISODE}, sessions={session}))
        unclaimed: dict[object, list[Episode]] = {}
        for episode in map(from_entry, entries):
            unclaimed.setdefault(_words(episode.messages), []).append(episode)
        twins = {}
        for turn in turns:
            if same := unclaimed.get(_words(turn.said)):
                twins[turn.key] = same.pop(0)
        return twins


def forgotten(episode: Episode) -> bool:
    """Whether an episode was forgotten as a whole, so that only its mark is left."""
    return not episode.messages


def holds(episode: Episode, index: int, message: Message) -> bool:
    """Whether a message stands verbatim at this place in an episode, or has been forgotten there."""
    return index < len(episode.messages) and _same(message, episode.messages[index])


def _exchange(turn: Turn, session: str | None) -> Exchange:
    seen: set[str | None] = set()
    messages = []
    for message in turn.said:  # an id that comes twice is no id
        messages.append(replace(message, id=None) if message.id in seen else message)
        seen.add(message.id)
    return Exchange(tuple(messages), session, turn.key)


def _apart(turn: Turn, session: str | None) -> Exchange:
    """The turn under a key of its own, for one whose key is taken by something else."""
    return Exchange(tuple(replace(message, id=None) for message in turn.said), session, f"{turn.key}#{turn.mark}")


def _recorded(turn: Turn, episode: Episode | None) -> Recorded:
    places = _places(turn, episode) if episode else None
    if episode is None or places is None:
        raise CompactionError(f"the turn {turn.key!r} was recorded otherwise than it stands in the history")
    return Recorded(turn, episode, places)


def _holds(episode: Episode | None, turn: Turn) -> bool:
    return episode is not None and _places(turn, episode) is not None


def _places(turn: Turn, episode: Episode) -> tuple[int, ...] | None:
    """Where each message of a turn stands in an episode; ``None`` where one does not."""
    if forgotten(episode):
        return tuple(range(len(turn.said)))
    places: list[int] = []
    for message in turn.said:
        at = _index(message, episode.messages, taken=places)
        if at is None:
            return None
        places.append(at)
    return tuple(places)


def _index(message: Message, stored: Sequence[Message], taken: Sequence[int]) -> int | None:
    """Turns are recorded in order, so that the next message is nearly always the next one."""
    following = taken[-1] + 1 if taken else 0
    order = itertools.chain(range(following, len(stored)), range(min(following, len(stored))))
    return next((at for at in order if _same(message, stored[at]) and at not in taken), None)


def _same(message: Message, stored: Message) -> bool:
    if (message.role, message.tool_call_id, message.error) != (stored.role, stored.tool_call_id, stored.error):
        return False
    if [_call(call) for call in message.tool_calls] != [_call(call) for call in stored.tool_calls]:
        return False
    return stored.text == FORGOTTEN_TEXT or _text(message) == stored.text


def _call(call: ToolCall) -> object:
    return call.name, call.id, json.dumps(dict(call.arguments), sort_keys=True, default=str)


def _words(messages: Iterable[Message]) -> object:
    return tuple((m.role, _text(m), tuple((c.name, c.id) for c in m.tool_calls)) for m in messages)


def _text(message: Message) -> str:
    return storable(strip_frames(message.text))
