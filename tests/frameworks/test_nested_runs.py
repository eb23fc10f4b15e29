"""Runs inside of runs: the prompt of a subagent is an agent's, not the user's."""

from __future__ import annotations

import asyncio
import threading

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import Memory

from langchain_tidal import TidalCompaction, TidalMemoryMiddleware, with_memory
from llama_index_tidal import TidalChatMemory, TidalMemoryBlock
from tests.frameworks.conftest import ScriptedModel, calling, graph_of, only, thread, user
from tests.frameworks.llama_index import conftest as index
from tidal_plugins import InvalidInput

CONFIG = thread("dinner")
ASKED = "What shall I cook for the guests tonight?"
PROMPT = "I am allergic to nuts. Which cakes may I eat?"
ANSWER = "A sponge cake."


def said(episode):
    return [(message.role, message.text) for message in episode.messages if message.text]


# how the cook remembers, in each framework: functions that return the function of a tool


def agent(memory, **options):
    model = ScriptedModel(replies=[ANSWER])
    app = create_agent(model, [], middleware=[TidalMemoryMiddleware(memory, **options)], name="cook")
    return lambda prompt: app.invoke(user(prompt))["messages"][-1].text


def graph(memory, **options):
    app = graph_of(memory, ScriptedModel(replies=[ANSWER]), **options).compile()
    return lambda prompt: app.invoke(user(prompt))["messages"][-1].text


def runnable(memory, **options):
    return lambda prompt: with_memory(ScriptedModel(replies=[ANSWER]), memory, **options).invoke(prompt).text


def llama_agent(memory, llm=None, **options):
    async def ask(prompt):
        chat, model = TidalChatMemory(memory, thread="cook", **options), llm or index.ScriptedLLM(replies=[ANSWER])
        return str(await FunctionAgent(llm=model, tools=[]).run(prompt, memory=chat))

    return ask


def engine(memory, **options):
    def ask(prompt):
        chat = TidalChatMemory(memory, thread="cook", **options)
        return str(SimpleChatEngine.from_defaults(llm=index.ScriptedLLM(replies=[ANSWER]), memory=chat).chat(prompt))

    return ask


def threaded(memory, **options):
    async def ask(prompt):
        return await asyncio.to_thread(engine(memory, **options), prompt)

    return ask


LANGCHAIN, LLAMA_INDEX = [agent, graph, runnable], [llama_agent, engine, threaded]


async def host(memory, cook, asks, prompt=PROMPT):
    """Let an agent that remembers ask the cook once, in the cook's framework."""
    if cook in LANGCHAIN:
        model = ScriptedModel(replies=[calling(("ask_cook", {"prompt": prompt})), "Done."])
        layers = [TidalMemoryMiddleware(memory)]
        await create_agent(model, [of_chain(asks)], middleware=layers).ainvoke(user(ASKED), CONFIG)
    else:
        model = index.ScriptedLLM(replies=[index.calling(("ask_cook", {"prompt": prompt})), "Done."])
        tools = [of_index(asks)]
        await FunctionAgent(llm=model, tools=tools).run(ASKED, memory=TidalChatMemory(memory, thread="dinner"))


def of_chain(asks):
    @tool
    def ask_cook(prompt: str) -> str:
        """Ask the cook."""
        return asks(prompt)

    return ask_cook


def of_index(asks, name="ask_cook"):
    if asyncio.iscoroutinefunction(asks):

        async def ask(prompt: str) -> str:
            """Ask the cook."""
            return await asks(prompt)
    else:

        def ask(prompt: str) -> str:
            """Ask the cook."""
            return asks(prompt)

    ask.__name__ = name
    return ask


@pytest.mark.parametrize("cook", [*LANGCHAIN, *LLAMA_INDEX])
async def test_a_subagents_prompt_is_not_the_users_and_may_be_left_out_or_taken_for_it(memory, cook):
    await host(memory, cook, cook(memory))
    whole = only(memory, thread="dinner")
    assert (whole.query, whole.answer) == (ASKED, "Done.")
    [nested] = [episode for episode in memory.episodes.list() if episode.thread != "dinner"]
    assert nested.thread.startswith("dinner/" if cook in LANGCHAIN else "cook")
    assert said(nested) == [("assistant", PROMPT), ("assistant", ANSWER)]
    assert PROMPT not in [hit.text for hit in memory.recall("allergic to nuts") if hit.entry.role == "user"]
    if cook is agent:
        assert (nested.thread, nested.messages[-1].speaker) == ("dinner/cook", "cook")
    await host(memory, cook, cook(memory, nested="skip"), "And pies?")
    assert "And pies?" not in str([said(episode)[0] for episode in memory.episodes.list()])
    await host(memory, cook, cook(memory, nested="user"), "And bread?")
    [taken] = [episode for episode in memory.episodes.list() if episode.query == "And bread?"]
    assert taken.thread == ("dinner" if cook in LANGCHAIN else "cook")


# LangChain and LangGraph


@pytest.mark.parametrize("cook", LANGCHAIN)
def test_a_tool_node_of_a_graph_built_by_hand_nests_as_well(memory, says, cook):
    built, model = StateGraph(MessagesState), says(*[calling(("ask_cook", {"prompt": PROMPT})), "Done."] * 2)
    built.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    built.add_node("my_tools", ToolNode([of_chain(cook(memory))]))
    built.add_edge(START, "model").add_conditional_edges("model", tools_condition, {"tools": "my_tools", END: END})
    app = built.add_edge("my_tools", "model").compile()
    app.invoke(user(ASKED), CONFIG)
    app.invoke(user(ASKED))
    first, second = memory.episodes.list()
    assert first.thread.startswith("dinner/")
    assert second.thread.startswith("run/")
    assert first.query == second.query == ""


def test_a_nested_run_with_a_thread_of_its_own_keeps_it_and_is_whispered_to(memory, says):
    memory.record("I am allergic to peanuts and other nuts.", "Noted.", thread="monday")
    model = says(ANSWER)
    app = create_agent(model, [], middleware=[TidalMemoryMiddleware(memory)])
    ask = of_chain(lambda prompt: app.invoke(user(prompt), thread("kitchen"))["messages"][-1].text)
    create_agent(says(calling(("ask_cook", {"prompt": PROMPT})), "Done."), [ask]).invoke(user(ASKED), CONFIG)
    assert said(only(memory, thread="kitchen")) == [("assistant", PROMPT), ("assistant", ANSWER)]
    assert "allergic to peanuts" in model.shown[0][-1].text


def test_of_a_skipped_nested_run_only_what_its_compaction_leaves_out_is_kept_in_its_own_thread(memory, says):
    @tool
    def read_recipe(page: int) -> str:
        """Read a page of the cookbook."""
        return f"Page {page}: " + f"Fold {page} eggs into the batter and bake it for {page + 30} minutes. " * 20

    def bake(limit):
        calls = [{"name": "read_recipe", "args": {"page": n}, "id": f"page-{n}"} for n in range(8)]
        model = says(*(AIMessage("", tool_calls=[call]) for call in calls), ANSWER)
        layers = [TidalCompaction(memory, max_tokens=limit), TidalMemoryMiddleware(memory, nested="skip")]
        app = create_agent(model, [read_recipe], middleware=layers, name="cook")
        ask = of_chain(lambda prompt: app.invoke(user(prompt))["messages"][-1].text)
        outer = says(calling(("ask_cook", {"prompt": PROMPT})), "Sponge cake, then.")
        layers = [TidalMemoryMiddleware(memory)]
        create_agent(outer, [ask], middleware=layers).invoke(user(ASKED), thread(f"dinner for {limit}"))
        return [sum(len(message.text) for message in shown) for shown in model.shown]

    whole, cut = bake(100_000)[-1], max(bake(2_000))
    assert cut < whole
    kept = {episode.thread: said(episode) for episode in memory.episodes.list()}
    assert set(kept) == {"dinner for 100000", "dinner for 2000", "dinner for 2000/cook"}
    assert kept["dinner for 2000/cook"][0] == ("assistant", PROMPT)
    assert not [hit for hit in memory.recall("allergic to nuts") if hit.entry.role == "user" and hit.text == PROMPT]
    assert all(ANSWER not in text for _, text in kept["dinner for 2000/cook"])


# LlamaIndex


async def test_runs_two_deep_and_beside_each_other_and_after_them_an_agent_hears_the_user(memory):
    def asks(name, llm, *tools):
        async def ask(prompt):
            chat = TidalChatMemory(memory, thread=f"{name}: {prompt}")
            return str(await FunctionAgent(llm=llm, tools=list(tools)).run(prompt, memory=chat))

        return of_index(ask, name)

    def says(*replies):
        return index.ScriptedLLM(replies=list(replies))

    baker = asks("baker", says("Flour."))
    cook = asks("cook", says(index.calling(("baker", {"prompt": "Which flour?"})), "A cake."), baker)
    both = index.calling(("cook", {"prompt": "Which cake?"}), ("baker", {"prompt": "Which bread?"}))
    chat = TidalChatMemory(memory, thread="dinner")
    await FunctionAgent(llm=says(both, "Done."), tools=[cook, baker]).run(ASKED, memory=chat)
    await FunctionAgent(llm=says("Hello.")).run("Good evening!", memory=TidalChatMemory(memory, thread="after"))
    asked = {episode.thread: episode.messages[0].role for episode in memory.episodes.list()}
    nested = dict.fromkeys(["cook: Which cake?", "baker: Which flour?", "baker: Which bread?"], "assistant")
    assert asked == {"dinner": "user", "after": "user", **nested}
    hands = says(index.calling(("handoff", {"to_agent": "cook", "reason": "a cake"})))
    one = FunctionAgent(name="host", description="Hosts.", llm=hands, can_handoff_to=["cook"])
    other = FunctionAgent(name="cook", description="Cooks.", llm=says("A roast."))
    chat = TidalChatMemory(memory, thread="handed")
    await AgentWorkflow(agents=[one, other], root_agent="host").run(ASKED, memory=chat)
    assert (only(memory, thread="handed").query, only(memory, thread="handed").answer) == (ASKED, "A roast.")


@pytest.mark.parametrize("nested", ["apart", "skip", "user"])
async def test_what_overflows_from_a_nested_memory_is_an_agents(memory, nested):
    async def ask(prompt):
        blocks = [TidalMemoryBlock(memory, nested=nested)]
        whole = Memory.from_defaults(session_id="cook", token_limit=60, memory_blocks=blocks)
        for number in range(4):
            await whole.aput(index.user(f"{number}: {prompt}"))
            await whole.aput(index.answer(ANSWER))
        await whole.sql_store._async_engine.dispose()
        return ANSWER

    await host(memory, llama_agent, ask)
    roles = {message.role for episode in memory.episodes.list(thread="cook") for message in episode.messages}
    assert roles == {"apart": {"assistant"}, "skip": set(), "user": {"user", "assistant"}}[nested]


def test_a_thread_of_its_own_is_not_inside_a_tool(memory):
    own = threading.Thread(target=engine(memory), args=[ASKED])
    own.start()
    own.join()
    assert said(only(memory, thread="cook"))[0] == ("user", ASKED)
    with pytest.raises(InvalidInput, match="nested must be one of apart, skip, user"):
        TidalMemoryBlock(memory, nested="never")
