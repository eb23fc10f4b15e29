"""Recording turns: each once, those that were missed too, and those that cannot be stored left out."""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import Any, Generic, TypeVar

from tidal_plugins.errors import InvalidInput
from tidal_plugins.memory import TidalMemory
from tidal_plugins.model.exchange import Exchange, Message, final_of
from tidal_plugins.turns.going_on import going_on
from tidal_plugins.turns.place import Place
from tidal_plugins.validation import storable

logger = logging.getLogger(__name__)

T = TypeVar("T")
V = TypeVar("V")

RECORDING = "recording their turns"
"""What agents go on without if a store fails."""

NOTHING = Exchange(())
"""Stands for a turn without text, which no episode holds."""


class Recorder:
    """Records turns that are over, each once, whether a history comes with ids or is passed whole without them.

    A turn that this process recorded under its ids is skipped, however often it comes again. The others are matched
    with the episodes of the thread (:meth:`tidal_plugins.groups.entries.Episodes.match`), across processes as well. A
    turn that was regenerated or edited is an episode of its own, and the one in whose place it stands leaves recall.
    """

    def __init__(self) -> None:
        self._recorded = Recent[set[Hashable]]()

    def record(
        self,
        place: Place,
        history: Sequence[T],
        over: range,
        *,
        mark: Callable[[T], Hashable | None],
        convert: Callable[[T], Exchange | None],
    ) -> None:
        """Record the turns of a history that are ``over``, by their positions, and not recorded yet.

        ``mark`` returns a value that tells a turn, in its present length, from all others; ``None`` if nothing does.
        ``convert`` returns the turn as an exchange, ``None`` if it has no text.
        """
        known, marks = self._recorded.get(place.key) or set(), list(map(mark, history))
        if all(marks[n] in known for n in over):
            return
        exchanges = [_keyed(convert(turn)) for turn in history]
        recorded = record_history(place, exchanges, [n for n in over if marks[n] not in known])
        settled = known | {marks[n] for n, done in recorded.items() if done}
        self._recorded.put(place.key, {seen for seen in marks if seen is not None and seen in settled})


def record_history(place: Place, history: Sequence[Exchange | None], over: Collection[int]) -> dict[int, bool]:
    """Record those turns of a history that are ``over``, by position, and that no episode holds; link them.

    Return for each of ``over`` whether the store has it; nothing if the store fails, and the next run records them.
    ``None`` stands for a turn without text. The exchanges have ids. Raises ``Closed`` and ``EmbeddingError``.
    """
    return going_on(place.memory, RECORDING, partial(_record_history, place, history, over), {})


def _record_history(place: Place, history: Sequence[Exchange | None], over: Collection[int]) -> dict[int, bool]:
    episodes, thread = place.memory.episodes, place.thread
    found = episodes.match([exchange or NOTHING for exchange in history], thread=thread)
    ids = [episode.id if episode else None for episode in found.episodes]
    new: dict[int, Exchange] = {}
    for n in over:
        exchange = history[n]
        if exchange is None or n in found.forgotten:
            continue
        own = episodes.id_of(str(exchange.key), thread=thread)
        if ids[n] is None and own in found.replaced:
            exchange = replace(exchange, id=f"{exchange.key}/{_answer_key(exchange)}")
        if ids[n] is None or (ids[n] == own and n not in found.repeated):  # a turn may have grown since
            new[n] = exchange
    stored = dict(zip(new, _stored(place.memory, list(new.values())), strict=True))
    follows = {}
    for n, exchange in new.items():
        if not stored[n]:
            continue
        first = ids[n] is None
        ids[n] = id_ = episodes.id_of(str(exchange.key), thread=thread)
        if first and (before := next((id_ for id_ in reversed(ids[:n]) if id_), None)):
            follows[id_] = before
    done = bool(history) and len(history) - 1 in over
    replaced, back = (found.replaced, found.away) if done else ((), ())
    if follows or replaced or back:
        episodes.follow(follows, replaced=[id_ for id_ in replaced if id_ not in ids], back=back)
    return {n: stored.get(n, ids[n] is not None) for n in over}


def record_turns(memory: TidalMemory, exchanges: Sequence[Exchange | None]) -> list[bool]:
    """Record exchanges in one transaction, and return for each whether it is stored.

    An exchange that cannot be stored is logged without its text, and the others are stored. ``None`` stands for a turn
    without text, which is not stored. If the store fails, none is stored. Raises ``Closed`` and ``EmbeddingError``.
    """
    wanted = [exchange for exchange in exchanges if exchange is not None]
    stored = iter(going_on(memory, RECORDING, partial(_stored, memory, wanted), [False] * len(wanted)))
    return [exchange is not None and next(stored) for exchange in exchanges]


def to_exchange(
    messages: Sequence[Message | None], thread: str | None, key: str | None = None, surfaced: Sequence[str] = ()
) -> Exchange | None:
    """Return the messages of a turn as an exchange to record, or ``None`` if they have no text.

    A message that is ``None`` is no part of the conversation. ``surfaced`` are the ids of the memories that were shown.
    """
    said = tuple(message for message in messages if message is not None)
    return Exchange(said, thread, key, surfaced=tuple(surfaced)) if any(message.text for message in said) else None


def _keyed(exchange: Exchange | None) -> Exchange | None:
    """Return an exchange with an id: its own or its messages', else a new one."""
    return replace(exchange, id=secrets.token_hex(8)) if exchange and exchange.key is None else exchange


def _answer_key(exchange: Exchange) -> str:
    """Return what tells one answer to a question from another: the message's id, or a hash of its words."""
    final = final_of(exchange.messages)
    return (final and final.id) or blake2b(storable(final.text if final else "").encode(), digest_size=8).hexdigest()


def spoken_text(text: str) -> str:
    """Return a text to record. Only white space counts as no text: models send it with tool calls, tools return it."""
    return text if text.strip() else ""


def json_arguments(arguments: Any) -> dict[str, Any]:
    """Return the arguments of a tool call as a JSON object. A value that JSON does not have (a date, NaN) becomes text.

    A text is parsed; arguments that are no mapping stand under ``input``.
    """
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            arguments = {"input": arguments}
    known = arguments if isinstance(arguments, Mapping) else {} if arguments is None else {"input": arguments}
    plain: dict[str, Any] = json.loads(json.dumps(dict(known), default=str), parse_constant=str)
    return plain


def _stored(memory: TidalMemory, exchanges: Sequence[Exchange]) -> list[bool]:
    if not exchanges:
        return []
    try:
        memory.record_many(exchanges)
    except InvalidInput as error:
        if len(exchanges) > 1:
            return [stored for exchange in exchanges for stored in _stored(memory, [exchange])]
        logger.error("turn %s of thread %s was not recorded: %s", exchanges[0].key, exchanges[0].thread, error)
        return [False]
    return [True] * len(exchanges)


class Recent(Generic[V]):
    """Keeps the values of the ``size`` keys that were used last. Safe to share between threads.

    It holds only values that another process can work out again.
    """

    def __init__(self, size: int = 256) -> None:
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._size = size
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> V | None:
        """Return the value of a key, or ``None``."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: V) -> None:
        """Store the value of a key, and drop the key that was used longest ago if there are too many."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
