"""What providers say in their own words: that a context was too long, and that an answer had no more room."""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace
from typing import Any

from tests.sentences import sentences
from tidal_plugins.compaction.provider import cut_off, overflowed

SENTENCES = sentences(__file__)


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


TOO_LONG = SENTENCES["too_long"]
OTHERS = SENTENCES["others"]


def test_a_request_that_was_too_long_is_told_from_other_errors() -> None:
    assert [said for said in TOO_LONG if not overflowed(ValueError(said))] == []
    assert [said for said in TOO_LONG if not overflowed(RuntimeError(f"Error code: 400\n{said.upper()}"))] == []
    assert [said for said in OTHERS if overflowed(ValueError(said))] == []
