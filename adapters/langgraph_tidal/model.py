"""A model with a memory, for graphs of any state; a model whose context is rebuilt when its provider refuses it."""

from __future__ import annotations

import copy
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Any, Self, Unpack

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import get_runtime

from langchain_tidal.context import ContextMemory, ContextOptions, reserved, size_of
from langchain_tidal.messages import by_whisper, turns, without_whisper
from langchain_tidal.models import asent, sent
from langchain_tidal.reading import Reader, read_with
from langchain_tidal.run import Scope, TurnMemory, event, recalled
from langchain_tidal.runnable import RunnableWithMemory, Turn
from tidal_plugins import InvalidInput, Policy, TidalMemory
from tidal_plugins.model.compaction import Size
from tidal_plugins.shown import shown
from tidal_plugins.turns import CACHE, Cache, Nested, session_config


def memory_model(
    model: Runnable[LanguageModelInput, Any],
    memory: TidalMemory,
    *,
    scope: Scope | None = None,
    policy: Policy | str | None = None,
    agent: str | None = None,
    nested: Nested = "apart",
    reader: Reader | None = None,
    cache: Cache = CACHE,
    **options: Unpack[ContextOptions],
) -> MemoryModel:
    """Return a chat model that remembers: for a node of any graph, whatever its state.

    ``memory_model(model, memory)`` takes the place of ``model``, also in ``create_react_agent``, before or after
    ``bind_tools`` and ``with_structured_output``. It is shown the messages that it is called with, rebuilt if they grew
    too large, and the whisper for the last human one. A turn is recorded when the model answers it without calling a
    tool, and with it the turns before it that were missed. State, checkpoints and what the model returns stay as they
    are.

    ``options`` are those of a context: ``max_tokens`` (default: the limit in the model's profile, or else
    ``Settings.compaction``), ``max_bytes``, ``summariser``, ``token_counter``, ``files``, ``summary_as`` and
    ``restore_as``, as in ``TidalCompaction``. ``langchain_tidal.ReadEpisode(memory=memory)`` is the tool by which an
    agent follows the citations of a summary. All else is as in ``TidalMemoryMiddleware``; the run's custom stream gets
    the same ``tidal_recall`` and ``tidal_compaction``. Do not use it together with ``RecallNode`` and ``RecordNode``.
    """
    if not isinstance(model, Runnable):
        raise InvalidInput(f"model is a chat model, or a chain that begins with one, got {shown(model)}")
    turns = TurnMemory(memory, scope, session_config(memory, policy, agent), nested, cache)
    return MemoryModel(model, turns, ContextMemory(memory, scope=scope, **options), read_with(memory, reader))


class MemoryModel(RunnableWithMemory):
    """The model that :func:`memory_model` returns."""

    def __init__(
        self, model: Runnable[LanguageModelInput, Any], turns: TurnMemory, context: ContextMemory, reader: Any
    ) -> None:
        super().__init__(GuardedModel(model, context, Size()), turns, None, None, None)
        self._model = model
        self._context = context
        self._reader = reader
        self._tools: Sequence[Any] = ()

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Self:
        """Return this model with tools. Their schemas count as a part of what is sent."""
        bind: Any = getattr(self._model, "bind_tools", None)
        if bind is None:
            raise InvalidInput(f"{type(self._model).__name__} takes no tools: bind them first, memory_model(bound, …)")
        return self._around(bind(tools, **kwargs), tools)

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Self:
        """Return this model with answers in the form of a schema. They are recorded as JSON."""
        structured: Any = getattr(self._model, "with_structured_output", None)
        if structured is None:
            raise InvalidInput(f"{type(self._model).__name__} has no structured output: memory_model(structured, …)")
        made = self._around(structured(schema, **kwargs), [schema])
        made._output_key = "parsed" if kwargs.get("include_raw") else None
        return made

    def _around(self, model: Runnable[LanguageModelInput, Any], tools: Sequence[Any]) -> Self:
        made = copy.copy(self)
        made._model, made._tools = model, list(tools)
        made._runnable = GuardedModel(model, self._context, reserved(tools=made._tools))
        return made

    def _begin(self, input: Any, config: RunnableConfig | None) -> Turn:
        place, given = self._place(config), _input_messages(input)
        model = getattr(self._model, "bound", self._model)
        if self._reader:
            self._reader.use(model)
        profile = getattr(model, "profile", None) or {}
        beside = reserved(tools=self._tools)
        view = self._context.view(
            self._context.place(config), given, beside, max_tokens=profile.get("max_input_tokens")
        )
        if view.new:
            emit(view.event())
        history = turns(given)
        if not history:
            return Turn(view.messages, place)
        whispered, surfaced, fresh = self._turns.whisper(place, history, view.messages)
        turn = history[-1][0].id
        if fresh:
            emit(event(turn, surfaced))
        return Turn(whispered, place, history, recalled(turn, surfaced, None))

    def _end(self, turn: Turn, *output: Any) -> None:
        """Record the turn if the output answers it. What is no message gets its id later: only this turn is known."""
        answer = self._answer_of(output)
        if turn.history and answer:
            *earlier, said = turn.history
            named = all(message.id for message in answer)
            self._turns.record(turn.place, [*earlier, [*said, *answer]], turn.recalled, catch_up=named)


def emit(told: dict[str, Any]) -> None:
    """Write an event to the run's custom stream."""
    try:
        writer = get_runtime().stream_writer
    except (AttributeError, RuntimeError, KeyError):  # outside a graph there is no stream
        return
    writer(told)


class GuardedModel(Runnable[LanguageModelInput, Any]):
    """A model that is called a second time with a smaller context if its provider refuses the first as too large.

    Whispers stay with those of their messages that are left.
    """

    def __init__(self, model: Runnable[Any, Any], context: ContextMemory, beside: Size) -> None:
        self._model = model
        self._context = context
        self._beside = beside

    def invoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return sent(lambda given: self._model.invoke(given, config, **kwargs), input, partial(self._smaller, config))

    async def ainvoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return await asent(
            lambda given: self._model.ainvoke(given, config, **kwargs), input, partial(self._smaller, config)
        )

    def stream(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        def begun(given: LanguageModelInput) -> tuple[list[Any], Iterator[Any]]:
            chunks = iter(self._model.stream(given, config, **kwargs))
            return list(itertools.islice(chunks, 1)), chunks

        first, rest = sent(begun, input, partial(self._smaller, config))
        yield from first
        yield from rest

    async def astream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        async def begun(given: LanguageModelInput) -> tuple[list[Any], AsyncIterator[Any]]:
            chunks = self._model.astream(given, config, **kwargs)
            return [chunk async for chunk in _first(chunks)], chunks

        first, rest = await asent(begun, input, partial(self._smaller, config))
        for chunk in first:
            yield chunk
        async for chunk in rest:
            yield chunk

    def _smaller(self, config: RunnableConfig | None, input: LanguageModelInput) -> LanguageModelInput | None:
        place = self._context.place(config)
        delimiters, shown = place.memory.delimiters, _input_messages(input)
        said = [without_whisper(message, delimiters) for message in shown if not by_whisper(message)]
        whispered = {id(bare): message for bare, message in zip(said, shown, strict=False) if bare is not message}
        view = self._context.shortened(place, said, self._beside, sum(map(size_of, shown), self._beside))
        if view is None:
            return None
        if view.new:
            emit(view.event())
        return [*(whispered.get(id(message), message) for message in view.messages), *filter(by_whisper, shown)]


async def _first(chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for chunk in chunks:
        yield chunk
        return


def _input_messages(input: LanguageModelInput) -> Sequence[BaseMessage]:
    if isinstance(input, PromptValue):
        return input.to_messages()
    return convert_to_messages([input] if isinstance(input, str) else input)
