"""The node that rebuilds a context before the model gets it, and a model that recovers from one that is too large."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Unpack

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage, RemoveMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langchain_tidal.context import ContextMemory, ContextOptions
from langchain_tidal.models import overflowed
from langchain_tidal.run import Scope
from langchain_tidal.sizes import size_of
from langgraph_tidal.nodes import MemoryNode, emit, unstreamed
from langgraph_tidal.state import PREPARED, messages_of
from tidal_plugins import InvalidInput, TidalMemory
from tidal_plugins.model.compaction import Size
from tidal_plugins.shown import shown
from tidal_plugins.turns import Place
from tidal_plugins.validation import label


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
        messages, place = _messages(input), self._context.place(config)
        refused = sum(map(size_of, messages), self._beside)
        view = self._context.shortened(place, messages, self._beside, refused)
        if view and view.new:
            emit(view.event())
        return view.messages if view else None


def _messages(input: LanguageModelInput) -> Sequence[BaseMessage]:
    if isinstance(input, PromptValue):
        return input.to_messages()
    return convert_to_messages([input] if isinstance(input, str) else input)
