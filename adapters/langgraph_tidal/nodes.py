"""The nodes: recall before the model, record after it."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.runtime import get_runtime

from langchain_tidal.messages import finished, turns, with_whisper
from langchain_tidal.reading import Reader, read_with
from langchain_tidal.run import Scope, TurnMemory, event, recalled
from langgraph_tidal.state import PREPARED, compacted, messages_of, value
from tidal_plugins import Policy, TidalMemory
from tidal_plugins.turns import Nested, Place, SessionConfig, session_config


class MemoryNode(Runnable[Any, dict[str, Any]]):
    """A node over a memory, sync and async. ``scope`` defaults to the memory's own, the thread is that of the run."""

    def __init__(
        self,
        memory: TidalMemory,
        *,
        scope: Scope | None = None,
        input_messages_key: str = "messages",
        session: SessionConfig | None = None,
        nested: Nested = "apart",
    ) -> None:
        self._turns = TurnMemory(memory, scope, session, nested)
        self._key = input_messages_key

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        return self._run(self._turns.place(config), input)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        return await asyncio.to_thread(self._run, self._turns.place(config), input)

    @abstractmethod
    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        """Return the node's update of the state."""


class RecallNode(MemoryNode):
    """Recalls memories for the current turn, once per user turn.

    The node returns ``llm_input_messages``: the messages without those that ``CompactionNode`` left out, with the
    whisper at the head of the last human one. ``messages`` stay unchanged. The whisper leaves out turns that the model
    sees verbatim. The run's custom stream gets ``{"tidal_recall": {"turn", "ids", "why", "whisper", "valence",
    "arousal"}}``.

    With a ``policy`` (or the name of one), the run's thread has a session under it, of ``agent`` and the run's user.
    Recall uses the session's signals [tidalDB]. If the tools lead back to this node, the next model call shows their
    effect. ``langchain_tidal.signal_tools`` of the same policy and agent let the model write signals. The user is the
    ``user_id`` of the context or config, or that of a scope ``("user", "42")``. With a policy, a run without a thread
    raises ``InvalidInput``. ``nested`` is that of :class:`RecordNode`.
    """

    def __init__(
        self,
        memory: TidalMemory,
        *,
        scope: Scope | None = None,
        policy: Policy | str | None = None,
        agent: str | None = None,
        input_messages_key: str = "messages",
        nested: Nested = "apart",
    ) -> None:
        session = session_config(memory, policy, agent)
        super().__init__(memory, scope=scope, input_messages_key=input_messages_key, session=session, nested=nested)

    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        history, view = turns(messages_of(state, self._key)), compacted(state, self._key)
        if not history:
            return {PREPARED: view, "recalled": {"turn": None, "ids": []}}
        turn = history[-1][0].id
        surfaced, _ = self._turns.whisper(place, history, turns(view))
        emit(event(turn, surfaced))
        return {
            PREPARED: with_whisper(view, surfaced.whisper.text),
            "recalled": recalled(turn, surfaced, value(state, "recalled")),
        }


class RecordNode(MemoryNode):
    """Records every turn that is over and not recorded yet, and flushes the whisper when the agent has answered.

    The last turn is over when it ends with an answer; in a tool loop or at an interrupt it waits. Turns that an
    earlier run left behind (a crash, a node that was added later) are caught up on. Message ids make it idempotent:
    retries and replays record nothing twice. A turn that cannot be stored is logged and left out, so that it does not
    stop its thread for good.

    A run inside a tool of another run, such as a subagent's, is **nested**: its prompt is an agent's, not the user's.
    It is recorded as such in a thread of its own, ``"<thread>/<name of the agent>"``. ``nested="skip"`` records nothing
    of it, and ``nested="user"`` takes it for the user's own.

    With a ``reader``, a model reads the recorded turns for the graph, beside the rules, in the background and several
    at a time. Give a chat model, or ``"agent"`` for the model that wrote the last answer: a node sees no model, so it
    is made anew by the name and the provider that the answer bears, with the keys of the environment. If it cannot be
    made, the turns wait. See ``memory.graph.read_with``.
    """

    def __init__(
        self,
        memory: TidalMemory,
        *,
        scope: Scope | None = None,
        input_messages_key: str = "messages",
        nested: Nested = "apart",
        reader: Reader | None = None,
    ) -> None:
        super().__init__(memory, scope=scope, input_messages_key=input_messages_key, nested=nested)
        self._reader = read_with(memory, reader, by_name=True)

    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        history = turns(messages_of(state, self._key))
        if self._reader and history:
            self._reader.use_author(history[-1])
        self._turns.record(place, history, value(state, "recalled"))
        return {PREPARED: []} if history and finished(history[-1]) else {}


def emit(told: dict[str, Any]) -> None:
    """Write an event to the run's custom stream."""
    try:
        writer = get_runtime().stream_writer
    except (AttributeError, RuntimeError, KeyError):  # outside a graph there is no stream
        return
    writer(told)


def unstreamed(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Keep messages of compaction or of a capsule out of the run's stream of messages: nobody said them just now.

    LangGraph streams every message that a node returns, but for those whose ids its handler has seen.
    """
    for handler in getattr(ensure_config().get("callbacks"), "handlers", ()):
        if isinstance(seen := getattr(handler, "seen", None), set):
            seen.update(message.id for message in messages if message.id)
    return messages
