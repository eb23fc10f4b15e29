import asyncio
from dataclasses import dataclass

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    ModelRequest,
    ModelRetryMiddleware,
    SummarizationMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from pydantic import BaseModel

from langchain_tidal import TidalMemoryMiddleware
from tests.waiting import waits_without_blocking
from tidal_plugins import EmbeddingError, InvalidScope

FACT = "I practise jazz piano every evening after dinner."
ASK = "Which jazz piano piece should I practise this evening?"
MARK = "<tidal-memory>"


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


def texts(messages):
    return [message.text for message in messages]


def checkpointed(saver):
    return repr((dict(saver.storage), dict(saver.blobs), dict(saver.writes)))


@pytest.fixture
def reminded(memory, embedder):
    """A memory that has something to say to ASK."""
    memory.record(user=FACT, agent="Noted.", thread="old")
    embedder.calls.clear()
    return memory


@pytest.fixture
def agent(memory, metronome_tool):
    def make(model, *, before=(), after=(), scope=None, tools=(metronome_tool,), **options):
        middleware = [*before, TidalMemoryMiddleware(memory, scope=scope), *after]
        return create_agent(model, list(tools), middleware=middleware, **options)

    return make


@pytest.fixture(params=["sync", "async"])
def run(request):
    """Run an agent by either call style."""

    async def call(app, given, config=None, **options):
        if request.param == "sync":
            return app.invoke(given, config, **options)
        return await app.ainvoke(given, config, **options)

    return call


# recall and record


async def test_another_thread_is_reminded_of_what_was_said(memory, agent, says, run):
    model = says("Noted.", "A standard.")
    app = agent(model, checkpointer=InMemorySaver())
    await run(app, user(FACT), thread("monday"))
    result = await run(app, user(ASK), thread("friday"))
    (asked,) = model.shown[1]
    assert asked.text.startswith(MARK)
    assert asked.text.endswith(ASK)
    assert FACT in asked.text
    assert texts(result["messages"]) == [ASK, "A standard."]
    assert said(only(memory, thread="friday")) == [ASK, "A standard."]
    assert only(memory, thread="friday").surfaced


def test_an_agent_without_tools_or_checkpointer_remembers_too(memory, agent, says):
    model = says("Noted.", "A standard.")
    app = agent(model, tools=())
    app.invoke(user(FACT))
    app.invoke(user(ASK))
    assert FACT in model.shown[1][0].text
    assert [episode.query for episode in memory.episodes.list()] == [FACT, ASK]


def test_the_model_of_an_empty_memory_sees_the_messages_as_they_are(agent, says):
    model = says("Noted.")
    agent(model).invoke(user(FACT, id="h1"))
    assert model.shown == [[HumanMessage(FACT, id="h1")]]


def test_what_the_model_sees_anyway_is_not_whispered(agent, says):
    model = says("Noted.", "A standard.")
    app = agent(model, checkpointer=InMemorySaver())
    app.invoke(user(FACT), thread("one"))
    app.invoke(user(ASK), thread("one"))
    assert texts(model.shown[1]) == [FACT, "Noted.", ASK]


def test_the_system_prompt_stays_first_and_as_it_is(reminded, agent, says):
    model = says("A standard.")
    agent(model, system_prompt="Be kind.").invoke(user(ASK))
    assert [message.type for message in model.shown[0]] == ["system", "human"]
    assert model.shown[0][0] == SystemMessage("Be kind.")
    assert said(reminded.episodes.list()[-1]) == [ASK, "A standard."]


def test_without_a_human_message_nothing_is_recalled_or_recorded(memory, agent, says, embedder):
    model = says("Welcome!")
    agent(model).invoke({"messages": [SystemMessage("Greet.")]})
    assert memory.episodes.list() == []
    assert embedder.calls == []


# the whisper is for the model's request only


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_no_checkpoint_contains_the_whisper(reminded, agent, says, durability):
    saver, model = InMemorySaver(), says(calls(60, 90), "A standard.")
    app = agent(model, checkpointer=saver)
    result = app.invoke(user(ASK), thread("friday"), durability=durability)
    assert MARK in model.shown[1][0].text
    assert ASK in checkpointed(saver)
    assert "tidal-memory" not in checkpointed(saver)
    assert FACT not in checkpointed(saver)
    assert result.keys() == {"messages"}


def test_no_checkpoint_on_disk_contains_the_whisper(reminded, tmp_path, agent, says):
    with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as saver:
        agent(says("A standard."), checkpointer=saver).invoke(user(ASK), thread("friday"))
    stored = b"".join(part.read_bytes() for part in tmp_path.glob("checkpoints.db*"))
    assert ASK.encode() in stored
    assert b"tidal-memory" not in stored


def test_what_surfaced_is_private_and_plain(reminded, agent, says):
    app = agent(says("A standard."), checkpointer=InMemorySaver())
    app.invoke({**user(ASK, id="h1"), "recalled": {"turn": "h1", "ids": ["forged"]}}, thread("friday"))
    kept = app.get_state(thread("friday")).values["recalled"]
    assert kept == {"turn": "h1", "ids": list(only(reminded, thread="friday").surfaced), "asked": ASK}
    assert "forged" not in kept["ids"]
    assert "recalled" not in app.get_input_jsonschema()["properties"]


def test_an_answer_that_repeats_the_whisper_is_no_new_memory(reminded, agent, says):
    agent(says(lambda shown: f"{shown[0].text}\nSo I say: a standard.")).invoke(user(ASK), thread("friday"))
    episode = only(reminded, thread="friday")
    assert MARK in episode.answer, "verbatim"
    answered = reminded.get(episode.entries[-1]).text
    assert MARK not in answered
    assert FACT not in answered
    assert answered.endswith("So I say: a standard.")


# once per user turn


async def test_a_tool_loop_with_parallel_calls_recalls_once_and_is_one_episode(reminded, agent, says, embedder, run):
    model = says(calls(60, 90), calls(120, text="Faster."), "Swing it.")
    await run(agent(model), user(ASK), thread("friday"))
    first, second, third = (texts(shown) for shown in model.shown)
    assert first[0].startswith(MARK)
    assert second == [first[0], "", "The metronome ticks at 60.", "The metronome ticks at 90."]
    assert third == [*second, "Faster.", "The metronome ticks at 120."]
    assert embedder.recalls == [ASK]
    episode = only(reminded, thread="friday")
    assert [call.result for call in episode.tool_calls] == [f"The metronome ticks at {n}." for n in (60, 90, 120)]
    assert episode.answer == "Swing it."
    assert episode.surfaced


def test_the_whisper_stands_between_no_call_and_its_result(reminded, agent, says):
    model = says(calls(60), "Swing it.")
    agent(model).invoke(user(ASK))
    assert [message.type for message in model.shown[1]] == ["human", "ai", "tool"]
    assert [MARK in message.text for message in model.shown[1]] == [True, False, False]


@pytest.mark.parametrize("place", ["before", "after"])
async def test_a_model_that_is_retried_is_reminded_each_time_by_one_recall(reminded, agent, says, embedder, run, place):
    model = says(ConnectionError("away"), ConnectionError("away"), "A standard.")
    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
    await run(agent(model, **{place: [retry]}), user(ASK), thread("friday"))
    assert [FACT in shown[0].text for shown in model.shown] == [True, True, True]
    assert embedder.recalls == [ASK]
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]
    assert only(reminded, thread="friday").surfaced


def test_the_model_that_another_falls_back_on_is_reminded_as_well(reminded, agent, says, embedder):
    away, second = says(ConnectionError("away")), says("A standard.")
    agent(away, before=[ModelFallbackMiddleware(second)]).invoke(user(ASK), thread("friday"))
    assert FACT in second.shown[0][0].text
    assert embedder.recalls == [ASK]


def test_a_recall_that_fails_is_retried_by_middleware_outside_it(reminded, agent, says, embedder):
    model = says("A standard.")
    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
    app = agent(model, before=[retry])
    embedder.failures = 2
    app.invoke(user(ASK), thread("friday"))
    assert FACT in model.shown[0][0].text


def test_a_message_that_other_middleware_adds_for_one_call_is_no_turn(reminded, agent, says, embedder):
    class Hint(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request.override(messages=[*request.messages, HumanMessage("Keep it short.")]))

    model = says(calls(60), "Swing it.")
    agent(model, before=[Hint()]).invoke(user(ASK), thread("friday"))
    assert embedder.recalls == [ASK]
    assert all(FACT in str(shown) for shown in model.shown)
    assert said(only(reminded, thread="friday")) == [ASK, "", "The metronome ticks at 60.", "Swing it."]


def test_history_that_other_middleware_hides_comes_back_as_a_whisper(memory, agent, says):
    class LastOnly(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request.override(messages=request.messages[-1:]))

    model = says("Noted.", "A standard.")
    app = agent(model, before=[LastOnly()], checkpointer=InMemorySaver())
    app.invoke(user(FACT), thread("one"))
    app.invoke(user(ASK), thread("one"))
    (shown,) = model.shown[1]
    assert FACT in shown.text


# streams


async def test_the_custom_stream_says_once_what_surfaced_and_why(reminded, agent, says):
    app = agent(says(calls(60), "A standard."))
    sync = list(app.stream(user(ASK, id="h1"), thread("friday"), stream_mode="custom"))
    later = [part async for part in app.astream(user(ASK, id="h2"), thread("sunday"), stream_mode="custom")]
    for parts, turn, name in ((sync, "h1", "friday"), (later, "h2", "sunday")):
        (event,) = (part["tidal_recall"] for part in parts)
        assert event["turn"] == turn
        assert event["ids"] == list(only(reminded, thread=name).surfaced) != []
        assert len(event["why"]) == len(event["ids"])
        assert event["whisper"].startswith(MARK)
        assert event.keys() == {"turn", "ids", "why", "whisper", "valence", "arousal"}


def test_updates_keep_their_shape(reminded, agent, says):
    model = says(calls(60), "Swing it.")
    parts = list(agent(model).stream(user(ASK), thread("friday"), stream_mode="updates"))
    assert [name for part in parts for name in part] == [
        "TidalMemoryMiddleware.before_agent",
        "model",
        "tools",
        "model",
        "TidalMemoryMiddleware.after_agent",
    ]
    assert [part["model"]["messages"][0].text for part in parts if "model" in part] == ["", "Swing it."]


def test_hooks_work_outside_a_graph(reminded, says):
    middleware, seen = TidalMemoryMiddleware(reminded), []
    state = user(ASK, id="h1")
    middleware.wrap_model_call(ModelRequest(model=says(""), messages=state["messages"], state=state), seen.append)
    assert FACT in seen[0].messages[0].text
    middleware.after_agent({"messages": [*state["messages"], AIMessage("A standard.")]}, None)
    assert said(reminded.episodes.list()[-1]) == [ASK, "A standard."]


async def test_the_whisper_is_streamed_neither_as_a_message_nor_as_an_update(reminded, agent, says):
    model = says("A standard.")
    parts = list(agent(model).stream(user(ASK), thread("friday"), stream_mode=["messages", "updates", "values"]))
    assert MARK in model.shown[0][0].text
    assert MARK not in str(parts)
    assert [part[0].text for mode, part in parts if mode == "messages"] == ["A standard."]


# crashes


async def test_a_crash_in_the_model_is_made_good_by_running_on(reminded, agent, says, run):
    app = agent(says(ConnectionError("away"), "A standard."), checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        await run(app, user(ASK), thread("friday"))
    await run(app, None, thread("friday"))
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]
    assert only(reminded, thread="friday").surfaced


async def test_a_crash_between_answer_and_record_is_caught_up_on(memory, agent, says, embedder, run):
    def answer(shown):
        embedder.failures = 1
        return "Noted."

    saver = InMemorySaver()
    with pytest.raises(EmbeddingError):
        await run(agent(says(answer), checkpointer=saver), user(FACT), thread("t"))
    assert memory.episodes.list() == []
    await run(agent(says("A standard."), checkpointer=saver), user(ASK), thread("t"))
    assert [said(episode) for episode in memory.episodes.list(thread="t")] == [[FACT, "Noted."], [ASK, "A standard."]]


def test_a_turn_that_was_missed_is_recorded_before_the_model_runs(memory, agent, says, metronome_tool):
    saver, seen = InMemorySaver(), []
    create_agent(says("Noted."), [metronome_tool], checkpointer=saver).invoke(user(FACT), thread("t"))

    def answer(shown):
        seen.extend(memory.episodes.list())
        return "A standard."

    agent(says(answer), checkpointer=saver).invoke(user(ASK), thread("t"))
    assert [said(episode) for episode in seen] == [[FACT, "Noted."]]
    assert [episode.query for episode in memory.episodes.list()] == [FACT, ASK]


def test_a_replay_is_the_same_episode(memory, agent, says):
    app = agent(says(AIMessage("A standard.", id="a1")), checkpointer=InMemorySaver())
    app.invoke(user(ASK, id="h1"), thread("t"))
    for snapshot in list(app.get_state_history(thread("t"))):
        if snapshot.next:
            app.invoke(None, snapshot.config)
    assert said(only(memory)) == [ASK, "A standard."]


# interrupts


def approving():
    return HumanInTheLoopMiddleware(interrupt_on={"metronome": True})


async def test_a_turn_goes_on_after_an_interrupt(reminded, agent, says, embedder, run):
    model, saver = says(calls(60), "Swing it."), InMemorySaver()
    app = agent(model, before=[approving()], checkpointer=saver)
    assert "__interrupt__" in await run(app, user(ASK), thread("friday"))
    assert reminded.episodes.list(thread="friday") == []
    await run(app, Command(resume={"decisions": [{"type": "approve"}]}), thread("friday"))
    assert model.shown[1][0].text == model.shown[0][0].text
    assert embedder.recalls == [ASK]
    episode = only(reminded, thread="friday")
    assert said(episode) == [ASK, "", "The metronome ticks at 60.", "Swing it."]
    assert episode.surfaced
    assert "tidal-memory" not in checkpointed(saver)


def test_a_turn_goes_on_in_another_process(reminded, agent, says):
    saver = InMemorySaver()
    agent(says(calls(60)), after=[approving()], checkpointer=saver).invoke(user(ASK), thread("friday"))
    model = says("Swing it.")
    resumed = agent(model, after=[approving()], checkpointer=saver)  # new objects know of no recall
    resumed.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread("friday"))
    assert model.shown[0][0].text.startswith(MARK)
    assert only(reminded, thread="friday").surfaced


@pytest.mark.parametrize(
    ("decision", "result"),
    [
        ({"type": "reject", "message": "Not now."}, "Not now."),
        (
            {"type": "edit", "edited_action": {"name": "metronome", "args": {"tempo": 40}}},
            "The metronome ticks at 40.",
        ),
    ],
)
def test_what_the_human_decided_is_recorded(memory, agent, says, decision, result):
    app = agent(says(calls(60), "Fine."), before=[approving()], checkpointer=InMemorySaver())
    app.invoke(user("Tick."), thread("t"))
    app.invoke(Command(resume={"decisions": [decision]}), thread("t"))
    (call,) = only(memory).tool_calls
    assert result in call.result
    assert only(memory).answer == "Fine."


def test_a_turn_that_was_interrupted_and_left_is_recorded_with_the_next(memory, agent, says):
    model = says(calls(60, text="May I?"), "Fine.")
    app = agent(model, before=[approving()], checkpointer=InMemorySaver())
    app.invoke(user("Tick."), thread("t"))
    app.invoke(user("Never mind."), thread("t"))
    first, second = memory.episodes.list()
    assert said(first)[:2] == ["Tick.", "May I?"]
    assert said(second) == ["Never mind.", "Fine."]


# turns that end without an answer


def test_a_tool_that_returns_directly_ends_its_turn(memory, agent, says):
    @tool(return_direct=True)
    def metronome(tempo: int) -> str:
        """Set the metronome."""
        return f"Ticks at {tempo}."

    agent(says(calls(60)), tools=[metronome]).invoke(user("Tick."), thread("t"))
    assert said(only(memory)) == ["Tick.", "", "Ticks at 60."]


def test_a_structured_answer_ends_its_turn(memory, agent, says):
    class Piece(BaseModel):
        """A piece of music."""

        title: str

    reply = AIMessage("", tool_calls=[{"name": "Piece", "args": {"title": "Blue in Green"}, "id": "call-1"}])
    result = agent(says(reply), response_format=ToolStrategy(Piece)).invoke(user(ASK), thread("t"))
    assert result["structured_response"] == Piece(title="Blue in Green")
    (call,) = only(memory).tool_calls
    assert call.arguments == {"title": "Blue in Green"}


# summaries


def test_a_summary_is_recorded_as_nobody_s_words(memory, agent, says):
    model = says("Noted.", "Fine.", "A standard.")
    shorten = SummarizationMiddleware(says("THE SUMMARY"), trigger=("messages", 3), keep=("messages", 1))
    app = agent(model, before=[shorten], checkpointer=InMemorySaver())
    for text in (FACT, "And I am well.", ASK):
        app.invoke(user(text), thread("t"))
    assert any("THE SUMMARY" in shown[0].text for shown in model.shown)
    assert "THE SUMMARY" not in str(memory.episodes.list())
    assert [said(episode) for episode in memory.episodes.list()] == [
        [FACT, "Noted."],
        ["And I am well.", "Fine."],
        [ASK, "A standard."],
    ]
    assert FACT in model.shown[2][-1].text  # what was summarised away surfaces


def test_a_question_that_a_summary_cuts_off_in_a_tool_loop_is_recorded_with_its_answer(reminded, agent, says, embedder):
    class Cut(SummarizationMiddleware):
        def _find_safe_cutoff(self, messages, messages_to_keep):
            return len(messages) - 2  # the call and its result

    model = says(calls(60), calls(90), "Swing it.", "You are welcome.")
    shorten = Cut(says("THE SUMMARY"), trigger=("messages", 5), keep=("messages", 2))
    app = agent(model, before=[shorten], checkpointer=InMemorySaver())
    app.invoke(user(ASK, id="h1"), thread("friday"))
    assert ASK not in str(model.shown[2])
    assert "THE SUMMARY" in model.shown[2][0].text
    assert embedder.recalls[0] == ASK
    app.invoke(user("Thank you!"), thread("friday"))
    first, second = reminded.episodes.list(thread="friday")
    assert said(first) == [ASK, "", "The metronome ticks at 90.", "Swing it."]
    assert first.surfaced
    assert said(second) == ["Thank you!", "You are welcome."]
    assert embedder.recalls.count(ASK) == 1


# scope and users


@dataclass
class Context:
    user_id: str


def by_context(context, config):
    return ("user", context.user_id)


def by_config(context, config):
    return ("user", config["configurable"]["user_id"])


async def test_a_scope_may_come_from_the_context(memory, agent, says, run):
    model = says("Noted.", "A standard.", "I do not know.")
    app = agent(model, scope=by_context, context_schema=Context)
    await run(app, user(FACT), thread("one"), context=Context("anna"))
    await run(app, user(ASK), thread("two"), context=Context("anna"))
    await run(app, user(ASK), thread("two"), context=Context("ben"))
    assert [FACT in shown[-1].text for shown in model.shown] == [True, True, False]
    assert [len(memory.scoped("user", name).episodes.list()) for name in ("anna", "ben")] == [2, 1]
    assert memory.episodes.list() == []


async def test_a_scope_may_come_from_the_config(memory, agent, says, run):
    await run(agent(says("Noted."), scope=by_config), user(FACT), thread("one", user_id="anna"))
    assert said(only(memory.scoped("user", "anna"))) == [FACT, "Noted."]


@pytest.mark.parametrize("scope", [None, (), "anna", ["user", "anna"]])
async def test_a_scope_that_is_none_is_refused_before_the_model_runs(memory, agent, says, run, scope):
    model = says("Noted.")
    with pytest.raises(InvalidScope):
        await run(agent(model, scope=lambda *_: scope), user(FACT))
    assert model.shown == []


async def test_users_that_talk_at_once_never_see_each_other(memory, agent, says):
    names = [f"user{chr(97 + n)}" for n in range(12)]
    model = says(lambda shown: ", ".join(name for name in names if name in str(shown)))
    app = agent(model, scope=by_context, context_schema=Context, checkpointer=InMemorySaver())

    async def talk(name):
        await app.ainvoke(user(f"I am {name}, and {FACT}"), thread("monday-" + name), context=Context(name))
        await app.ainvoke(user(f"I am {name}. {ASK}"), thread("friday-" + name), context=Context(name))

    await asyncio.gather(*map(talk, names))
    for name in names:
        first, second = memory.scoped("user", name).episodes.list()
        assert [first.answer, second.answer] == [name, name]
        assert second.surfaced


# the event loop


async def test_the_event_loop_runs_on_with_fifty_runs_while_another_process_holds_the_lock(memory, agent, says, path):
    app = agent(says("Noted."), checkpointer=InMemorySaver())
    await app.ainvoke(user("Hello, and warm up."), thread("warm"))

    async def at_once():
        await asyncio.gather(*(app.ainvoke(user(f"{FACT} {n}"), thread(f"t{n}")) for n in range(50)))

    assert await waits_without_blocking(path, at_once())
    assert len(memory.episodes.list()) == 51


# in larger graphs


async def test_an_agent_may_be_a_node_of_a_graph(reminded, agent, says, run):
    saver, model = InMemorySaver(), says("A standard.")
    outer = StateGraph(MessagesState).add_node("agent", agent(model)).add_edge(START, "agent")
    await run(outer.compile(checkpointer=saver), user(ASK), thread("friday"))
    assert FACT in model.shown[0][0].text
    assert "tidal-memory" not in checkpointed(saver)
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]


def test_one_middleware_may_serve_many_agents(memory, says):
    shared = TidalMemoryMiddleware(memory)
    create_agent(says("Noted."), middleware=[shared]).invoke(user(FACT), thread("monday"))
    model = says("A standard.")
    create_agent(model, middleware=[shared]).invoke(user(ASK), thread("friday"))
    assert FACT in model.shown[0][0].text
