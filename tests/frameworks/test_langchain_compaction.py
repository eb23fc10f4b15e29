import copy
import re
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelRetryMiddleware,
)
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_tidal import TidalCompaction, TidalMemoryMiddleware
from langchain_tidal.context import size_of
from langchain_tidal.messages import by_compaction, text_of
from langgraph_tidal import CompactionNode
from tests.frameworks.conftest import texts, thread, user
from tests.frameworks.test_compaction import CITED, LIMIT, answer, look_up, question
from tidal_plugins import InvalidInput
from tidal_plugins.errors import ContextOverflow


def answered(messages):
    """An answer to the last question shown."""
    asked = next(message for message in reversed(messages) if message.type == "human" and "Question" in message.text)
    return answer(int(re.findall(r"Question (\d+)", asked.text)[-1]))


def looked_up(number, *names, text=""):
    calls = [{"name": "look_up", "args": {"what": name}, "id": f"call-{number}-{name}"} for name in names]
    return AIMessage(text, tool_calls=calls)


def summary_of(messages):
    return next(message.text for message in messages if by_compaction(message))


@tool("Read")
def read(file_path: str) -> str:
    """Read a file."""
    return f"tempo = 96  # of {file_path}\nkey = 'F'\n"


@pytest.fixture
def agent(memory):
    def make(model, *, before=(), after=(), tools=(look_up,), recall=True, checkpointer=True, agent=None, **options):
        remembering = [TidalMemoryMiddleware(memory)] if recall else []
        options = {"max_tokens": LIMIT, **options}
        middleware = [*before, TidalCompaction(memory, **options), *remembering, *after]
        saver = InMemorySaver() if checkpointer else None
        return create_agent(model, list(tools), middleware=middleware, checkpointer=saver, **(agent or {}))

    return make


def talked(app, turns, name="one"):
    for number in turns:
        result = app.invoke(user(question(number), id=f"h{number}"), thread(name))
    return result


def told_of(app, turns):
    """Talk, and return what the custom stream told of rebuilt contexts."""
    parts = [part for n in turns for part in app.stream(user(question(n)), thread("one"), stream_mode="custom")]
    return [part["tidal_compaction"] for part in parts if "tidal_compaction" in part]


# what the model sees


def test_the_order_is_summary_last_turn_ongoing_turn(agent, strict):
    model = strict(answered, max_tokens=LIMIT)
    talked(agent(model, recall=False, agent={"system_prompt": "Be kind."}), range(14))
    shown = next(shown for shown in model.shown if any(map(by_compaction, shown)))
    asked = [message for message in shown if message.type == "human"]
    assert [message.type for message in shown] == ["system", "ai", "human", "ai", "human"]
    assert [by_compaction(message) for message in shown] == [False, True, False, True, False]
    number = int(re.search(r"Question (\d+)", asked[0].text)[1])
    assert texts(asked) == [question(number), question(number + 1)]
    assert shown[0] == SystemMessage("Be kind.")


@pytest.mark.parametrize("restore_as", ["tool", "human"])
def test_files_come_back_as_they_were_read(agent, strict, restore_as):
    def reply(messages):
        number = int(re.findall(r"Question (\d+)", "".join(texts(messages)))[-1])
        if messages[-1].type == "tool":
            return answer(number)
        call = {"name": "Read", "args": {"file_path": f"suite/{number}.toml"}, "id": f"read-{number}"}
        return AIMessage("", tool_calls=[call])

    model = strict(reply, max_tokens=LIMIT)
    talked(agent(model, tools=[read], restore_as=restore_as, recall=False), range(12))
    restored = [m for shown in model.shown for m in shown if by_compaction(m) and "-call_" in m.id and m.text]
    assert restored
    assert {message.type for message in restored} == {restore_as}
    assert all("tempo = 96  # of suite/" in message.text for message in restored)
    if restore_as == "human":
        assert restored[0].text.startswith('<tidal-file path="suite/')


@pytest.mark.parametrize("wrong", [{"summary_as": "system"}, {"restore_as": "assistant"}])
def test_an_unknown_style_is_refused(memory, wrong):
    with pytest.raises(InvalidInput, match="_as must be one of"):
        TidalCompaction(memory, **wrong)


@pytest.mark.parametrize("summary_as", ["assistant", "human"])
def test_the_summary_speaks_for_whom_it_is_told_to(memory, agent, strict, summary_as):
    model = strict(answered, max_tokens=LIMIT)
    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.001, jitter=False)
    app = agent(model, after=[retry], summary_as=summary_as, read_tool=False, tools=())
    talked(app, range(12))
    model.replies = [*[answered] * 12, ConnectionError("away"), ConnectionError("away"), answered]
    talked(app, range(12, 13))
    first, second, third = model.shown[12:]
    assert first == second == third, "retries see the same"
    written = [message for message in first if by_compaction(message)]
    assert {message.type for message in written} == {"ai" if summary_as == "assistant" else "human"}
    assert [episode.query for episode in memory.episodes.list(thread="one")] == [question(n) for n in range(13)]


# what triggers it


def test_the_trigger_counts_the_system_prompt_and_the_tools(agent, strict):
    @tool
    def wordy(what: str) -> str:
        """Look something up."""
        return what

    wordy.description = "Look something up, with all due care. " * 120
    heavy = {"prompt": {"agent": {"system_prompt": "Be kind. " * 500}}, "tools": {"tools": [wordy]}}
    for name, options in heavy.items():
        model = strict(answered, max_tokens=3_000)
        talked(agent(model, max_tokens=3_000, recall=False, **options), range(10), name)
        assert any(map(by_compaction, model.shown[-1]))
    model = strict(answered)
    talked(agent(model, max_tokens=3_000, recall=False), range(7), "bare")
    assert not any(map(by_compaction, model.shown[-1]))


def test_the_model_s_profile_says_the_limit_where_none_was_given(agent, strict):
    model = strict(answered, max_tokens=LIMIT, profile={"max_input_tokens": LIMIT})
    talked(agent(model, max_tokens=None), range(12))
    assert any(map(by_compaction, model.shown[-1]))


def test_a_token_counter_counts_lists_of_messages(agent, strict):
    counted = []

    def counter(messages):
        counted.append(list(messages))
        return 3 * count_tokens_approximately(messages)

    model = strict(answered, max_tokens=LIMIT // 2)
    talked(agent(model, token_counter=counter, recall=False, max_tokens=3 * LIMIT // 2, read_tool=False), range(15))
    assert counted
    assert any(map(by_compaction, model.shown[-1]))
    assert all(3 * count_tokens_approximately(shown) < 3 * LIMIT // 2 for shown in model.shown)


def test_usage_that_the_provider_reports_corrects_the_estimate(agent, strict):
    def reply(messages):
        used = 2 * count_tokens_approximately(messages)
        usage = {"input_tokens": used, "output_tokens": 100, "total_tokens": used + 100}
        return AIMessage(answered(messages), usage_metadata=usage)

    model = strict(reply)
    talked(agent(model, max_tokens=8_000, recall=False, read_tool=False, tools=()), range(40))
    assert any(map(by_compaction, model.shown[-1]))
    assert max(2 * count_tokens_approximately(shown) for shown in model.shown) < 8_000


# beside other middleware


def test_messages_that_others_remove_leave_a_valid_context(memory, agent, strict):
    class Forgetful(AgentMiddleware):
        def before_model(self, state, runtime):
            old = state["messages"][:-9] if len(state["messages"]) > 12 else []
            return {"messages": [RemoveMessage(message.id) for message in old]} if old else None

    most = LIMIT // 2
    model = strict(answered, max_tokens=most)
    talked(agent(model, before=[Forgetful()], max_tokens=most, read_tool=False), range(24))
    assert sum(any(map(by_compaction, shown)) for shown in model.shown) > 10
    assert [episode.query for episode in memory.episodes.list(thread="one")] == [question(n) for n in range(24)]


def looks_up_first(messages):
    if messages[-1].type == "tool":
        return answered(messages)
    number = re.findall(r"Question (\d+)", "".join(texts(messages)))[-1]
    return looked_up(number, "Evans")


@pytest.mark.parametrize("place", ["before", "after"])
def test_outputs_that_others_cleared_stay_in_the_memory_and_make_no_other_turn(memory, agent, strict, place):
    editing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=600, keep=1, clear_tool_inputs=True)])
    most = LIMIT * 5 // 4
    model = strict(looks_up_first, max_tokens=most)
    talked(agent(model, max_tokens=most, **{place: [editing]}), range(14))
    episodes = memory.episodes.list(thread="one")
    assert [episode.query for episode in episodes] == [question(n) for n in range(14)]
    assert {call.result for episode in episodes for call in episode.tool_calls} == {look_up.invoke({"what": "Evans"})}
    ids = [summary.id for shown in model.shown for summary in shown[:1] if by_compaction(summary)]
    assert len(ids) > 10
    assert len(set(ids)) < len(ids) / 2
    assert any("[cleared]" in message.text for shown in model.shown for message in shown)


def test_notices_of_others_stay_and_are_not_recorded(memory, agent, strict):
    notice = HumanMessage("Summary of yesterday: it rained.", id="n", additional_kwargs={"lc_source": "summarization"})

    class Notes(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request.override(messages=[notice, *request.messages]))

    model = strict(answered, max_tokens=LIMIT)
    talked(agent(model, before=[Notes()]), range(12))
    assert any(map(by_compaction, model.shown[-1]))
    assert all(notice in shown for shown in model.shown)
    assert "it rained" not in str(memory.episodes.list())


CONTENTS = st.sampled_from(
    ["", " \n", "Hm?", f"Well {'so ' * 200}", [], [{"type": "reasoning", "reasoning": "Let me see."}, "and so on"],
     [{"type": "text", "text": "What is that?"}, {"type": "image_url", "image_url": {"url": "https://e.org/a"}}]]
)  # fmt: skip
IDS = st.one_of(st.none(), st.uuids().map(str))


@st.composite
def histories(draw):
    """Messages as agents and other middleware leave them: parallel calls, missing results, notices, no ids."""
    messages = []
    for number in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["turn", "turn", "turn", "loop", "system", "notice", "cut off", "other"]))
        mark = {"additional_kwargs": {"lc_source": "somebody"}} if kind == "notice" else {}
        alone = {"system": SystemMessage, "notice": HumanMessage, "other": partial(ChatMessage, role="narrator")}
        if kind in alone:
            messages.append(alone[kind](draw(CONTENTS), id=draw(IDS), **mark))
            continue
        messages.append(HumanMessage(draw(CONTENTS), id=draw(IDS)))
        for step in range({"loop": 3, "cut off": 1}.get(kind, 0)):
            calls = [{"name": "look_up", "args": {"what": "Evans"}, "id": f"{number}-{step}-{n}"} for n in range(2)]
            messages.append(AIMessage(draw(CONTENTS), tool_calls=calls, id=draw(IDS)))
            kept = calls if kind == "loop" else calls[:1]
            messages += [ToolMessage(draw(CONTENTS), tool_call_id=call["id"], id=draw(IDS)) for call in kept]
        if kind != "cut off":
            messages.append(AIMessage(draw(CONTENTS), id=draw(IDS)))
    return [*messages, HumanMessage("And now?", id="now")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(histories(), st.sampled_from([900, 1_500, 100_000]), st.sampled_from(["tool", "human"]), st.uuids())
def test_every_view_of_any_history_is_whole(memory, history, limit, restore_as, name):
    """That it refuses none without need is shown of the core, which knows what cannot be shortened."""
    node, before = CompactionNode(memory, max_tokens=limit, restore_as=restore_as), copy.deepcopy(history)
    try:
        view = node.invoke({"messages": history}, thread(str(name)))["llm_input_messages"]
    except ContextOverflow:
        assert sum(size_of(message).tokens for message in history) > 0.6 * limit
        return
    assert history == before
    assert sum(size_of(message).tokens for message in view) <= limit
    given = {id(message): position for position, message in enumerate(history)}
    kept = [given[id(message)] for message in view if not by_compaction(message)]
    assert len(set(kept)) == len(kept)
    assert all(history[position] in view for position, m in enumerate(history) if m.type in ("system", "chat"))
    if len(kept) == len(view):
        assert kept == list(range(len(history)))
    else:
        lost = [m for position, m in enumerate(history) if position not in set(kept) and isinstance(m, HumanMessage)]
        recorded = [message.text for episode in memory.episodes.list(thread=str(name)) for message in episode.messages]
        assert all(text_of(message).strip() in "\n".join(recorded) for message in lost)
    assert node.invoke({"messages": history}, thread(str(name)))["llm_input_messages"] == view


# a provider that refuses


async def test_after_an_overflow_the_model_is_called_once_more_with_less(agent, strict, run):
    model = strict(answered)
    app = agent(model, max_tokens=100_000)
    for number in range(8):
        await run(app, user(question(number)), thread("one"))
    model.replies = [*[answered] * 8, ContextOverflowError("too much"), answered, *[ContextOverflowError("still")] * 3]
    result = await run(app, user(question(8)), thread("one"))
    refused, smaller = model.shown[8:]
    assert result["messages"][-1].text == answer(8)
    assert count_tokens_approximately(smaller) <= 0.7 * count_tokens_approximately(refused)
    assert smaller[-1].text.endswith(question(8))
    for asked, calls in ((question(9), 2), ("Tell me all. " * 200, 1)):  # the second cannot be shortened
        before = len(model.shown)
        with pytest.raises(ContextOverflowError, match="still"):
            await run(app, user(asked), thread("one" if calls == 2 else "new"))
        assert len(model.shown) == before + calls
    model.replies = [ValueError("no such model")]
    with pytest.raises(ValueError, match="no such model"):
        await run(app, user("Hi."), thread("other"))
    assert len(model.shown) == 14


# what the agent and the user get


def test_the_agent_can_follow_a_citation(agent, strict):
    def reply(messages):
        if messages[-1].type == "tool":
            return "I have read it."
        if "Question 25" not in messages[-1].text:
            return answered(messages)
        cited = CITED.findall(summary_of(messages))[0]
        return AIMessage("", tool_calls=[{"name": "read_episode", "args": {"citation": f"[ep:{cited}]"}, "id": "r1"}])

    result = talked(agent(strict(reply, max_tokens=LIMIT)), range(26))
    assert result["messages"][-1].text == "I have read it."
    assert any(question(n).strip() in result["messages"][-2].text for n in range(14))


EVENT = "id stage tokens_before tokens_after bytes_before bytes_after dropped citations files summariser fallback"


def test_the_stream_is_told_of_every_rebuilt_context_once(agent, strict):
    model = strict(answered, max_tokens=LIMIT)
    told = told_of(agent(model), range(20))
    assert len({event["id"] for event in told}) == len(told) > 1
    assert all(event["tokens_before"] > event["tokens_after"] > 0 for event in told)
    assert all(event["dropped"] and event["citations"] and event["summariser"] == "extractive" for event in told)
    assert len(told) < 16
    assert told[0].keys() == set(EVENT.split())
