"""What only LangChain's agents have: middleware of others, structured answers, a human in the loop, summaries."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from langchain_tidal import TidalMemoryMiddleware
from tests.frameworks.conftest import (
    ASK,
    FACT,
    MARK,
    calling,
    checkpointed,
    metronome,
    only,
    queries,
    said,
    thread,
    ticks,
    user,
)


@pytest.fixture
def agent(memory):
    def make(model, *, before=(), after=(), scope=None, tools=(metronome,), **options):
        middleware = [*before, TidalMemoryMiddleware(memory, scope=scope), *after]
        return create_agent(model, list(tools), middleware=middleware, **options)

    return make


def test_without_a_human_message_nothing_is_recalled_or_recorded(memory, agent, says, embedder):
    agent(says("Welcome!")).invoke({"messages": [SystemMessage("Greet.")]})
    assert memory.episodes.list() == []
    assert embedder.calls == []


def test_what_surfaced_is_private_and_plain(reminded, agent, says):
    app = agent(says("A standard."), checkpointer=InMemorySaver())
    app.invoke({**user(ASK, id="h1"), "recalled": {"turn": "h1", "ids": ["forged"]}}, thread("friday"))
    kept = app.get_state(thread("friday")).values["recalled"]
    assert kept == {"turn": "h1", "ids": list(only(reminded, thread="friday").surfaced), "asked": ASK}
    assert "forged" not in kept["ids"]
    assert "recalled" not in app.get_input_jsonschema()["properties"]


# beside other middleware


@pytest.mark.parametrize("place", ["before", "after"])
async def test_a_model_that_is_retried_is_reminded_each_time_by_one_recall(reminded, agent, says, embedder, run, place):
    model = says(ConnectionError("away"), ConnectionError("away"), "A standard.")
    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
    await run(agent(model, **{place: [retry]}), user(ASK), thread("friday"))
    assert [FACT in shown[0].text for shown in model.shown] == [True, True, True]
    assert embedder.recalls == [ASK]
    assert said(only(reminded, thread="friday")) == [ASK, "A standard."]
    assert only(reminded, thread="friday").surfaced


def test_a_recall_that_fails_is_retried_and_a_model_that_another_falls_back_on_is_reminded(
    reminded, agent, says, embedder
):
    away, second = says(ConnectionError("away")), says("A standard.")
    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
    app = agent(away, before=[retry, ModelFallbackMiddleware(second)])
    embedder.failures = 2
    app.invoke(user(ASK), thread("friday"))
    assert FACT in second.shown[0][0].text
    assert embedder.recalls == [ASK]


def test_what_other_middleware_adds_for_one_call_is_no_turn_and_what_it_hides_is_whispered(
    reminded, agent, says, embedder
):
    class Hint(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request.override(messages=[*request.messages, HumanMessage("Keep it short.")]))

    class LastOnly(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request.override(messages=request.messages[-1:]))

    model = says(ticks(60), "Swing it.")
    agent(model, before=[Hint()]).invoke(user(ASK), thread("friday"))
    assert embedder.recalls == [ASK]
    assert all(FACT in str(shown) for shown in model.shown)
    assert said(only(reminded, thread="friday")) == [ASK, "", "The metronome ticks at 60.", "Swing it."]
    model = says("Noted.", "The oboe.")
    app = agent(model, before=[LastOnly()], checkpointer=InMemorySaver())
    app.invoke(user("My oboe reeds are from Ghent."), thread("one"))
    app.invoke(user("Where are my oboe reeds from?"), thread("one"))
    (shown,) = model.shown[1]
    assert "My oboe reeds are from Ghent." in shown.text


# a human in the loop, replays


def approving():
    return HumanInTheLoopMiddleware(interrupt_on={"metronome": True})


def deciding(**decision):
    return Command(resume={"decisions": [decision]})


@pytest.mark.parametrize("anew", [False, True])
async def test_a_turn_goes_on_after_an_interrupt_with_other_objects_too(reminded, agent, says, embedder, run, anew):
    saver, model = InMemorySaver(), says(ticks(60), "Swing it.")
    app = agent(model, before=[approving()], checkpointer=saver)
    assert "__interrupt__" in await run(app, user(ASK), thread("friday"))
    assert reminded.episodes.list(thread="friday") == []
    app = agent(model, after=[approving()], checkpointer=saver) if anew else app  # new objects know of no recall
    await run(app, deciding(type="approve"), thread("friday"))
    assert model.shown[1][0].text.startswith(MARK)
    assert anew or model.shown[1][0].text == model.shown[0][0].text
    assert embedder.recalls == [ASK] * (1 + anew)
    episode = only(reminded, thread="friday")
    assert said(episode) == [ASK, "", "The metronome ticks at 60.", "Swing it."]
    assert episode.surfaced
    assert "tidal-memory" not in checkpointed(saver)


EDITED = {"type": "edit", "edited_action": {"name": "metronome", "args": {"tempo": 40}}}


@pytest.mark.parametrize(
    ("decision", "result"),
    [({"type": "reject", "message": "Not now."}, "Not now."), (EDITED, "The metronome ticks at 40.")],
)
def test_what_the_human_decided_or_left_open_is_recorded(memory, agent, says, decision, result):
    app = agent(says(ticks(60), "Fine.", ticks(60, text="May I?"), "Fine."), before=[approving()],
                checkpointer=InMemorySaver())  # fmt: skip
    app.invoke(user("Tick."), thread("t"))
    app.invoke(deciding(**decision), thread("t"))
    (call,) = only(memory).tool_calls
    assert result in call.result
    assert only(memory).answer == "Fine."
    app.invoke(user("Tock."), thread("u"))
    app.invoke(user("Never mind."), thread("u"))
    left, last = memory.episodes.list(thread="u")
    assert said(left)[:2] == ["Tock.", "May I?"]
    assert said(last) == ["Never mind.", "Fine."]


# turns that end without an answer in words


def test_a_tool_that_returns_directly_ends_its_turn(memory, agent, says):
    @tool(return_direct=True)
    def metronome(tempo: int) -> str:
        """Set the metronome."""
        return f"Ticks at {tempo}."

    agent(says(ticks(60)), tools=[metronome]).invoke(user("Tick."), thread("t"))
    assert said(only(memory)) == ["Tick.", "", "Ticks at 60."]


class Departure(BaseModel):
    """When a train leaves."""

    train: str
    time: str


@pytest.mark.parametrize("message", [None, "Done."])
async def test_a_structured_answer_is_the_answer_of_its_episode(memory, agent, says, run, message):
    departs = calling(("Departure", {"train": "NJ 40", "time": "21:40"}))
    strategy = ToolStrategy(Departure, tool_message_content=message)
    app = agent(says(departs), response_format=strategy, checkpointer=InMemorySaver())
    for _ in range(2):
        state = await run(app, user("When does the night train leave?"), thread("train"))
    assert state["structured_response"] == Departure(train="NJ 40", time="21:40")
    assert [m.text for m in state["messages"] if isinstance(m, AIMessage)] == ["", ""], "the state stays as it is"
    assert [episode.answer for episode in memory.episodes.list()] == ['{"train": "NJ 40", "time": "21:40"}'] * 2
    assert [call.arguments for call in memory.episodes.list()[0].tool_calls] == [{"train": "NJ 40", "time": "21:40"}]
    assert any("21:40" in hit.text for hit in memory.recall("When does the night train leave?"))


def test_a_structured_answer_after_a_refused_one_is_the_last(memory, agent, says):
    wrong, right = {"train": "NJ 40"}, {"train": "NJ 40", "time": "21:45"}
    model = says(calling(("Departure", wrong)), calling(("Departure", right), text="There:"))
    agent(model, response_format=ToolStrategy(Departure)).invoke(user("When?"), thread("train"))
    assert only(memory).answer == 'There:\n\n{"train": "NJ 40", "time": "21:45"}'


# summaries


def test_a_summary_is_recorded_as_nobody_s_words(memory, agent, says):
    model = says("Noted.", "Fine.", "A standard.")
    shorten = SummarizationMiddleware(says("THE SUMMARY"), trigger=("messages", 3), keep=("messages", 1))
    app = agent(model, before=[shorten], checkpointer=InMemorySaver())
    for text in (FACT, "And I am well.", ASK):
        app.invoke(user(text), thread("t"))
    assert any("THE SUMMARY" in shown[0].text for shown in model.shown)
    assert "THE SUMMARY" not in str(memory.episodes.list())
    assert queries(memory) == [FACT, "And I am well.", ASK]
    assert [episode.answer for episode in memory.episodes.list()] == ["Noted.", "Fine.", "A standard."]
    assert FACT in model.shown[2][-1].text  # what was summarised away surfaces


def test_a_question_that_a_summary_cuts_off_in_a_tool_loop_is_recorded_with_its_answer(reminded, agent, says, embedder):
    class Cut(SummarizationMiddleware):
        def _find_safe_cutoff(self, messages, messages_to_keep):
            return len(messages) - 2  # the call and its result

    model = says(ticks(60), ticks(90), "Swing it.", "You are welcome.")
    shorten = Cut(says("THE SUMMARY"), trigger=("messages", 5), keep=("messages", 2))
    app = agent(model, before=[shorten], checkpointer=InMemorySaver())
    app.invoke(user(ASK, id="h1"), thread("friday"))
    assert ASK not in str(model.shown[2])
    assert "THE SUMMARY" in model.shown[2][0].text
    app.invoke(user("Thank you!"), thread("friday"))
    first, second = reminded.episodes.list(thread="friday")
    assert said(first) == [ASK, "", "The metronome ticks at 90.", "Swing it."]
    assert first.surfaced
    assert said(second) == ["Thank you!", "You are welcome."]
    assert embedder.recalls.count(ASK) == 1
