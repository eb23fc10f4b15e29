"""A memory over turns of messages: what surfaces before one, and what is recorded after it."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

from langchain_tidal.lane import Lane
from langchain_tidal.messages import finished, question, to_exchange, turn_key
from tidal_plugins import (
    Affect,
    Exchange,
    InvalidInput,
    InvalidScope,
    InvalidVector,
    Session,
    TidalMemory,
    Whisper,
)
from tidal_plugins.model.entry import user_of

logger = logging.getLogger(__name__)

Scope = tuple[str, ...] | Callable[[Any, RunnableConfig], tuple[str, ...]]
"""A scope, or a function of the run's context and config that gives one."""

V = TypeVar("V")


class Recalled(TypedDict):
    """What surfaced in a turn: plain, so that any checkpointer keeps it. ``turn`` is the human message's id."""

    turn: str | None
    ids: list[str]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run remembers: the memory in the run's scope, and the run's thread. ``user`` is
    whom it serves, as far as its context, config or scope say it."""

    memory: TidalMemory
    thread: str | None
    user: str | None = None


class TurnMemory:
    """Recalls once per user turn, and records every turn once.

    ``scope`` defaults to the memory's own; the thread is that of the run. With a ``lane``, recall feels what was
    signalled in the thread's session under its policy.
    """

    def __init__(self, memory: TidalMemory, scope: Scope | None = None, lane: Lane | None = None) -> None:
        self._memory = memory
        self._scope = scope
        self._lane = lane
        self._whispers = Recent[Whisper](64)
        self._recorded = Recent[set[Hashable]]()

    def place(self, config: RunnableConfig | None = None) -> Place:
        """Where the run with this config remembers; without one, the run that this is called in."""
        return place_of(self._memory, self._scope, ensure_config() if config is None else config)

    def whisper(
        self, place: Place, history: Sequence[list[BaseMessage]], seen: Sequence[list[BaseMessage]] | None = None
    ) -> tuple[Whisper, bool]:
        """The whisper of the last turn of a history, and whether it was worked out just now.

        Steps of a tool loop and retries get the one that the turn began with, unless its session was written to
        meanwhile. ``seen`` are the turns that the model sees anyway, and which are left out of it (default: all).
        """
        memory, thread, asked, turn = place.memory, place.thread, question(history[-1]), history[-1][0].id
        lane = self._lane.session(memory, place.user, thread) if self._lane else None
        mark = (memory.scope, thread, turn, asked, _written(lane))
        known = self._whispers.get(mark) if turn else None
        if known is not None:
            return known, False
        visible = [memory.episodes.id_of(key, thread=thread) for key in map(turn_key, seen or history) if key]
        whisper = memory.whisper(asked, exclude=visible, session=lane)
        self._whispers.put(mark, whisper)
        return whisper, True

    def record(
        self,
        place: Place,
        history: Sequence[list[BaseMessage]],
        recalled: Recalled | None = None,
        *,
        ended: bool = False,
    ) -> None:
        """Record every turn that is over and not recorded yet.

        The last turn is over when it ends with an answer, or when the run that it belongs to has ``ended``. Message
        ids make it idempotent: retries and replays record nothing twice.
        """
        over = history if ended or (history and finished(history[-1])) else history[:-1]
        talk = (place.memory.scope, place.thread)
        known = self._recorded.get(talk) or set()
        marks, exchanges = [], []
        for turn in over:
            mark = tuple(message.id for message in turn)
            if turn_key(turn) and mark in known:
                continue
            surfaced = _surfaced(recalled, turn) if turn[0].id or turn is history[-1] else ()
            if exchange := to_exchange(turn, place.thread, surfaced):
                exchanges.append(exchange)
                marks.append(mark)
        stored = record_all(place.memory, exchanges)
        self._recorded.put(talk, known | {mark for mark, whole in zip(marks, stored, strict=True) if whole})


class Recent(Generic[V]):
    """The values of the keys used last; a run in another process simply works them out again."""

    def __init__(self, size: int = 256) -> None:
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._size = size
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> V | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: V) -> None:
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._size:
                self._values.popitem(last=False)


def scoped(memory: TidalMemory, scope: Scope | None, config: RunnableConfig) -> TidalMemory:
    """The memory in the scope that was given for it, or that the run's context and config give."""
    if scope is None:
        return memory
    given = scope(run_context(), config) if callable(scope) else scope
    if not isinstance(given, tuple) or not given:  # a str would fall apart into letters
        raise InvalidScope(f"scope= gave {given!r} for this run; it must give a tuple such as ('user', '42')")
    return memory.scoped(*given)


def place_of(memory: TidalMemory, scope: Scope | None, config: RunnableConfig) -> Place:
    """Where the run with this config remembers."""
    here, settings = scoped(memory, scope, config), config.get("configurable", {})
    thread, user = settings.get("thread_id"), _user(run_context()) or settings.get("user_id") or user_of(here.scope)
    return Place(here, None if thread is None else str(thread), None if user is None else str(user))


def run_context() -> Any:
    """The context of the graph run that this is called in; ``None`` outside one."""
    try:
        from langgraph.runtime import get_runtime

        return get_runtime().context
    except (AttributeError, ImportError, KeyError, RuntimeError):
        return None


def recalled(turn: str | None, whisper: Whisper, earlier: Recalled | None) -> Recalled:
    """What surfaced in a turn, after what had surfaced in it before its session was written to."""
    before = earlier["ids"] if earlier and turn is not None and earlier.get("turn") == turn else []
    return Recalled(turn=turn, ids=list(dict.fromkeys([*before, *whisper.ids])))


def event(turn: str | None, whisper: Whisper) -> dict[str, Any]:
    """What a run's custom stream is told of a recall."""
    affect = whisper.recall.affect if whisper.recall else Affect()
    told = {
        "turn": turn,
        "ids": list(whisper.ids),
        "why": [str(hit.why) for hit in whisper.hits],
        "whisper": whisper.text,
        "valence": affect.valence,
        "arousal": affect.arousal,
    }
    return {"tidal_recall": told}


def record_all(memory: TidalMemory, exchanges: Sequence[Exchange]) -> list[bool]:
    """Record exchanges and return which are stored: one that cannot be is logged, and stops no conversation."""
    try:
        memory.record_many(exchanges)
        return [True] * len(exchanges)
    except InvalidVector:
        raise  # the embedder is at fault, not the turn
    except InvalidInput as error:
        if len(exchanges) > 1:
            return [stored for exchange in exchanges for stored in record_all(memory, [exchange])]
        (exchange,) = exchanges
        logger.error("turn %s of thread %s was not recorded: %s", exchange.key, exchange.thread, error)
        return [False]


def _written(lane: Session | None) -> Hashable:
    """Which session it is, and how far it was written."""
    return None if lane is None else (lane.id, lane.info.accepted)


def _user(context: Any) -> Any:
    """Whom a run's context names, as LangGraph's own examples do."""
    return context.get("user_id") if isinstance(context, Mapping) else getattr(context, "user_id", None)


def _surfaced(recalled: Recalled | None, turn: Sequence[BaseMessage]) -> Sequence[str]:
    """The ids that recall showed, if this was the turn that it ran for last."""
    return recalled.get("ids", ()) if recalled and recalled.get("turn") == turn[0].id else ()
