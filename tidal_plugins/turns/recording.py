"""Recording turns: each once, those that were missed too, and those that cannot be stored left out."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from tidal_plugins.errors import InvalidInput
from tidal_plugins.memory import TidalMemory
from tidal_plugins.model.exchange import Exchange, Message
from tidal_plugins.turns.place import Place
from tidal_plugins.turns.recent import Recent

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Recorder:
    """Records turns that are over. A turn that this process recorded whole is skipped, however often it comes again.

    The keys of exchanges make recording idempotent across processes as well.
    """

    def __init__(self) -> None:
        self._recorded = Recent[set[Hashable]]()

    def record(
        self,
        place: Place,
        turns: Sequence[T],
        *,
        mark: Callable[[T], Hashable | None],
        convert: Callable[[T], Exchange | None],
    ) -> None:
        """Record the turns of a thread that are not recorded yet.

        ``mark`` returns a value that tells a turn, in its present length, from all others; ``None`` if nothing does.
        ``convert`` returns the turn as an exchange, ``None`` if it has no text.
        """
        known = self._recorded.get(place.key) or set()
        marks = [(turn, mark(turn)) for turn in turns]
        new = [(turn, seen) for turn, seen in marks if seen is None or seen not in known]
        stored = record_turns(place.memory, [convert(turn) for turn, _ in new])
        self._recorded.put(place.key, known | {seen for (_, seen), done in zip(new, stored, strict=True) if done})


def record_turns(memory: TidalMemory, exchanges: Sequence[Exchange | None]) -> list[bool]:
    """Record exchanges in one transaction, and return for each whether it is stored.

    An exchange that cannot be stored is logged without its text, and the others are stored. ``None`` stands for a turn
    without text, which is not stored. Raises ``Closed``, ``EmbeddingError`` and ``StorageError``.
    """
    wanted = [exchange for exchange in exchanges if exchange is not None]
    stored = iter(_stored(memory, wanted) if wanted else ())
    return [exchange is not None and next(stored) for exchange in exchanges]


def to_exchange(
    messages: Sequence[Message | None], thread: str | None, key: str | None = None, surfaced: Sequence[str] = ()
) -> Exchange | None:
    """Return the messages of a turn as an exchange to record, or ``None`` if they have no text.

    A message that is ``None`` is no part of the conversation. ``surfaced`` are the ids of the memories that were shown.
    """
    said = tuple(message for message in messages if message is not None)
    return Exchange(said, thread, key, surfaced=tuple(surfaced)) if any(message.text for message in said) else None


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
    try:
        memory.record_many(exchanges)
    except InvalidInput as error:
        if len(exchanges) > 1:
            return [stored for exchange in exchanges for stored in _stored(memory, [exchange])]
        logger.error("turn %s of thread %s was not recorded: %s", exchanges[0].key, exchanges[0].thread, error)
        return [False]
    return [True] * len(exchanges)
