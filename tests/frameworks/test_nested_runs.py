"""Runs inside of runs: the prompt of a subagent is an agent's, not the user's."""

import asyncio

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from langchain_tidal import TidalCompaction, TidalMemoryMiddleware, with_memory
from tests.frameworks.conftest import chat_graph, tool_graph
from tidal_plugins import InvalidInput

CONFIG = {"configurable": {"thread_id": "dinner"}}
ASKED = "What shall I cook for the guests tonight?"
PROMPT = "I am allergic to nuts. Which cakes may I eat?"


def delegates(prompt=PROMPT):
    return AIMessage("", tool_calls=[{"name": "ask_cook", "args": {"prompt": prompt}, "id": "call-1"}])


def cook(run):
    @tool
    def ask_cook(prompt: str) -> str:
        """Ask the cook."""
        return run(prompt)

    return ask_cook


@pytest.fixture(params=["agent", "graph", "runnable"])
def inner(request, memory, says):
    """Return a tool whose run remembers too."""

    def make(**options):
        model = says("A sponge cake.")
        if request.param == "runnable":
            return cook(lambda prompt: with_memory(model, memory, **options).invoke(prompt).text)
        app = (
            create_agent(model, [], middleware=[TidalMemoryMiddleware(memory, **options)], name="cook")
            if request.param == "agent"
            else chat_graph(memory, model, **options).compile()
        )
        return cook(lambda prompt: app.invoke({"messages": [HumanMessage(prompt)]})["messages"][-1].text)

    return make


def said(episode):
    return [(message.role, message.text) for message in episode.messages if message.text]


@pytest.mark.parametrize("run", ["sync", "async"])
def test_a_subagents_prompt_is_not_the_users_and_has_a_thread_of_its_own(memory, says, inner, run):
    model = says(delegates(), "Sponge cake, then.")
    agent = create_agent(model, [inner()], middleware=[TidalMemoryMiddleware(memory)], checkpointer=InMemorySaver())
    given = {"messages": [HumanMessage(ASKED)]}
    if run == "sync":
        agent.invoke(given, CONFIG)
    else:
        asyncio.run(agent.ainvoke(given, CONFIG))
    [whole] = memory.episodes.list(thread="dinner")
    assert whole.query == ASKED
    [nested] = [episode for episode in memory.episodes.list() if episode.thread != "dinner"]
    assert nested.thread.startswith("dinner/")
    assert said(nested) == [("assistant", PROMPT), ("assistant", "A sponge cake.")]
    assert nested.answer == "A sponge cake."
    assert PROMPT not in [hit.text for hit in memory.recall("allergic to nuts") if hit.entry.role == "user"]


def test_the_thread_of_a_nested_run_bears_the_name_of_its_agent(memory, says):
    app = create_agent(says("A sponge cake."), [], middleware=[TidalMemoryMiddleware(memory)], name="cook")
    ask = cook(lambda prompt: app.invoke({"messages": [HumanMessage(prompt)]})["messages"][-1].text)
    create_agent(says(delegates(), "Done."), [ask], name="host").invoke({"messages": [HumanMessage(ASKED)]}, CONFIG)
    [nested] = memory.episodes.list()
    assert nested.thread == "dinner/cook"
    assert nested.messages[-1].speaker == "cook"


def test_a_tool_node_of_a_graph_built_by_hand_nests_as_well(memory, says, inner):
    graph = StateGraph(MessagesState)
    model = says(delegates(), "Done.")
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("my_tools", ToolNode([inner()]))
    graph.add_edge(START, "model").add_conditional_edges("model", tools_condition, {"tools": "my_tools", END: END})
    graph.add_edge("my_tools", "model")
    graph.compile().invoke({"messages": [HumanMessage(ASKED)]}, CONFIG)
    [nested] = memory.episodes.list()
    assert nested.thread.startswith("dinner/")
    assert nested.query == ""


def test_an_agent_that_is_a_node_of_a_graph_hears_the_user(memory, says):
    graph = StateGraph(MessagesState)
    graph.add_node("host", create_agent(says("A roast."), [], middleware=[TidalMemoryMiddleware(memory)], name="host"))
    graph.add_edge(START, "host").compile().invoke({"messages": [HumanMessage(ASKED)]}, CONFIG)
    [episode] = memory.episodes.list(thread="dinner")
    assert episode.query == ASKED


def test_a_nested_run_with_a_thread_of_its_own_keeps_it(memory, says):
    app = create_agent(says("A sponge cake."), [], middleware=[TidalMemoryMiddleware(memory)])
    own = {"configurable": {"thread_id": "kitchen"}}
    ask = cook(lambda prompt: app.invoke({"messages": [HumanMessage(prompt)]}, own)["messages"][-1].text)
    create_agent(says(delegates(), "Done."), [ask]).invoke({"messages": [HumanMessage(ASKED)]}, CONFIG)
    [nested] = memory.episodes.list(thread="kitchen")
    assert said(nested) == [("assistant", PROMPT), ("assistant", "A sponge cake.")]


def test_nested_runs_may_be_left_out_or_taken_for_the_users(memory, says, inner):
    def talk(**options):
        agent = create_agent(says(delegates(), "Done."), [inner(**options)])
        agent.invoke({"messages": [HumanMessage(ASKED)]}, CONFIG)
        return memory.episodes.list()

    assert talk(nested="skip") == []
    [episode] = talk(nested="user")
    assert (episode.thread, episode.query) == ("dinner", PROMPT)


def test_of_a_skipped_nested_run_only_what_its_compaction_leaves_out_is_kept_in_its_own_thread(memory, says):
    @tool
    def read_recipe(page: int) -> str:
        """Read a page of the cookbook."""
        return f"Page {page}: " + f"Fold {page} eggs into the batter and bake it for {page + 30} minutes. " * 20

    def bake(limit):
        calls = [{"name": "read_recipe", "args": {"page": n}, "id": f"page-{n}"} for n in range(8)]
        model = says(*(AIMessage("", tool_calls=[call]) for call in calls), "A sponge cake.")
        layers = [TidalCompaction(memory, max_tokens=limit), TidalMemoryMiddleware(memory, nested="skip")]
        app = create_agent(model, [read_recipe], middleware=layers, name="cook")
        ask = cook(lambda prompt: app.invoke({"messages": [HumanMessage(prompt)]})["messages"][-1].text)
        layers = [TidalMemoryMiddleware(memory)]
        host = create_agent(says(delegates(), "Sponge cake, then."), [ask], middleware=layers)
        host.invoke({"messages": [HumanMessage(ASKED)]}, {"configurable": {"thread_id": f"dinner for {limit}"}})
        return [sum(len(message.text) for message in shown) for shown in model.shown]

    whole, cut = bake(100_000)[-1], max(bake(2_000))
    assert cut < whole
    kept = {episode.thread: said(episode) for episode in memory.episodes.list()}
    assert set(kept) == {"dinner for 100000", "dinner for 2000", "dinner for 2000/cook"}
    assert kept["dinner for 2000/cook"][0] == ("assistant", PROMPT)
    assert not [hit for hit in memory.recall("allergic to nuts") if hit.entry.role == "user" and hit.text == PROMPT]
    assert all("A sponge cake." not in text for _, text in kept["dinner for 2000/cook"])


def test_other_words_for_nested_runs_are_refused(memory):
    with pytest.raises(InvalidInput, match="nested must be one of apart, skip, user"):
        TidalMemoryMiddleware(memory, nested="never")


def test_the_whisper_reaches_a_nested_run(memory, says):
    memory.record("I am allergic to peanuts and other nuts.", "Noted.", thread="monday")
    model = says("A sponge cake.")
    app = create_agent(model, [], middleware=[TidalMemoryMiddleware(memory)])
    ask = cook(lambda prompt: app.invoke({"messages": [HumanMessage(prompt)]})["messages"][-1].text)
    create_agent(says(delegates("Is anybody allergic to nuts?"), "Done."), [ask]).invoke(
        {"messages": [HumanMessage(ASKED)]}, CONFIG
    )
    assert "allergic to peanuts" in model.shown[0][-1].text


def test_a_graph_with_a_loop_of_tools_is_not_nested_in_itself(memory, says, react, metronome_tool):
    call = AIMessage("", tool_calls=[{"name": "metronome", "args": {"tempo": 90}, "id": "call-1"}])
    tool_graph(memory, says(call, "It ticks.")).compile().invoke({"messages": [HumanMessage("Set it to 90.")]}, CONFIG)
    [episode] = memory.episodes.list(thread="dinner")
    assert episode.query == "Set it to 90."
