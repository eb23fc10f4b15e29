"""Chat models as summarisers and extractors, what they say when they are given too much, and how large messages are."""

import base64
import json

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import tool
from pydantic import BaseModel

from langchain_tidal import ChatModelExtractor, ChatModelSummariser, reserved
from langchain_tidal.models import overflowed, summariser_of
from langchain_tidal.sizes import IMAGE_TOKENS, Gauge, size_of
from tidal_plugins import ComponentError, Message, Statement
from tidal_plugins.errors import ContextOverflow
from tidal_plugins.model.compaction import Size
from tidal_plugins.model.summary import Source
from tidal_plugins.protocols import GraphExtractor, Summariser
from tidal_plugins.summarising.sizes import ApproximateCounter

SOURCES = [Source("e1", (Message("user", "Which tempo?"), Message("assistant", "We decided on 96.")))]
EARLIER = [Statement("The key is F.", ("e0",))]


def structured(*claims, **fields):
    arguments = {"statements": [{"text": text, "episodes": list(ids)} for text, *ids in claims]}
    return AIMessage("", tool_calls=[{"name": "Answer", "args": arguments, "id": "call-1"}], **fields)


def condensed(model, previous=()):
    return ChatModelSummariser(model).summarise(SOURCES, purpose="summary", previous=previous, max_tokens=200)


# summarising


def test_structured_output_is_used_where_the_model_has_it(says):
    model = says(structured(("The tempo is 96.", "e1"), ("The key is F.", "e0")))
    found = condensed(model, EARLIER)
    assert found == [Statement("The tempo is 96.", ("e1",)), Statement("The key is F.", ("e0",))]
    (asked,) = model.shown[0]
    assert "We decided on 96." in asked.text
    assert "The key is F." in asked.text


def test_a_model_without_tools_answers_in_text():
    model = FakeListChatModel(responses=["- The tempo is 96. [ep:e1]"])
    assert condensed(model) == [Statement("The tempo is 96.", ("e1",))]


def test_a_model_whose_profile_says_that_it_calls_no_tools_answers_in_text(says, monkeypatch):
    model = says("- The tempo is 96. [ep:e1]")
    monkeypatch.setattr(type(model), "bind_tools", None)  # would be called for structured output
    model.profile = {"tool_calling": False}
    assert condensed(model) == [Statement("The tempo is 96.", ("e1",))]


def test_text_in_place_of_structured_output_is_read(says):
    assert condensed(says("- The tempo is 96. [ep:e1]")) == [Statement("The tempo is 96.", ("e1",))]


def test_a_server_that_knows_no_tools_is_asked_in_text_from_then_on(says):
    model = says(ValueError("llama2 does not support tools (status code: 400)"), "- The tempo is 96. [ep:e1]")
    summariser = ChatModelSummariser(model)
    for _ in range(2):
        found = summariser.summarise(SOURCES, purpose="synthesis", max_tokens=200)
        assert found == [Statement("The tempo is 96.", ("e1",))]
    assert len(model.shown) == 3


@pytest.mark.parametrize("kind", [structured, lambda *_, **fields: AIMessage("- The tempo is 9", **fields)])
def test_an_answer_that_was_cut_off_raises(says, kind):
    with pytest.raises(ValueError, match="cut off"):
        condensed(says(kind(("The tempo is 96.", "e1"), response_metadata={"finish_reason": "length"})))


def test_what_the_model_raises_is_raised(says):
    with pytest.raises(ConnectionError):
        condensed(says(ConnectionError("away")))


def test_a_chat_model_is_wrapped_and_a_summariser_taken_as_it_is(says):
    wrapped = summariser_of(says("Hi."))
    assert isinstance(wrapped, ChatModelSummariser)
    assert isinstance(wrapped, Summariser)
    assert summariser_of(wrapped) is wrapped
    assert summariser_of(None) is None


# reading entities and relations

SAID = "`WarehouseView` calls `reorder`, as I said."
FOUND = {
    "entities": [{"name": "WarehouseView", "type": "class"}, {"name": "reorder", "type": "function"}],
    "relations": [
        {
            "subject": "WarehouseView",
            "predicate": "calls",
            "object": "reorder",
            "quote": "`WarehouseView` calls `reorder`",
            "confidence": 0.9,
        }
    ],
}


def finding(**fields):
    return AIMessage("", tool_calls=[{"name": "Found", "args": FOUND, "id": "call-1"}], **fields)


def test_a_chat_model_reads_entities_and_relations_by_structured_output(says):
    model = says(finding())
    extractor = ChatModelExtractor(model)
    assert isinstance(extractor, GraphExtractor)
    nothing, found = extractor.extract_graph(["Thanks!", SAID])
    assert nothing.assertions == nothing.mentions == ()
    (assertion,) = found.assertions
    assert SAID[assertion.start : assertion.end] == "`WarehouseView` calls `reorder`"
    assert (assertion.subject.type, assertion.object.name) == ("class", "reorder")
    (asked,) = model.shown[0]
    assert SAID in asked.text


@pytest.mark.parametrize("form", ["{}", "Sure:\n```json\n{}\n```"])
def test_what_a_chat_model_wrote_as_text_is_read_too(says, form):
    answer = form.format(json.dumps(FOUND))
    for model in (says(answer), FakeListChatModel(responses=[answer])):
        (found,) = ChatModelExtractor(model).extract_graph([SAID])
        assert len(found.assertions) == 1


@pytest.mark.parametrize(
    ("reply", "error", "match"),
    [
        (finding(response_metadata={"finish_reason": "length"}), ValueError, "cut off"),
        (AIMessage("I cannot help with that."), ComponentError, "model's answer"),
        (AIMessage("", tool_calls=[{"name": "Found", "args": {"all": "well"}, "id": "c"}]), ComponentError, "answer"),
        (ConnectionError("away"), ConnectionError, "away"),
    ],
)
def test_a_chat_model_that_fails_to_read_raises_so_that_the_queue_asks_again(says, reply, error, match):
    with pytest.raises(error, match=match):
        ChatModelExtractor(says(reply)).extract_graph([SAID])


def test_a_chat_model_is_not_asked_about_nothing(says):
    model = says(finding())
    assert len(ChatModelExtractor(model).extract_graph(["", " "])) == 2
    assert model.shown == []


# refusals


def test_an_overflow_is_known_by_its_type_or_its_words():
    assert overflowed(ContextOverflowError("whatever it says"))
    assert overflowed(ValueError("prompt is too long: 208310 tokens > 200000 maximum"))
    assert not overflowed(ConnectionError("Connection reset by peer"))
    assert not overflowed(ContextOverflow("the ongoing turn alone takes more than the maximum context length"))


# sizes

PICTURE = base64.b64encode(bytes(range(256)) * 2_000).decode()


def image(**fields):
    return {"type": "image", "base64": PICTURE, "mime_type": "image/png", **fields}


def test_text_counts_about_four_characters_a_token():
    assert size_of(HumanMessage("word " * 400)).tokens == pytest.approx(500, abs=10)


@pytest.mark.parametrize(
    "block",
    [
        image(),
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
        {"image": {"format": "png", "source": {"bytes": base64.b64decode(PICTURE)}}},
    ],
)
def test_an_image_counts_whole_in_bytes_and_what_it_costs_in_tokens(block):
    size = size_of(HumanMessage([{"type": "text", "text": "What is that?"}, block]))
    assert size.bytes >= len(PICTURE)
    assert IMAGE_TOKENS <= size.tokens < IMAGE_TOKENS + 50


def test_a_linked_image_costs_what_an_image_costs():
    size = size_of(HumanMessage([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]))
    assert IMAGE_TOKENS <= size.tokens < IMAGE_TOKENS + 50
    assert size.bytes < 300


def test_a_long_file_costs_by_the_page():
    block = {"type": "file", "base64": PICTURE * 2, "mime_type": "application/pdf"}
    assert size_of(HumanMessage([block])).tokens > 10 * IMAGE_TOKENS


def test_base64_in_plain_text_is_dense():
    size = size_of(ToolMessage(PICTURE, tool_call_id="c1"))
    assert size.tokens >= len(PICTURE) / 2
    assert size.bytes >= len(PICTURE)


def test_tool_calls_count_once_though_content_repeats_them():
    arguments = {"text": "word " * 200}
    call = {"name": "save", "args": arguments, "id": "c1"}
    once = size_of(AIMessage("", tool_calls=[call]))
    repeated = [{"type": "tool_use", "id": "c1", "name": "save", "input": arguments}]
    twice = size_of(AIMessage(repeated, tool_calls=[call]))
    assert once.tokens > 250
    assert twice.tokens == pytest.approx(once.tokens, abs=5)
    assert twice.bytes == pytest.approx(once.bytes, abs=20)


@pytest.mark.parametrize(
    "content",
    [
        "",
        [],
        ["word " * 100],
        [{"type": "reasoning", "reasoning": "word " * 100}],
        [{"type": "thinking", "thinking": "word " * 100, "signature": "abc"}],
        [{"type": "non_standard", "value": {"deep": ["word " * 100, None, 1.5]}}],
        [{"cachePoint": {"type": "default"}}],
        [{}],
    ],
)
def test_whatever_content_may_be_has_a_size(content):
    size = size_of(AIMessage(content))
    assert size.tokens >= (100 if "word" in str(content) else 4)
    assert size.bytes >= len(json.dumps(content))


def test_the_estimate_is_near_langchain_s_own():
    call = {"name": "look_up", "args": {"what": "Evans"}, "id": "c1"}
    messages = [HumanMessage("Who played it? " * 40), AIMessage("", tool_calls=[call]), AIMessage("Evans did. " * 30)]
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


def test_a_counter_of_texts_may_take_the_place_of_the_estimate():
    class Words:
        def count(self, text):
            return len(text.split())

    assert size_of(HumanMessage("one two three"), Words()).tokens == 7
    assert size_of(HumanMessage("one two three"), ApproximateCounter()).tokens == 8


# how far the estimate is off


def conversation(used, estimate=10_000):
    gauge = Gauge()
    question = HumanMessage("Hi.", id="h1")
    gauge.sent("talk", [question], estimate)
    usage = used and {"input_tokens": used, "output_tokens": 1, "total_tokens": used + 1}
    return gauge.ratio("talk", [question, AIMessage("Hello.", usage_metadata=usage or None), HumanMessage("And?")])


@pytest.mark.parametrize(("used", "ratio"), [(12_000, 1.2), (8_000, 0.8), (90_000, 3.0), (1_000, 0.5), (None, 1.0)])
def test_reported_usage_says_how_far_the_estimate_is_off_within_reason(used, ratio):
    assert conversation(used) == ratio


def test_usage_of_a_few_tokens_says_nothing():
    assert conversation(900, estimate=300) == 1.0


def test_a_counter_says_it_of_any_messages():
    gauge = Gauge(lambda messages: 2 * sum(size_of(message).tokens for message in messages))
    assert gauge.ratio("talk", [HumanMessage("Hi there. " * 50)]) == 2.0
    assert gauge.ratio("talk", []) == 2.0
