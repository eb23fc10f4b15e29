"""with_memory: a memory around any runnable, such as a model or a chain."""

from __future__ import annotations

import asyncio
import functools
import operator
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from langchain_core.prompt_values import ChatPromptValue, PromptValue
from langchain_core.runnables import Runnable, RunnableConfig, ensure_config
from langchain_core.runnables.base import RunnableLike, coerce_to_runnable
from langchain_core.runnables.history import RunnableWithMessageHistory

from langchain_tidal.messages import answered, turns
from langchain_tidal.run import Recalled, Scope, TurnMemory, recalled
from tidal_plugins import InvalidInput, Policy, TidalMemory
from tidal_plugins.turns import CACHE, Cache, Nested, Place, session_config


def with_memory(
    runnable: RunnableLike[Any, Any],
    memory: TidalMemory,
    *,
    scope: Scope | None = None,
    thread: str | None = None,
    input_key: str | None = None,
    output_key: str | None = None,
    policy: Policy | str | None = None,
    agent: str | None = None,
    nested: Nested = "apart",
    cache: Cache = CACHE,
) -> Runnable[Any, Any]:
    """Return a runnable that shows ``runnable`` the whisper for its input, and records the turn with its output.

    The input is a text, messages, or a dict that has one of these under ``input_key`` (not needed if the dict has only
    one key). The whisper stands at the head of the text, or of the last human message. If the output is a dict,
    ``output_key`` names the answer in the same way; other output is recorded as JSON. A stream is recorded at its end,
    or up to the point where it is closed. A call that fails is not recorded. ``thread`` defaults to the config's
    ``thread_id`` or ``session_id``, ``scope`` to that of the memory. ``policy``, ``agent``, ``nested`` and ``cache``
    are those of ``TidalMemoryMiddleware``. Raises ``InvalidInput`` for a runnable with a ``RunnableWithMessageHistory``
    in it, which would keep the whisper.
    """
    inside: Runnable[Any, Any] = coerce_to_runnable(runnable)
    if any(isinstance(part, RunnableWithMessageHistory) for part in _parts(inside)):
        raise InvalidInput(
            "with_memory(RunnableWithMessageHistory(…)) would write the whisper into the chat history for good: put "
            "with_memory inside, RunnableWithMessageHistory(with_memory(…), …)"
        )
    turns = TurnMemory(memory, scope, session_config(memory, policy, agent), nested, cache)
    return RunnableWithMemory(inside, turns, thread, input_key, output_key)


@dataclass(frozen=True, slots=True)
class Turn:
    """One call: the input of the runnable, and the turns of that input. The last is recorded with the output."""

    input: Any
    place: Place
    history: Sequence[list[BaseMessage]] = ()
    recalled: Recalled | None = None


class RunnableWithMemory(Runnable[Any, Any]):
    """The runnable that :func:`with_memory` returns."""

    def __init__(
        self,
        runnable: Runnable[Any, Any],
        turns: TurnMemory,
        thread: str | None,
        input_key: str | None,
        output_key: str | None,
    ) -> None:
        self._runnable = runnable
        self._turns = turns
        self._thread = thread
        self._input_key = input_key
        self._output_key = output_key

    @property
    def InputType(self) -> Any:  # noqa: N802  the name is LangChain's
        return self._runnable.InputType

    @property
    def OutputType(self) -> Any:  # noqa: N802
        return self._runnable.OutputType

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return self._call_with_config(self._invoke, input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return await self._acall_with_config(self._ainvoke, input, config, **kwargs)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        yield from self._transform_stream_with_config(iter([input]), self._stream, config, **kwargs)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        async def given() -> AsyncIterator[Any]:
            yield input

        chunks: Any = self._atransform_stream_with_config(given(), self._astream, config, **kwargs)
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk

    # Each call is a run whose input has no whisper: listeners around it, such as a message history, see that input.

    def _invoke(self, input: Any, run_manager: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        turn = self._begin(input, config)
        output = self._runnable.invoke(turn.input, config, **kwargs)
        self._end(turn, output)
        return output

    async def _ainvoke(self, input: Any, run_manager: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        turn = await asyncio.to_thread(self._begin, input, config)
        output = await self._runnable.ainvoke(turn.input, config, **kwargs)
        await asyncio.to_thread(self._end, turn, output)
        return output

    def _stream(self, given: Iterator[Any], run_manager: Any, config: RunnableConfig, **kwargs: Any) -> Iterator[Any]:
        turn, chunks = self._begin(next(given), config), list[Any]()
        try:
            for chunk in self._runnable.stream(turn.input, config, **kwargs):
                chunks.append(chunk)
                yield chunk
        except GeneratorExit:
            self._end(turn, *chunks)
            raise
        self._end(turn, *chunks)

    async def _astream(
        self, given: AsyncIterator[Any], run_manager: Any, config: RunnableConfig, **kwargs: Any
    ) -> AsyncIterator[Any]:
        input = await anext(given)
        turn, chunks = await asyncio.to_thread(self._begin, input, config), list[Any]()
        try:
            async for chunk in self._runnable.astream(turn.input, config, **kwargs):
                chunks.append(chunk)
                yield chunk
        except GeneratorExit:
            await asyncio.to_thread(self._end, turn, *chunks)
            raise
        await asyncio.to_thread(self._end, turn, *chunks)

    def _begin(self, input: Any, config: RunnableConfig | None) -> Turn:
        place = self._place(config)
        key = self._key(input) if isinstance(input, Mapping) else None
        given = input if key is None else input[key]
        messages = _messages(given)
        history = turns(messages)
        if not history:
            return Turn(input, place)
        whispered, surfaced, _ = self._turns.whisper(place, history, messages)
        same = all(shown is message for shown, message in zip(whispered, messages, strict=False))
        shown = given if same and len(whispered) == len(messages) else _in_form(given, whispered)
        told = recalled(history[-1][0].id, surfaced, None)
        return Turn(shown if key is None else {**input, key: shown}, place, history, told)

    def _end(self, turn: Turn, *output: Any) -> None:
        """Record the turn with its output, which a stream gives in parts."""
        answer = self._answer_of(output)
        if turn.history:
            *earlier, said = turn.history
            history = [*earlier, [*said, *answer]]
            self._turns.record(turn.place, history, turn.recalled, ended=True, catch_up=False)

    def _answer_of(self, output: Sequence[Any]) -> list[BaseMessage]:
        return answered(self._answer(_sum(output))) if output else []

    def _place(self, config: RunnableConfig | None) -> Place:
        config = ensure_config(config)
        place, settings = self._turns.place(config), config.get("configurable", {})
        thread = self._thread or place.thread or settings.get("session_id")
        return replace(place, thread=None if thread is None else str(thread))

    def _key(self, input: Mapping[str, Any]) -> str:
        key = next(iter(input), "") if self._input_key is None and len(input) == 1 else self._input_key
        if key is None or key not in input:
            found = ", ".join(map(str, input)) or "nothing"
            raise InvalidInput(f"say with input_key= which part of the input the user said; it has {found}")
        return key

    def _answer(self, output: Any) -> Any:
        if not isinstance(output, Mapping):
            return output
        if self._output_key is None and len(output) == 1:
            return next(iter(output.values()))
        return output.get(self._output_key, output)


def _parts(runnable: Any) -> Iterator[Any]:
    """Yield a runnable and those that it is composed of."""
    yield runnable
    for name in ("bound", "steps", "steps__", "runnable", "fallbacks", "default", "branches"):
        found = getattr(runnable, name, ())
        parts = found.values() if isinstance(found, Mapping) else found if isinstance(found, Sequence) else [found]
        for part in parts:
            for each in part if isinstance(part, tuple) else [part]:
                if isinstance(each, Runnable):
                    yield from _parts(each)


def _messages(given: Any) -> list[BaseMessage]:
    if isinstance(given, str):
        return [HumanMessage(given)]
    if isinstance(given, PromptValue):
        return given.to_messages()
    if isinstance(given, BaseMessage):
        return [given]
    if isinstance(given, Sequence):
        return convert_to_messages(given)
    raise InvalidInput(f"the input must be a text, messages, or a dict of them, got {type(given).__name__}")


def _in_form(given: Any, shown: Sequence[BaseMessage]) -> Any:
    """Return messages in the form that the input had: a text, a message, a prompt, or messages."""
    if isinstance(given, str):
        return shown[0].text
    if isinstance(given, PromptValue):
        return ChatPromptValue(messages=shown)
    return shown[0] if isinstance(given, BaseMessage) else shown


def _sum(parts: Sequence[Any]) -> Any:
    try:
        return functools.reduce(operator.add, parts)
    except TypeError:  # not made to be added: the last is the whole
        return parts[-1]
