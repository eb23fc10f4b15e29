"""The nodes: recall before the model, record after it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import get_runtime

from langchain_tidal.messages import finished, question, to_exchange, turn_key, turns, with_whisper
from langgraph_tidal.state import messages_of, value
from tidal_plugins import Affect, Exchange, InvalidInput, InvalidScope, InvalidVector, TidalMemory, Whisper

logger = logging.getLogger(__name__)

Scope = tuple[str, ...] | Callable[[Any, RunnableConfig], tuple[str, ...]]
"""A scope, or a function of the run's context and config that gives one."""

V = TypeVar("V")


class _Recent(Generic[V]):
    """The values of the keys used last; a run in another process simply works them out again."""

    def __init__(self, size: int = 1024) -> None:
        self._values: OrderedDict[tuple[Any, ...], V] = OrderedDict()
        self._size = size
        self._lock = threading.Lock()

    def get(self, key: tuple[Any, ...]) -> V | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: tuple[Any, ...], value: V) -> None:
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._size:
                self._values.popitem(last=False)


class MemoryNode(Runnable[Any, dict[str, Any]]):
    """A node over a memory, sync and async. ``scope`` defaults to the memory's own, the session is the thread."""

    def __init__(
        self, memory: TidalMemory, *, scope: Scope | None = None, input_messages_key: str = "messages"
    ) -> None:
        self._memory = memory
        self._scope = scope
        self._key = input_messages_key

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        memory, session = self._place(config)
        return self._run(memory, session, input)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        memory, session = self._place(config)
        return await asyncio.to_thread(self._run, memory, session, input)

    def _run(self, memory: TidalMemory, session: str | None, state: Any) -> dict[str, Any]:
        raise NotImplementedError

    def _place(self, config: RunnableConfig | None) -> tuple[TidalMemory, str | None]:
        """The memory in the run's scope, and the run's session."""
        run = _config(config)
        thread = run.get("configurable", {}).get("thread_id")
        session = None if thread is None else str(thread)
        if self._scope is None:
            return self._memory, session
        scope = self._scope(_context(), run) if callable(self._scope) else self._scope
        if not isinstance(scope, tuple) or not scope:  # a str would fall apart into letters
            raise InvalidScope(f"scope= gave {scope!r} for this run; it must give a tuple such as ('user', '42')")
        return self._memory.scoped(*scope), session


class RecallNode(MemoryNode):
    """Recalls what the current turn reminds the agent of, once per user turn.

    Returns ``llm_input_messages``: the messages with the whisper at the head of the last human one. ``messages``
    stay as they are. What the model sees anyway (the turns in ``messages``) is left out of the whisper. The run's
    custom stream gets ``{"tidal_recall": {"turn", "ids", "why", "whisper", "valence", "arousal"}}``.
    """

    def __init__(
        self, memory: TidalMemory, *, scope: Scope | None = None, input_messages_key: str = "messages"
    ) -> None:
        super().__init__(memory, scope=scope, input_messages_key=input_messages_key)
        self._whispers = _Recent[Whisper]()

    def _run(self, memory: TidalMemory, session: str | None, state: Any) -> dict[str, Any]:
        messages = messages_of(state, self._key)
        history = turns(messages)
        if not history:
            return {"llm_input_messages": messages, "recalled": {"turn": None, "ids": []}}
        turn = history[-1][0].id
        whisper = self._whisper(memory, session, history)
        _emit(turn, whisper)
        return {
            "llm_input_messages": with_whisper(messages, whisper.text),
            "recalled": {"turn": turn, "ids": list(whisper.ids)},
        }

    def _whisper(self, memory: TidalMemory, session: str | None, history: Sequence[list[BaseMessage]]) -> Whisper:
        """The whisper of the last turn; steps of a tool loop and retries get the one that the turn began with."""
        asked, turn = question(history[-1]), history[-1][0].id
        mark = (memory.scope, session, turn, asked)
        whisper = self._whispers.get(mark) if turn else None
        if whisper is None:
            visible = [memory.episode_id(key, session=session) for key in map(turn_key, history) if key]
            whisper = memory.whisper(asked, exclude=visible)
            self._whispers.put(mark, whisper)
        return whisper


class RecordNode(MemoryNode):
    """Records every turn that is over and not recorded yet, and flushes the whisper when the agent has answered.

    The last turn is over when it ends with an answer; in a tool loop or at an interrupt it waits. Turns that an
    earlier run left behind (a crash, a node that was added later) are caught up on. Message ids make it idempotent:
    retries and replays record nothing twice. A turn that cannot be stored is logged and left out, so that it does not
    stop its thread for good.
    """

    def __init__(
        self, memory: TidalMemory, *, scope: Scope | None = None, input_messages_key: str = "messages"
    ) -> None:
        super().__init__(memory, scope=scope, input_messages_key=input_messages_key)
        self._recorded = _Recent[bool]()

    def _run(self, memory: TidalMemory, session: str | None, state: Any) -> dict[str, Any]:
        history = turns(messages_of(state, self._key))
        over = history if history and finished(history[-1]) else history[:-1]
        marks, exchanges = [], []
        for turn in over:
            mark = (memory.scope, session, tuple(message.id for message in turn))
            if turn_key(turn) and self._recorded.get(mark):
                continue
            surfaced = _surfaced(state, turn) if turn[0].id or turn is history[-1] else ()
            if exchange := to_exchange(turn, session, surfaced):
                exchanges.append(exchange)
                marks.append(mark)
        for mark, stored in zip(marks, _record(memory, exchanges), strict=True):
            if stored:
                self._recorded.put(mark, True)
        return {"llm_input_messages": []} if history and finished(history[-1]) else {}


def tidal_pre_model_hook(memory: TidalMemory, *, scope: Scope | None = None) -> RecallNode:
    """Return the ``pre_model_hook`` of ``create_react_agent``; ``RecordNode(memory)`` is its ``post_model_hook``."""
    return RecallNode(memory, scope=scope)


def _surfaced(state: Any, turn: Sequence[BaseMessage]) -> Sequence[str]:
    """The ids that recall showed, if this was the turn that it ran for last."""
    recalled = value(state, "recalled") or {}
    return recalled.get("ids", ()) if recalled.get("turn") == turn[0].id else ()


def _config(config: RunnableConfig | None) -> RunnableConfig:
    if config is not None:
        return config
    try:
        return get_config()
    except RuntimeError:  # outside a graph
        return {}


def _context() -> Any:
    try:
        runtime = get_runtime()
    except (RuntimeError, KeyError):
        return None
    return runtime.context if runtime else None


def _emit(turn: str | None, whisper: Whisper) -> None:
    try:
        writer = get_runtime().stream_writer
    except (AttributeError, RuntimeError, KeyError):  # outside a graph there is no stream
        return
    affect = whisper.recall.affect if whisper.recall else Affect()
    event = {
        "turn": turn,
        "ids": list(whisper.ids),
        "why": [str(hit.why) for hit in whisper.hits],
        "whisper": whisper.text,
        "valence": affect.valence,
        "arousal": affect.arousal,
    }
    writer({"tidal_recall": event})


def _record(memory: TidalMemory, exchanges: Sequence[Exchange]) -> list[bool]:
    """Record exchanges and return which are stored: where some cannot be, the others are all the same."""
    try:
        memory.record_many(exchanges)
        return [True] * len(exchanges)
    except InvalidVector:
        raise  # the embedder is at fault, not the turn
    except InvalidInput as error:
        if len(exchanges) > 1:
            return [stored for exchange in exchanges for stored in _record(memory, [exchange])]
        (exchange,) = exchanges
        logger.error("turn %s of session %s was not recorded: %s", exchange.key, exchange.session, error)
        return [False]
