import asyncio
import json
import threading

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import JsonOutputParser, StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableLambda

from langchain_tidal import with_memory
from tests.waiting import PATIENCE, aeventually
from tidal_plugins import InvalidInput, InvalidScope

FACT = "I practise jazz piano every evening after dinner."
ASK = "Which jazz piano piece should I practise this evening?"
MARK = "<tidal-memory>"


def thread(name, **configurable):
    return {"configurable": {"thread_id": name, **configurable}}


def said(episode):
    return [message.text for message in episode.messages]


def only(memory, **where):
    (episode,) = memory.episodes.list(**where)
    return episode


@pytest.fixture
def reminded(memory, embedder):
    memory.record(user=FACT, agent="Noted.", thread="old")
    embedder.calls.clear()
    return memory


@pytest.fixture(params=["invoke", "ainvoke", "stream", "astream", "batch", "abatch"])
def run(request):
    """Run by any of the call styles, and return the whole output."""

    async def call(runnable, given, config=None):
        method = getattr(runnable, request.param)
        if request.param == "invoke":
            return method(given, config)
        if request.param == "ainvoke":
            return await method(given, config)
        if request.param == "batch":
            return method([given], config)[0]
        if request.param == "abatch":
            return (await method([given], config))[0]
        parts = list(method(given, config)) if request.param == "stream" else [p async for p in method(given, config)]
        whole = parts[0]
        for part in parts[1:]:
            whole += part
        return whole

    return call


def chain(model):
    prompt = ChatPromptTemplate([("system", "Be kind to {name}."), ("human", "{input}")])
    return prompt | model | StrOutputParser()


@pytest.mark.parametrize(
    "given",
    [
        ASK,
        [HumanMessage(ASK)],
        [("user", ASK)],
        ChatPromptTemplate([("human", "{q}")]).invoke({"q": ASK}),
    ],
    ids=["text", "messages", "pairs", "prompt"],
)
async def test_a_model_is_reminded_and_the_turn_is_recorded(reminded, says, run, given):
    model = says("A standard.")
    answer = await run(with_memory(model, reminded), given, thread("friday"))
    assert answer.text == "A standard."
    (shown,) = model.shown[0]
    assert shown.text.startswith(MARK)
    assert FACT in shown.text
    assert shown.text.endswith(ASK)
    episode = only(reminded, thread="friday")
    assert said(episode) == [ASK, "A standard."]
    assert reminded.get(episode.surfaced[0]).text == FACT


@pytest.mark.parametrize(
    "given",
    [
        ASK,
        HumanMessage(ASK),
        [HumanMessage(ASK)],
        {"x": ASK},
        ChatPromptTemplate([("human", "{q}")]).invoke({"q": ASK}),
    ],
)
def test_the_runnable_is_given_the_kind_of_input_that_came_in(reminded, given):
    seen = []
    with_memory(RunnableLambda(lambda shown: seen.append(shown) or "A standard."), reminded).invoke(given)
    assert isinstance(seen[0], type(given))
    assert FACT in str(seen[0])


async def test_a_chain_with_a_prompt_is_reminded_in_the_input_that_the_user_said(reminded, says, run):
    model = says("A standard.")
    app = with_memory(chain(model), reminded, input_key="input")
    assert await run(app, {"input": ASK, "name": "{braces}"}, thread("friday")) == "A standard."
    system, human = model.shown[0]
    assert system.text == "Be kind to {braces}."
    assert FACT in human.text
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


def test_of_one_key_no_name_is_needed(reminded, says):
    model = says("A standard.")
    prompt = PromptTemplate.from_template("Answer this: {question}")
    with_memory(prompt | model, reminded).invoke({"question": ASK}, thread("friday"))
    assert FACT in model.shown[0][0].text
    assert model.shown[0][0].text.startswith("Answer this: ")


@pytest.mark.parametrize("options", [{}, {"input_key": "question"}])
def test_an_input_that_could_be_anything_is_refused_before_the_model_runs(reminded, says, options):
    model = says("A standard.")
    with pytest.raises(InvalidInput, match=r"input_key.*input, name"):
        with_memory(chain(model), reminded, **options).invoke({"input": ASK, "name": "Anna"})
    assert model.shown == []


@pytest.mark.parametrize("given", [7, None, object()])
def test_what_holds_no_words_is_refused(reminded, says, given):
    with pytest.raises(InvalidInput, match="must be a text"):
        with_memory(says("A standard."), reminded).invoke(given)


def test_messages_under_a_key_are_whispered_to_and_not_changed(reminded, says):
    model = says("A standard.")
    prompt = ChatPromptTemplate([("system", "Be kind."), MessagesPlaceholder("chat")])
    given = {"chat": [HumanMessage("Hello."), AIMessage("Hello!"), HumanMessage(ASK)]}
    with_memory(prompt | model, reminded).invoke(given, thread("friday"))
    assert [MARK in message.text for message in model.shown[0]] == [False, False, False, True]
    assert given["chat"][-1].text == ASK
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


def test_of_a_history_the_last_turn_is_recorded_and_what_stands_in_it_is_not_whispered(memory, says):
    model = says("Noted.", "A standard.")
    app = with_memory(model, memory)
    history = [HumanMessage(FACT)]
    history.append(app.invoke(history, thread("one")))
    app.invoke([*history, HumanMessage(ASK)], thread("one"))
    assert [message.text for message in model.shown[1]] == [FACT, "Noted.", ASK]
    assert [said(episode) for episode in memory.episodes.list()] == [[FACT, "Noted."], [ASK, "A standard."]]


def test_a_turn_that_goes_on_after_its_tools_is_one_episode(memory, says):
    call = AIMessage("", tool_calls=[{"name": "metronome", "args": {"tempo": 60}, "id": "call-1"}])
    app = with_memory(says(call, "Swing it."), memory)
    turn = [HumanMessage("Tick.", id="h1")]
    turn.append(app.invoke(turn, thread("t")))
    app.invoke([*turn, ToolMessage("It ticks.", tool_call_id="call-1", id="t1")], thread("t"))
    assert said(only(memory)) == ["Tick.", "", "It ticks.", "Swing it."]


def test_without_a_human_message_the_input_passes_as_it_is(memory, says):
    model = says("Welcome!")
    with_memory(model, memory).invoke([SystemMessage("Greet.")])
    assert model.shown == [[SystemMessage("Greet.")]]
    assert memory.episodes.list() == []


def test_where_nothing_comes_up_the_input_passes_as_it_is(memory):
    seen = []
    given = [HumanMessage(FACT)]
    with_memory(RunnableLambda(lambda messages: seen.append(messages) or "Noted."), memory).invoke(given)
    assert seen[0] is given


def test_the_same_words_said_again_are_another_turn(memory, says):
    app = with_memory(says("Hello."), memory)
    for _ in range(3):
        app.invoke("Hello there, my friend.", thread("t"))
    assert [said(episode) for episode in memory.episodes.list()] == [["Hello there, my friend.", "Hello."]] * 3


def test_an_answer_that_repeats_the_whisper_is_found_without_it(reminded):
    with_memory(RunnableLambda(lambda text: f"{text}\nSo I say: a standard."), reminded).invoke(ASK, thread("friday"))
    *_, answer = [reminded.get(id_).text for id_ in only(reminded, thread="friday").entries]
    assert MARK not in answer
    assert FACT not in answer
    assert answer.endswith("So I say: a standard.")


# outputs


@pytest.mark.parametrize(
    ("output", "options", "recorded"),
    [
        ({"answer": "A standard.", "sources": ["a", "b"]}, {"output_key": "answer"}, "A standard."),
        ({"answer": "A standard."}, {}, "A standard."),
        ({"answer": AIMessage("A standard.")}, {}, "A standard."),
        ({"messages": [HumanMessage(ASK), AIMessage("A standard.")]}, {}, "A standard."),
        ({"title": "Blue in Green", "key": "é"}, {}, '{"title": "Blue in Green", "key": "é"}'),
        (7, {}, "7"),
    ],
)
def test_any_output_is_recorded_and_handed_on_as_it_is(memory, output, options, recorded):
    app = with_memory(RunnableLambda(lambda _: output), memory, **options)
    assert app.invoke(ASK, thread("t")) is output
    assert said(only(memory)) == [ASK, recorded]


def test_structured_output_is_recorded_as_json(memory, says):
    app = with_memory(says('{"title": "Blue in Green", "tempo": 60}') | JsonOutputParser(), memory)
    assert app.invoke(ASK) == {"title": "Blue in Green", "tempo": 60}
    assert json.loads(only(memory).answer) == {"title": "Blue in Green", "tempo": 60}


# streams


def talker(words):
    return GenericFakeChatModel(messages=iter([AIMessage(words)]))


async def test_a_stream_comes_in_parts_and_is_recorded_whole(memory):
    parts = [part.text for part in with_memory(talker("One fine standard."), memory).stream(ASK)]
    later = [part.text async for part in with_memory(talker("One fine standard."), memory).astream(ASK)]
    assert len([part for part in parts if part.strip()]) == 3
    assert later == parts
    assert [said(episode) for episode in memory.episodes.list()] == [[ASK, "One fine standard."]] * 2


async def test_a_stream_that_is_closed_early_is_recorded_as_far_as_it_went(memory):
    stream = with_memory(talker("One fine standard."), memory).stream(ASK)
    assert next(stream).text == "One"
    assert memory.episodes.list() == []
    stream.close()
    astream = with_memory(talker("One fine standard."), memory).astream(ASK)
    assert (await anext(astream)).text == "One"
    await astream.aclose()
    assert [said(episode) for episode in memory.episodes.list()] == [[ASK, "One"]] * 2


def test_a_stream_of_whole_states_is_recorded_by_the_last(memory):
    def states(_):
        yield {"answer": "One"}
        yield {"answer": "One fine"}

    class States(RunnableLambda):
        def stream(self, input, config=None, **kwargs):
            yield from states(input)

    list(with_memory(States(lambda x: x), memory).stream(ASK))
    assert said(only(memory)) == [ASK, "One fine"]


def test_a_stream_streams_on_within_a_chain(memory):
    app = RunnableLambda(lambda text: text) | with_memory(talker("One fine standard."), memory) | StrOutputParser()
    assert len(list(app.stream(ASK))) > 3
    assert said(only(memory)) == [ASK, "One fine standard."]


async def test_events_are_those_of_the_runnable(reminded, says):
    app = with_memory(says("A standard."), reminded)
    kinds = [event["event"] async for event in app.astream_events(ASK, version="v2")]
    assert "on_chat_model_end" in kinds


# failures


async def test_a_call_that_fails_is_not_recorded_and_can_be_retried(reminded, says, embedder, run):
    model = says(ConnectionError("away"), "A standard.")
    app = with_memory(model, reminded)
    with pytest.raises(ConnectionError):
        await run(app, ASK, thread("friday"))
    assert reminded.episodes.list(thread="friday") == []
    await run(app, ASK, thread("friday"))
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


def test_retries_within_get_the_same_whisper_and_no_further_recall(reminded, says, embedder):
    model = says(ConnectionError("away"), "A standard.")
    app = with_memory(model.with_retry(wait_exponential_jitter=False), reminded)
    app.invoke(ASK, thread("friday"))
    assert model.shown[0] == model.shown[1]
    assert embedder.recalls == [ASK]


def test_retries_outside_recall_once_where_the_message_has_an_id(reminded, says, embedder):
    model = says(ConnectionError("away"), "A standard.")
    app = with_memory(model, reminded).with_retry(wait_exponential_jitter=False)
    app.invoke([HumanMessage(ASK, id="h1")], thread("friday"))
    assert embedder.recalls == [ASK]
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


# threads and scopes


@pytest.mark.parametrize(
    ("options", "config", "thread"),
    [
        ({}, None, None),
        ({}, thread("one"), "one"),
        ({}, {"configurable": {"session_id": "two"}}, "two"),
        ({}, {"configurable": {"thread_id": 7}}, "7"),
        ({"thread": "three"}, thread("one"), "three"),
    ],
)
async def test_the_thread_is_the_given_one_or_that_of_the_run(memory, says, run, options, config, thread):
    await run(with_memory(says("Noted."), memory, **options), FACT, config)
    assert only(memory).thread == thread


async def test_a_scope_may_come_from_the_config(memory, says, run):
    app = with_memory(says("Noted."), memory, scope=lambda context, config: ("user", config["configurable"]["user_id"]))
    await run(app, FACT, thread("one", user_id="anna"))
    assert said(only(memory.scoped("user", "anna"))) == [FACT, "Noted."]
    assert memory.episodes.list() == []


def test_a_scope_that_is_none_is_refused_before_the_model_runs(memory, says):
    model = says("Noted.")
    with pytest.raises(InvalidScope):
        with_memory(model, memory, scope=lambda *_: None).invoke(FACT)
    assert model.shown == []


def test_a_batch_keeps_its_conversations_apart(memory):
    app = with_memory(lambda text: f"You said: {text.splitlines()[-1]}", memory)
    given = [f"Number {n} likes {n} sugars in the tea." for n in range(8)]
    app.batch(given, [thread(f"t{n}") for n in range(8)])
    assert {e.thread: said(e) for e in memory.episodes.list()} == {
        f"t{n}": [text, f"You said: {text}"] for n, text in enumerate(given)
    }


# as a runnable


def test_types_are_those_of_the_runnable(memory, says):
    model = says("Noted.")
    app = with_memory(model, memory)
    assert (app.InputType, app.OutputType) == (model.InputType, model.OutputType)
    assert app.get_input_jsonschema() == {**model.get_input_jsonschema(), "title": "RunnableWithMemoryInput"}


def test_callbacks_and_tags_reach_the_runnable(memory, says):
    class Models(BaseCallbackHandler):
        seen = ()

        def on_chat_model_start(self, serialized, messages, *, tags=None, **kwargs):
            self.seen = (*self.seen, tags)

    models = Models()
    with_memory(says("Noted."), memory).with_config(tags=["mine"]).invoke(FACT, {"callbacks": [models]})
    assert models.seen == (["mine"],)


async def test_the_event_loop_runs_on_while_recall_and_record_take_their_time(memory, says, embedder, monkeypatch):
    began, go_on = threading.Event(), threading.Event()
    embed = type(embedder).embed

    def slow(self, given):
        began.set()
        assert go_on.wait(PATIENCE)
        return embed(self, given)

    memory.remember("A jazz piano has 88 keys.")
    monkeypatch.setattr(type(embedder), "embed", slow)
    asking = asyncio.create_task(with_memory(says("Noted."), memory).ainvoke(ASK))
    assert await aeventually(began.is_set)
    go_on.set()
    assert (await asking).text == "Noted."
