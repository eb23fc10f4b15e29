"""TidalConversationMemory: a memory for LangChain's classic chains."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_classic.base_memory import BaseMemory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    get_buffer_string,
)
from pydantic import ConfigDict, Field, PrivateAttr

from langchain_tidal.messages import answered, by_human, question, to_exchange, turns, with_whisper
from langchain_tidal.run import named_faults
from tidal_plugins import Episode, InvalidInput, Policy, TidalMemory, Whisper
from tidal_plugins.turns import Place, Recent, going_on, in_scope, record_turns, session_config

STOP = "stop"
"""A chain's input that is no part of the prompt."""

STEPS = "intermediate_steps"


class TidalConversationMemory(BaseMemory):
    """Shows a chain the last turns of its conversation, and the whisper for its input.

    ``ConversationChain(llm=model, memory=TidalConversationMemory(memory))``. The variable ``memory_key`` holds the last
    ``recent`` turns of the thread (0 for none) and the whisper, as text or, with ``return_messages``, as messages. Then
    the whisper stands at the head of the last human one, or in a system message if there is none. ``thread`` names a
    conversation to continue; by default a new one begins. ``input_key`` and ``output_key`` are needed only if a chain
    has several inputs or outputs. The tool calls of an executor are recorded too if it returns its intermediate steps.
    With a ``policy`` and an ``agent``, recall uses the signals of the thread's session, as in
    ``TidalMemoryMiddleware``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: TidalMemory = Field(exclude=True, repr=False)
    scope: tuple[str, ...] | None = None
    thread: str | None = None
    policy: Policy | str | None = Field(None, exclude=True)
    agent: str | None = None
    recent: int = Field(4, ge=0, le=100)
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False
    human_prefix: str = "Human"
    ai_prefix: str = "AI"

    _current: str = PrivateAttr()
    _surfaced: Recent[tuple[str, ...]] = PrivateAttr(default_factory=Recent[tuple[str, ...]])

    def __init__(self, memory: TidalMemory, **fields: Any) -> None:
        with named_faults(type(self)):
            super().__init__(memory=memory, **fields)
        session_config(memory, self.policy, self.agent)
        self._current = self.thread or _new_thread("chain")

    @property
    def memory_variables(self) -> list[str]:
        return [self.memory_key]

    @property
    def current_thread(self) -> str:
        """Return the thread that turns are recorded in now."""
        return self._current

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the last turns and the whisper for the input. Without an input: the last turns only."""
        asked, nothing = self._question(inputs) if inputs else "", Whisper("")
        recent: list[Episode] = going_on(self.memory, "earlier turns", self._recent, [])
        whisper = going_on(self.memory, "whispers", lambda: self._whisper(asked, recent), nothing)
        self._surfaced.put((self._current, asked), whisper.ids)
        return {self.memory_key: self._shown(recent, whisper)}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return await asyncio.to_thread(self.load_memory_variables, inputs)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Record the turn, without the text that this memory had put into the inputs."""
        asked = self._question(inputs)
        turn = [HumanMessage(asked), *_steps(outputs.get(STEPS)), *answered(self._answer(outputs))]
        surfaced = self._surfaced.get((self._current, asked)) or ()
        record_turns(self._here, [to_exchange(turn, self._current, surfaced)])

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        await asyncio.to_thread(self.save_context, inputs, outputs)

    def clear(self, *, forget: bool = False) -> None:
        """Begin a new conversation, without last turns. Recall still finds the earlier ones.

        ``forget=True`` removes the turns of the conversation that ends here from the memory, for good.
        """
        if forget:
            self._here.forget(thread=self._current)
        self._current = _new_thread(self.thread or "chain")

    async def aclear(self, *, forget: bool = False) -> None:
        await asyncio.to_thread(self.clear, forget=forget)

    @property
    def _here(self) -> TidalMemory:
        return in_scope(self.memory, self.scope)

    def _whisper(self, asked: str, recent: Sequence[Episode]) -> Whisper:
        memory, config = self._here, session_config(self.memory, self.policy, self.agent)
        session = config.session(Place(memory, self._current)) if config and asked else None
        return memory.whisper(asked, exclude=[episode.id for episode in recent], session=session)

    def _recent(self) -> list[Episode]:
        if not self.recent:
            return []
        return self._here.episodes.list(thread=self._current, limit=self.recent, newest_first=True)[::-1]

    def _shown(self, recent: list[Episode], whisper: Whisper) -> str | list[BaseMessage]:
        said = [message for episode in recent for message in _messages(episode)]
        if self.return_messages:
            return _with_whisper(said, whisper.text)
        spoken = get_buffer_string(said, self.human_prefix, self.ai_prefix)
        return "\n\n".join(part for part in (spoken, whisper.text) if part)

    def _question(self, inputs: Mapping[str, Any]) -> str:
        asked = _only({name: inputs[name] for name in inputs if name not in (self.memory_key, STOP)}, self.input_key)
        if asked is None:
            raise InvalidInput(f"say with input_key= what the user said; the chain's inputs are {', '.join(inputs)}")
        return _said(asked)

    def _answer(self, outputs: Mapping[str, Any]) -> Any:
        answer = _only({name: outputs[name] for name in outputs if name != STEPS}, self.output_key)
        if answer is None:
            raise InvalidInput(f"say with output_key= what the answer is; the chain's outputs are {', '.join(outputs)}")
        return answer


def _only(values: Mapping[str, Any], key: str | None) -> Any:
    """Return the value that was named, or the only one; ``None`` if there is no such value."""
    if key is not None:
        return values.get(key)
    return next(iter(values.values())) if len(values) == 1 else None


def _said(asked: Any) -> str:
    """Return the user's words, from a text, a message or messages."""
    if isinstance(asked, str):
        return asked
    history = turns([asked] if isinstance(asked, BaseMessage) else convert_to_messages(asked))
    return question(history[-1]) if history else ""


def _messages(episode: Episode) -> list[BaseMessage]:
    said = [HumanMessage(episode.query)] if episode.query else []
    return [*said, AIMessage(episode.answer)] if episode.answer else [*said]


def _with_whisper(said: list[BaseMessage], whisper: str) -> list[BaseMessage]:
    """Return messages with the whisper at the head of the last human one, or ahead of all if there is none.

    The question that the chain puts behind them is a human message, and some models refuse two of them in a row.
    """
    if whisper and not any(map(by_human, said)):
        return [SystemMessage(whisper), *said]
    return with_whisper(said, whisper)


def _steps(steps: Any) -> list[BaseMessage]:
    """Return an executor's steps, pairs of an action and an observation, as calls of tools and their results."""
    found: list[BaseMessage] = []
    for number, (action, observation) in enumerate(steps or (), 1):
        arguments = action.tool_input if isinstance(action.tool_input, dict) else {"input": action.tool_input}
        call = {"name": action.tool, "args": arguments, "id": f"step-{number}"}
        found += [AIMessage("", tool_calls=[call]), ToolMessage(str(observation), tool_call_id=call["id"])]
    return found


def _new_thread(name: str) -> str:
    return f"{name}-{secrets.token_hex(8)}"
