"""Chat models as readers of turns: ``reader=`` of the middleware and of the nodes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import BaseModel

from langchain_tidal.models import is_cut_off, knows_no_tools, structured
from tidal_plugins import InvalidInput, ModelAnswer, TidalMemory
from tidal_plugins.protocols import TurnReader
from tidal_plugins.shown import shown

logger = logging.getLogger(__name__)

Reader = Literal["agent"] | BaseChatModel | TurnReader
"""``"agent"`` is the agent's own model; a chat model is one of the caller's choice."""

QUIET: RunnableConfig = {"tags": ["nostream"], "metadata": {"lc_source": "tidal_reader"}}
"""Keeps what a reader writes out of the stream of a run that it is made in."""


class ChatModelReader:
    """Reads episodes with a chat model, by structured output if the model has it, else by lines of JSON.

    ``memory.graph.read_with(model)`` makes one. Raises ``InvalidInput`` for what is no chat model.
    """

    def __init__(self, model: BaseChatModel) -> None:
        if not isinstance(model, BaseChatModel):
            raise InvalidInput(f"a chat model reads, got {type(model).__name__}")
        self._model = model
        self._plain = False

    def answer(self, prompt: str, schema: type[BaseModel] | None) -> ModelAnswer:
        """Return the model's answer with the tokens that its provider counted."""
        if schema is None:
            message = _asked(self._model, prompt)
            return _answer(message, message.text)
        model = None if self._plain else structured(self._model, schema)
        if model is None:
            raise NotImplementedError("the model has no structured output")
        try:
            output = _asked(model, prompt)
        except Exception as error:
            if not knows_no_tools(error):
                raise
            self._plain = True
            raise NotImplementedError("the model calls no tools") from error
        return _answer(output["raw"], _content(output))


class AgentReader:
    """Reads turns with the model that the agent itself uses. It is ready from the agent's first call on."""

    def __init__(self) -> None:
        self._model: BaseChatModel | None = None
        self._reader: ChatModelReader | None = None
        self._named: tuple[str, str] | None = None

    @property
    def ready(self) -> bool:
        return self._reader is not None

    def answer(self, prompt: str, schema: type[BaseModel] | None) -> ModelAnswer:
        if self._reader is None:
            raise InvalidInput("the agent has not called its model yet")
        return self._reader.answer(prompt, schema)

    def use(self, model: object) -> None:
        """Read with this model from now on."""
        if isinstance(model, BaseChatModel) and model is not self._model:
            self._model, self._reader = model, ChatModelReader(model)

    def use_author(self, messages: Sequence[BaseMessage]) -> None:
        """Read with the model that wrote the last of these messages, by the name and provider that it bears.

        The model is made by ``init_chat_model``, with the keys of the environment. If that fails, the turns wait.
        """
        answer = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
        about = answer.response_metadata if answer else {}
        named = str(about.get("model_name") or about.get("model") or ""), str(about.get("model_provider") or "")
        if answer is None or named == self._named:
            return
        self._named = named
        if not named[0]:
            logger.warning("the agent's answer names no model: give the model itself as reader=, to have turns read")
            return
        from langchain.chat_models import init_chat_model

        try:
            self.use(init_chat_model(named[0], model_provider=named[1] or None))
        except Exception as error:
            logger.warning("the agent's model %s cannot be made to read turns: %s", named[0], type(error).__name__)


def read_with(memory: TidalMemory, reader: Reader | None, *, by_name: bool = False) -> AgentReader | None:
    """Have a memory's turns read as ``reader=`` says; return the agent's reader if it is that.

    ``by_name`` says that the agent's model will be known by its name only. Raises ``InvalidInput`` for anything else
    than ``"agent"``, a chat model or a reader.
    """
    if reader is None:
        return None
    if isinstance(reader, str):
        if reader != "agent":
            raise InvalidInput(f'reader= is "agent" or a chat model, got {shown(reader)}')
        if by_name:
            _check_makes_models()
        agent = AgentReader()
        memory.graph.read_with(agent)
        return agent
    memory.graph.read_with(ChatModelReader(reader) if isinstance(reader, BaseChatModel) else reader)
    return None


def _check_makes_models() -> None:
    try:
        import langchain.chat_models  # noqa: F401
    except ImportError as error:
        raise InvalidInput('reader="agent" needs the package langchain here; give the model itself') from error


def _asked(model: Runnable[Any, Any], prompt: str) -> Any:
    """Return the answer of a model, also of one that only async code can call: a reader runs on a thread of its own."""
    try:
        return model.invoke(prompt, QUIET)
    except NotImplementedError:
        return asyncio.run(model.ainvoke(prompt, QUIET))


def _content(output: Mapping[str, Any]) -> str | dict[str, Any]:
    """Return a structured output as data, as far as the model gave one: the core checks it, statement by statement."""
    parsed, raw = output["parsed"], output["raw"]
    if is_cut_off(raw):
        return ""
    if isinstance(parsed, BaseModel):
        return parsed.model_dump()
    if isinstance(parsed, dict):
        return parsed
    calls = raw.tool_calls if isinstance(raw, AIMessage) else []
    return dict(calls[0]["args"]) if calls else raw.text


def _answer(message: BaseMessage, content: str | dict[str, Any]) -> ModelAnswer:
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    return ModelAnswer(content, usage["input_tokens"], usage["output_tokens"]) if usage else ModelAnswer(content)
