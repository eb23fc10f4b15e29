import re
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.managed import RemainingSteps
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from langchain_tidal import reserved
from langchain_tidal.messages import by_compaction
from langgraph_tidal import CompactionNode, RecallNode, RecordNode, TidalState, model_input, tidal_pre_model_hook
from tests.compaction.oracle import reached
from tidal_plugins import HashingEmbedder, InvalidInput, TidalMemory
from tidal_plugins.errors import ContextOverflow

MARK = "<tidal-memory>"
LIMIT = 2_000


def thread(name, **configurable):
    return {"configurable": {"thread_id": name, **configurable}, "recursion_limit": 1_000}


def user(text, **fields):
    return {"messages": [HumanMessage(text, **fields)]}


def question(number):
    return f"Question {number}: what did we decide about the {number}. movement of the jazz piano suite, and why? " * 2


def answer(number):
    return f"We decided to play movement {number} at {60 + number} beats per minute, because it swings. " * 4


def asked(messages):
    return int(re.findall(r"Question (\d+)", "".join(m.text for m in messages if m.type == "human"))[-1])


def answered(messages):
    return answer(asked(messages))


def looks_up(messages):
    """Two calls of a tool at once, then the answer."""
    number = asked(messages)
    if messages[-1].type == "tool":
        return answer(number)
    calls = [{"name": "look_up", "args": {"what": name}, "id": f"{name}-{number}"} for name in ("Evans", "Monk")]
    return AIMessage("I look it up.", tool_calls=calls)


def texts(messages):
    return [message.text for message in messages]


@tool
def look_up(what: str) -> str:
    """Look something up."""
    return f"On {what} the archive says: {what} was played in {1900 + len(what)}. " * 4


def graph_of(memory, model, *, state=TidalState, back_to="compact", before_tools=None, scope=None, **options):
    """The order of the documentation: compact, recall, model, tools, and back."""
    options = {"max_tokens": LIMIT, **options}
    graph = StateGraph(state)
    graph.add_node("compact", CompactionNode(memory, scope=scope, **options))
    graph.add_node("recall", RecallNode(memory, scope=scope))
    graph.add_node("model", lambda state: {"messages": [model.invoke(model_input(state))]})
    graph.add_node("approve", before_tools or (lambda state: {}))
    graph.add_node("tools", ToolNode([look_up]))
    graph.add_node("record", RecordNode(memory, scope=scope))
    graph.add_edge(START, "compact").add_edge("compact", "recall").add_edge("recall", "model")
    graph.add_conditional_edges("model", tools_condition, {"tools": "approve", END: "record"})
    return graph.add_edge("approve", "tools").add_edge("tools", back_to)


@pytest.fixture
def graph(memory):
    def make(model, **options):
        return graph_of(memory, model, **options).compile(checkpointer=InMemorySaver())

    return make


def talked(app, turns, name="one"):
    for number in turns:
        result = app.invoke(user(question(number), id=f"h{number}"), thread(name))
    return result


def history(turns):
    return [
        message
        for number in range(turns)
        for message in (HumanMessage(question(number), id=f"h{number}"), AIMessage(answer(number), id=f"a{number}"))
    ]


# what the model sees, and what is kept


def test_a_react_loop_stays_within_the_limit_and_its_history_whole(memory, graph, strict):
    model = strict(looks_up, max_tokens=LIMIT)
    app = graph(model)
    result = talked(app, range(20))
    assert any(map(by_compaction, model.shown[-1]))
    kept = app.get_state(thread("one")).values["messages"]
    assert kept == result["messages"]
    assert len(kept) == 20 * 5
    assert not any(map(by_compaction, kept))
    episodes = memory.episodes.list(thread="one")
    assert [episode.query for episode in episodes] == [question(number) for number in range(20)]
    assert [len(episode.tool_calls) for episode in episodes] == [2] * 20


async def test_async_does_the_same(memory, graph, strict):
    model = strict(looks_up, max_tokens=LIMIT)
    app = graph(model)
    for number in range(20):
        await app.ainvoke(user(question(number), id=f"h{number}"), thread("one"))
    assert any(map(by_compaction, model.shown[-1]))
    assert len(app.get_state(thread("one")).values["messages"]) == 100
    assert [episode.query for episode in memory.episodes.list(thread="one")] == [question(n) for n in range(20)]


def test_a_short_history_is_the_view_and_the_view_is_never_empty(memory):
    messages = [HumanMessage("Hi.", id="h1")]
    assert CompactionNode(memory).invoke({"messages": messages}) == {"llm_input_messages": messages}


def test_no_checkpoint_contains_what_compaction_wrote(memory, strict):
    saver, model = InMemorySaver(), strict(looks_up, max_tokens=LIMIT)
    app = graph_of(memory, model).compile(checkpointer=saver)
    talked(app, range(12))
    assert any(map(by_compaction, model.shown[-1]))
    assert "tidal_compaction" not in repr((dict(saver.storage), dict(saver.blobs), dict(saver.writes)))


def test_the_ongoing_request_survives_a_long_tool_loop(memory, graph, strict):
    steps = [
        AIMessage(f"Step {n}.", tool_calls=[{"name": "look_up", "args": {"what": "Evans"}, "id": f"call-{n}"}])
        for n in range(60)
    ]
    model = strict(*steps, "All of it is told.", max_tokens=LIMIT)
    request = "Question 1: look up everything that there is, step by step."
    result = graph(model).invoke(user(request, id="h1"), thread("loop"))
    assert result["messages"][-1].text == "All of it is told."
    assert all(any(m.text.endswith(request) for m in shown if m.type == "human") for shown in model.shown)
    (episode,) = memory.episodes.list(thread="loop")
    assert len(episode.tool_calls) == 60


def test_another_process_goes_on_from_the_checkpoint(path, tmp_path, strict):
    shown = []
    for part in range(3):
        model = strict(looks_up, max_tokens=LIMIT)
        with (
            TidalMemory(path, embedder=HashingEmbedder()) as memory,
            SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as saver,
        ):
            app = graph_of(memory, model).compile(checkpointer=saver)
            result = talked(app, range(part * 8, part * 8 + 8))
            shown.append(model.shown)
    assert len(result["messages"]) == 24 * 5
    ids = [[m.id for m in messages if by_compaction(m)] for messages in (shown[1][-1], shown[2][0])]
    assert ids[0] == ids[1] != []


def test_a_fork_of_the_past_does_not_see_what_came_later(graph, strict):
    model = strict(answered, max_tokens=LIMIT)
    app = graph(model)
    talked(app, range(8))
    past = app.get_state(thread("one")).config
    talked(app, range(8, 30))
    app.invoke(user("Question 8: is that all?"), past)
    assert "movement 20" not in str(model.shown[-1])
    assert "Question 20" not in str(model.shown[-1])


def test_it_counts_what_the_model_s_node_adds(memory):
    prompt = "Be kind. " * 500
    node = CompactionNode(memory, max_tokens=LIMIT, reserved=reserved(prompt, [look_up]))
    view = node.invoke({"messages": [*history(6), HumanMessage(question(6))]}, thread("one"))["llm_input_messages"]
    assert any(map(by_compaction, view))
    assert count_tokens_approximately([SystemMessage(prompt), *view], tools=[look_up]) <= LIMIT
    bare = CompactionNode(memory, max_tokens=LIMIT)
    view = bare.invoke({"messages": [*history(6), HumanMessage(question(6))]}, thread("two"))["llm_input_messages"]
    assert not any(map(by_compaction, view))


def test_usage_in_the_history_corrects_the_estimate(memory):
    node = CompactionNode(memory, max_tokens=8_000)
    messages, views = [], []
    for number in range(60):
        messages.append(HumanMessage(question(number), id=f"h{number}"))
        view = node.invoke({"messages": messages}, thread("one"))["llm_input_messages"]
        views.append(count_tokens_approximately(view))
        usage = {"input_tokens": 2 * views[-1], "output_tokens": 9, "total_tokens": 2 * views[-1] + 9}
        messages.append(AIMessage(answer(number), id=f"a{number}", usage_metadata=usage))
    assert max(views) < 4_000


@pytest.mark.parametrize("limits", [{"max_tokens": 0}, {"max_bytes": -1}])
def test_a_limit_that_is_none_is_refused(memory, limits):
    with pytest.raises(InvalidInput, match="must be a whole number of at least 1"):
        CompactionNode(memory, **limits).invoke({"messages": history(1)})


def test_no_messages_are_no_context_to_rebuild(memory):
    assert CompactionNode(memory).invoke({"messages": []}) == {"llm_input_messages": []}


def test_what_cannot_be_shortened_is_a_typed_error(graph, strict):
    with pytest.raises(ContextOverflow):
        graph(strict("No."), max_tokens=1_000).invoke(user("Tell me all. " * 1_000), thread("one"))


def test_a_scope_by_user_keeps_users_apart(memory, strict):
    def scope(context, config):
        return ("user", config["configurable"]["user"])

    model = strict(answered, max_tokens=LIMIT)
    app = graph_of(memory, model, scope=scope).compile(checkpointer=InMemorySaver())
    for number in range(15):
        app.invoke(user(question(number)), thread("one", user="ada"))
    assert any(map(by_compaction, model.shown[-1]))
    assert memory.episodes.list() == []
    assert len(memory.scoped("user", "ada").episodes.list()) == 15


# other states


class Pydantic(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]
    llm_input_messages: list[AnyMessage] = []
    recalled: Any = None


@dataclass
class Plain:
    messages: Annotated[list[AnyMessage], add_messages]
    llm_input_messages: list[AnyMessage] = field(default_factory=list)
    recalled: Any = None


@pytest.mark.parametrize("state", [Pydantic, Plain])
def test_other_kinds_of_state_do_too(memory, graph, strict, state):
    model = strict(answered, max_tokens=LIMIT)
    app = graph(model, state=state)
    talked(app, range(20))
    assert any(map(by_compaction, model.shown[-1]))
    assert [episode.query for episode in memory.episodes.list(thread="one")] == [question(n) for n in range(20)]


def test_the_messages_may_stand_elsewhere(memory):
    node = CompactionNode(memory, max_tokens=LIMIT, input_messages_key="talk")
    update = node.invoke({"talk": [*history(20), HumanMessage(question(20))]}, thread("one"))
    assert any(map(by_compaction, update["llm_input_messages"]))


def test_a_state_without_messages_and_an_unknown_output_are_refused(memory):
    with pytest.raises(InvalidInput, match="input_messages_key"):
        CompactionNode(memory).invoke({"talk": []})
    with pytest.raises(InvalidInput, match="output_messages_key"):
        CompactionNode(memory, output_messages_key="summary")


# with recall


def test_recall_builds_on_the_compacted_view(memory, graph, strict):
    memory.record(user="My cat Thelonious fears the vacuum cleaner.", agent="Noted.", thread="old")
    model, asked = strict(looks_up, max_tokens=LIMIT), "What is my cat called, and what does the cat fear?"
    app = graph(model)
    talked(app, range(19))
    app.invoke(user(asked, id="h19"), thread("one"))
    for shown in model.shown[-2:]:
        assert any(map(by_compaction, shown))
        whispered = [message for message in shown if MARK in message.text]
        assert [message.text.endswith(asked) for message in whispered] == [True]


def test_a_turn_that_was_left_out_can_come_back_by_recall(memory, graph, strict):
    model = strict(answered, max_tokens=LIMIT)
    app = graph(model)
    app.invoke(user("Question 0: my cat is called Thelonious, and fears the vacuum cleaner.", id="h0"), thread("one"))
    talked(app, range(1, 20))
    app.invoke(user("Question 20: what is my cat called, and what does the cat fear?"), thread("one"))
    assert "Thelonious" in model.shown[-1][-1].text


def view_of(memory, turns=20):
    """A state as compaction and recall leave it."""
    state = {"messages": [*history(turns), HumanMessage(question(turns), id="now")]}
    state |= CompactionNode(memory, max_tokens=LIMIT).invoke(state, thread("one"))
    return state | RecallNode(memory).invoke(state, thread("one"))


def test_the_model_s_input_has_what_was_added_since(memory):
    state = view_of(memory)
    before = model_input(state)
    call = AIMessage("", id="c", tool_calls=[{"name": "look_up", "args": {"what": "Evans"}, "id": "c1"}])
    state["messages"] = [*state["messages"], call]
    assert any(map(by_compaction, before))
    assert model_input(state) == [*before, call]


def test_the_model_s_input_has_the_current_version_of_an_edited_message(memory):
    state = view_of(memory)
    edited = HumanMessage("Question 20: never mind.", id="now")
    state["messages"] = add_messages(state["messages"], [edited])
    assert model_input(state)[-1] == edited
    assert by_compaction(model_input(state)[0])


def test_the_model_s_input_has_nothing_that_was_removed(memory):
    state = view_of(memory)
    shown = [message.id for message in model_input(state) if not by_compaction(message)]
    state["messages"] = add_messages(state["messages"], [RemoveMessage(id="h19")])
    assert "h19" in shown
    assert [m.id for m in model_input(state) if not by_compaction(m)] == [id_ for id_ in shown if id_ != "h19"]


def test_another_history_takes_the_place_of_the_compacted_one(memory):
    state = view_of(memory)
    state["messages"] = [HumanMessage("Let us begin anew.", id="new")]
    assert model_input(state) == state["messages"]


def test_whispers_of_earlier_turns_do_not_survive(memory):
    memory.record(user="I practise the jazz piano suite on Sundays.", agent="Noted.", thread="old")
    state = view_of(memory)
    assert MARK in state["llm_input_messages"][-1].text
    state["messages"] += [AIMessage(answer(20), id="a20"), HumanMessage("Question 21: thanks?", id="then")]
    state |= RecallNode(memory).invoke(state, thread("one"))
    assert by_compaction(state["llm_input_messages"][0])
    assert MARK not in "".join(texts(model_input(state)[:-1]))


@pytest.mark.parametrize("back_to", ["model", "recall", "compact"])
def test_tools_may_lead_back_anywhere(memory, graph, strict, back_to):
    model = strict(looks_up, max_tokens=LIMIT + 300)
    talked(graph(model, back_to=back_to), range(20))
    assert any(map(by_compaction, model.shown[-1]))
    assert len(model.shown[-1]) == len(model.shown[-2]) + 3
    assert [len(episode.tool_calls) for episode in memory.episodes.list(thread="one")] == [2] * 20


def test_after_an_interrupt_the_tools_lead_back_to_the_same_context(memory, graph, strict):
    def approve(state):
        interrupt("May I?")
        return {}

    model = strict(*[answered] * 16, looks_up, max_tokens=LIMIT)
    app = graph(model, before_tools=approve)
    talked(app, range(17))
    result = app.invoke(Command(resume=True), thread("one"))
    assert result["messages"][-1].text == answer(16)
    before, after = model.shown[-2:]
    assert any(map(by_compaction, before))
    assert after[: len(before)] == before


# streams


def test_the_custom_stream_is_told_of_every_rebuilt_context_once(graph, strict):
    app = graph(strict(looks_up, max_tokens=LIMIT))
    told = []
    for number in range(20):
        parts = app.stream(user(question(number)), thread("one"), stream_mode="custom")
        told += [part["tidal_compaction"] for part in parts if "tidal_compaction" in part]
    assert told
    assert len({event["id"] for event in told}) == len(told) < 20


@pytest.mark.parametrize("output", ["llm_input_messages", "messages"])
def test_the_stream_of_messages_shows_nothing_that_compaction_wrote(graph, strict, says, output):
    summariser = says(lambda messages: f"It swings. [ep:{re.search('ep:([0-9a-z]+)', messages[-1].text)[1]}]")
    model = strict(answered, max_tokens=LIMIT)
    app = graph(model, output_messages_key=output, summariser=summariser)
    streamed = []
    for number in range(20):
        streamed += app.stream(user(question(number)), thread("one"), stream_mode="messages")
    assert any("It swings." in message.text for message in model.shown[-1])
    assert [message.text for message, _ in streamed] == [answer(number) for number in range(20)]


# rewriting the history


def test_rewriting_messages_is_opt_in_and_happens_when_a_context_was_rebuilt(memory, graph, strict):
    model = strict(looks_up, max_tokens=LIMIT)
    app = graph(model, output_messages_key="messages")
    lengths = [len(talked(app, [number])["messages"]) for number in range(20)]
    assert max(lengths) < 40
    assert any(map(by_compaction, app.get_state(thread("one")).values["messages"]))
    episodes = memory.episodes.list(thread="one")
    assert [episode.query for episode in episodes] == [question(number) for number in range(20)]
    assert [len(episode.tool_calls) for episode in episodes] == [2] * 20


def test_a_rewritten_history_that_fits_is_left_alone(memory):
    node = CompactionNode(memory, max_tokens=LIMIT, output_messages_key="messages")
    messages = [*history(20), HumanMessage(question(20), id="now")]
    remove, *rewritten = node.invoke({"messages": messages}, thread("one"))["messages"]
    assert isinstance(remove, RemoveMessage)
    assert any(map(by_compaction, rewritten))
    assert node.invoke({"messages": rewritten}, thread("one")) == {}
    again = node.invoke({"messages": messages}, thread("one"))["messages"]  # a retry, whose first try was not kept
    assert again == [remove, *rewritten]
    fresh = CompactionNode(memory, max_tokens=LIMIT, output_messages_key="messages")
    assert fresh.invoke({"messages": rewritten}, thread("one")) == {}


def test_the_citations_of_a_rewritten_history_survive_the_next_compactions(memory, graph, strict):
    app = graph(strict(answered, max_tokens=LIMIT), output_messages_key="messages")
    talked(app, range(30))
    messages = app.get_state(thread("one")).values["messages"]
    told = reached(memory, "\n".join(m.text for m in messages if by_compaction(m)))
    shown = {memory.episodes.id_of(m.id, thread="one") for m in messages if m.type == "human" and m.id.startswith("h")}
    assert len(shown) < 20
    assert told | shown == {episode.id for episode in memory.episodes.list(thread="one")}


def test_rewriting_needs_a_thread(memory):
    node = CompactionNode(memory, max_tokens=LIMIT, output_messages_key="messages")
    for given in (history(1), [*history(20), HumanMessage(question(20))]):
        with pytest.raises(InvalidInput, match="thread_id"):
            node.invoke({"messages": given})
    assert memory.episodes.list() == []
    assert CompactionNode(memory, max_tokens=LIMIT).invoke({"messages": history(20)})["llm_input_messages"]


def stepping(steps, then):
    """A model that calls a tool ``steps`` times, one call at a time, and then answers."""
    done = iter(range(steps))

    def reply(messages):
        number = next(done, None)
        if number is None:
            return then
        call = {"name": "look_up", "args": {"what": f"record {number}x"}, "id": f"look-{number}"}
        return AIMessage(f"Step {number}.", tool_calls=[call])

    return reply


REQUEST = "Look up all the records of Evans, one by one."


def test_the_folds_of_a_rewritten_turn_add_up(memory, graph, strict):
    model = strict(stepping(60, "All of it is told."), max_tokens=LIMIT)
    app = graph(model, output_messages_key="messages")
    result = app.invoke(user(REQUEST, id="h0"), thread("one"))
    folds = [[m for m in shown if by_compaction(m) and m.id.endswith("-fold")] for shown in model.shown]
    assert max(map(len, folds)) == 1
    assert len({fold[0].id for fold in folds if fold}) > 2
    assert all(any(m.type == "human" and m.text.endswith(REQUEST) for m in shown) for shown in model.shown)
    written = list(dict.fromkeys(fold[0].text for fold in folds if fold))
    counts = [int(re.search(r"look_up ×(\d+)", text)[1]) for text in written]
    assert counts == sorted(set(counts))
    assert counts[-1] > 2 * counts[0] > 20
    first, last = ({int(n) for n in re.findall(r"record (\d+)x", written[place])} for place in (0, -1))
    assert first & last
    assert max(last) > counts[-2]
    assert "All of it is told." in texts(result["messages"])
    (episode,) = memory.episodes.list(thread="one")
    assert [call.arguments["what"] for call in episode.tool_calls] == [f"record {n}x" for n in range(60)]


def test_a_rewritten_turn_whose_state_is_lost_keeps_its_request_and_goes_on(memory, graph, strict):
    """Forgetting one message of the thread takes the state, which may quote it, with it."""

    def forget(state):
        if len(model.shown) == 30:
            [episode] = memory.episodes.list(thread="one")
            assert memory.forget(episode.entries[2]).count == 1
        return {}

    model = strict(stepping(60, "All of it is told."), max_tokens=LIMIT)
    app = graph(model, output_messages_key="messages", before_tools=forget)
    result = app.invoke(user(REQUEST, id="h0"), thread("one"))
    assert result["messages"][-1].text == "All of it is told."
    for number, shown in enumerate(model.shown):
        assert any(m.type == "human" and m.text.endswith(REQUEST) for m in shown), number
        assert number == 0 or f"record {number - 1}x" in shown[-1].text
    (episode,) = memory.episodes.list(thread="one")
    assert len(episode.tool_calls) == 60


def test_a_rewritten_history_led_back_sees_nothing_of_the_branch_that_it_left(graph, strict):
    model = strict(answered, max_tokens=LIMIT)
    app = graph(model, output_messages_key="messages")
    for number in range(30):
        app.invoke(user(question(number), id=f"h{number}"), thread("one"))
        if number == 20:
            past = app.get_state(thread("one")).config
    assert any(map(by_compaction, app.get_state(past).values["messages"]))
    app.invoke(user("Question 21: what came before?", id="fork"), past)
    context = [re.sub(f"{MARK}.*?</tidal-memory [^>]*>", "", text, flags=re.DOTALL) for text in texts(model.shown[-1])]
    numbers = {int(number) for number in re.findall(r"(?:Question|movement) (\d+)", "".join(context))}
    assert 20 in numbers
    assert max(numbers) == 21
    assert context[-1].endswith("what came before?")


# a provider that refuses


async def test_a_guarded_model_is_called_once_more_with_less(memory, strict):
    node = CompactionNode(memory, max_tokens=100_000)
    model = strict(ContextOverflowError("too much"), answered, ContextOverflowError("too much"), answered)
    messages = [*history(20), HumanMessage(question(20), id="now")]
    assert node.guard(model).invoke(messages, thread("one")).text == answer(20)
    assert (await node.guard(model).ainvoke(messages, thread("two"))).text == answer(20)
    refused, smaller, *_ = model.shown
    assert refused == messages
    assert smaller[-1] is messages[-1] or smaller[-1] == messages[-1]
    assert count_tokens_approximately(smaller) <= 0.7 * count_tokens_approximately(refused)


def test_a_guarded_model_raises_a_second_overflow_and_other_errors(memory, strict):
    messages = [*history(20), HumanMessage(question(20), id="now")]
    twice, other = strict(ContextOverflowError("too much")), strict(ValueError("no such model"))
    with pytest.raises(ContextOverflowError):
        CompactionNode(memory).guard(twice).invoke(messages, thread("one"))
    assert len(twice.shown) == 2
    with pytest.raises(ValueError, match="no such model"):
        CompactionNode(memory).guard(other).invoke(messages, thread("one"))
    assert len(other.shown) == 1


def test_a_guarded_model_takes_what_models_take(memory, strict):
    model = strict("Hello.")
    guarded = CompactionNode(memory).guard(model.bind_tools([look_up]))
    for given in ("Hi.", [("user", "Hi.")], [HumanMessage("Hi.")]):
        assert guarded.invoke(given, thread("one")).text == "Hello."


def test_a_guarded_model_in_a_graph_recovers_from_what_compaction_had_not_seen(memory, strict):
    model = strict(*[answered] * 20, ContextOverflowError("too much"), answered)
    node = CompactionNode(memory, max_tokens=LIMIT)
    guarded = node.guard(model)
    graph = StateGraph(TidalState)
    graph.add_node("compact", node)
    graph.add_node("recall", RecallNode(memory))
    graph.add_node("model", lambda state: {"messages": [guarded.invoke(model_input(state))]})
    graph.add_node("record", RecordNode(memory))
    graph.add_edge(START, "compact").add_edge("compact", "recall").add_edge("recall", "model").add_edge(
        "model", "record"
    )
    app = graph.compile(checkpointer=InMemorySaver())
    result = talked(app, range(21))
    refused, smaller = model.shown[-2:]
    assert result["messages"][-1].text == answer(20)
    assert any(map(by_compaction, refused))
    assert any(map(by_compaction, smaller))
    assert count_tokens_approximately(smaller) < count_tokens_approximately(refused)
    assert smaller[-1].text.endswith(question(20))
    assert [episode.query for episode in memory.episodes.list(thread="one")] == [question(n) for n in range(21)]


# create_react_agent


class AgentState(TidalState):
    remaining_steps: RemainingSteps


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("state", [None, AgentState])
def test_a_prebuilt_agent_compacts_in_its_hook(memory, strict, state):
    from langgraph.prebuilt import create_react_agent

    model = strict(looks_up, max_tokens=LIMIT)
    compact = CompactionNode(memory, max_tokens=LIMIT, reserved=reserved("Be kind.", [look_up]))
    hook = tidal_pre_model_hook(memory, compact=compact)
    options = {"pre_model_hook": hook, "post_model_hook": RecordNode(memory), "state_schema": state}
    app = create_react_agent(model, [look_up], prompt="Be kind.", checkpointer=InMemorySaver(), **options)
    result = talked(app, range(20))
    assert any(map(by_compaction, model.shown[-1]))
    assert len(result["messages"]) == 100
    assert [episode.query for episode in memory.episodes.list(thread="one")] == [question(n) for n in range(20)]
