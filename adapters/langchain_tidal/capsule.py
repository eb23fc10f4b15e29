"""TidalCapsule: who an agent is and what it is doing, in front of each model call of ``create_agent``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ContextT, ResponseT
from langchain_core.runnables.config import ensure_config

from langchain_tidal.prefix import MAX_AGE, appended
from langchain_tidal.run import Scope, place_of
from tidal_plugins import TidalMemory
from tidal_plugins.turns import capsule_text


class TidalCapsule(AgentMiddleware[AgentState[ResponseT], ContextT, ResponseT]):
    """Puts the memory's capsule after the system prompt, in the model's request only [Capsule].

    The text stays the same to the byte for ``max_age``, in every thread and process of its scope, so that providers can
    keep it in their caches. It is made anew earlier for a thread that begins, if an agent's tools have worked on since:
    the thread goes on with that work. The text says which of its sections are quotations, and that those are not
    instructions. State, checkpoints and recordings never hold it. Nothing is added if the capsule is empty.

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
        capsule = place.memory.capsule.read(max_age=self._max_age, thread=place.thread)
        text = capsule_text(capsule, place.memory.frames)
        return request.override(system_message=appended(request.system_message, text))
