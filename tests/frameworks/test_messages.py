"""Messages of LangChain as turns, as exchanges that are recorded, and with a whisper."""

from datetime import UTC, datetime

import pytest
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from langchain_tidal import to_exchange, turns, with_whisper
from tidal_plugins import Message, ToolCall

WHISPER = "<tidal-memory>\nold times\n</tidal-memory>"
BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAUA" * 50
MARK = {"lc_source": "tidal_compaction"}
KIND, SAID = SystemMessage("Be kind."), AIMessage("done")


def human(text="Hello", **fields):
    return HumanMessage(text, **fields)


def calling(text="", *names):
    calls = [{"name": name, "args": {"n": n}, "id": f"call-{n}"} for n, name in enumerate(names or ("search",), 1)]
    return AIMessage(text, tool_calls=calls)


def result(text="found", n=1, **fields):
    return ToolMessage(text, tool_call_id=f"call-{n}", **fields)


def recorded(*messages):
    """Return the messages that are recorded of a turn."""
    return to_exchange([human("?"), *messages], "t").messages[1:]


WRITTEN = AIMessage("Earlier: …", id="tidal-c1-summary", additional_kwargs={**MARK, "tidal_compaction": "c1"})
ASKED = human("Earlier: …", id="tidal-c1-summary", additional_kwargs={**MARK, "tidal_compaction": "c1"})
FILE = result(id="tidal-c1-call_7-result", additional_kwargs={**MARK, "tidal_compaction": "c1"})
NOTICE = human("Summary of yesterday.", additional_kwargs={"lc_source": "summarization"})
ONE, TWO = human("one"), human("two")


@pytest.mark.parametrize(
    ("history", "found"),
    [
        ([], []),
        ([KIND, AIMessage("Welcome!")], []),
        ([KIND, AIMessage("Welcome!"), ONE], [[ONE]]),
        ([ONE, calling(), result(), SAID, TWO, SAID], [[ONE, calling(), result(), SAID], [TWO, SAID]]),
        ([ONE, TWO, SAID, human("three")], [[ONE, TWO, SAID], [human("three")]]),
        ([ONE, SystemMessage("Hurry."), SAID], [[ONE, SystemMessage("Hurry."), SAID]]),
        ([KIND, WRITTEN, ONE, WRITTEN, FILE, TWO, SAID], [[ONE], [TWO, SAID]]),
        ([KIND, ASKED, ONE, ASKED, FILE, TWO, SAID], [[ONE], [TWO, SAID]]),
        ([KIND, NOTICE, ONE, NOTICE, TWO, SAID, NOTICE, human("d")], [[ONE, TWO, SAID], [human("d")]]),
    ],
)
def test_a_turn_runs_from_a_human_message_to_the_next(history, found):
    assert turns(history) == found


@pytest.mark.parametrize(
    ("id_", "compaction"), [("h1", None), ("h1", "c1"), ("tidal-c1-summary", None), ("tidal-c2-summary", "c1")]
)
def test_a_mark_alone_makes_no_message_disappear(id_, compaction):
    marks = MARK | ({"tidal_compaction": compaction} if compaction else {})
    asked, answer = (kind("one", id=id_, additional_kwargs=marks) for kind in (human, AIMessage))
    assert turns([KIND, asked, answer]) == [[asked, answer]]
    assert [message.text for message in to_exchange([asked, answer], "s").messages] == ["one", "one"]


# what is recorded


def test_an_exchange_has_the_turn_in_order_with_ids_names_calls_thread_and_what_surfaced():
    turn = [human("Look it up", id="h1", name="Anna"), calling("Let me look.", "search", "open")]
    turn += [result("found"), result("no such page", 2, status="error"), AIMessage("There.", id="a1", name="planner")]
    exchange = to_exchange(turn, "thread", ["m1"])
    calls = (ToolCall("search", {"n": 1}, "call-1"), ToolCall("open", {"n": 2}, "call-2"))
    assert list(exchange.messages) == [
        Message("user", "Look it up", "h1", "Anna"),
        Message("assistant", "Let me look.", tool_calls=calls),
        Message("tool", "found", tool_call_id="call-1"),
        Message("tool", "no such page", tool_call_id="call-2", error=True),
        Message("assistant", "There.", "a1", "planner"),
    ]
    assert (exchange.key, exchange.thread, exchange.surfaced) == ("h1", "thread", ("m1",))
    assert to_exchange([human("Hi", name="")], "t").messages[0].speaker is None


@pytest.mark.parametrize("turn", [[human("")], [human(" "), AIMessage("")], [human(""), KIND], [WRITTEN, FILE]])
def test_a_turn_without_text_is_no_exchange(turn):
    assert to_exchange(turn, "thread") is None


def test_what_is_no_part_of_the_conversation_is_not_recorded():
    others = [KIND, RemoveMessage(id="h1"), FunctionMessage("x", name="search"), ChatMessage("x", role="critic")]
    assert recorded(*others) == ()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("\n\n", ""),
        ("  two\n", "  two\n"),
        ([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}}], "[image_url]"),
        ([{"type": "image", "source_type": "base64", "data": BASE64, "mime_type": "image/png"}], "[image]"),
        ([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}}], "[image]"),
        ([{"type": "file", "base64": BASE64, "mime_type": "application/pdf"}], "[file]"),
        ([{"type": "audio", "base64": BASE64, "mime_type": "audio/wav"}], "[audio]"),
        ([{"type": "input_image", "image_url": f"data:image/png;base64,{BASE64}"}], "[input_image]"),
        ([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Let me look."}], "Let me look."),
        ([{"type": "reasoning", "reasoning": "Hm."}, "And then?"], "And then?"),
        ([{"type": "non_standard", "value": {"type": "redacted_thinking", "data": "Eq8"}}, "So."], "So."),
        ([{"type": "non_standard", "value": {"type": "chart"}}], "[chart]"),
        ([{"type": "tool_use", "name": "search", "id": "call-1", "input": {}}, "So."], "So."),
        ([{"no": "type"}, {"type": "text"}, {"type": "text", "text": "Hello"}], "[part]\nHello"),
    ],
)
def test_what_is_no_text_is_named_and_its_bytes_are_not_stored(content, text):
    assert [message.text for message in recorded(AIMessage(content))] == [text]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "Hm.", "signature": "Eq8"},
        {"type": "reasoning", "reasoning": "Hm."},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"type": "reasoning_content", "reasoning_content": {"text": "Hm.", "signature": "Eq8"}},
        None,
    ],
    ids=["anthropic", "standard", "openai", "open-weights", "bedrock", "deepseek"],
)
def test_what_a_model_thought_is_no_text_of_its_message(block):
    beside = {} if block else {"reasoning_content": "Hm."}
    said = AIMessage([block, "So."] if block else "So.", additional_kwargs=beside)
    assert [(message.text, message.reasoning) for message in recorded(said)] == [("So.", "Hm.")]


def test_arguments_that_json_does_not_know_are_recorded_as_text():
    call = {"name": "f", "args": {"at": datetime(2026, 1, 2, tzinfo=UTC), "x": float("nan")}, "id": "c"}
    (kept,) = recorded(AIMessage("", tool_calls=[call]))[0].tool_calls
    assert kept.arguments == {"at": "2026-01-02 00:00:00+00:00", "x": "NaN"}


# the whisper

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def test_the_whisper_stands_at_the_head_of_the_last_human_message_and_changes_nothing_else():
    asked = human("two", id="h2", name="Anna", additional_kwargs={"a": 1}, response_metadata={"b": 2})
    history = [KIND, human("one"), SAID, asked, calling(), result()]
    before = [message.model_copy(deep=True) for message in history]
    shown = with_whisper(history, WHISPER)
    assert shown[3] == asked.model_copy(update={"content": f"{WHISPER}\n\ntwo"})
    assert shown[:3] + shown[4:] == history[:3] + history[4:]
    (blocks,) = with_whisper([HumanMessage([IMAGE, "What is this?"])], WHISPER)
    assert blocks.content == [{"type": "text", "text": WHISPER}, IMAGE, "What is this?"]
    assert with_whisper([asked], "") == [asked]
    assert history == before


@pytest.mark.parametrize("history", [[], [KIND], [AIMessage("Welcome!")]])
def test_without_a_human_message_there_is_no_place_for_a_whisper(history):
    assert with_whisper(history, WHISPER) == history
