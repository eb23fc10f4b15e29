"""Messages of providers of models about a context that was too long, or an answer that was cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tidal_plugins.patterns import lazy_re

_OVERFLOW = lazy_re(
    "|".join(
        [
            r"maximum context length",  # OpenAI, vLLM, Mistral, OpenRouter
            r"context[ _]length[ _]exceeded",  # OpenAI's code, and that of what imitates it
            r"reduce the length of the messages",  # OpenAI, Groq
            r"exceeds the context window",  # OpenAI, Responses
            r"input tokens exceed the configured limit",  # OpenAI, Azure
            r"prompt is too long",  # Anthropic
            r"exceed context limit",  # Anthropic, where the answer's limit counts too
            r"request_too_large|request exceeds the maximum size",  # Anthropic, in bytes
            r"input token count.{0,40} exceeds the maximum",  # Google
            r"input is too long for requested model|too many input tokens",  # Bedrock
            r"exceeded max context length|input length exceeds the context length",  # Ollama
            r"exceeds the available context size|exceed_context_size|exceed context window of",  # llama.cpp
            r"longer than the maximum model length|longer than the model's context length",  # vLLM, Together
            r"greater than the context length",  # LM Studio
            r"maximum prompt length is",  # xAI
            r"exceeded model token limit",  # Moonshot
        ]
    ),
    re.IGNORECASE | re.DOTALL,
)

_CUT_OFF = {"length", "max_tokens", "max_output_tokens", "max_length", "model_length", "model_context_window_exceeded"}
_REASONS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "finishReason", "reason")
_WITHIN = ("choices", "candidates", "incomplete_details")
"""Under which names a response says why it ended, and in what it may stand."""


def overflowed(error: BaseException) -> bool:
    """Return whether an error says that a request takes more context than the model has."""
    return _OVERFLOW.search(str(error)) is not None


def cut_off(response: Any) -> bool:
    """Return whether a raw response, an object or a mapping, says that its answer was cut at the limit of tokens."""
    return any(str(reason).lower().rpartition(".")[2] in _CUT_OFF for reason in _reasons(response))


def _reasons(response: Any) -> Iterator[Any]:
    yield from (_field(response, name) for name in _REASONS)
    for name in _WITHIN:
        inner = _field(response, name)
        for part in inner if isinstance(inner, list | tuple) else [inner] if inner else []:
            yield from (_field(part, reason) for reason in _REASONS)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
