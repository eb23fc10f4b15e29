"""The state of a graph that remembers, and its nodes: compact, show the capsule, recall; record; speak first."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, NotRequired, TypedDict, Unpack

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.channels import UntrackedValue
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

from langchain_tidal.context import ContextMemory, ContextOptions
from langchain_tidal.messages import (
    MAX_AGE,
    PRESENCE,
    by_capsule,
    by_compaction,
    by_human,
    by_whisper,
    capsule_message,
    finished,
    turns,
    with_capsule,
)
from langchain_tidal.reading import Reader, read_with
from langchain_tidal.run import Recalled, Scope, TurnMemory, event, recalled
from langgraph_tidal.model import GuardedModel, emit
from tidal_plugins import InvalidInput, Policy, ProactiveMessage, TidalMemory
from tidal_plugins.model.compaction import Size
from tidal_plugins.model.delimiters import inert
from tidal_plugins.shown import cut, shown
from tidal_plugins.turns import CACHE, Cache, Nested, Place, SessionConfig, session_config, thread_capsule
from tidal_plugins.validation import MAX_LABEL, clean, label

PREPARED = "llm_input_messages"


logger = logging.getLogger(__name__)

QUIET: RunnableConfig = {"tags": ["nostream"], "metadata": {"lc_source": PRESENCE}}
"""Config of the call that words a message. Only the message that the node returns is streamed."""

QUOTED = 600
"""Characters of each quoted message that the model is shown."""

REQUEST = """\
The person has not written anything now. You write to them first, because of this:

{text}

It rests on what was said earlier:
{sources}

Write that message to them, in one or two sentences and in your usual tone. Say nothing that is not said here."""
"""What ``model`` is asked for. It stands in the request only."""


def last(_: Recalled, new: Recalled) -> Recalled:
    """Return the value of one branch: branches that recall side by side write one value in a step."""
    return new


class TidalState(TypedDict):
    """State with messages as usual and what recall adds.

    ``llm_input_messages`` are the messages with the whisper in them, less what compaction left out. They are never
    checkpointed and never stale: after an interrupt they are absent, and :func:`model_input` falls back to
    ``messages``. Lead a resumed graph back to compaction and recall: in the same process the whisper is the one that
    the turn began with.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    llm_input_messages: NotRequired[Annotated[list[AnyMessage], UntrackedValue(list, guard=False)]]
    recalled: NotRequired[Annotated[Recalled, last]]


def model_input(state: Any, input_messages_key: str = "messages") -> list[BaseMessage]:
    """Return the messages that the model should see: those of the state as compaction shows them, with the capsule
    and the whisper.

    Compaction's messages, the capsule and the human messages with whispers come from ``llm_input_messages``. Messages
    that were added, removed or edited since (a tool call and its result, a trimmed history) show as they stand.
    """
    clean(input_messages_key, max_chars=MAX_LABEL, name="input_messages_key")
    messages, prepared = compacted(state, input_messages_key), value(state, PREPARED) or []
    whispered = [message for message in prepared if by_human(message)]
    for index in range(len(messages) - 1, -1, -1):
        shown = next((n for n in range(len(whispered) - 1, -1, -1) if _carries(whispered[n], messages[index])), None)
        if shown is not None:
            messages[index] = whispered[shown]
            del whispered[shown:]
    tail = next(filter(by_whisper, prepared), None)
    return [*messages, tail] if tail and messages and messages[-1].type == "tool" else messages


def compacted(state: Any, input_messages_key: str) -> list[BaseMessage]:
    """Return the messages as they are now, less those that compaction left out, with the capsule in front if any."""
    messages, prepared = messages_of(state, input_messages_key), value(state, PREPARED) or []
    return with_capsule(_compacted(messages, prepared), next(filter(by_capsule, prepared), None))


def messages_of(state: Any, key: str) -> list[BaseMessage]:
    """Return the messages of a state. Raises ``InvalidInput`` if it has none under ``key``."""
    messages = value(state, key)
    if messages is None:
        raise InvalidInput(f"the state has no {shown(key)}; say where its messages are with input_messages_key=")
    return convert_to_messages(messages)


def value(state: Any, name: str) -> Any:
    """Return the value of a state under ``name``, of a mapping or an object (pydantic, dataclass); ``None`` without."""
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)


def _compacted(messages: list[BaseMessage], prepared: Sequence[BaseMessage]) -> list[BaseMessage]:
    if any(map(by_compaction, messages)) or not any(map(by_compaction, prepared)):
        return messages
    places = {_key(message): place for place, message in enumerate(messages)}
    last = max((places[_key(message)] for message in prepared if _key(message) in places), default=None)
    if last is None:  # another history has taken the place of the one that was compacted
        return messages
    now = [message if by_compaction(message) else _now(message, messages, places) for message in prepared]
    return [*(message for message in now if message), *messages[last + 1 :]]


def _now(message: BaseMessage, messages: list[BaseMessage], places: Mapping[Hashable, int]) -> BaseMessage | None:
    place = places.get(_key(message))
    return None if place is None else messages[place]


def _key(message: BaseMessage) -> Hashable:
    return message.id or (message.type, str(message.content))


def _carries(whispered: BaseMessage, message: BaseMessage) -> bool:
    """Return whether a message is one with a whisper before its text or behind it."""
    same = isinstance(message, HumanMessage) and message.id == whispered.id
    return same and (whispered.text.endswith(message.text) or whispered.text.startswith(message.text))


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
        cache: Cache = CACHE,
    ) -> None:
        self._turns = TurnMemory(memory, scope, session, nested, cache)
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
    sees verbatim. It stays with its turn until the next compaction, so that providers find the prompt in their cache.
    With ``cache="turn"`` it goes when its turn is over; with ``"tail"`` it is the last thing of each call. The run's
    custom stream gets ``{"tidal_recall": {"turn", "ids", "why", "whisper", "degraded", "valence",
    "arousal"}}``.

    In a graph whose state has no ``llm_input_messages`` no whisper is shown, and a warning is logged once. Use
    :class:`TidalState`, or :func:`~langgraph_tidal.memory_model`, which needs neither nodes nor a state.

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
        cache: Cache = CACHE,
    ) -> None:
        session, key = session_config(memory, policy, agent), input_messages_key
        super().__init__(memory, scope=scope, input_messages_key=key, session=session, nested=nested, cache=cache)
        self._warned = False

    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        if not self._warned and _drops(PREPARED):
            self._warned = True
            logger.warning(
                "this graph's state has no %r: its model sees no whisper. Make the state a subclass of TidalState, or "
                "give the graph memory_model(model, memory) for its model, and leave the nodes out",
                PREPARED,
            )
        messages = messages_of(state, self._key)  # once: messages without ids are known by their identity
        history = turns(messages)
        view = compacted({self._key: messages, PREPARED: value(state, PREPARED)}, self._key)
        if not history:
            return {PREPARED: view, "recalled": {"turn": None, "ids": []}}
        turn = history[-1][0].id
        shown, surfaced, _ = self._turns.whisper(place, history, view)
        emit(event(turn, surfaced))
        unstreamed(list(filter(by_whisper, shown)))
        return {
            PREPARED: shown,
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


def _drops(name: str) -> bool:
    """Return whether the graph of this run drops what a node returns under a name, because its state has no such part.

    LangGraph says it nowhere, but a run can read its state.
    """
    read = ensure_config().get("configurable", {}).get("__pregel_read")
    try:
        if read:
            read([name])
    except KeyError:
        return True
    return False


def unstreamed(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Keep messages of compaction, a capsule or a whisper out of the stream of messages: nobody said them just now.

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


class CapsuleNode(MemoryNode):
    """Puts the memory's capsule in front, as a system message after those at the beginning of the history [Capsule].

    The node returns ``llm_input_messages``, as :func:`model_input` shows them, with the capsule. ``messages``,
    checkpoints and recordings stay unchanged. The text stays the same to the byte for ``max_age``, in every thread and
    process of its scope, so that providers can keep it in their caches. It is made anew earlier for a thread that
    begins, if it is older than five minutes or an agent's tools have worked on since, so that the thread knows what was
    said, and goes on with that work. It says which of its sections
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
        capsule = capsule_message(thread_capsule(place, self._max_age))
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
    cache: Cache = CACHE,
) -> MemoryNode:
    """Return the ``pre_model_hook`` of ``create_react_agent``; ``RecordNode(memory)`` is its ``post_model_hook``.

    It recalls, after ``compact`` and ``capsule`` where they are given; ``scope`` is that of all, ``policy``, ``agent``,
    ``nested`` and ``cache`` those of ``RecallNode``. Raises ``InvalidInput`` for a ``compact`` that rewrites the
    history.
    """
    for name, node, kind in (("compact", compact, CompactionNode), ("capsule", capsule, CapsuleNode)):
        if node is not None and not isinstance(node, kind):
            raise InvalidInput(f"{name} is a {kind.__name__} or None, got {shown(node)}")
    if compact and compact.rewrites:
        raise InvalidInput("a hook shows the model less, and leaves the history: do without output_messages_key=")
    recall = RecallNode(memory, scope=scope, policy=policy, agent=agent, nested=nested, cache=cache)
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


class ProactiveNode(MemoryNode):
    """Takes the message that waits in the memory's presence, and says it as the agent's [Tidal §5].

    It is the entry of a graph that is invoked without a new human message, such as
    ``graph.invoke({"messages": []}, config)`` on the person's thread. If a message waits, the node returns it as an
    ``AIMessage``. The id of the message is that of the presence; ``additional_kwargs["tidal_presence"]`` holds its
    ``citations``, ``kind``, ``why`` and ``at``. The node does nothing if somebody waits for an answer, or if
    nothing may be said now. :func:`needs_answer` leads on from it.

    ``RecordNode`` records the message as a turn of its own, in which the person said nothing. What they say next counts
    as their answer.

    Args:
        memory: the memory. Its presence must be allowed: ``memory.presence.allow(zone=…)``. Some scheduler calls
            ``memory.presence.step()``.
        model: a chat model, or a chain from messages to a message, that words the message. It is shown the thread and
            the sentences that the message rests on. If it fails, or calls tools, the memory's own words are said.
            Default: these words.
        scope: the owner, as for the other nodes. Default: that of the memory.
        input_messages_key: the name of the messages in the state.

    A process that is killed after the message was taken and before the graph's checkpoint loses it: nothing is said
    twice.
    """

    def __init__(
        self,
        memory: TidalMemory,
        *,
        model: Runnable[Any, BaseMessage] | None = None,
        scope: Scope | None = None,
        input_messages_key: str = "messages",
    ) -> None:
        super().__init__(memory, scope=scope, input_messages_key=input_messages_key)
        if model is not None and not isinstance(model, Runnable):
            raise InvalidInput(f"model= is a chat model, or a chain that ends with one, got {shown(model)}")
        self._model = model

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        place = self._turns.place(config)
        message = await asyncio.to_thread(self._taken, place, input)
        if message is None or self._model is None:
            return self._said(message)
        try:
            worded = await self._model.ainvoke(await asyncio.to_thread(self._request, place, input, message), QUIET)
        except Exception as error:
            return self._said(message, error)
        except BaseException:  # the run was cancelled, and nothing was said
            await place.memory.presence.agive_back(message)
            raise
        return self._said(message, worded)

    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        message = self._taken(place, state)
        if message is None or self._model is None:
            return self._said(message)
        try:
            worded = self._model.invoke(self._request(place, state, message), QUIET)
        except Exception as error:
            return self._said(message, error)
        except BaseException:
            place.memory.presence.give_back(message)
            raise
        return self._said(message, worded)

    def _taken(self, place: Place, state: Any) -> ProactiveMessage | None:
        return None if needs_answer(state, self._key) else place.memory.presence.take()

    def _request(self, place: Place, state: Any, message: ProactiveMessage) -> list[BaseMessage]:
        sources = place.memory.delimiters.memories([*_quotes(place.memory, message)])
        return [*compacted(state, self._key), HumanMessage(REQUEST.format(text=message.text, sources=sources))]

    def _said(self, message: ProactiveMessage | None, worded: BaseMessage | Exception | None = None) -> dict[str, Any]:
        """Return the update of the state. Of a model that failed or wants tools, the memory's own words are said."""
        if message is None:
            return {}
        text = worded.text.strip() if isinstance(worded, AIMessage) and not worded.tool_calls else ""
        if worded is not None and not text:  # an error's message may hold what was said, which belongs into no log
            logger.warning("the model gave no words (%s); the memory's own are said", type(worded).__name__)
        about = {
            "citations": list(message.citations),
            "kind": message.kind,
            "why": message.why,
            "at": message.at.isoformat(),
        }
        marks = {"lc_source": PRESENCE, PRESENCE: about}
        return {self._key: [AIMessage(text or message.text, id=message.id, additional_kwargs=marks)]}


def needs_answer(state: Any, input_messages_key: str = "messages") -> bool:
    """Return whether the last message waits for the agent: it is no answer, and there is one.

    Use it behind a :class:`ProactiveNode`::

        graph.add_conditional_edges("proactive", needs_answer, {True: "recall", False: "record"})
    """
    if not isinstance(input_messages_key, str):
        raise InvalidInput(f"input_messages_key must be a name, got {shown(input_messages_key)}")
    history = turns(messages_of(state, input_messages_key))
    return bool(history) and not finished(history[-1])


def _quotes(memory: TidalMemory, message: ProactiveMessage) -> Iterator[str]:
    """Yield the words that a message rests on, one line for each message of the cited turns."""
    for citation in message.citations:
        if citation.startswith("ep:"):
            episode = memory.episodes[citation]
            for said in episode.messages:
                if said.role != "tool" and said.text:
                    yield f"- [{citation}] {episode.occurred_at:%Y-%m-%d}, {said.role}: {cut(inert(said.text), QUOTED)}"
