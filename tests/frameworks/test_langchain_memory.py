import pytest
from langchain_classic.agents import AgentExecutor, create_react_agent
from langchain_classic.base_memory import BaseMemory
from langchain_classic.chains import ConversationChain, LLMChain
from langchain_classic.memory import CombinedMemory, SimpleMemory
from langchain_core.agents import AgentAction
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.tools import Tool
from pydantic import ValidationError

from langchain_tidal import TidalConversationMemory
from tidal_plugins import InvalidInput

FACT = "I practise jazz piano every evening after dinner."
ASK = "Which jazz piano piece should I practise this evening?"
MARK = "<tidal-memory>"

pytestmark = [
    pytest.mark.filterwarnings("ignore:The class `ConversationChain` was deprecated"),
    pytest.mark.filterwarnings("ignore:The class `LLMChain` was deprecated"),
]


def said(episode):
    return [message.text for message in episode.messages]


def only(memory, **where):
    (episode,) = memory.episodes.list(**where)
    return episode


def prompted(model):
    """What the model was shown, call by call, as one text each."""
    return ["\n".join(message.text for message in shown) for shown in model.shown]


@pytest.fixture
def reminded(memory, embedder):
    memory.record(user=FACT, agent="Noted.", thread="old")
    embedder.calls.clear()
    return memory


@pytest.fixture(params=["sync", "async"])
def run(request):
    async def call(chain, given):
        return chain.invoke(given) if request.param == "sync" else await chain.ainvoke(given)

    return call


# chains


def test_it_is_a_base_memory_and_warns_of_nothing(memory):
    assert isinstance(TidalConversationMemory(memory), BaseMemory)
    assert TidalConversationMemory(memory=memory).memory_variables == ["history"]


async def test_a_conversation_is_reminded_of_another_and_recorded(memory, says, run):
    model = says("Noted.", "A standard.")
    await run(ConversationChain(llm=model, memory=TidalConversationMemory(memory, thread="monday")), FACT)
    friday = ConversationChain(llm=model, memory=TidalConversationMemory(memory, thread="friday"))
    result = await run(friday, ASK)
    shown = prompted(model)[1]
    assert MARK in shown
    assert FACT in shown
    assert shown.index(MARK) < shown.index(f"Human: {ASK}")
    assert result["response"] == "A standard."
    assert said(only(memory, thread="friday")) == [ASK, "A standard."]
    assert only(memory, thread="friday").surfaced


async def test_our_own_whisper_is_not_recorded_as_what_the_user_said(reminded, says, run):
    chain = ConversationChain(llm=says("A standard."), memory=TidalConversationMemory(reminded, thread="friday"))
    result = await run(chain, ASK)
    assert MARK in result["history"]  # the chain hands it to save_context
    assert "tidal-memory" not in str(only(reminded, thread="friday"))
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]
    assert FACT not in only(reminded, thread="friday").query


async def test_the_last_turns_stand_verbatim_and_are_not_whispered_again(memory, says, run):
    model = says("Noted.", "A standard.")
    chain = ConversationChain(llm=model, memory=TidalConversationMemory(memory))
    await run(chain, FACT)
    await run(chain, ASK)
    assert f"Human: {FACT}\nAI: Noted.\nHuman: {ASK}" in prompted(model)[1]
    assert MARK not in prompted(model)[1]


def test_turns_that_are_no_longer_shown_surface(memory, says):
    model = says("Yes.")
    chain = ConversationChain(llm=model, memory=TidalConversationMemory(memory, recent=1))
    for text in (FACT, "My umbrella is green.", ASK):
        chain.invoke(text)
    assert FACT in prompted(model)[2].split(MARK)[1]
    assert FACT not in prompted(model)[2].split(MARK)[0]


def test_what_is_shown_does_not_grow_with_the_conversation(memory, says):
    model = says("Yes.")
    chain = ConversationChain(llm=model, memory=TidalConversationMemory(memory))
    for number in range(60):
        chain.invoke(f"On day {number:02} I practised jazz piano piece number {number:02}.")
    sizes = [len(text) for text in prompted(model)]
    assert max(sizes[10:]) <= max(sizes[:10]) + 500
    assert len(memory.episodes.list()) == 60


async def test_a_chain_with_a_chat_prompt_gets_messages(reminded, says, run):
    model = says("Noted.", "A standard.")
    prompt = ChatPromptTemplate([("system", "Be kind."), MessagesPlaceholder("chat"), ("human", "{question}")])
    memory = TidalConversationMemory(reminded, memory_key="chat", return_messages=True)
    chain = LLMChain(llm=model, prompt=prompt, memory=memory)
    await run(chain, {"question": "Hello there, friend."})
    result = await run(chain, {"question": ASK})
    assert result["text"] == "A standard."
    assert [message.type for message in model.shown[1]] == ["system", "human", "ai", "human", "human"]
    assert [MARK in message.text for message in model.shown[1]] == [False, False, False, True, False]
    assert said(reminded.episodes.list()[-1]) == [ASK, "A standard."]


def react(model, **options):
    prompt = PromptTemplate.from_template(
        "{history}\nTools: {tools}\nNames: {tool_names}\nQuestion: {input}\nThought:{agent_scratchpad}"
    )
    tools = [Tool("metronome", lambda tempo: f"It ticks at {tempo}.", "Sets the metronome.")]
    return AgentExecutor(agent=create_react_agent(model, tools, prompt), tools=tools, **options)


STEPS = ("Thought: tick\nAction: metronome\nAction Input: 60", "Thought: done\nFinal Answer: Swing it.")


async def test_an_executor_recalls_once_and_records_the_turn(reminded, says, embedder, run):
    model = says(*STEPS)
    executor = react(model, memory=TidalConversationMemory(reminded, thread="friday"))
    result = await run(executor, {"input": ASK})
    assert result["output"] == "Swing it."
    assert [FACT in shown for shown in prompted(model)] == [True, True]
    assert embedder.recalls == [ASK]
    assert said(only(reminded, thread="friday")) == [ASK, "Swing it."]


async def test_an_executor_that_returns_its_steps_has_its_tool_calls_recorded(memory, says, run):
    executor = react(says(*STEPS), memory=TidalConversationMemory(memory), return_intermediate_steps=True)
    await run(executor, {"input": "Tick."})
    (call,) = only(memory).tool_calls
    assert (call.name, call.arguments, call.result) == ("metronome", {"input": "60"}, "It ticks at 60.")
    assert only(memory).answer == "Swing it."


def test_a_chain_that_fails_records_nothing_and_can_be_run_again(reminded, says):
    chain = ConversationChain(
        llm=says(ConnectionError("away"), "A standard."), memory=TidalConversationMemory(reminded, thread="friday")
    )
    with pytest.raises(ConnectionError):
        chain.invoke(ASK)
    chain.invoke(ASK)
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


def test_beside_other_memories_the_input_has_to_be_named(reminded, says):
    prompt = PromptTemplate.from_template("{mood} {history} {input}")

    def chain(**options):
        memories = [SimpleMemory(memories={"mood": "happy"}), TidalConversationMemory(reminded, **options)]
        return LLMChain(llm=says("A standard."), prompt=prompt, memory=CombinedMemory(memories=memories))

    chain(input_key="input").invoke({"input": ASK})
    assert said(reminded.episodes.list()[-1]) == [ASK, "A standard."]
    with pytest.raises(InvalidInput, match=r"input_key=.*mood"):
        chain().invoke({"input": ASK})


# the methods


def test_without_an_input_it_shows_the_last_turns(reminded):
    memory = TidalConversationMemory(reminded, human_prefix="Anna", ai_prefix="Coach")
    memory.save_context({"input": "Hello there."}, {"output": "Hello!"})
    assert memory.load_memory_variables({}) == {"history": "Anna: Hello there.\nCoach: Hello!"}
    assert TidalConversationMemory(reminded).load_memory_variables({}) == {"history": ""}


def test_messages_may_be_returned(reminded):
    memory = TidalConversationMemory(reminded, return_messages=True)
    assert memory.load_memory_variables({}) == {"history": []}
    memory.save_context({"input": "Hello there."}, {"output": "Hello!"})
    *recent, whisper = memory.load_memory_variables({"input": ASK})["history"]
    assert recent == [HumanMessage("Hello there."), AIMessage("Hello!")]
    assert isinstance(whisper, HumanMessage)
    assert FACT in whisper.text


async def test_async_twins_do_the_same(reminded):
    memory = TidalConversationMemory(reminded, thread="friday")
    assert await memory.aload_memory_variables({"input": ASK}) == memory.load_memory_variables({"input": ASK})
    await memory.asave_context({"input": ASK}, {"output": "A standard."})
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]
    await memory.aclear()
    assert memory.load_memory_variables({}) == {"history": ""}


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


def test_an_unknown_option_is_refused(memory):
    with pytest.raises(ValidationError):
        TidalConversationMemory(memory, buffer_size=3)


def test_printing_it_shows_no_memory(memory):
    assert "TidalMemory(" not in repr(TidalConversationMemory(memory)).removeprefix("TidalConversationMemory")
    assert "memory" not in TidalConversationMemory(memory).model_dump()


# threads, clear


def test_each_object_is_a_conversation_of_its_own_unless_it_is_named(memory):
    one, other = TidalConversationMemory(memory), TidalConversationMemory(memory)
    one.save_context({"input": FACT}, {"output": "Noted."})
    assert one.current_thread != other.current_thread
    assert other.load_memory_variables({}) == {"history": ""}


def test_a_named_conversation_goes_on(memory):
    TidalConversationMemory(memory, thread="42").save_context({"input": FACT}, {"output": "Noted."})
    assert FACT in TidalConversationMemory(memory, thread="42").load_memory_variables({})["history"]


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
        assert [episode.query for episode in reminded.episodes.list()] == [FACT]


def test_a_scope_may_be_given(memory):
    chat = TidalConversationMemory(memory, scope=("user", "anna"))
    chat.save_context({"input": FACT}, {"output": "Noted."})
    chat.clear()
    assert memory.episodes.list() == []
    assert FACT in chat.load_memory_variables({"input": ASK})["history"]
    assert TidalConversationMemory(memory, scope=("user", "ben")).load_memory_variables({"input": ASK}) == {
        "history": ""
    }
