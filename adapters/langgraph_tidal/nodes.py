"""The nodes around the model: compact, show the capsule and recall before it, record after it."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Unpack

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage, RemoveMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import get_runtime

from langchain_tidal.context import ContextMemory, ContextOptions
from langchain_tidal.messages import MAX_AGE, capsule_message, finished, turns, with_capsule, with_whisper
from langchain_tidal.models import overflowed
from langchain_tidal.reading import Reader, read_with
from langchain_tidal.run import Scope, TurnMemory, event, recalled
from langchain_tidal.sizes import size_of
from langgraph_tidal.state import PREPARED, compacted, messages_of, model_input, value
from tidal_plugins import InvalidInput, Policy, TidalMemory
from tidal_plugins.model.compaction import Size
from tidal_plugins.shown import shown
from tidal_plugins.turns import Nested, Place, SessionConfig, capsule_text, session_config
from tidal_plugins.validation import label


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


class CompactionNode(MemoryNode):
    """Gives the model a rebuilt context once the history grows too large [SIYA §2.2].

    The node returns ``llm_input_messages``: the messages unchanged, or the rebuilt context. A rebuilt context has a
    summary of the completed turns that cites their episodes, the last completed turn, files that were read or
    changed, and the ongoing turn verbatim. ``messages`` stay whole in every checkpoint.

    The node stands before ``RecallNode``, also in a tool loop. :func:`model_input` shows the result of both. The run's
    custom stream gets ``{"tidal_compaction": {"id", "stage", "tokens_before", "tokens_after", "bytes_before",
    "bytes_after", "dropped", "citations", "files", "summariser", "fallback"}}`` whenever a context was rebuilt.

    Args:
        memory: the memory that records the turns.
        output_messages_key: ``"messages"`` rewrites the history for good whenever a context was rebuilt. The episodes
            keep the texts; of images and other content that is not text they keep only the name. The run needs a
            thread then.
        reserved: the size of everything that the model's node adds to the messages:
            ``langchain_tidal.reserved(system_prompt, tools)``.
        max_tokens: limits everything that is sent. Default: ``Settings.compaction``.
        max_bytes: limits everything that is sent. Default: ``Settings.compaction``.
        summariser: a chat model or any ``Summariser``. Default: extracts, without a model.
        token_counter: counts the tokens of a list of messages. By default sizes are estimated, and corrected by the
            usage that the model reports.
        summary_as: ``"human"`` for providers that refuse assistant messages that they did not write.
        restore_as: ``"human"`` for providers that refuse tool calls that they did not write.
        files: tells what the agent's files are now: ``DiskFiles(folder)``. Default: what the conversation says of them.

    Raises ``ContextOverflow`` if the messages that may not be shortened exceed the limit, and ``InvalidInput`` if a
    history is to be rewritten and the run has no ``thread_id``.
    """

    def __init__(
        self,
        memory: TidalMemory,
        *,
        input_messages_key: str = "messages",
        output_messages_key: str = PREPARED,
        reserved: Size | None = None,
        scope: Scope | None = None,
        **options: Unpack[ContextOptions],
    ) -> None:
        label(input_messages_key, "input_messages_key")
        label(output_messages_key, "output_messages_key")
        if reserved is not None and not isinstance(reserved, Size):
            raise InvalidInput(f"reserved is a Size(tokens, bytes) or None, got {shown(reserved)}")
        super().__init__(memory, scope=scope, input_messages_key=input_messages_key)
        if output_messages_key not in (PREPARED, input_messages_key):
            raise InvalidInput(
                f"output_messages_key is {PREPARED!r}, or {shown(input_messages_key)} to rewrite the history"
            )
        self.rewrites = output_messages_key == input_messages_key
        self._reserved = reserved or Size()
        self._context = ContextMemory(memory, scope=scope, **options)

    def guard(self, model: Runnable[Any, Any]) -> GuardedModel:
        """Return the model as one that is called once more, with less, when its provider refuses a context."""
        return GuardedModel(model, self._context, self._reserved)

    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        messages = messages_of(state, self._key)
        if self.rewrites and place.thread is None:  # the next call could not tell what its messages stand for
            raise InvalidInput(
                f"output_messages_key={shown(self._key)} rewrites the history of a thread, and this run has none: give "
                'it a thread in its config, {"configurable": {"thread_id": …}}, or do without output_messages_key='
            )
        view = self._context.view(place, messages, self._reserved)
        if view.new:
            emit(view.event())
        if not self.rewrites:
            return {PREPARED: unstreamed(view.messages)}
        if not view.changed:
            return {}
        return {self._key: unstreamed([RemoveMessage(REMOVE_ALL_MESSAGES), *view.messages])}


class GuardedModel(Runnable[LanguageModelInput, Any]):
    """A model that is called a second time with a smaller context if its provider refuses the first as too large."""

    def __init__(self, model: Runnable[Any, Any], context: ContextMemory, beside: Size) -> None:
        self._model = model
        self._context = context
        self._beside = beside

    def invoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        try:
            return self._model.invoke(input, config, **kwargs)
        except Exception as error:
            smaller = self._smaller(input, config) if overflowed(error) else None
            if smaller is None:
                raise
        return self._model.invoke(smaller, config, **kwargs)

    async def ainvoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        try:
            return await self._model.ainvoke(input, config, **kwargs)
        except Exception as error:
            smaller = await asyncio.to_thread(self._smaller, input, config) if overflowed(error) else None
            if smaller is None:
                raise
        return await self._model.ainvoke(smaller, config, **kwargs)

    def _smaller(self, input: LanguageModelInput, config: RunnableConfig | None) -> list[BaseMessage] | None:
        messages, place = _input_messages(input), self._context.place(config)
        refused = sum(map(size_of, messages), self._beside)
        view = self._context.shortened(place, messages, self._beside, refused)
        if view and view.new:
            emit(view.event())
        return view.messages if view else None


def _input_messages(input: LanguageModelInput) -> Sequence[BaseMessage]:
    if isinstance(input, PromptValue):
        return input.to_messages()
    return convert_to_messages([input] if isinstance(input, str) else input)


class CapsuleNode(MemoryNode):
    """Puts the memory's capsule in front, as a system message after those at the beginning of the history [Capsule].

    The node returns ``llm_input_messages``, as :func:`model_input` shows them, with the capsule. ``messages``,
    checkpoints and recordings stay unchanged. The text stays the same to the byte for ``max_age``, in every thread and
    process of its scope, so that providers can keep it in their caches. It is made anew earlier for a thread that
    begins, if an agent's tools have worked on since: the thread goes on with that work. It says which of its sections
    are quotations, and that those are not instructions. No message is added if the capsule is empty.

    The node stands after ``CompactionNode``, which does not see the capsule. Add its size to the node's ``reserved``:
    ``reserved=langchain_tidal.reserved(f"{system_prompt}{memory.capsule.read()}", tools)``, with room to grow. The
    sections that the memory writes come to about 4,000 tokens when conversations fill them, and to 5,000 at most. A
    graph that resumes after an interrupt shows the capsule again if it is led back to this node.
    """

    def __init__(
        self,
        memory: TidalMemory,
        *,
        max_age: timedelta = MAX_AGE,
        scope: Scope | None = None,
        input_messages_key: str = "messages",
    ) -> None:
        super().__init__(memory, scope=scope, input_messages_key=input_messages_key)
        self._max_age = max_age

    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        made = place.memory.capsule.read(max_age=self._max_age, thread=place.thread)
        capsule = capsule_message(capsule_text(made, place.memory.frames))
        return {PREPARED: unstreamed(with_capsule(model_input(state, self._key), capsule))}


def tidal_pre_model_hook(
    memory: TidalMemory,
    *,
    compact: CompactionNode | None = None,
    capsule: CapsuleNode | None = None,
    scope: Scope | None = None,
    policy: Policy | str | None = None,
    agent: str | None = None,
    nested: Nested = "apart",
) -> MemoryNode:
    """Return the ``pre_model_hook`` of ``create_react_agent``; ``RecordNode(memory)`` is its ``post_model_hook``.

    It recalls, after ``compact`` and ``capsule`` where they are given; ``scope`` is that of all, ``policy``, ``agent``
    and ``nested`` those of ``RecallNode``. Raises ``InvalidInput`` for a ``compact`` that rewrites the history.
    """
    for name, node, kind in (("compact", compact, CompactionNode), ("capsule", capsule, CapsuleNode)):
        if node is not None and not isinstance(node, kind):
            raise InvalidInput(f"{name} is a {kind.__name__} or None, got {shown(node)}")
    if compact and compact.rewrites:
        raise InvalidInput("a hook shows the model less, and leaves the history: do without output_messages_key=")
    recall = RecallNode(memory, scope=scope, policy=policy, agent=agent, nested=nested)
    before = [node for node in (compact, capsule) if node]
    return _Hook([*before, recall], memory, scope, nested) if before else recall


class _Hook(MemoryNode):
    """Nodes one after the other, in one step of the graph."""

    def __init__(self, nodes: Sequence[MemoryNode], memory: TidalMemory, scope: Scope | None, nested: Nested) -> None:
        super().__init__(memory, scope=scope, nested=nested)
        self._nodes = nodes

    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        messages, view = messages_of(state, self._key), dict[str, Any]()
        for node in self._nodes:
            seen = {self._key: messages, **view, "recalled": value(state, "recalled")}
            view |= node._run(place, seen)
        return view
