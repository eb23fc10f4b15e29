"""Runs inside of runs: the prompt of an agent that a tool calls is an agent's, not the user's."""

import asyncio
import threading

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import Memory

from llama_index_tidal import TidalChatMemory, TidalMemoryBlock
from tidal_plugins import InvalidInput

pytestmark = [  # llama-index-workflows looks at every attribute of an agent, which is a pydantic model
    pytest.mark.filterwarnings("ignore:The `__fields__` attribute is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The `__fields_set__` attribute is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_computed_fields' attribute:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_fields' attribute:DeprecationWarning"),
]

ASKED = "What shall I cook for the guests tonight?"
PROMPT = "I am allergic to nuts. Which cakes may I eat?"
ANSWER = "A sponge cake."


def said(memory, thread):
    (episode,) = memory.episodes.list(thread=thread)
    return [(message.role, message.text) for message in episode.messages if message.text]


def agent_tool(memory, llm, **options):
    async def ask_cook(prompt: str) -> str:
        """Ask the cook."""
        chat = TidalChatMemory(memory, thread="cook", **options)
        return str(await FunctionAgent(llm=llm, tools=[ask_cook]).run(prompt, memory=chat))

    return ask_cook


def engine_tool(memory, llm, **options):
    def ask_cook(prompt: str) -> str:
        """Ask the cook."""
        chat = TidalChatMemory(memory, thread="cook", **options)
        return str(SimpleChatEngine.from_defaults(llm=llm, memory=chat).chat(prompt))

    return ask_cook


def threaded_tool(memory, llm, **options):
    async def ask_cook(prompt: str) -> str:
        """Ask the cook."""
        return await asyncio.to_thread(engine_tool(memory, llm, **options), prompt)

    return ask_cook


@pytest.fixture(params=[agent_tool, engine_tool, threaded_tool])
def inner(request, memory, says):
    return lambda **options: request.param(memory, says(ANSWER), **options)


@pytest.fixture
def host(memory, says, calls):
    """Return a function that runs an agent which asks the cook once."""

    async def run(tool, prompt=PROMPT):
        agent = FunctionAgent(llm=says(calls(("ask_cook", {"prompt": prompt})), "Sponge cake, then."), tools=[tool])
        await agent.run(ASKED, memory=TidalChatMemory(memory, thread="dinner"))

    return run


async def test_a_nested_prompt_is_recorded_as_an_agents(memory, host, inner):
    await host(inner())
    assert said(memory, "cook") == [("assistant", PROMPT), ("assistant", ANSWER)]
    (whole,) = memory.episodes.list(thread="dinner")
    assert (whole.query, whole.answer) == (ASKED, "Sponge cake, then.")
    assert PROMPT not in [hit.text for hit in memory.recall("allergic to nuts") if hit.entry.role == "user"]


async def test_nested_runs_may_be_left_out_or_taken_for_the_users(memory, host, inner):
    await host(inner(nested="skip"))
    assert memory.episodes.list(thread="cook") == []
    await host(inner(nested="user"))
    assert said(memory, "cook") == [("user", PROMPT), ("assistant", ANSWER)]


async def test_after_its_tools_an_agent_hears_the_user(memory, host, inner, says):
    await host(inner())
    chat = TidalChatMemory(memory, thread="after")
    await FunctionAgent(llm=says("Hello.")).run("Good evening!", memory=chat)
    assert said(memory, "after") == [("user", "Good evening!"), ("assistant", "Hello.")]


async def test_runs_two_deep_and_beside_each_other(memory, says, calls):
    def asks(name, llm, *tools):
        async def ask(prompt: str) -> str:
            """Ask somebody."""
            chat = TidalChatMemory(memory, thread=f"{name}: {prompt}")
            return str(await FunctionAgent(llm=llm, tools=list(tools)).run(prompt, memory=chat))

        ask.__name__ = name
        return ask

    baker = asks("baker", says("Flour."))
    cook = asks("cook", says(calls(("baker", {"prompt": "Which flour?"})), "A cake."), baker)
    outer = says(calls(("cook", {"prompt": "Which cake?"}), ("baker", {"prompt": "Which bread?"})), "Done.")
    await FunctionAgent(llm=outer, tools=[cook, baker]).run(ASKED, memory=TidalChatMemory(memory, thread="dinner"))
    asked = {episode.thread: episode.messages[0].role for episode in memory.episodes.list()}
    nested = dict.fromkeys(["cook: Which cake?", "baker: Which flour?", "baker: Which bread?"], "assistant")
    assert asked == {"dinner": "user", **nested}


async def test_agents_that_hand_over_to_each_other_hear_the_user(memory, says, calls):
    to_cook = says(calls(("handoff", {"to_agent": "cook", "reason": "a cake"})))
    host = FunctionAgent(name="host", description="Hosts.", llm=to_cook, can_handoff_to=["cook"])
    cook = FunctionAgent(name="cook", description="Cooks.", llm=says("A roast."))
    workflow = AgentWorkflow(agents=[host, cook], root_agent="host")
    await workflow.run(ASKED, memory=TidalChatMemory(memory, thread="dinner"))
    (episode,) = memory.episodes.list()
    assert (episode.query, episode.answer) == (ASKED, "A roast.")


async def test_a_nested_chat_goes_on_with_its_history_in_another_object(memory, host, says):
    kept = []

    async def ask_cook(prompt: str) -> str:
        """Ask the cook."""
        chat = TidalChatMemory.from_dict(kept[-1]) if kept else TidalChatMemory(memory, thread="cook")
        llm = says(ANSWER)
        answer = await FunctionAgent(llm=llm).run(prompt, memory=chat)
        kept.append(chat.to_dict())
        shown.append([(message.role.value, message.content) for message in llm.shown[0]])
        return str(answer)

    shown = []
    await host(ask_cook)
    await host(ask_cook, "And which bread?")
    assert shown[1] == [("user", PROMPT), ("assistant", ANSWER), ("user", "And which bread?")]
    asked = [episode.messages[0] for episode in memory.episodes.list(thread="cook")]
    assert [(message.role, message.text) for message in asked] == [
        ("assistant", PROMPT),
        ("assistant", "And which bread?"),
    ]


async def test_what_overflows_from_a_nested_memory_is_an_agents(memory, host):
    async def ask_cook(prompt: str) -> str:
        """Ask the cook."""
        whole = Memory.from_defaults(session_id="cook", token_limit=60, memory_blocks=[TidalMemoryBlock(memory)])
        for number in range(4):
            await whole.aput(ChatMessage(f"{number}: {prompt}", role="user"))
            await whole.aput(ChatMessage(ANSWER, role="assistant"))
        await whole.sql_store._async_engine.dispose()
        return ANSWER

    await host(ask_cook)
    recorded = [message for episode in memory.episodes.list(thread="cook") for message in episode.messages]
    assert recorded
    assert {message.role for message in recorded} == {"assistant"}


def test_a_thread_of_its_own_is_not_inside_a_tool(memory, says):
    thread = threading.Thread(target=engine_tool(memory, says(ANSWER)), args=[ASKED])
    thread.start()
    thread.join()
    assert said(memory, "cook")[0] == ("user", ASKED)


def test_other_words_for_nested_runs_are_refused(memory):
    for make in (TidalChatMemory, TidalMemoryBlock):
        with pytest.raises(InvalidInput, match="nested must be one of apart, skip, user"):
            make(memory, nested="never")
