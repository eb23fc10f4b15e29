"""A LlamaIndex ``LLM`` as the summariser of a compaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms import LLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import FunctionTool

from tidal_plugins.compaction.provider import cut_off
from tidal_plugins.condensing.prompt import Answer, parse, prompt, statements
from tidal_plugins.errors import CompactionError, InvalidInput
from tidal_plugins.model.summary import Source, Statement
from tidal_plugins.protocols import Purpose, Summariser

LEAST, MOST = 2_000, 60_000
"""Characters of episodes that a model is shown at once; between them its context window decides."""

CHARS_PER_TOKEN = 3
RULES = 600
"""Tokens of the rules around the episodes."""


class LLMSummariser:
    """Any LlamaIndex ``LLM`` as a summariser: ``TidalChatMemory(memory, token_limit=8_000, summariser=llm)``.

    A model that calls functions answers by calling one; what others write is parsed. Nothing goes through a prompt
    template, which would take braces in what was said for its variables. Raises ``CompactionError`` for an answer that
    was cut off, and whatever the model raises.
    """

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def summarise(
        self, sources: Sequence[Source], *, purpose: Purpose, previous: Sequence[Statement] = (), max_tokens: int
    ) -> Sequence[Statement]:
        """Return the statements that the model makes of the sources."""
        room = self._llm.metadata.context_window - 2 * max_tokens - RULES  # what was stated before, and what will be
        chars = max(LEAST, min(MOST, room * CHARS_PER_TOKEN))
        asked = prompt(sources, purpose=purpose, previous=previous, max_tokens=max_tokens, max_chars=chars)
        if isinstance(self._llm, FunctionCallingLLM) and self._llm.metadata.is_function_calling_model:
            return _called(self._llm, asked)
        response = self._llm.complete(asked)
        _whole(response.raw)
        return parse(response.text)


def summariser_of(given: LLM | Summariser | None) -> Summariser | None:
    """Return what was given as a summariser: an ``LLM`` is wrapped."""
    if isinstance(given, LLM):
        return LLMSummariser(given)
    if given is not None and not isinstance(given, Summariser):
        raise InvalidInput(f"summariser must be an LLM, or have a method summarise, got {type(given).__name__}")
    return given


def _called(llm: FunctionCallingLLM, asked: str) -> Sequence[Statement]:
    """Not ``structured_predict``: it shows no raw response, and integrations complete arguments that were cut off."""
    answer = FunctionTool.from_defaults(Answer, name="answer", description="Give the statements.", fn_schema=Answer)
    question = ChatMessage(asked, role=MessageRole.USER)
    response = llm.chat_with_tools([answer], user_msg=question, tool_required=True)
    _whole(response.raw)
    calls = llm.get_tool_calls_from_response(response, error_on_no_tool_call=False)
    if not calls:  # it did without, as some do that think first
        return parse(response.message.content or "")
    return [statement for call in calls for statement in statements(Answer.model_validate(call.tool_kwargs))]


def _whole(raw: Any) -> None:
    if cut_off(raw):
        raise CompactionError("the model's answer was cut off; let it write more tokens, or lower the token limit")
