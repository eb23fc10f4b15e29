"""The capsule in front of what a model gets, in LangGraph's graphs and LangChain's agents."""

from datetime import timedelta

import pytest
from langchain.agents import create_agent
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent

from langchain_tidal import TidalCapsule, TidalCompaction, TidalMemoryMiddleware, reserved
from langchain_tidal.messages import by_capsule, by_compaction
from langgraph_tidal import (
    CapsuleNode,
    CompactionNode,
    RecordNode,
    model_input,
    tidal_pre_model_hook,
)
from tests.frameworks.conftest import graph_of, metronome, open_memory, thread, user
from tidal_plugins.model.delimiters import CAPSULE_OPEN as OPEN
from tidal_plugins.testing import FrozenClock

CLOSE = "</tidal-capsule "
IDENTITY = "I am the harbour's clerk, and I answer in one sentence."
PROMPT = "Be brief."
LIMIT = 2_000


def long_question(number):
    return f"Question {number}: what was decided about pier {number} on the north side of the harbour, and why? " * 3


def calls_metronome(messages):
    if messages[-1].type == "tool":
        return "It ticks."
    return AIMessage("", tool_calls=[{"name": "metronome", "args": {"tempo": 60}, "id": "call-1"}])


@pytest.fixture
def clock():
    return FrozenClock()


@pytest.fixture
def graph(memory):
    """The order of the documentation: compact, capsule, recall, model, tools and back, record."""

    def make(model, *, back_to="compact", scope=None, max_age=timedelta(hours=4), guard=False, **options):
        compact = CompactionNode(memory, scope=scope, max_tokens=options.pop("max_tokens", 100_000), **options)
        guarded = compact.guard(model)
        node = (lambda state: {"messages": [guarded.invoke(model_input(state))]}) if guard else model
        first = [("compact", compact), ("capsule", CapsuleNode(memory, scope=scope, max_age=max_age))]
        graph = graph_of(memory, node, first=first, tools=[metronome], back_to=back_to, scope=scope)
        return graph.compile(checkpointer=InMemorySaver())

    return make


def capsules(messages):
    """The text between the marks, of each message that has them."""
    return [m.text[m.text.index(OPEN) :] for m in messages if OPEN in m.text]


def stored(memory):
    """All that is on record."""
    said = [message.text for episode in memory.episodes.list() for message in episode.messages]
    return "\n".join([*said, *(hit.text for hit in memory.recall("harbour clerk capsule identity", limit=100))])


@pytest.fixture
def memory(path, embedder, clock):
    with open_memory(path, embedder, clock=clock) as memory:
        memory.capsule.write(memory.capsule.read().edit(identity=IDENTITY))
        yield memory


@pytest.fixture
def agent(memory):
    def make(model, *, middleware=None, tools=(), **options):
        middleware = [TidalCapsule(memory)] if middleware is None else middleware
        return create_agent(model, list(tools), middleware=middleware, checkpointer=InMemorySaver(), **options)

    return make


# in a graph


async def test_a_graph_s_model_sees_the_capsule_first_and_nothing_keeps_it(memory, clock, graph, strict, run):
    model = strict("Good morning.", "Noted.")
    app = graph(model)
    given = {"messages": [SystemMessage(PROMPT), HumanMessage("Who are you?")]}
    await run(app, given, thread("one"))
    prompt, first, question = model.shown[0]
    assert (prompt.text, first.type) == (PROMPT, "system")
    assert by_capsule(first)
    assert IDENTITY in first.text
    assert first.text.startswith(OPEN)
    assert CLOSE in first.text.splitlines()[-1]
    assert question.text == "Who are you?"
    for number in range(4):
        clock.advance(minutes=30)
        said = f"The crane {number} was repaired on pier {number}; we decided to paint it."
        result = await run(app, user(said), thread("one"))
    assert {capsule for shown in model.shown for capsule in capsules(shown)} == {first.text}, (
        "the same while it is young"
    )
    clock.advance(hours=4)
    streamed = [chunk async for chunk, _ in app.astream(user("And now?"), thread("late"), stream_mode="messages")]
    [late] = capsules(model.shown[-1])
    assert late != first.text
    assert "crane" in late
    assert streamed
    assert not capsules([*streamed, *result["messages"]])
    for snapshot in app.get_state_history(thread("one")):
        assert OPEN not in str(snapshot.values)
    assert OPEN not in str(app.checkpointer.storage)
    assert len(memory.episodes.list()) == 6
    assert OPEN not in stored(memory)
    assert IDENTITY not in stored(memory)


async def test_a_thread_that_begins_knows_what_was_said_since_and_one_that_goes_on_keeps_its_capsule(
    memory, clock, agent, graph, strict, run
):
    for name, app_of in (("agent", lambda model: agent(model, middleware=ours(memory))), ("graph", graph)):
        model = strict("Noted.")
        app = app_of(model)
        clock.advance(minutes=20)
        await run(app, user("Who are you?"), thread(f"{name}-early"))
        clock.advance(minutes=2)
        await run(app, user(f"We decided to paint the {name} crane on pier 4."), thread(f"{name}-early"))
        clock.advance(minutes=6)
        await run(app, user("And now?"), thread(f"{name}-early"))
        early = [capsules(shown)[0] for shown in model.shown]
        assert len(set(early)) == 1
        await run(app, user("What was decided?"), thread(f"{name}-later"))
        assert f"paint the {name} crane" in capsules(model.shown[-1])[0]


def ours(memory):
    return [TidalCapsule(memory), TidalMemoryMiddleware(memory)]


async def test_an_empty_capsule_is_not_kept(path, embedder, strict, run):
    with open_memory(path, embedder) as memory:
        model = strict("Noted.")
        app = create_agent(model, [], middleware=ours(memory), checkpointer=InMemorySaver())
        await run(app, user("We decided to paint the crane on pier 4 blue."), thread("one"))
        await run(app, user("What was decided?"), thread("one"))
        assert [len(capsules(shown)) for shown in model.shown] == [0, 1]


async def test_compaction_capsule_and_whisper_stand_together(memory, graph, strict, run):
    memory.record("The north pier of the harbour is closed for repairs.", "Noted.", thread="before")
    beside = reserved(str(memory.capsule.read()))
    model = strict(lambda messages: "It was decided that the pier stays open for the boats. " * 6, max_tokens=LIMIT)
    app = graph(model, max_tokens=LIMIT, reserved=beside)
    for number in range(16):
        result = await run(app, user(long_question(number), id=f"h{number}"), thread("one"))
    shown = model.shown[-1]
    assert by_capsule(shown[0])
    assert any(map(by_compaction, shown))
    assert len(capsules(shown)) == 1
    assert len(result["messages"]) == 32
    assert not any(by_capsule(m) or by_compaction(m) for m in result["messages"])
    assert len(memory.episodes.list(thread="one")) == 16
    assert OPEN not in stored(memory)


@pytest.mark.parametrize("back_to", ["compact", "capsule", "recall", "model"])
async def test_a_tool_loop_shows_one_capsule_in_each_call(graph, strict, run, back_to):
    model = strict(calls_metronome)
    await run(graph(model, back_to=back_to), user("Set the metronome."), thread("one"))
    assert len(model.shown) == 2
    for shown in model.shown:
        assert by_capsule(shown[0])
        assert len(capsules(shown)) == 1
    assert model.shown[0][0] == model.shown[1][0]


async def test_a_hook_may_have_it_between_compaction_and_recall(memory, strict, run):
    memory.record("The north pier of the harbour is closed for repairs.", "Noted.", thread="before")
    beside = reserved(f"{PROMPT}{memory.capsule.read()}")
    compact = CompactionNode(memory, max_tokens=LIMIT, reserved=beside)
    model = strict(lambda messages: "It was decided that the pier stays open for the boats. " * 6, max_tokens=LIMIT)
    alone = create_react_agent(model, [], pre_model_hook=tidal_pre_model_hook(memory, capsule=CapsuleNode(memory)))
    await run(alone, user("Is the north pier closed?"), thread("alone"))
    assert [by_capsule(message) for message in model.shown.pop()] == [True, False]
    hook = tidal_pre_model_hook(memory, compact=compact, capsule=CapsuleNode(memory))
    options = {"pre_model_hook": hook, "post_model_hook": RecordNode(memory), "checkpointer": InMemorySaver()}
    app = create_react_agent(model, [], prompt=PROMPT, **options)
    for number in range(16):
        result = await run(app, user(long_question(number), id=f"h{number}"), thread("one"))
    shown = model.shown[-1]
    assert shown[0].text == PROMPT
    assert by_capsule(shown[1])
    assert any(map(by_compaction, shown[2:]))
    assert all(len(capsules(shown)) == 1 for shown in model.shown)
    assert any("<tidal-memory>" in shown[-1].text for shown in model.shown)
    assert not any(by_capsule(m) or by_compaction(m) for m in result["messages"])
    assert OPEN not in stored(memory)


async def test_a_smaller_context_keeps_the_capsule_and_records_none_of_it(memory, graph, strict, run):
    replies = [
        *["It was decided that the pier stays open for the boats. " * 6] * 8,
        ContextOverflowError("too large"),
        "Yes.",
    ]
    model = strict(*replies)
    app = graph(model, guard=True)
    for number in range(9):
        await run(app, user(long_question(number), id=f"h{number}"), thread("one"))
    assert len(model.shown) == 10
    assert len(model.shown[-1]) < len(model.shown[-2])
    assert by_capsule(model.shown[-1][0])
    assert OPEN not in stored(memory)


async def test_each_run_sees_the_capsule_of_its_scope(memory, graph, strict, run):
    anna = memory.scoped("user", "anna")
    anna.capsule.write(anna.capsule.read().edit(identity="I serve Anna."))
    model = strict("Hello.")
    app = graph(model, scope=lambda context, config: ("user", config["configurable"]["user"]))
    await run(app, user("Hello"), thread("one", user="anna"))
    await run(app, user("Hello"), thread("two", user="ben"))
    assert "I serve Anna." in capsules(model.shown[0])[0]
    assert capsules(model.shown[1]) == []


# in an agent


async def test_an_agent_s_system_prompt_is_followed_by_the_capsule(memory, agent, strict, run):
    model = strict("Good morning.")
    app = agent(model, system_prompt=PROMPT)
    result = await run(app, user("Who are you?"), thread("one"))
    await run(agent(model), user("Who are you?"), thread("two"))
    assert by_capsule(model.shown[1][0]), "without a prompt it gets a system message"
    block = {"type": "text", "text": PROMPT, "cache_control": {"type": "ephemeral"}}
    await run(agent(model, system_prompt=SystemMessage([block])), user("Who are you?"), thread("three"))
    kept, capsule = model.shown[2][0].content
    assert kept == block
    assert capsule["text"].startswith(OPEN)
    first, question = model.shown[0]
    assert first.type == "system"
    assert first.text.startswith(f"{PROMPT}\n\n{OPEN}")
    assert IDENTITY in first.text
    assert question.text == "Who are you?"
    assert not capsules(result["messages"])
    assert OPEN not in str(app.checkpointer.storage)


async def test_all_middleware_together_and_compaction_counts_the_capsule(memory, agent, strict, run):
    lifts = "\n".join(f"- tool {n}: {'it lifts ' * 50}" for n in range(9))
    memory.capsule.write(memory.capsule.read().edit(tools=lifts))
    everything = [TidalCapsule(memory), TidalCompaction(memory, max_tokens=LIMIT), TidalMemoryMiddleware(memory)]
    model = strict(
        lambda messages: calls_metronome(messages) if "metronome" in messages[-1].text else "It stays open. " * 20,
        max_tokens=LIMIT,
    )
    app = agent(model, middleware=everything, tools=[metronome], system_prompt=PROMPT)
    for number in range(16):
        result = await run(app, user(long_question(number), id=f"h{number}"), thread("one"))
    shown = model.shown[-1]
    assert shown[0].text.startswith(f"{PROMPT}\n\n{OPEN}")
    assert any(map(by_compaction, shown))
    assert len({message.text for shown in model.shown for message in shown[:1]}) == 1
    assert len(result["messages"]) == 32
    assert len(memory.episodes.list(thread="one")) == 16
    assert OPEN not in stored(memory)


async def test_a_memory_that_has_nothing_to_say_adds_nothing(memory, agent, strict, run):
    model = strict("Hello.")
    app = agent(model, middleware=[TidalCapsule(memory, scope=("user", "new"))], system_prompt=PROMPT)
    await run(app, user("Hello"), thread("one"))
    assert model.shown[0][0].text == PROMPT
