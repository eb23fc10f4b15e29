"""How large messages of LangChain are taken to be, and how far the estimate is off."""

import base64
import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import tool
from pydantic import BaseModel

from langchain_tidal import reserved
from langchain_tidal.context import IMAGE_TOKENS, Gauge, size_of
from tidal_plugins.model.compaction import Size

PICTURE = base64.b64encode(bytes(range(256)) * 2_000).decode()
WHOLE = len(PICTURE)
WORDS = "word " * 100


@pytest.mark.parametrize(
    ("content", "least", "most", "size"),
    [
        ("word " * 400, 490, 510, 2_000),
        (PICTURE, WHOLE / 2, WHOLE, WHOLE),
        ([{"type": "image", "base64": PICTURE, "mime_type": "image/png"}], IMAGE_TOKENS, IMAGE_TOKENS + 50, WHOLE),
        ([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}], IMAGE_TOKENS,
         IMAGE_TOKENS + 50, WHOLE),
        ([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}], IMAGE_TOKENS,
         IMAGE_TOKENS + 50, WHOLE),
        ([{"image": {"format": "png", "source": {"bytes": base64.b64decode(PICTURE)}}}], IMAGE_TOKENS,
         IMAGE_TOKENS + 50, WHOLE),
        ([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}], IMAGE_TOKENS, IMAGE_TOKENS + 50,
         26),
        ([{"type": "file", "base64": PICTURE * 2, "mime_type": "application/pdf"}], 10 * IMAGE_TOKENS, WHOLE, WHOLE),
        ("", 4, 10, 2), ([], 4, 10, 2), ([{}], 4, 20, 4), ([WORDS], 100, 150, 500),
        ([{"type": "reasoning", "reasoning": WORDS}], 100, 200, 500),
        ([{"type": "thinking", "thinking": WORDS, "signature": "abc"}], 100, 200, 500),
        ([{"type": "non_standard", "value": {"deep": [WORDS, None, 1.5]}}], 100, 200, 500),
        ([{"cachePoint": {"type": "default"}}], 4, 30, 10),
    ],
)  # fmt: skip
def test_whatever_content_may_be_has_a_size(content, least, most, size):
    found = size_of(AIMessage(content))
    assert least <= found.tokens <= most
    assert size <= found.bytes < size + 400 or size > 100_000
    assert found.bytes >= len(json.dumps(content, default=lambda data: "x" * len(data)))


def test_tool_calls_count_once_though_content_repeats_them():
    arguments = {"text": "word " * 200}
    call = {"name": "save", "args": arguments, "id": "c1"}
    once = size_of(AIMessage("", tool_calls=[call]))
    repeated = [{"type": "tool_use", "id": "c1", "name": "save", "input": arguments}]
    twice = size_of(AIMessage(repeated, tool_calls=[call]))
    assert once.tokens > 250
    assert twice.tokens == pytest.approx(once.tokens, abs=5)
    assert twice.bytes == pytest.approx(once.bytes, abs=20)


def test_the_estimate_is_near_langchain_s_own():
    call = {"name": "look_up", "args": {"what": "Evans"}, "id": "c1"}
    messages = [HumanMessage("Who played it? " * 40), AIMessage("", tool_calls=[call]), AIMessage("Evans did. " * 30)]
    messages.append(ToolMessage("Evans, in 1958. " * 20, tool_call_id="c1"))
    mine = sum(size_of(message).tokens for message in messages)
    assert mine == pytest.approx(count_tokens_approximately(messages), rel=0.1)


class Played(BaseModel):
    """Who played it."""

    who: str


@tool
def look_up(what: str) -> str:
    """Look something up."""
    return what


def plain(what: str) -> str:
    """Look something up, plainly."""
    return what


def test_a_system_prompt_and_tools_of_every_kind_are_reserved():
    prompt = "Be kind. " * 100
    assert reserved() == Size()
    assert reserved(prompt) == reserved(SystemMessage(prompt)) == size_of(SystemMessage(prompt))
    for each in (look_up, plain, Played, {"type": "web_search", "max_uses": 3}):
        assert 5 < reserved(prompt, [each]).tokens - reserved(prompt).tokens < 100


@pytest.mark.parametrize(
    ("used", "estimate", "ratio"),
    [(12_000, 10_000, 1.2), (8_000, 10_000, 0.8), (90_000, 10_000, 3.0), (1_000, 10_000, 0.5), (None, 10_000, 1.0),
     (900, 300, 1.0)],
)  # fmt: skip
def test_reported_usage_says_how_far_the_estimate_is_off_within_reason(used, estimate, ratio):
    gauge = Gauge()
    question = HumanMessage("Hi.", id="h1")
    gauge.sent("talk", [question], estimate)
    usage = used and {"input_tokens": used, "output_tokens": 1, "total_tokens": used + 1}
    answer = AIMessage("Hello.", usage_metadata=usage or None)
    assert gauge.ratio("talk", [question, answer, HumanMessage("And?")]) == ratio
