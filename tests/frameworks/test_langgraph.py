import asyncio
import operator
import subprocess
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.managed import RemainingSteps
from langgraph.types import Command, RetryPolicy, Send, interrupt
from pydantic import BaseModel

from langgraph_tidal import RecallNode, RecordNode, TidalState, model_input, tidal_pre_model_hook
from tests.waiting import waits_without_blocking
from tidal_plugins import BadEmbedding, EmbeddingError, HashingEmbedder, InvalidInput, InvalidScope, TidalMemory

FACT = "I practise jazz piano every evening after dinner."
ASK = "Which jazz piano piece should I practise this evening?"
MARK = "<tidal-memory>"
RETRY = RetryPolicy(max_attempts=3, initial_interval=0.001, jitter=False)


def thread(name, **configurable):
    return {"configurable": {"thread_id": name, **configurable}}


def user(text, **fields):
    return {"messages": [HumanMessage(text, **fields)]}


def calls(*tempos, text=""):
    made = [{"name": "metronome", "args": {"tempo": tempo}, "id": f"call-{tempo}"} for tempo in tempos]
    return AIMessage(text, tool_calls=made)


def said(episode):
    return [message.text for message in episode.messages]


def only(memory, **where):
    (episode,) = memory.episodes.list(**where)
    return episode


# the graph of the README


@pytest.fixture
def reminded(memory):
    """A memory that has something to say to ASK."""
    memory.record(user=FACT, agent="Noted.", thread="old")
    return memory


def test_another_thread_is_reminded_of_what_was_said(memory, chat, says):
    model = says("Noted.", "A standard.")
    app = chat(model).compile()
    app.invoke(user(FACT), thread("monday"))
    result = app.invoke(user(ASK), thread("friday"))
    (asked,) = model.shown[1]
    assert asked.text.startswith(MARK)
    assert asked.text.endswith(ASK)
    assert FACT in asked.text
    assert [message.text for message in result["messages"]] == [ASK, "A standard."]
    assert said(only(memory, thread="friday")) == [ASK, "A standard."]


async def test_async_does_the_same(memory, chat, says):
    model = says("Noted.", "A standard.")
    app = chat(model).compile(checkpointer=InMemorySaver())
    await app.ainvoke(user(FACT), thread("monday"))
    result = await app.ainvoke(user(ASK), thread("friday"))
    assert FACT in model.shown[1][-1].text
    assert [message.text for message in result["messages"]] == [ASK, "A standard."]
    assert said(only(memory, thread="friday")) == [ASK, "A standard."]


def test_the_model_of_an_empty_memory_sees_the_messages_as_they_are(chat, says):
    model = says("Noted.")
    chat(model).compile().invoke(user(FACT, id="h1"))
    assert model.shown == [[HumanMessage(FACT, id="h1")]]


def test_what_the_model_sees_anyway_is_not_whispered(chat, says):
    model = says("Noted.", "A standard.")
    app = chat(model).compile(checkpointer=InMemorySaver())
    app.invoke(user(FACT), thread("one"))
    app.invoke(user(ASK), thread("one"))
    assert [message.text for message in model.shown[1]] == [FACT, "Noted.", ASK]


def test_the_whisper_keeps_its_budget(memory, chat, says):
    for number in range(30):
        memory.record(user=f"{FACT} {'Jazz piano, every evening I practise. ' * 20}{number}", thread=str(number))
    model = says("A standard.")
    chat(model).compile().invoke(user(ASK))
    whisper = model.shown[0][0].text.removesuffix(f"\n\n{ASK}")
    assert MARK in whisper
    assert len(whisper) <= 500


def test_the_episode_says_what_had_surfaced(reminded, chat, says):
    app = chat(says("A standard.")).compile()
    result = app.invoke(user(ASK), thread("friday"))
    surfaced = only(reminded, thread="friday").surfaced
    assert list(surfaced) == result["recalled"]["ids"] != []
    assert reminded.get(surfaced[0]).text == FACT


def test_a_batch_runs_every_conversation_on_its_own(memory, chat):
    def echo(state):
        return {"messages": [AIMessage(f"You said: {state['messages'][-1].text}")]}

    texts = [f"Number {n} likes {n} sugars in the tea." for n in range(8)]
    app = chat(echo).compile(checkpointer=InMemorySaver())
    results = app.batch([user(text) for text in texts], [thread(f"t{n}") for n in range(8)])
    assert [result["messages"][-1].text for result in results] == [f"You said: {text}" for text in texts]
    assert {episode.thread: episode.query for episode in memory.episodes.list()} == {
        f"t{n}": texts[n] for n in range(8)
    }


# streams


def test_updates_name_the_nodes_and_record_flushes_the_whisper(reminded, chat, says):
    parts = list(chat(says("A standard.")).compile().stream(user(ASK), thread("friday"), stream_mode="updates"))
    assert [name for part in parts for name in part] == ["recall", "model", "record"]
    assert set(parts[0]["recall"]) == {"llm_input_messages", "recalled"}
    assert parts[2]["record"] == {"llm_input_messages": []}


def test_the_result_of_a_run_holds_no_whisper(reminded, chat, says):
    result = chat(says("A standard.")).compile().invoke(user(ASK), thread("friday"))
    assert "tidal-memory" not in repr(result)


def test_a_turn_that_cannot_be_stored_is_logged_and_stops_no_thread(memory, caplog):
    huge = memory.settings.ingestion.max_chars + 1
    turn = [HumanMessage("x" * huge, id="h1"), AIMessage("Too long.", id="a1")]
    later = [HumanMessage(FACT, id="h2"), AIMessage("Noted.", id="a2")]
    RecordNode(memory).invoke({"messages": [*turn, *later]}, thread("t"))
    assert said(only(memory)) == [FACT, "Noted."]
    assert "h1" in caplog.text
    assert "xxx" not in caplog.text


def test_the_custom_stream_says_what_surfaced_and_why(reminded, chat, says):
    app = chat(says("A standard.")).compile()
    (part,) = app.stream(user(ASK, id="h1"), thread("friday"), stream_mode="custom")
    event = part["tidal_recall"]
    assert event["turn"] == "h1"
    assert event["ids"] == list(only(reminded, thread="friday").surfaced)
    assert len(event["why"]) == len(event["ids"])
    assert "meaning" in event["why"][0]


async def test_async_streams_do_the_same(reminded, chat, says):
    app = chat(says("A standard.")).compile()
    modes = ["updates", "values", "messages", "custom"]
    parts = [part async for part in app.astream(user(ASK), thread("friday"), stream_mode=modes)]
    assert [name for mode, part in parts if mode == "updates" for name in part] == ["recall", "model", "record"]
    assert [part["tidal_recall"]["ids"] for mode, part in parts if mode == "custom"] == [
        list(only(reminded, thread="friday").surfaced)
    ]
    assert [part[0].text for mode, part in parts if mode == "messages"] == ["A standard."]
    for mode, part in parts:
        if mode == "values":
            assert MARK not in str(part["messages"])


def test_the_whisper_is_not_streamed_as_a_message(reminded, chat, says):
    model = says("A standard.")
    parts = list(chat(model).compile().stream(user(ASK), thread("friday"), stream_mode="messages"))
    assert MARK in model.shown[0][0].text
    assert [message.text for message, _ in parts] == ["A standard."]


# the whisper is for one model call


def checkpointed(saver):
    return repr((dict(saver.storage), dict(saver.blobs), dict(saver.writes)))


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_no_checkpoint_contains_the_whisper(reminded, chat, says, durability):
    saver, model = InMemorySaver(), says("A standard.")
    app = chat(model).compile(checkpointer=saver)
    app.invoke(user(ASK), thread("friday"), durability=durability)
    assert MARK in model.shown[0][0].text
    assert ASK in checkpointed(saver)
    assert "tidal-memory" not in checkpointed(saver)
    assert FACT not in checkpointed(saver)


def test_no_checkpoint_on_disk_contains_the_whisper(reminded, tmp_path, chat, says):
    file, model = tmp_path / "checkpoints.db", says("A standard.")
    with SqliteSaver.from_conn_string(str(file)) as saver:
        chat(model).compile(checkpointer=saver).invoke(user(ASK), thread("friday"))
    stored = b"".join(part.read_bytes() for part in tmp_path.glob("checkpoints.db*"))
    assert MARK in model.shown[0][0].text
    assert ASK.encode() in stored
    assert b"tidal-memory" not in stored
    assert FACT.encode() not in stored


async def test_no_checkpoint_of_an_async_saver_contains_the_whisper(reminded, tmp_path, chat, says):
    file, model = tmp_path / "checkpoints.db", says("A standard.")
    async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
        app = chat(model).compile(checkpointer=saver)
        await app.ainvoke(user(ASK), thread("friday"))
        assert said(only(reminded, thread="friday")) == [ASK, "A standard."]
    stored = b"".join(part.read_bytes() for part in tmp_path.glob("checkpoints.db*"))
    assert MARK in model.shown[0][0].text
    assert b"tidal-memory" not in stored


def test_an_answer_that_repeats_the_whisper_is_found_without_it(reminded, chat, says):
    chat(says(lambda shown: f"{shown[0].text}\nSo I say: a standard.")).compile().invoke(user(ASK), thread("friday"))
    *_, answer = [reminded.get(id_).text for id_ in only(reminded, thread="friday").entries]
    assert MARK not in answer
    assert answer.endswith("So I say: a standard.")
    assert FACT not in answer


def test_a_result_given_back_as_input_is_not_stale(reminded, chat, says):
    model = says("A standard.", "You are welcome.")
    app = chat(model).compile()
    result = app.invoke(user(ASK), thread("friday"))
    app.invoke({**result, "messages": [*result["messages"], HumanMessage("Thank you!")]}, thread("friday"))
    assert [message.text for message in model.shown[1]] == [ASK, "A standard.", "Thank you!"]


# never stale


def test_a_second_run_shows_the_second_turn(reminded, chat, says):
    model = says("A standard.", "It rains.")
    app = chat(model).compile(checkpointer=InMemorySaver())
    app.invoke(user(ASK), thread("friday"))
    app.invoke(user("How is the weather in Lisbon?"), thread("friday"))
    assert [message.text for message in model.shown[1]] == [ASK, "A standard.", "How is the weather in Lisbon?"]


def test_a_run_that_skips_recall_shows_its_own_messages(reminded, chat, says):
    model, saver = says("A standard.", "It rains."), InMemorySaver()
    chat(model).compile(checkpointer=saver).invoke(user(ASK), thread("friday"))
    plain = StateGraph(TidalState).add_node("model", lambda state: {"messages": [model.invoke(model_input(state))]})
    plain.add_edge(START, "model").compile(checkpointer=saver).invoke(user("Hello again."), thread("friday"))
    assert [message.text for message in model.shown[1]] == [ASK, "A standard.", "Hello again."]


def test_a_state_without_the_key_runs_on_the_plain_messages(reminded, chat, says):
    model = says("A standard.")
    chat(model, state=MessagesState).compile().invoke(user(ASK), thread("friday"))
    assert [message.text for message in model.shown[0]] == [ASK]
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


# tool loops


@pytest.mark.parametrize("back_to", ["model", "recall"])
def test_a_tool_loop_recalls_once_and_shows_the_model_every_result(reminded, react, says, embedder, back_to):
    model = says(calls(60, 90), calls(120, text="Faster."), "Swing it.")
    embedder.calls.clear()
    react(model, back_to=back_to).compile().invoke(user(ASK), thread("friday"))
    first, second, third = ([message.text for message in shown] for shown in model.shown)
    assert first[0].startswith(MARK)
    assert first[0].endswith(ASK)
    assert second == [first[0], "", "The metronome ticks at 60.", "The metronome ticks at 90."]
    assert third == [*second, "Faster.", "The metronome ticks at 120."]
    assert embedder.recalls == [ASK]
    episode = only(reminded, thread="friday")
    assert [(call.arguments["tempo"], call.result) for call in episode.tool_calls] == [
        (tempo, f"The metronome ticks at {tempo}.") for tempo in (60, 90, 120)
    ]
    assert [message.text for message in episode.reasoning if message.text] == ["Faster."]
    assert episode.answer == "Swing it."
    assert episode.surfaced


async def test_an_async_tool_loop_does_the_same(reminded, react, says, embedder):
    model = says(calls(60, 90), "Swing it.")
    embedder.calls.clear()
    await react(model, back_to="recall").compile(checkpointer=InMemorySaver()).ainvoke(user(ASK), thread("friday"))
    assert [message.text for message in model.shown[1]][1:] == [
        "",
        "The metronome ticks at 60.",
        "The metronome ticks at 90.",
    ]
    assert embedder.recalls == [ASK]
    assert len(only(reminded, thread="friday").tool_calls) == 2


def test_the_whisper_stands_between_no_call_and_its_result(reminded, react, says):
    model = says(calls(60), "Swing it.")
    react(model, back_to="recall").compile().invoke(user(ASK), thread("friday"))
    assert [message.type for message in model.shown[1]] == ["human", "ai", "tool"]
    assert [MARK in message.text for message in model.shown[1]] == [True, False, False]


def test_a_tool_that_fails_is_recorded_as_failed(memory, react, says):
    react(says(calls(-1), "That tempo does not exist.")).compile().invoke(user("Tick backwards."), thread("t"))
    (call,) = only(memory, thread="t").tool_calls
    assert call.error
    assert "no tempo -1" in call.result


def test_a_turn_in_a_tool_loop_is_recorded_when_it_is_over(memory, says):
    record = RecordNode(memory)
    turn = [HumanMessage("Tick.", id="h1"), calls(60)]
    record.invoke({"messages": turn})
    record.invoke({"messages": [*turn, ToolMessage("tick", tool_call_id="call-60", id="t1")]})
    assert memory.episodes.list() == []
    record.invoke({"messages": [*turn, ToolMessage("tick", tool_call_id="call-60", id="t1"), AIMessage("Ticks.")]})
    assert said(only(memory)) == ["Tick.", "", "tick", "Ticks."]


# failures


def test_a_recall_that_fails_twice_is_retried(reminded, chat, says, embedder):
    model = says("A standard.")
    app = chat(model, retry=RETRY).compile()
    embedder.failures = 2
    app.invoke(user(ASK), thread("friday"))
    assert FACT in model.shown[0][0].text
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


def test_a_record_that_fails_twice_is_retried(memory, chat, embedder):
    def answer(state):
        embedder.failures = 2
        return {"messages": [AIMessage("A standard.")]}

    chat(answer, retry=RETRY).compile().invoke(user(ASK), thread("friday"))
    assert said(only(memory, thread="friday")) == [ASK, "A standard."]


def test_a_model_that_fails_twice_is_reminded_each_time(reminded, chat, says, embedder):
    model = says(ConnectionError("away"), ConnectionError("away"), "A standard.")
    embedder.calls.clear()
    chat(model, retry=RETRY).compile().invoke(user(ASK), thread("friday"))
    assert [FACT in shown[0].text for shown in model.shown] == [True, True, True]
    assert embedder.recalls == [ASK]
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


def test_a_crash_in_the_model_is_made_good_by_running_on(reminded, chat, says):
    model = says(ConnectionError("away"), "A standard.")
    app = chat(model).compile(checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        app.invoke(user(ASK), thread("friday"))
    assert reminded.episodes.list(thread="friday") == []
    app.invoke(None, thread("friday"))
    episode = only(reminded, thread="friday")
    assert said(episode) == [ASK, "A standard."]
    assert episode.surfaced


def test_a_question_that_no_model_answered_is_not_lost(memory, chat, says):
    model = says(ConnectionError("away"), "A standard.")
    app = chat(model).compile(checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        app.invoke(user(ASK), thread("friday"))
    app.invoke(user("Are you there?"), thread("friday"))
    assert said(only(memory, thread="friday")) == [ASK, "Are you there?", "A standard."]


def test_a_crash_between_answer_and_record_is_caught_up_on(memory, chat, says, embedder):
    def answer(state):
        embedder.failures = 1
        return {"messages": [AIMessage("Noted.")]}

    saver = InMemorySaver()
    with pytest.raises(EmbeddingError):
        chat(answer).compile(checkpointer=saver).invoke(user(FACT), thread("t"))
    assert memory.episodes.list() == []
    chat(says("A standard.")).compile(checkpointer=saver).invoke(user(ASK), thread("t"))
    assert [said(episode) for episode in memory.episodes.list(thread="t")] == [[FACT, "Noted."], [ASK, "A standard."]]
    assert [episode.turn for episode in memory.episodes.list(thread="t")] == [1, 2]


def test_a_thread_that_began_without_memory_is_caught_up_on(memory, chat, says):
    saver, model = InMemorySaver(), says("Noted.", "Fine.", "A standard.")
    plain = StateGraph(MessagesState).add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    before = plain.add_edge(START, "model").compile(checkpointer=saver)
    before.invoke(user(FACT), thread("t"))
    before.invoke(user("And I am well."), thread("t"))
    chat(model).compile(checkpointer=saver).invoke(user(ASK), thread("t"))
    assert [episode.query for episode in memory.episodes.list(thread="t")] == [FACT, "And I am well.", ASK]


def test_nothing_is_embedded_again_for_turns_that_are_recorded(chat, says, embedder):
    saver = InMemorySaver()
    for text in ("One red apple.", "Two green pears.", "Three blue plums."):
        embedder.calls.clear()
        chat(says("Yes.")).compile(checkpointer=saver).invoke(user(text), thread("t"))  # new nodes know of no record
        assert {part for call in embedder.calls for part in call} == {text, "Yes.", f"{text} → Yes."}


# interrupts


def approving(state):
    interrupt("May I?")
    return {}


def test_a_turn_goes_on_after_an_interrupt(reminded, react, says, embedder):
    model, saver = says(calls(60), "Swing it."), InMemorySaver()
    app = react(model, before_tools=approving).compile(checkpointer=saver)
    embedder.calls.clear()
    assert "__interrupt__" in app.invoke(user(ASK), thread("friday"))
    assert reminded.episodes.list(thread="friday") == []
    app.invoke(Command(resume=True), thread("friday"))
    assert [message.text for message in model.shown[1]][1:] == ["", "The metronome ticks at 60."]
    assert model.shown[1][0].text.endswith(ASK)
    assert embedder.recalls == [ASK]
    episode = only(reminded, thread="friday")
    assert said(episode) == [ASK, "", "The metronome ticks at 60.", "Swing it."]
    assert episode.surfaced
    assert "tidal-memory" not in checkpointed(saver)


def test_an_interrupt_inside_the_model_node_records_the_turn_once(reminded, chat):
    shown = []

    def ask_first(state):
        shown.append([message.text for message in model_input(state)])
        return {"messages": [AIMessage(interrupt("What shall I say?"))]}

    app = chat(ask_first).compile(checkpointer=InMemorySaver())
    app.invoke(user(ASK), thread("friday"))
    app.invoke(Command(resume="A standard."), thread("friday"))
    assert shown[0][0].startswith(MARK)
    assert shown[1] == [ASK]
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


def test_a_turn_that_was_interrupted_and_left_is_recorded_with_the_next(memory, react, says):
    model = says(calls(60, text="May I?"), "Fine.")
    app = react(model, before_tools=approving).compile(checkpointer=InMemorySaver())
    app.invoke(user("Tick."), thread("t"))
    app.invoke(user("Never mind."), thread("t"))
    assert [said(episode) for episode in memory.episodes.list()] == [["Tick.", "May I?"], ["Never mind.", "Fine."]]


@pytest.mark.slow
def test_memory_and_a_turn_outlive_their_processes(memory, in_process):
    metronome_call = {"content": "", "tool_calls": [{"name": "metronome", "args": {"tempo": 60}, "id": "call-60"}]}
    in_process(thread="monday", say=FACT, replies=["Noted."])
    asked = in_process(thread="friday", say=ASK, replies=[metronome_call], ask_before_tools=True)
    assert asked["interrupted"]
    assert FACT in asked["shown"][0][0]
    assert memory.episodes.list(thread="friday") == []
    resumed = in_process(thread="friday", resume=True, replies=["Swing it."], ask_before_tools=True)
    whole = [ASK, "", "The metronome ticks at 60.", "Swing it."]
    assert resumed["messages"] == whole
    assert resumed["shown"] == [whole[:-1]]
    episode = only(memory, thread="friday")
    assert said(episode) == whole
    assert list(episode.surfaced) == asked["recalled"]["ids"] != []
    again = in_process(thread="friday", say="Thank you for the swing.", replies=["You are welcome."])
    assert again["messages"] == [*whole, "Thank you for the swing.", "You are welcome."]
    assert [len(said(episode)) for episode in memory.episodes.list(thread="friday")] == [4, 2]


# time travel


def test_a_replay_is_the_same_episode(memory, chat, says):
    model = says(AIMessage("A standard.", id="a1"))
    app = chat(model).compile(checkpointer=InMemorySaver())
    app.invoke(user(ASK, id="h1"), thread("t"))
    for snapshot in list(app.get_state_history(thread("t"))):
        if snapshot.next:
            app.invoke(None, snapshot.config)
    assert len(model.shown) == 4  # once, then from before the input, recall and the model
    assert said(only(memory)) == [ASK, "A standard."]


def test_another_answer_to_the_same_question_is_an_episode_of_its_own(memory, chat, says):
    app = chat(says("A standard.", "A ballad.")).compile(checkpointer=InMemorySaver())
    app.invoke(user(ASK), thread("t"))
    before = next(snapshot for snapshot in app.get_state_history(thread("t")) if snapshot.next == ("model",))
    app.invoke(None, before.config)
    assert [said(episode) for episode in memory.episodes.list()] == [[ASK, "A standard."], [ASK, "A ballad."]]
    assert [hit.text for hit in memory.recall(ASK, kinds={"conversation"})] == [ASK, "A ballad."]


def test_a_fork_with_another_question_loses_neither(memory, chat, says):
    app = chat(says("Noted.", "A standard.", "It rains.")).compile(checkpointer=InMemorySaver())
    app.invoke(user(FACT), thread("t"))
    fork = app.get_state(thread("t")).config
    app.invoke(user(ASK), thread("t"))
    app.invoke(user("How is the weather?"), fork)
    assert [said(episode) for episode in memory.episodes.list()] == [
        [FACT, "Noted."],
        [ASK, "A standard."],
        ["How is the weather?", "It rains."],
    ]


# messages of all kinds


def test_the_same_words_said_again_are_another_turn(memory, chat, says):
    app = chat(says("Hello.")).compile(checkpointer=InMemorySaver())
    for _ in range(3):
        app.invoke(user("Hello there, my friend."), thread("t"))
    assert [said(episode) for episode in memory.episodes.list()] == [["Hello there, my friend.", "Hello."]] * 3
    assert [episode.turn for episode in memory.episodes.list()] == [1, 2, 3]


def test_human_messages_in_a_row_are_one_turn_with_one_whisper(reminded, chat, says):
    model = says("A standard.")
    messages = [HumanMessage("I sit at the jazz piano."), HumanMessage(ASK)]
    chat(model).compile().invoke({"messages": messages}, thread("friday"))
    first, second = model.shown[0]
    assert first.text == "I sit at the jazz piano."
    assert second.text.startswith(MARK)
    assert said(only(reminded, thread="friday")) == ["I sit at the jazz piano.", ASK, "A standard."]


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_question_reminds_of_nothing_and_its_answer_is_recorded(reminded, chat, says, text):
    model = says("You said nothing.")
    chat(model).compile().invoke(user(text), thread("friday"))
    assert [message.text for message in model.shown[0]] == [text]
    assert only(reminded, thread="friday").answer == "You said nothing."


def test_an_empty_question_with_an_empty_answer_is_no_episode(memory, chat, says):
    chat(says("")).compile().invoke(user(""), thread("friday"))
    assert memory.episodes.list() == []


def test_white_space_around_tool_calls_does_no_harm(memory, react, says):
    react(says(calls(60, text="\n\n"), "Swing it.")).compile().invoke(user("Tick."), thread("t"))
    assert said(only(memory)) == ["Tick.", "", "The metronome ticks at 60.", "Swing it."]


def test_an_image_reaches_the_model_and_not_the_memory(reminded, chat, says, path):
    data = "iVBORw0KGgoAAAANSUhEUg" * 40
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    model = says("A keyboard.")
    chat(model).compile().invoke(user([{"type": "text", "text": ASK}, image]), thread("friday"))
    whisper, *content = model.shown[0][0].content
    assert FACT in whisper["text"]
    assert content == [{"type": "text", "text": ASK}, image]
    assert said(only(reminded, thread="friday")) == [f"{ASK}\n[image_url]", "A keyboard."]


def test_system_messages_are_shown_and_not_recorded(reminded, chat, says):
    model = says("A standard.")
    messages = [SystemMessage("Be kind."), HumanMessage(ASK)]
    chat(model).compile().invoke({"messages": messages}, thread("friday"))
    assert [message.type for message in model.shown[0]] == ["system", "human"]
    assert model.shown[0][0].text == "Be kind."
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


@pytest.mark.parametrize("messages", [[], [SystemMessage("Be kind.")]])
def test_without_a_human_message_nothing_is_recalled_or_recorded(memory, chat, says, messages, embedder):
    model = says("Welcome!")
    result = chat(model).compile().invoke({"messages": messages}, thread("t"))
    assert result["messages"][-1].text == "Welcome!"
    assert [message.text for message in model.shown[0]] == [message.text for message in messages]
    assert memory.episodes.list() == []
    assert embedder.calls == []


def test_a_state_without_messages_is_told_so(memory):
    for node in (RecallNode(memory), RecordNode(memory)):
        with pytest.raises(InvalidInput, match="input_messages_key"):
            node.invoke({"chat": [("user", ASK)]})
    with pytest.raises(InvalidInput, match="'messages'"):
        model_input({"chat": []})


# other nodes change messages


def test_what_another_node_removes_is_neither_shown_nor_lost(memory, says):
    saver, model = InMemorySaver(), says("Noted.", "Fine.", "A standard.")

    def trim(state):
        return {"messages": [RemoveMessage(id=message.id) for message in state["messages"][:-1]]}

    def answer(state):
        return {"messages": [model.invoke(model_input(state))]}

    nodes = [("recall", RecallNode(memory)), ("trim", trim), ("model", answer), ("record", RecordNode(memory))]
    app = StateGraph(TidalState).add_sequence(nodes).add_edge(START, "recall").compile(checkpointer=saver)
    for text in (FACT, "And I am well.", ASK):
        app.invoke(user(text), thread("t"))
    assert [len(shown) for shown in model.shown] == [1, 1, 1]
    assert [episode.query for episode in memory.episodes.list(thread="t")] == [FACT, "And I am well.", ASK]


def test_a_history_that_is_cut_off_comes_back_as_a_whisper(memory, says):
    saver, model = InMemorySaver(), says("Noted.", "A standard.")

    def forget_all(state):
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), state["messages"][-1]]}

    def answer(state):
        return {"messages": [model.invoke(model_input(state))]}

    nodes = [("trim", forget_all), ("recall", RecallNode(memory)), ("model", answer), ("record", RecordNode(memory))]
    app = StateGraph(TidalState).add_sequence(nodes).add_edge(START, "trim").compile(checkpointer=saver)
    app.invoke(user(FACT), thread("t"))
    app.invoke(user(ASK), thread("t"))
    assert FACT in model.shown[1][0].text
    assert [episode.query for episode in memory.episodes.list(thread="t")] == [FACT, ASK]


def test_a_human_message_that_another_node_adds_leaves_the_whisper_where_it_was(reminded, says):
    model = says("A standard.")

    def hint(state):
        return {"messages": [HumanMessage("Keep it short.", id="hint")]}

    def answer(state):
        return {"messages": [model.invoke(model_input(state))]}

    nodes = [("recall", RecallNode(reminded)), ("hint", hint), ("model", answer)]
    StateGraph(TidalState).add_sequence(nodes).add_edge(START, "recall").compile().invoke(user(ASK))
    assert [MARK in message.text for message in model.shown[0]] == [True, False]
    assert model.shown[0][1].text == "Keep it short."


def test_a_question_that_another_node_edits_after_recall_is_shown_as_edited(reminded, says):
    model = says("A standard.")

    def redact(state):
        return {"messages": [HumanMessage("Which [redacted] should I practise?", id=state["messages"][-1].id)]}

    def answer(state):
        return {"messages": [model.invoke(model_input(state))]}

    nodes = [("recall", RecallNode(reminded)), ("redact", redact), ("model", answer)]
    StateGraph(TidalState).add_sequence(nodes).add_edge(START, "recall").compile().invoke(user(ASK))
    assert [message.text for message in model.shown[0]] == ["Which [redacted] should I practise?"]


# states


class Appending(TypedDict):
    """As many write it: no ids are given to messages."""

    messages: Annotated[list[AnyMessage], operator.add]
    llm_input_messages: list[AnyMessage]
    recalled: dict[str, Any]


class Own(TidalState):
    mood: str
    steps: Annotated[list[str], operator.add]


class Model(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]
    llm_input_messages: list[AnyMessage] = []
    recalled: dict[str, Any] = {}


@dataclass
class Data:
    messages: Annotated[list[AnyMessage], add_messages]
    llm_input_messages: list[AnyMessage] = field(default_factory=list)
    recalled: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize("state", [Appending, Own, Model, Data])
def test_any_kind_of_state_will_do(reminded, chat, says, state):
    model = says("A standard.", "You are welcome.")
    app = chat(model, state=state).compile(checkpointer=InMemorySaver())
    app.invoke(user(ASK), thread("friday"))
    app.invoke(user("Thank you!"), thread("friday"))
    assert FACT in model.shown[0][0].text
    assert [message.text for message in model.shown[1]] == [ASK, "A standard.", "Thank you!"]
    first, second = reminded.episodes.list(thread="friday")
    assert said(first) == [ASK, "A standard."]
    assert said(second) == ["Thank you!", "You are welcome."]
    assert first.surfaced
    assert not second.surfaced


def test_messages_without_ids_are_not_whispered_back(memory, chat, says):
    model = says("Noted.", "A standard.")
    app = chat(model, state=Appending).compile(checkpointer=InMemorySaver())
    app.invoke(user(FACT), thread("t"))
    app.invoke(user(ASK), thread("t"))
    assert [message.text for message in model.shown[1]] == [FACT, "Noted.", ASK]


def test_messages_without_ids_are_not_mixed_up_with_those_of_an_earlier_run(reminded, chat, says):
    model, saver = says("A standard.", "It rains."), InMemorySaver()
    chat(model, state=Appending).compile(checkpointer=saver).invoke(user(ASK), thread("friday"))
    plain = StateGraph(Appending).add_node("model", lambda state: {"messages": [model.invoke(model_input(state))]})
    plain.add_edge(START, "model").compile(checkpointer=saver).invoke(user("Hello again."), thread("friday"))
    assert model.shown[1][-1].text == "Hello again."


def test_keys_of_their_own_stay_as_they_are(memory, chat, says):
    app = chat(says("Noted."), state=Own).compile()
    result = app.invoke({**user(FACT), "mood": "good", "steps": ["one"]})
    assert (result["mood"], result["steps"]) == ("good", ["one"])


def test_messages_may_stand_under_another_key(reminded, says):
    class Talk(TypedDict):
        talk: Annotated[list[AnyMessage], add_messages]
        llm_input_messages: list[AnyMessage]

    model = says("A standard.")
    options = {"input_messages_key": "talk"}
    graph = StateGraph(Talk)
    graph.add_node("recall", RecallNode(reminded, **options))
    graph.add_node("model", lambda state: {"talk": [model.invoke(model_input(state, "talk"))]})
    graph.add_node("record", RecordNode(reminded, **options))
    app = graph.add_edge(START, "recall").add_edge("recall", "model").add_edge("model", "record").compile()
    app.invoke({"talk": [("user", ASK)]}, thread("friday"))
    assert FACT in model.shown[0][0].text
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


# create_react_agent


class AgentState(TidalState):
    remaining_steps: RemainingSteps


def react_agent(memory, model, tool, **options):
    from langgraph.prebuilt import create_react_agent

    hooks = {"pre_model_hook": tidal_pre_model_hook(memory), "post_model_hook": RecordNode(memory)}
    return create_react_agent(model, [tool], **hooks, **options)


prebuilt = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")


@prebuilt
@pytest.mark.parametrize("state", [None, AgentState])
def test_a_prebuilt_agent_is_reminded_and_recorded(reminded, says, embedder, metronome_tool, state):
    model = says(calls(60, 90), "Swing it.", "It rains.")
    agent = react_agent(reminded, model, metronome_tool, checkpointer=InMemorySaver(), state_schema=state)
    embedder.calls.clear()
    agent.invoke(user(ASK), thread("friday"))
    first, second = ([message.text for message in shown] for shown in model.shown)
    assert first[0].startswith(MARK)
    assert sorted(second[2:]) == ["The metronome ticks at 60.", "The metronome ticks at 90."]
    assert embedder.recalls == [ASK]
    agent.invoke(user("How is the weather in Lisbon?"), thread("friday"))
    assert model.shown[2][0].text == ASK
    assert model.shown[2][-1].text == "How is the weather in Lisbon?"
    assert [episode.answer for episode in reminded.episodes.list(thread="friday")] == ["Swing it.", "It rains."]
    assert [len(episode.tool_calls) for episode in reminded.episodes.list(thread="friday")] == [2, 0]


@prebuilt
async def test_a_prebuilt_agent_does_so_in_async(reminded, says, metronome_tool):
    model = says(calls(60), "Swing it.")
    agent = react_agent(reminded, model, metronome_tool, checkpointer=InMemorySaver())
    await agent.ainvoke(user(ASK), thread("friday"))
    assert FACT in model.shown[1][0].text
    assert said(only(reminded, thread="friday")) == [ASK, "", "The metronome ticks at 60.", "Swing it."]


@prebuilt
def test_a_prebuilt_agent_with_our_state_knows_what_surfaced_and_checkpoints_no_whisper(reminded, says, metronome_tool):
    saver, model = InMemorySaver(), says("Swing it.")  # a tool's Send would carry the whole state, whisper included
    agent = react_agent(reminded, model, metronome_tool, checkpointer=saver, state_schema=AgentState)
    agent.invoke(user(ASK), thread("friday"))
    assert FACT in model.shown[0][0].text
    assert only(reminded, thread="friday").surfaced
    assert ASK in checkpointed(saver)
    assert "tidal-memory" not in checkpointed(saver)


# scope


@dataclass
class Context:
    user_id: str


def by_context(context, config):
    return ("user", context.user_id)


def by_config(context, config):
    return ("user", config["configurable"]["user_id"])


def test_the_memory_gives_the_scope_unless_told_otherwise(memory, chat, says):
    chat(says("Noted.")).compile().invoke(user(FACT))
    assert only(memory).scope == ("default",)


def test_a_scope_may_be_given(memory, chat, says):
    chat(says("Noted."), scope=("team", "blue")).compile().invoke(user(FACT))
    assert memory.episodes.list() == []
    assert said(only(memory.scoped("team", "blue"))) == [FACT, "Noted."]


def test_a_scope_may_come_from_the_context(memory, chat, says):
    model = says("Noted.", "A standard.", "I do not know.")
    app = chat(model, scope=by_context, context_schema=Context).compile()
    app.invoke(user(FACT), thread("one"), context=Context("anna"))
    app.invoke(user(ASK), thread("two"), context=Context("anna"))
    app.invoke(user(ASK), thread("two"), context=Context("ben"))
    assert [FACT in shown[-1].text for shown in model.shown] == [True, True, False]
    assert [len(memory.scoped("user", name).episodes.list()) for name in ("anna", "ben")] == [2, 1]
    assert memory.episodes.list() == []


async def test_a_scope_may_come_from_the_context_in_async(memory, chat, says):
    app = chat(says("Noted."), scope=by_context, context_schema=Context).compile()
    await app.ainvoke(user(FACT), thread("one"), context=Context("anna"))
    assert said(only(memory.scoped("user", "anna"))) == [FACT, "Noted."]


def test_a_scope_may_come_from_the_config(memory, chat, says):
    app = chat(says("Noted."), scope=by_config).compile()
    app.invoke(user(FACT), thread("one", user_id="anna"))
    assert said(only(memory.scoped("user", "anna"))) == [FACT, "Noted."]


@pytest.mark.parametrize("scope", [None, (), ("user", ""), ("user", None), "anna", ["user", "anna"]])
def test_a_scope_that_is_none_is_refused_and_nothing_is_written(memory, says, path, scope):
    before = dump(path)
    state = {"messages": [HumanMessage(FACT), AIMessage("Noted.")]}
    for node in (RecallNode(memory, scope=lambda *_: scope), RecordNode(memory, scope=lambda *_: scope)):
        with pytest.raises(InvalidScope):
            StateGraph(TidalState).add_node("node", node).add_edge(START, "node").compile().invoke(state)
    assert dump(path) == before


def dump(path):
    """The bytes of a file that is in use, read by another process: closing it in this one would drop our locks."""
    return [subprocess.run(["cat", file], capture_output=True, check=True).stdout for file in (path, f"{path}-wal")]


async def test_users_that_talk_at_once_never_see_each_other(memory, chat):
    async def answer(state):
        (seen,) = {name for name in names if name in str(model_input(state))}
        await asyncio.sleep(0)
        return {"messages": [AIMessage(f"Noted, {seen}.")]}

    names = [f"user{chr(97 + n)}" for n in range(20)]
    app = chat(answer, scope=by_context, context_schema=Context).compile(checkpointer=InMemorySaver())

    async def talk(name):
        await app.ainvoke(user(f"I am {name}, and {FACT}"), thread("monday-" + name), context=Context(name))
        await app.ainvoke(user(f"I am {name}. {ASK}"), thread("friday-" + name), context=Context(name))

    await asyncio.gather(*map(talk, names))
    for name in names:
        episodes = memory.scoped("user", name).episodes.list()
        assert [episode.thread for episode in episodes] == [f"monday-{name}", f"friday-{name}"]
        assert all(episode.answer == f"Noted, {name}." for episode in episodes)
        assert episodes[1].surfaced


def test_users_may_share_a_thread_id(memory, chat, says):
    app = chat(says("Noted."), scope=by_config).compile()
    for name in ("anna", "ben"):
        app.invoke(user(f"I am {name}.", id="h1"), thread("1", user_id=name))
    assert [only(memory.scoped("user", name)).query for name in ("anna", "ben")] == ["I am anna.", "I am ben."]


# the event loop


async def test_the_event_loop_runs_on_while_another_process_holds_the_lock(memory, chat, says, path):
    app = chat(says("Noted.")).compile(checkpointer=InMemorySaver())
    await app.ainvoke(user("Hello, and warm up."), thread("warm"))

    async def at_once():
        await asyncio.gather(*(app.ainvoke(user(f"{FACT} {n}"), thread(f"t{n}")) for n in range(8)))

    assert await waits_without_blocking(path, at_once())
    assert len(memory.episodes.list()) == 9


# graphs of all shapes


def test_nodes_work_outside_a_graph(reminded):
    shown = RecallNode(reminded).invoke({"messages": [("user", ASK)]}, thread("friday"))
    assert FACT in shown["llm_input_messages"][0].text
    turn = [HumanMessage(ASK, id="h1"), AIMessage("A standard.")]
    state = {"messages": turn, "recalled": {"turn": "h1", "ids": shown["recalled"]["ids"]}}
    assert RecordNode(reminded).invoke(state, thread("friday")) == {"llm_input_messages": []}
    assert list(only(reminded, thread="friday").surfaced) == shown["recalled"]["ids"]


async def test_nodes_work_outside_a_graph_in_async(reminded):
    shown = await RecallNode(reminded).ainvoke({"messages": [HumanMessage(ASK)]}, thread("friday"))
    assert FACT in shown["llm_input_messages"][0].text
    await RecordNode(reminded).ainvoke({"messages": [HumanMessage(ASK), AIMessage("A standard.")]}, thread("friday"))
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


def test_nodes_work_in_a_chain(reminded, says):
    model = says("A standard.")
    chain = RecallNode(reminded) | (lambda update: update["llm_input_messages"]) | model
    assert chain.invoke({"messages": [HumanMessage(ASK)]}, thread("friday")).text == "A standard."
    assert FACT in model.shown[0][0].text


def test_a_node_can_be_bound_to_a_config_of_its_own(memory):
    record = RecordNode(memory, scope=by_config).with_config({"configurable": {"user_id": "anna"}})
    state = {"messages": [HumanMessage(FACT), AIMessage("Noted.")]}
    StateGraph(TidalState).add_node("record", record).add_edge(START, "record").compile().invoke(state, thread("run"))
    assert only(memory.scoped("user", "anna")).thread == "run"


def test_nodes_run_in_a_subgraph(reminded, chat, says):
    saver, model = InMemorySaver(), says("A standard.")
    inner = chat(model).compile()
    outer = StateGraph(MessagesState).add_node("agent", inner).add_edge(START, "agent").compile(checkpointer=saver)
    result = outer.invoke(user(ASK), thread("friday"))
    assert [message.text for message in result["messages"]] == [ASK, "A standard."]
    assert FACT in model.shown[0][0].text
    assert "tidal-memory" not in checkpointed(saver)
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


def test_nodes_run_where_send_and_command_lead(reminded, says):
    def answer(state):
        return Command(update={"messages": [model.invoke(model_input(state))]}, goto="record")

    model = says("A standard.")
    graph = StateGraph(TidalState)
    graph.add_node("recall", RecallNode(reminded))
    graph.add_node(
        "model", lambda state: Command(update={"messages": [model.invoke(model_input(state))]}, goto="record")
    )
    graph.add_node("record", RecordNode(reminded))
    graph.add_conditional_edges(START, lambda state: [Send("recall", state)])
    saver = InMemorySaver()
    app = graph.add_edge("recall", "model").add_edge("record", END).compile(checkpointer=saver)
    app.invoke(user(ASK), thread("friday"))
    assert FACT in model.shown[0][0].text
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]
    assert "tidal-memory" not in checkpointed(saver)


def test_nodes_name_themselves_and_can_be_drawn(memory):
    graph = StateGraph(TidalState).add_node(RecallNode(memory)).add_node("record", RecordNode(memory))
    app = graph.add_edge(START, "RecallNode").add_edge("RecallNode", "record").compile()
    drawing = app.get_graph().draw_mermaid()
    assert "RecallNode" in drawing
    assert "record" in drawing


class Stumbling(HashingEmbedder):
    """Returns NaN once."""

    def __init__(self):
        super().__init__()
        self.stumbles = True

    def embed(self, texts):
        rows = super().embed(texts)
        if self.stumbles:
            self.stumbles = False
            return rows * float("nan")
        return rows


def test_a_turn_is_recorded_after_its_embedder_has_recovered(tmp_path):
    state = {"messages": [HumanMessage(FACT, id="h1"), AIMessage("Noted.", id="a1")]}
    with TidalMemory(tmp_path / "stumbling.db", embedder=Stumbling()) as memory:
        record = RecordNode(memory)
        with pytest.raises(BadEmbedding):
            record.invoke(state, thread("t"))
        record.invoke(state, thread("t"))
        assert said(only(memory)) == [FACT, "Noted."]
