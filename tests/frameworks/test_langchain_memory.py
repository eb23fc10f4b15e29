"""The memory of LangChain's classic chains."""

from __future__ import annotations

import pytest
from langchain_classic.agents import AgentExecutor, create_react_agent
from langchain_classic.base_memory import BaseMemory
from langchain_classic.chains import ConversationChain, LLMChain
from langchain_core.agents import AgentAction
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.tools import Tool

from langchain_tidal import TidalConversationMemory
from tests.frameworks.conftest import ASK, FACT, MARK, only, queries, said
from tidal_plugins import InvalidInput


def prompted(model):
    """What the model was shown, call by call, as one text each."""
    return ["\n".join(message.text for message in shown) for shown in model.shown]


def conversation(memory, model, **options):
    return ConversationChain(llm=model, memory=TidalConversationMemory(memory, **options))


def test_it_is_a_base_memory_that_shows_no_memory(memory):
    chat = TidalConversationMemory(memory=memory)
    assert isinstance(chat, BaseMemory)
    assert chat.memory_variables == ["history"]
    assert "TidalMemory(" not in repr(chat).removeprefix("TidalConversationMemory")
    assert "memory" not in chat.model_dump()
    with pytest.raises(InvalidInput, match=r"buffer_size: .* known are .*recent"):
        TidalConversationMemory(memory, buffer_size=3)


async def test_a_conversation_is_reminded_of_another_and_our_whisper_is_no_word_of_the_user(reminded, says, run):
    model = says("A standard.")
    result = await run(conversation(reminded, model, thread="friday"), ASK)
    (shown,) = prompted(model)
    assert FACT in shown
    assert shown.index(MARK) < shown.index(f"Human: {ASK}")
    assert result["response"] == "A standard."
    assert MARK in result["history"]  # the chain hands it to save_context
    episode = only(reminded, thread="friday")
    assert said(episode) == [ASK, "A standard."]
    assert "tidal-memory" not in str(episode)
    assert episode.surfaced


async def test_the_last_turns_stand_verbatim_and_what_is_no_longer_shown_surfaces(memory, says, run):
    model = says("Yes.")
    chain = conversation(memory, model, recent=1)
    await run(chain, FACT)
    await run(chain, ASK)
    assert f"Human: {FACT}\nAI: Yes.\nHuman: {ASK}" in prompted(model)[1]
    assert MARK not in prompted(model)[1]
    for number in range(12):
        await run(chain, f"My umbrella number {number} is green.")
    await run(chain, ASK)
    recent, whisper = prompted(model)[-1].split(MARK)
    assert FACT in whisper
    assert FACT not in recent
    assert len(prompted(model)[-1]) < len(prompted(model)[1]) + 1_000
    assert len(memory.episodes.list()) == 15


async def test_a_chain_with_a_chat_prompt_gets_messages(reminded, says, run):
    model = says("Noted.", "A standard.")
    prompt = ChatPromptTemplate([("system", "Be kind."), MessagesPlaceholder("chat"), ("human", "{question}")])
    memory = TidalConversationMemory(reminded, memory_key="chat", return_messages=True)
    chain = LLMChain(llm=model, prompt=prompt, memory=memory)
    await run(chain, {"question": "Hello there, friend."})
    assert (await run(chain, {"question": ASK}))["text"] == "A standard."
    assert [message.type for message in model.shown[1]] == ["system", "human", "ai", "human"]
    assert [MARK in message.text for message in model.shown[1]] == [False, True, False, False]
    assert said(reminded.episodes.list()[-1]) == [ASK, "A standard."]


@pytest.mark.parametrize("steps", [False, True])
async def test_an_executor_recalls_once_and_records_the_turn(reminded, says, embedder, run, steps):
    model = says("Thought: tick\nAction: metronome\nAction Input: 60", "Thought: done\nFinal Answer: Swing it.")
    template = "{history}\nTools: {tools}\nNames: {tool_names}\nQuestion: {input}\nThought:{agent_scratchpad}"
    tools = [Tool("metronome", lambda tempo: f"It ticks at {tempo}.", "Sets the metronome.")]
    agent = create_react_agent(model, tools, PromptTemplate.from_template(template))
    chat = TidalConversationMemory(reminded, thread="friday")
    executor = AgentExecutor(agent=agent, tools=tools, memory=chat, return_intermediate_steps=steps)
    assert (await run(executor, {"input": ASK}))["output"] == "Swing it."
    assert [FACT in shown for shown in prompted(model)] == [True, True]
    assert embedder.recalls == [ASK]
    episode = only(reminded, thread="friday")
    assert (episode.query, episode.answer) == (ASK, "Swing it.")
    calls = [(call.name, call.arguments, call.result) for call in episode.tool_calls]
    assert calls == ([("metronome", {"input": "60"}, "It ticks at 60.")] if steps else [])


# the methods


async def test_messages_may_be_returned_by_both_styles(reminded):
    chat = TidalConversationMemory(reminded, return_messages=True)
    assert chat.load_memory_variables({}) == {"history": []}
    await chat.asave_context({"input": "Hello there."}, {"output": "Hello!"})
    shown = await chat.aload_memory_variables({"input": ASK})
    assert shown == chat.load_memory_variables({"input": ASK})
    asked, answered = shown["history"]
    assert answered == AIMessage("Hello!")
    assert FACT in asked.text
    assert asked.text.endswith("\n\nHello there.")
    await chat.aclear()
    assert chat.load_memory_variables({}) == {"history": []}


@pytest.mark.parametrize("recent", [0, 1, 4])
@pytest.mark.parametrize("turns", [0, 1, 3])
def test_no_two_human_messages_stand_in_a_row(reminded, recent, turns):
    chat = TidalConversationMemory(reminded, return_messages=True, recent=recent)
    for number in range(turns):
        chat.save_context({"input": f"My umbrella number {number} is green."}, {"output": "I see."})
    shown = chat.load_memory_variables({"input": ASK})["history"]
    types = [message.type for message in [*shown, HumanMessage(ASK)]]
    assert types == (["human", "ai"] * min(recent, turns) or ["system"]) + ["human"]
    assert [FACT in message.text for message in shown].count(True) == 1


@pytest.mark.parametrize(
    ("inputs", "outputs", "options"),
    [
        ({"input": ASK, "history": f"{MARK} old"}, {"output": "A standard."}, {}),
        ({"input": ASK, "stop": ["\n"]}, {"output": "A standard."}, {}),
        ({"input": ASK, "name": "Anna"}, {"output": "A standard."}, {"input_key": "input"}),
        ({"input": ASK}, {"output": "A standard.", "source_documents": []}, {"output_key": "output"}),
        ({"input": ASK}, {"output": AIMessage("A standard.")}, {}),
        ({"input": HumanMessage(ASK)}, {"output": "A standard."}, {}),
        ({"input": [HumanMessage(ASK)]}, {"output": "A standard."}, {"input_key": "input"}),
    ],
)
def test_the_turn_is_what_went_in_and_what_came_out(memory, inputs, outputs, options):
    TidalConversationMemory(memory, **options).save_context(inputs, outputs)
    assert said(only(memory)) == [ASK, "A standard."]


@pytest.mark.parametrize(
    ("inputs", "outputs", "named"),
    [
        ({"input": ASK, "name": "Anna"}, {"output": "A standard."}, "input_key=.*input, name"),
        ({}, {"output": "A standard."}, "input_key="),
        ({"input": ASK}, {"output": "A", "source_documents": []}, "output_key=.*output, source_documents"),
    ],
)
def test_what_could_be_anything_is_refused_and_not_guessed(memory, inputs, outputs, named):
    with pytest.raises(InvalidInput, match=named):
        TidalConversationMemory(memory).save_context(inputs, outputs)
    assert memory.episodes.list() == []


def test_steps_with_arguments_keep_them(memory):
    steps = [(AgentAction("metronome", {"tempo": 60}, "log"), {"ticks": True})]
    TidalConversationMemory(memory).save_context({"input": "Tick."}, {"output": "Done.", "intermediate_steps": steps})
    (call,) = only(memory).tool_calls
    assert (call.arguments, call.result) == ({"tempo": 60}, "{'ticks': True}")


# threads, clear


def test_a_named_conversation_goes_on_and_others_are_apart(memory):
    given = {"human_prefix": "Anna", "ai_prefix": "Coach"}
    TidalConversationMemory(memory, thread="42", **given).save_context({"input": FACT}, {"output": "Noted."})
    shown = TidalConversationMemory(memory, thread="42", **given).load_memory_variables({})
    assert shown == {"history": f"Anna: {FACT}\nCoach: Noted."}
    one, other = TidalConversationMemory(memory), TidalConversationMemory(memory)
    assert one.current_thread != other.current_thread
    assert other.load_memory_variables({}) == {"history": ""}


def test_clearing_begins_a_new_conversation_and_forgets_nothing(memory):
    chat = TidalConversationMemory(memory, thread="42")
    chat.save_context({"input": FACT}, {"output": "Noted."})
    chat.clear()
    assert chat.load_memory_variables({}) == {"history": ""}
    assert FACT in chat.load_memory_variables({"input": ASK})["history"].split(MARK)[1]
    chat.save_context({"input": "Hello again."}, {"output": "Hello!"})
    assert chat.load_memory_variables({}) == {"history": "Human: Hello again.\nAI: Hello!"}
    assert said(only(memory, thread="42")) == [FACT, "Noted."]
    assert only(memory, thread=chat.current_thread).query == "Hello again."


async def test_clearing_can_forget_this_conversation_and_no_other(reminded):
    chat = TidalConversationMemory(reminded, thread="42")
    for clear in (lambda: chat.clear(forget=True), lambda: chat.aclear(forget=True)):
        chat.save_context({"input": "My umbrella is green."}, {"output": "Noted."})
        done = clear()
        if done is not None:
            await done
        assert queries(reminded) == [FACT]


def test_a_scope_may_be_given(memory):
    chat = TidalConversationMemory(memory, scope=("user", "anna"))
    chat.save_context({"input": FACT}, {"output": "Noted."})
    chat.clear()
    assert memory.episodes.list() == []
    assert FACT in chat.load_memory_variables({"input": ASK})["history"]
    other = TidalConversationMemory(memory, scope=("user", "ben"))
    assert other.load_memory_variables({"input": ASK}) == {"history": ""}
