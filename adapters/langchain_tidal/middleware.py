"""Middleware for the agents of ``create_agent``: a memory, contexts that are rebuilt, and a capsule."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, NotRequired, Unpack

from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ContextT, PrivateStateAttr, ResponseT
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables.config import ensure_config
from langgraph.runtime import Runtime
from langgraph.types import Command

from langchain_tidal.context import ContextMemory, ContextOptions, View, reserved
from langchain_tidal.messages import MAX_AGE, appended, by_human, question, turns, with_structured_answer
from langchain_tidal.models import asent, sent
from langchain_tidal.reading import Reader, read_with
from langchain_tidal.run import Recalled, Scope, TurnMemory, event, place_of, recalled
from langchain_tidal.tools import ReadEpisode
from tidal_plugins import Policy, TidalMemory
from tidal_plugins.turns import CACHE, Cache, Nested, session_config, thread_capsule


class TurnInHand(Recalled):
    """The ids that surfaced in a turn, and its question, which other middleware may cut off in a long tool loop."""

    asked: str


class TidalAgentState(AgentState[Any]):
    """The agent's state with the turn in hand; that is neither input nor output of the agent."""

    recalled: NotRequired[Annotated[TurnInHand, PrivateStateAttr]]


class TidalMemoryMiddleware(AgentMiddleware[AgentState[ResponseT], ContextT, ResponseT]):
    """Recalls before the model, once per user turn, and records every turn when the agent is done with it.

    The whisper stands at the head of the human message, in the model's request only; state and checkpoints never hold
    it. It stays with its turn until the next compaction, so that providers find the prompt in their cache. With
    ``cache="turn"`` it goes when its turn is over; with ``"tail"`` it is the last thing of each call. The run's custom
    stream gets ``{"tidal_recall": {"turn", "ids", "why", "whisper", "degraded", "valence",
    "arousal"}}``.
    A structured answer (``response_format=ToolStrategy(…)``) is recorded as the JSON of its arguments. Turns that an
    earlier run left behind (after a crash, or an interrupt that nobody resumed) are recorded when the
    agent runs again. ``scope`` defaults to that of the memory; the thread is that of the run. In the list of middleware
    it stands after middleware that shortens or edits the history.

    With a ``policy`` (or the name of one), the thread has a session under it, of ``agent`` and the run's user. Recall
    uses the session's signals from the next model call on [tidalDB]. ``signal_tools`` of the same policy and agent let
    the model write signals. The user is the ``user_id`` of the context or config, or that of a scope ``("user",
    "42")``. With a policy, a run without a thread raises ``InvalidInput``.

    A run inside a tool of another run, such as a subagent's, is **nested**: its prompt is an agent's, not the user's.
    It is recorded as such in a thread of its own, ``"<thread>/<name of the agent>"``. ``nested="skip"`` records nothing
    of it, and ``nested="user"`` takes it for the user's own.

    With a ``reader``, a model reads the recorded turns for the graph, beside the rules, in the background and several
    at a time: ``"agent"`` is the agent's own model, or give a cheaper one. See ``memory.graph.read_with``.
    """

    state_schema = TidalAgentState

    def __init__(
        self,
        memory: TidalMemory,
        *,
        scope: Scope | None = None,
        policy: Policy | str | None = None,
        agent: str | None = None,
        nested: Nested = "apart",
        reader: Reader | None = None,
        cache: Cache = CACHE,
    ) -> None:
        super().__init__()
        self._turns = TurnMemory(memory, scope, session_config(memory, policy, agent), nested, cache)
        self._reader = read_with(memory, reader)

    def before_agent(self, state: AgentState[ResponseT], runtime: Runtime[ContextT]) -> None:
        self._record(state)

    async def abefore_agent(self, state: AgentState[ResponseT], runtime: Runtime[ContextT]) -> None:
        await asyncio.to_thread(self._record, state)

    def wrap_model_call(
        self, request: ModelRequest[ContextT], handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]]
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        whispered, in_hand = self._recall(request)
        return _told(request, handler(whispered), in_hand)

    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        whispered, in_hand = await asyncio.to_thread(self._recall, request)
        return _told(request, await handler(whispered), in_hand)

    def after_agent(self, state: AgentState[ResponseT], runtime: Runtime[ContextT]) -> None:
        self._record(state, ended=True)

    async def aafter_agent(self, state: AgentState[ResponseT], runtime: Runtime[ContextT]) -> None:
        await asyncio.to_thread(self._record, state, ended=True)

    def _recall(self, request: ModelRequest[ContextT]) -> tuple[ModelRequest[ContextT], TurnInHand | None]:
        """Add a whisper to a request.

        The turn is that of the state: other middleware may shorten or add to this one request.
        """
        if self._reader:
            self._reader.use(request.model)
        history = _history(request.state)
        if not history:
            return request, None
        turn = history[-1][0].id
        shown, surfaced, fresh = self._turns.whisper(self._turns.place(), history, request.messages)
        if fresh and request.runtime:  # outside a graph there is no stream
            request.runtime.stream_writer(event(turn, surfaced))
        messages: list[Any] = shown
        earlier: Any = request.state.get("recalled")
        in_hand = TurnInHand(turn=turn, ids=recalled(turn, surfaced, earlier)["ids"], asked=question(history[-1]))
        return request.override(messages=messages), in_hand

    def _record(self, state: Any, *, ended: bool = False) -> None:
        history = _history(state)
        if ended and history and state.get("structured_response") is not None:
            history[-1] = with_structured_answer(history[-1])
        self._turns.record(self._turns.place(), history, state.get("recalled"), ended=ended)


def _history(state: Any) -> list[list[BaseMessage]]:
    """Return the turns of a state. The question of the turn in hand is put back if its messages stand without it."""
    messages, in_hand = state["messages"], state.get("recalled")
    history = turns(messages)
    left = list(itertools.takewhile(lambda message: not by_human(message), messages))
    answers = [message for message in left if isinstance(message, AIMessage | ToolMessage)]
    if in_hand is None or not answers or any(message.id == in_hand["turn"] for message in messages):
        return history
    return [[HumanMessage(in_hand["asked"], id=in_hand["turn"]), *answers], *history]


def _told(
    request: ModelRequest[ContextT], response: ModelResponse[ResponseT], in_hand: TurnInHand | None
) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
    """Return the response, with the ids that surfaced if the state does not know them yet."""
    if in_hand is None or request.state.get("recalled") == in_hand:
        return response
    return ExtendedModelResponse(response, Command(update={"recalled": in_hand}))


class TidalCompaction(AgentMiddleware[AgentState[ResponseT], ContextT, ResponseT]):
    """Gives the model a rebuilt context once the history grows too large; the history itself stays unchanged.

    The model sees a summary of the completed turns that cites their episodes, the last completed turn, files that it
    had read or changed, and the ongoing turn verbatim [SIYA §2.2]. The memory keeps verbatim whatever is left out, and
    the agent can look it up with the tool ``read_episode``. If the provider refuses a request as too large, the request
    is rebuilt smaller and sent once more.

    In the list of middleware it stands before ``TidalMemoryMiddleware`` and before middleware that retries. Middleware
    that edits requests (``ContextEditingMiddleware``) may stand before it: the model sees the edited messages, and the
    memory gets the turns as they are in the state.

    The run's custom stream gets ``{"tidal_compaction": {"id", "stage", "tokens_before", "tokens_after", "bytes_before",
    "bytes_after", "dropped", "citations", "files", "summariser", "fallback"}}`` whenever a context was rebuilt.

    Args:
        memory: the memory that records the turns.
        read_tool: whether the agent gets the tool ``read_episode``. ``False`` is for models that call no tools.
        max_tokens: limits everything that is sent: system prompt, tool schemas, messages. Default: the limit in the
            model's profile, or else ``Settings.compaction``.
        max_bytes: limits the same in bytes. Default: ``Settings.compaction``.
        summariser: a chat model or any ``Summariser``. Default: extracts, without a model.
        token_counter: counts the tokens of a list of messages, as for ``SummarizationMiddleware``. By default sizes
            are estimated, and corrected by the usage that the model reports.
        summary_as: ``"human"`` for providers that refuse assistant messages that they did not write.
        restore_as: ``"human"`` for providers that refuse tool calls that they did not write.
        files: tells what the agent's files are now: ``DiskFiles(folder)``. Default: what the conversation says of them.
    """

    def __init__(
        self,
        memory: TidalMemory,
        *,
        read_tool: bool = True,
        scope: Scope | None = None,
        **options: Unpack[ContextOptions],
    ) -> None:
        super().__init__()
        self.tools = [ReadEpisode(memory=memory, scope=scope)] if read_tool else []
        self._context = ContextMemory(memory, scope=scope, **options)

    def wrap_model_call(
        self, request: ModelRequest[ContextT], handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]]
    ) -> ModelResponse[ResponseT]:
        smaller = partial(self._shortened, request)
        return sent(lambda view: handler(_showing(request, view)), self._view(request), smaller)

    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ModelResponse[ResponseT]:
        view, smaller = await asyncio.to_thread(self._view, request), partial(self._shortened, request)
        return await asent(lambda view: handler(_showing(request, view)), view, smaller)

    def _view(self, request: ModelRequest[ContextT]) -> View:
        profile = getattr(request.model, "profile", None) or {}
        return self._context.view(
            self._context.place(),
            request.messages,
            reserved(request.system_message, request.tools),
            max_tokens=profile.get("max_input_tokens"),
            said=request.state["messages"],
        )

    def _shortened(self, request: ModelRequest[ContextT], refused: View) -> View | None:
        beside = reserved(request.system_message, request.tools)
        return self._context.shortened(
            self._context.place(), request.messages, beside, refused.compaction.after, said=request.state["messages"]
        )


def _showing(request: ModelRequest[ContextT], view: View) -> ModelRequest[ContextT]:
    if view.new and request.runtime:  # outside a graph there is no stream
        request.runtime.stream_writer(view.event())
    messages: list[Any] = view.messages
    return request.override(messages=messages)


class TidalCapsule(AgentMiddleware[AgentState[ResponseT], ContextT, ResponseT]):
    """Puts the memory's capsule after the system prompt, in the model's request only [Capsule].

    The text stays the same to the byte for ``max_age``, in every thread and process of its scope, so that providers can
    keep it in their caches. It is made anew earlier for a thread that begins, if it is older than five minutes or an
    agent's tools have worked on since: the thread knows what was said, and goes on with that work. The text says which
    of its sections are quotations, and that those are not instructions. State, checkpoints and recordings never hold
    it. Nothing is added if the capsule is empty.

    In the list of middleware it stands first, so that ``TidalCompaction`` after it counts it with the system prompt.
    ``scope`` defaults to that of the memory.
    """

    def __init__(self, memory: TidalMemory, *, max_age: timedelta = MAX_AGE, scope: Scope | None = None) -> None:
        super().__init__()
        self._memory = memory
        self._scope = scope
        self._max_age = max_age

    def wrap_model_call(
        self, request: ModelRequest[ContextT], handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]]
    ) -> ModelResponse[ResponseT]:
        return handler(self._prefixed(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ModelResponse[ResponseT]:
        return await handler(await asyncio.to_thread(self._prefixed, request))

    def _prefixed(self, request: ModelRequest[ContextT]) -> ModelRequest[ContextT]:
        place = place_of(self._memory, self._scope, ensure_config())
        text = thread_capsule(place, self._max_age)
        return request.override(system_message=appended(request.system_message, text))
