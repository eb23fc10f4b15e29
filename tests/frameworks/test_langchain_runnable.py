"""A memory around any runnable: every input, output and call style, streams, failures, threads and scopes."""

from __future__ import annotations

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from langchain_tidal import with_memory
from tests.frameworks.conftest import ASK, FACT, MARK, by_config, only, queries, said, texts, thread, ticks
from tidal_plugins import InvalidInput

PROMPT = ChatPromptTemplate([("human", "{q}")]).invoke({"q": ASK})


@pytest.fixture(params=["invoke", "ainvoke", "stream", "astream", "batch", "abatch"])
def style(request):
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


async def test_a_model_is_reminded_and_the_turn_is_recorded(reminded, says, style):
    model, given = says("A standard."), [ASK, [HumanMessage(ASK)], [("user", ASK)], PROMPT]
    for number, each in enumerate(given):
        answer = await style(with_memory(model, reminded), each, thread(f"friday {number}"))
        assert answer.text == "A standard."
        (shown,) = model.shown[number]
        assert shown.text.startswith(MARK)
        assert FACT in shown.text
        assert shown.text.endswith(ASK)
        episode = only(reminded, thread=f"friday {number}")
        assert said(episode) == [ASK, "A standard."]
        assert reminded.get(episode.surfaced[0]).text == FACT


@pytest.mark.parametrize("given", [ASK, HumanMessage(ASK), [HumanMessage(ASK)], {"x": ASK}, PROMPT])
def test_the_runnable_is_given_the_kind_of_input_that_came_in(reminded, given):
    seen = []
    with_memory(RunnableLambda(lambda shown: seen.append(shown) or "A standard."), reminded).invoke(given)
    assert isinstance(seen[0], type(given))
    assert FACT in str(seen[0])


async def test_a_chain_with_a_prompt_is_reminded_in_the_input_that_the_user_said(reminded, says, style):
    model = says("A standard.")
    app = with_memory(chain(model), reminded, input_key="input")
    assert await style(app, {"input": ASK, "name": "{braces}"}, thread("friday")) == "A standard."
    system, human = model.shown[0]
    assert system.text == "Be kind to {braces}."
    assert FACT in human.text
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]
    one = with_memory(PromptTemplate.from_template("Answer this: {question}") | model, reminded)
    await style(one, {"question": ASK}, thread("sunday"))  # of one key no name is needed
    assert FACT in model.shown[1][0].text
    assert model.shown[1][0].text.startswith("Answer this: ")


def test_an_input_that_could_be_anything_is_refused_before_the_model_runs(reminded, says):
    model = says("A standard.")
    for options in ({}, {"input_key": "question"}):
        with pytest.raises(InvalidInput, match=r"input_key.*input, name"):
            with_memory(chain(model), reminded, **options).invoke({"input": ASK, "name": "Anna"})
    for given in (7, None, object()):
        with pytest.raises(InvalidInput, match="must be a text"):
            with_memory(model, reminded).invoke(given)
    assert model.shown == []


def test_messages_under_a_key_are_whispered_to_and_not_changed(reminded, says):
    model = says("A standard.")
    prompt = ChatPromptTemplate([("system", "Be kind."), MessagesPlaceholder("chat")])
    given = {"chat": [HumanMessage("Hello."), AIMessage("Hello!"), HumanMessage(ASK)]}
    with_memory(prompt | model, reminded).invoke(given, thread("friday"))
    assert [MARK in message.text for message in model.shown[0]] == [False, False, False, True]
    assert given["chat"][-1].text == ASK
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


def test_of_a_history_the_last_turn_is_recorded_and_one_that_goes_on_after_its_tools_is_one(memory, says):
    model = says("Noted.", ticks(60), "Swing it.")
    app, history = with_memory(model, memory), [HumanMessage(FACT)]
    history.append(app.invoke(history, thread("one")))
    history.append(HumanMessage(ASK, id="h2"))
    history.append(app.invoke(history, thread("one")))
    app.invoke([*history, ToolMessage("It ticks.", tool_call_id="call-60", id="t1")], thread("one"))
    assert texts(model.shown[1]) == [FACT, "Noted.", ASK]
    assert [said(each) for each in memory.episodes.list()] == [[FACT, "Noted."], [ASK, "", "It ticks.", "Swing it."]]


def test_where_nothing_comes_up_the_input_passes_as_it_is(memory):
    seen, given = [], [[HumanMessage(FACT)], [SystemMessage("Greet.")]]
    app = with_memory(RunnableLambda(lambda messages: seen.append(messages) or "Noted."), memory)
    for each in given:
        app.invoke(each, thread("t"))
    assert all(one is other for one, other in zip(seen, given, strict=True))
    assert queries(memory) == [FACT]
    for _ in range(2):
        with_memory(lambda text: "Hello.", memory).invoke("Hello there, my friend.", thread("u"))
    assert queries(memory, thread="u") == ["Hello there, my friend."] * 2


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


# streams


def talker():
    return GenericFakeChatModel(messages=iter([AIMessage("One fine standard.")]))


async def test_a_stream_comes_in_parts_and_is_recorded_whole_or_as_far_as_it_went(memory):
    parts = [part.text for part in with_memory(talker(), memory).stream(ASK)]
    later = [part.text async for part in with_memory(talker(), memory).astream(ASK)]
    assert len([part for part in parts if part.strip()]) == 3
    assert later == parts
    stream = with_memory(talker(), memory).stream(ASK)
    assert next(stream).text == "One"
    assert len(memory.episodes.list()) == 2
    stream.close()
    astream = with_memory(talker(), memory).astream(ASK)
    assert (await anext(astream)).text == "One"
    await astream.aclose()
    answers = [*["One fine standard."] * 2, *["One"] * 2]
    assert [said(episode) for episode in memory.episodes.list()] == [[ASK, answer] for answer in answers]


def test_a_stream_of_whole_states_is_recorded_by_the_last(memory):
    class States(RunnableLambda):
        def stream(self, input, config=None, **kwargs):
            yield {"answer": "One"}
            yield {"answer": "One fine"}

    list(with_memory(States(lambda x: x), memory).stream(ASK))
    assert said(only(memory)) == [ASK, "One fine"]


# failures


@pytest.mark.parametrize("outside", [False, True])
def test_retries_get_the_same_whisper_and_no_further_recall(reminded, says, embedder, outside):
    model = says(ConnectionError("away"), "A standard.")
    retry = {"wait_exponential_jitter": False}
    app = with_memory(model, reminded).with_retry(**retry) if outside else None
    app = app or with_memory(model.with_retry(**retry), reminded)
    app.invoke([HumanMessage(ASK, id="h1")] if outside else ASK, thread("friday"))
    assert model.shown[0] == model.shown[1]
    assert embedder.recalls == [ASK]
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


# threads and scopes


@pytest.mark.parametrize(
    ("options", "config", "name"),
    [
        ({}, None, None),
        ({}, thread("one"), "one"),
        ({}, {"configurable": {"session_id": "two"}}, "two"),
        ({}, {"configurable": {"thread_id": 7}}, "7"),
        ({"thread": "three"}, thread("one"), "three"),
    ],
)
async def test_the_thread_is_the_given_one_or_that_of_the_run(memory, says, run, options, config, name):
    await run(with_memory(says("Noted."), memory, **options), FACT, config)
    assert only(memory).thread == name


async def test_a_scope_may_come_from_the_config_and_none_is_refused_before_the_model_runs(memory, says, style):
    model = says("Noted.")
    await style(with_memory(model, memory, scope=by_config), FACT, thread("one", user_id="anna"))
    assert said(only(memory.scoped("user", "anna"))) == [FACT, "Noted."]
    assert memory.episodes.list() == []
    with pytest.raises(InvalidInput):
        await style(with_memory(model, memory, scope=lambda *_: None), FACT)
    assert len(model.shown) == 1


# as a runnable


def test_types_callbacks_and_tags_are_those_of_the_runnable(memory, says):
    class Models(BaseCallbackHandler):
        seen = ()

        def on_chat_model_start(self, serialized, messages, *, tags=None, **kwargs):
            self.seen = (*self.seen, tags)

    model, models = says("Noted."), Models()
    app = with_memory(model, memory)
    assert (app.InputType, app.OutputType) == (model.InputType, model.OutputType)
    assert app.get_input_jsonschema() == {**model.get_input_jsonschema(), "title": "RunnableWithMemoryInput"}
    app.with_config(tags=["mine"]).invoke(FACT, {"callbacks": [models]})
    assert models.seen == (["mine"],)


# message histories


@pytest.mark.parametrize("wrap", [lambda chain: chain, lambda chain: chain.with_config(tags=["a"]), lambda c: c | str])
def test_a_message_history_that_would_keep_the_whisper_is_refused(memory, says, wrap):
    kept = RunnableWithMessageHistory(says("A roast."), lambda id: InMemoryChatMessageHistory())
    with pytest.raises(InvalidInput, match=r"with_memory\(RunnableWithMessageHistory"):
        with_memory(wrap(kept), memory)
    assert with_memory(RunnableLambda(str) | str, memory).invoke("Hello there.") == "Hello there."


@pytest.mark.parametrize("stream", [False, True])
def test_a_memory_inside_of_a_message_history_leaves_the_history_as_it_was_said(reminded, says, stream):
    histories, model, config = {}, says("A standard.", "No."), {"configurable": {"session_id": "s"}}
    chat = RunnableWithMessageHistory(
        with_memory(model, reminded), lambda id: histories.setdefault(id, InMemoryChatMessageHistory())
    )
    for asked in (ASK, "And is it late?"):
        list(chat.stream(asked, config)) if stream else chat.invoke(asked, config)
    assert MARK in model.shown[0][-1].text
    assert texts(histories["s"].messages) == [ASK, "A standard.", "And is it late?", "No."]
    assert queries(reminded, thread="s") == [ASK, "And is it late?"]
