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
from langchain_tidal.messages import by_compaction, finished, question, spans, text_of, to_message
from tidal_plugins import Message, ToolCall

WHISPER = "<tidal-memory>\nold times\n</tidal-memory>"
BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAUA" * 50


def human(text="Hello", **fields):
    return HumanMessage(text, **fields)


def calling(text="", *names):
    calls = [{"name": name, "args": {"n": n}, "id": f"call-{n}"} for n, name in enumerate(names or ("search",), 1)]
    return AIMessage(text, tool_calls=calls)


def result(text="found", n=1, **fields):
    return ToolMessage(text, tool_call_id=f"call-{n}", **fields)


# turns


def test_no_messages_are_no_turns():
    assert turns([]) == []


def test_a_turn_runs_from_a_human_message_to_the_next():
    first = [human("one"), calling(), result(), AIMessage("done")]
    second = [human("two"), AIMessage("done again")]
    assert turns([*first, *second]) == [first, second]


def test_what_stands_before_the_first_human_message_belongs_to_no_turn():
    said = human()
    assert turns([SystemMessage("Be kind."), AIMessage("Welcome!"), said]) == [[said]]
    assert turns([SystemMessage("Be kind."), AIMessage("Welcome!")]) == []


def test_human_messages_in_a_row_are_one_turn():
    history = [human("Hello"), human("are you there?"), AIMessage("Yes."), human("Good.")]
    assert [len(turn) for turn in turns(history)] == [3, 1]


def test_a_system_message_within_a_turn_stays_in_it():
    history = [human("one"), SystemMessage("Hurry."), AIMessage("done")]
    assert turns(history) == [history]


@pytest.mark.parametrize("kind", [human, AIMessage])
def test_what_compaction_wrote_is_of_no_turn_and_ends_the_turn_before_it(kind):
    mark = {"lc_source": "tidal_compaction", "tidal_compaction": "c1"}
    written = kind("Earlier: …", id="tidal-c1-summary", additional_kwargs=mark)
    file = result(id="tidal-c1-call_7-result", additional_kwargs=mark)
    asked, answer = human("one"), AIMessage("done")
    assert turns([SystemMessage("Be kind."), written, asked, written, file, human("two"), answer]) == [
        [asked],
        [human("two"), answer],
    ]
    assert to_message(written) is None
    assert to_message(file) is None
    assert to_exchange([written, file], "s") is None


@pytest.mark.parametrize(
    ("id_", "compaction"), [("h1", None), ("h1", "c1"), ("tidal-c1-summary", None), ("tidal-c2-summary", "c1")]
)
def test_a_mark_alone_makes_no_message_disappear(id_, compaction):
    marks = {"lc_source": "tidal_compaction"} | ({"tidal_compaction": compaction} if compaction else {})
    asked = human("one", id=id_, additional_kwargs=marks)
    answer = AIMessage("two", id=id_, additional_kwargs=marks)
    assert not by_compaction(asked)
    assert turns([SystemMessage("Be kind."), asked, answer]) == [[asked, answer]]
    assert [message.text for message in to_exchange([asked, answer], "s").messages] == ["one", "two"]


def test_spans_hold_every_message_and_turns_what_was_said_in_them():
    notice = human("Summary of yesterday.", additional_kwargs={"lc_source": "summarization"})
    history = [SystemMessage("Be kind."), notice, human("a"), notice, human("b"), AIMessage("c"), notice, human("d")]
    assert spans(history) == [history[:2], history[2:7], history[7:]]
    assert turns(history) == [[human("a"), human("b"), AIMessage("c")], [human("d")]]
    assert spans([]) == [[]]


def test_turns_lose_no_message():
    history = [human("a"), AIMessage("b"), human("c"), human("d"), calling(), result(), AIMessage("e"), human("f")]
    assert [message for turn in turns(history) for message in turn] == history


# finished, question


@pytest.mark.parametrize(
    ("turn", "over"),
    [
        ([human()], False),
        ([human(), AIMessage("Hello to you.")], True),
        ([human(), AIMessage("")], True),
        ([human(), calling()], False),
        ([human(), calling("Let me look.")], False),
        ([human(), calling(), result()], False),
        ([human(), calling(), result(), AIMessage("There.")], True),
    ],
)
def test_a_turn_is_finished_when_it_ends_with_an_answer(turn, over):
    assert finished(turn) is over


def test_the_question_is_all_that_the_human_said_and_nothing_else():
    assert question([human("Hello"), human("are you there?"), AIMessage("Yes.")]) == "Hello\n\nare you there?"


def test_the_question_of_an_empty_message_is_empty():
    assert question([human("")]) == ""


# messages to record


def test_an_answer_with_text_and_tool_calls_keeps_both():
    message = calling("Let me look.", "search", "open")
    calls = (ToolCall("search", {"n": 1}, "call-1"), ToolCall("open", {"n": 2}, "call-2"))
    assert to_message(message) == Message("assistant", "Let me look.", tool_calls=calls)


def test_a_tool_result_answers_its_call_and_says_whether_it_failed():
    assert to_message(result("found")) == Message("tool", "found", tool_call_id="call-1")
    assert to_message(result("no such page", status="error")).error


def test_ids_and_names_are_kept():
    assert to_message(human("Hi", id="h1", name="Anna")) == Message("user", "Hi", "h1", "Anna")
    assert to_message(AIMessage("Hi", id="a1", name="planner")) == Message("assistant", "Hi", "a1", "planner")
    assert to_message(human("Hi", name="")).speaker is None


@pytest.mark.parametrize("message", [SystemMessage("Be kind."), RemoveMessage(id="h1")])
def test_what_is_no_part_of_the_conversation_is_not_recorded(message):
    assert to_message(message) is None


def test_only_white_space_counts_as_no_text():
    assert to_message(AIMessage("\n\n")).text == ""
    assert to_message(result(" ")).text == ""
    assert to_message(human("  two\n")).text == "  two\n"


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}}],
        [{"type": "image", "source_type": "base64", "data": BASE64, "mime_type": "image/png"}],
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}}],
        [{"type": "file", "base64": BASE64, "mime_type": "application/pdf"}],
        [{"type": "audio", "base64": BASE64, "mime_type": "audio/wav"}],
        [{"type": "input_image", "image_url": f"data:image/png;base64,{BASE64}"}],
    ],
)
def test_what_is_no_text_is_named_and_its_bytes_are_not_stored(content):
    text = text_of(HumanMessage([{"type": "text", "text": "What is this?"}, *content]))
    assert text == f"What is this?\n[{content[0]['type']}]"


def test_thoughts_and_calls_among_the_content_are_no_text():
    content = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "reasoning", "reasoning": "Hm."},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "name": "search", "id": "call-1", "input": {}},
        "And then?",
    ]
    assert text_of(AIMessage(content)) == "Let me look.\nAnd then?"


def test_parts_without_a_type_or_a_text_do_no_harm():
    assert (
        text_of(HumanMessage([{"no": "type"}, {"type": "text"}, {"type": "text", "text": "Hello"}])) == "[part]\nHello"
    )


def test_an_exchange_has_the_turn_in_order_with_thread_and_what_surfaced():
    turn = [human("Look it up", id="h1"), calling(), result("found"), AIMessage("There.", id="a1")]
    exchange = to_exchange(turn, "thread", ["m1"])
    assert [message.role for message in exchange.messages] == ["user", "assistant", "tool", "assistant"]
    assert (exchange.key, exchange.thread, exchange.surfaced) == ("h1", "thread", ("m1",))


@pytest.mark.parametrize("turn", [[human("")], [human(" "), AIMessage("")], [human(""), SystemMessage("Be kind.")]])
def test_a_turn_without_text_is_no_exchange(turn):
    assert to_exchange(turn, "thread") is None


@pytest.mark.parametrize("message", [FunctionMessage("found", name="search"), ChatMessage("Hello", role="critic")])
def test_messages_of_other_roles_are_passed_over(message):
    assert [m.text for m in to_exchange([human("Hi"), message, AIMessage("Ho")], None).messages] == ["Hi", "Ho"]


# the whisper


def test_the_whisper_stands_at_the_head_of_the_last_human_message():
    history = [SystemMessage("Be kind."), human("one"), AIMessage("done"), human("two", id="h2"), calling(), result()]
    shown = with_whisper(history, WHISPER)
    assert shown[3] == HumanMessage(f"{WHISPER}\n\ntwo", id="h2")
    assert shown[:3] + shown[4:] == history[:3] + history[4:]


def test_the_given_messages_stay_as_they_are():
    history = [human("one"), HumanMessage([{"type": "text", "text": "two"}])]
    before = [message.model_copy(deep=True) for message in history]
    with_whisper(history, WHISPER)
    with_whisper(history[:1], WHISPER)
    assert history == before


def test_content_blocks_get_the_whisper_as_a_block_of_its_own():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    (shown,) = with_whisper([HumanMessage([image, "What is this?"])], WHISPER)
    assert shown.content == [{"type": "text", "text": WHISPER}, image, "What is this?"]


@pytest.mark.parametrize("history", [[], [SystemMessage("Be kind.")], [AIMessage("Welcome!")]])
def test_without_a_human_message_there_is_no_place_for_a_whisper(history):
    assert with_whisper(history, WHISPER) == history


def test_an_empty_whisper_changes_nothing():
    assert with_whisper([human("one")], "") == [human("one")]


def test_everything_but_the_content_of_a_message_is_kept():
    message = HumanMessage("one", id="h1", name="Anna", additional_kwargs={"a": 1}, response_metadata={"b": 2})
    (shown,) = with_whisper([message], WHISPER)
    assert shown.model_dump(exclude={"content"}) == message.model_dump(exclude={"content"})


def test_arguments_that_json_does_not_know_are_recorded_as_text():
    call = {"name": "f", "args": {"at": datetime(2026, 1, 2, tzinfo=UTC), "x": float("nan")}, "id": "c"}
    (kept,) = to_message(AIMessage("", tool_calls=[call])).tool_calls
    assert kept.arguments == {"at": "2026-01-02 00:00:00+00:00", "x": "NaN"}
