"""TidalMemoryMiddleware: a memory for the agents of ``create_agent``."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ContextT, PrivateStateAttr, ResponseT
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from langchain_tidal.messages import by_human, question, turns, with_structured_answer, with_whisper
from langchain_tidal.reading import Reader, read_with
from langchain_tidal.run import Recalled, Scope, TurnMemory, event, recalled
from tidal_plugins import Policy, TidalMemory
from tidal_plugins.turns import Nested, session_config


class TurnInHand(Recalled):
    """The ids that surfaced in a turn, and its question, which other middleware may cut off in a long tool loop."""

    asked: str


class TidalAgentState(AgentState[Any]):
    """The agent's state with the turn in hand; that is neither input nor output of the agent."""

    recalled: NotRequired[Annotated[TurnInHand, PrivateStateAttr]]


class TidalMemoryMiddleware(AgentMiddleware[AgentState[ResponseT], ContextT, ResponseT]):
    """Recalls before the model, once per user turn, and records every turn when the agent is done with it.

    The whisper stands at the head of the last human message, in the model's request only; state and checkpoints never
    hold it. The run's custom stream gets ``{"tidal_recall": {"turn", "ids", "why", "whisper", "valence", "arousal"}}``.
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
    ) -> None:
        super().__init__()
        self._turns = TurnMemory(memory, scope, session_config(memory, policy, agent), nested)
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
        surfaced, fresh = self._turns.whisper(self._turns.place(), history, turns(request.messages))
        if fresh and request.runtime:  # outside a graph there is no stream
            request.runtime.stream_writer(event(turn, surfaced))
        messages: list[Any] = with_whisper(request.messages, surfaced.whisper.text)
        earlier: Any = request.state.get("recalled")
        shown = recalled(turn, surfaced, earlier)
        in_hand = TurnInHand(turn=turn, ids=shown["ids"], asked=question(history[-1]))
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
