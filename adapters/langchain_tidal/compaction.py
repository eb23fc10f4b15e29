"""TidalCompaction: contexts of the agents of ``create_agent`` that grow too large, rebuilt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ContextT, ResponseT

from langchain_tidal.context import ContextMemory, ContextOptions, View
from langchain_tidal.models import overflowed
from langchain_tidal.run import Scope
from langchain_tidal.sizes import reserved
from langchain_tidal.tools import ReadEpisode
from tidal_plugins import TidalMemory


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
        view = self._view(request)
        try:
            return handler(_showing(request, view))
        except Exception as error:
            smaller = self._shortened(request, view) if overflowed(error) else None
            if smaller is None:
                raise
        return handler(_showing(request, smaller))

    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ModelResponse[ResponseT]:
        view = await asyncio.to_thread(self._view, request)
        try:
            return await handler(_showing(request, view))
        except Exception as error:
            smaller = await asyncio.to_thread(self._shortened, request, view) if overflowed(error) else None
            if smaller is None:
                raise
        return await handler(_showing(request, smaller))

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
