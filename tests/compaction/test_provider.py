"""What providers say in their own words: that a context was too long, and that an answer had no more room."""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace
from typing import Any

from tidal_plugins.compaction.provider import cut_off, overflowed


class FinishReason(Enum):
    """As Google's client names them."""

    STOP = 1
    MAX_TOKENS = 2


CUT: dict[str, Any] = {
    "openai": {"choices": [{"finish_reason": "length", "message": {}}]},
    "openai, an object": SimpleNamespace(choices=[SimpleNamespace(finish_reason="length")]),
    "openai, responses": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    "openai, responses, an object": SimpleNamespace(
        status="incomplete", incomplete_details=SimpleNamespace(reason="max_output_tokens")
    ),
    "langchain": {"finish_reason": "length", "model_name": "m"},
    "anthropic": {"stop_reason": "max_tokens"},
    "anthropic, at the end of its window": {"stop_reason": "model_context_window_exceeded"},
    "bedrock": {"stopReason": "max_tokens"},
    "ollama": {"done_reason": "length"},
    "google, an enum": {"candidates": [{"finish_reason": FinishReason.MAX_TOKENS}]},
    "google, its name": {"finish_reason": "MAX_TOKENS"},
    "google, with its class": {"finishReason": "FinishReason.MAX_TOKENS"},
    "mistral": {"choices": [{"finish_reason": "model_length"}]},
}

WHOLE: list[Any] = [
    None,
    {},
    "length",
    {"finish_reason": None},
    {"finish_reason": "stop"},
    {"finish_reason": "tool_calls"},
    {"stop_reason": "end_turn"},
    {"choices": []},
    {"choices": [{"finish_reason": "stop"}]},
    {"candidates": [{"finish_reason": FinishReason.STOP}]},
    {"status": "completed", "incomplete_details": None},
    {"incomplete_details": {"reason": "content_filter"}},
]


def test_an_answer_that_was_cut_off_is_told_from_one_that_ended_by_itself() -> None:
    assert [name for name, response in CUT.items() if not cut_off(response)] == []
    assert [response for response in WHOLE if cut_off(response)] == []


TOO_LONG = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    "{'error': {'code': 'context_length_exceeded'}}",
    "Please reduce the length of the messages or completion.",
    "Your input exceeds the context window of this model.",
    "Input tokens exceed the configured limit of 272000 tokens.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
    "Error code: 413 - {'type': 'request_too_large'}",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Input is too long for requested model.",
    "the input length exceeds the context length",
    "the request exceeds the available context size, try increasing it",
    "Requested tokens (4100) exceed context window of 4096",
    "The prompt (total length 5000) is longer than the maximum model length of 4096",
    "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
]
OTHERS = [
    "",
    "Rate limit reached for gpt-4o: limit 30000 tokens per minute, requested 31000.",
    "max_tokens must be at least 1",
    "no such model",
    "The file is too long to be read",
    "connection reset",
]


def test_a_request_that_was_too_long_is_told_from_other_errors() -> None:
    assert [said for said in TOO_LONG if not overflowed(ValueError(said))] == []
    assert [said for said in TOO_LONG if not overflowed(RuntimeError(f"Error code: 400\n{said.upper()}"))] == []
    assert [said for said in OTHERS if overflowed(ValueError(said))] == []
