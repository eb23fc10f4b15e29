import re

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.prompt_values import ChatPromptValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from langchain_tidal import reserved
from langchain_tidal.messages import by_compaction
from langgraph_tidal import CompactionNode, RecallNode, model_input, tidal_pre_model_hook
from tests.frameworks.conftest import MARK, checkpointed, graph_of, texts, thread, user
from tests.frameworks.test_compaction import LIMIT, answer, look_up, question
from tidal_plugins import ContextOverflow, InvalidInput


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


@pytest.fixture
def graph(memory):
    """The order of the documentation: compact, recall, model, tools, and back."""

    def make(model, *, back_to="compact", before_tools=None, saver=None, guard=False, **options):
        state = {"state": options.pop("state")} if "state" in options else {}
        compact = CompactionNode(memory, **{"max_tokens": LIMIT, **options})
        guarded = compact.guard(model)
        node = (lambda state: {"messages": [guarded.invoke(model_input(state))]}) if guard else model
        tools = {"tools": [look_up], "back_to": back_to, "before_tools": before_tools, **state}
        return graph_of(memory, node, first=[("compact", compact)], **tools).compile(saver or InMemorySaver())

    return make


def talked(app, turns):
    for number in turns:
        result = app.invoke(user(question(number), id=f"h{number}"), thread("one"))
    return result


def history(turns):
    return [
        message
        for number in range(turns)
        for message in (HumanMessage(question(number), id=f"h{number}"), AIMessage(answer(number), id=f"a{number}"))
    ]


# what the model sees, and what is kept


def test_a_short_history_is_the_view_and_the_view_is_never_empty(memory):
    messages = [HumanMessage("Hi.", id="h1")]
    assert CompactionNode(memory).invoke({"messages": messages}) == {"llm_input_messages": messages}
    assert CompactionNode(memory).invoke({"messages": []}) == {"llm_input_messages": []}
    elsewhere = CompactionNode(memory, max_tokens=LIMIT, input_messages_key="talk")
    update = elsewhere.invoke({"talk": [*history(12), HumanMessage(question(12))]}, thread("one"))
    assert any(map(by_compaction, update["llm_input_messages"]))


def test_no_checkpoint_contains_what_compaction_wrote(graph, strict):
    saver, model = InMemorySaver(), strict(looks_up, max_tokens=LIMIT)
    talked(graph(model, saver=saver), range(8))
    assert any(map(by_compaction, model.shown[-1]))
    assert "tidal_compaction" not in checkpointed(saver)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_tokens": 0}, "must be a whole number of at least 1"),
        ({"max_bytes": -1}, "must be a whole number of at least 1"),
        ({"output_messages_key": "summary"}, "output_messages_key"),
        ({"output_messages_key": ""}, "output_messages_key"),
        ({"input_messages_key": ""}, "input_messages_key"),
        ({"input_messages_key": "talk"}, "input_messages_key"),
        ({"reserved": 7}, "reserved is a Size"),
        ({"colour": "red"}, "colour: no such option of a context"),
    ],
)
def test_what_it_cannot_work_with_is_refused(memory, options, reason):
    with pytest.raises(InvalidInput, match=reason):
        CompactionNode(memory, **options).invoke({"messages": history(1)})


def test_a_limit_that_is_none_is_refused_before_a_turn_comes(memory):
    for options in ({"max_tokens": "8k"}, {"max_bytes": 0}):
        with pytest.raises(InvalidInput, match="must be a whole number of at least 1"):
            CompactionNode(memory, **options)


def test_a_hook_is_made_of_nodes_that_leave_the_history(memory):
    rewriting = CompactionNode(memory, output_messages_key="messages")
    for wrong, reason in (
        ({"compact": 7}, "compact is a"),
        ({"capsule": 7}, "capsule is a"),
        ({"compact": rewriting}, "leaves the history"),
    ):
        with pytest.raises(InvalidInput, match=reason):
            tidal_pre_model_hook(memory, **wrong)


def test_it_counts_what_the_model_s_node_adds(memory):
    prompt = "Be kind. " * 500
    node = CompactionNode(memory, max_tokens=LIMIT, reserved=reserved(prompt, [look_up]))
    view = node.invoke({"messages": [*history(6), HumanMessage(question(6))]}, thread("one"))["llm_input_messages"]
    assert any(map(by_compaction, view))
    assert count_tokens_approximately([SystemMessage(prompt), *view], tools=[look_up]) <= LIMIT
    bare = CompactionNode(memory, max_tokens=LIMIT)
    view = bare.invoke({"messages": [*history(6), HumanMessage(question(6))]}, thread("two"))["llm_input_messages"]
    assert not any(map(by_compaction, view))


# with recall


def view_of(memory, turns=12, cache="sticky"):
    """A state as compaction and recall leave it."""
    state = {"messages": [*history(turns), HumanMessage(question(turns), id="now")]}
    state |= CompactionNode(memory, max_tokens=LIMIT).invoke(state, thread("one"))
    return state | RecallNode(memory, cache=cache).invoke(state, thread("one"))


CALL = AIMessage("", id="c", tool_calls=[{"name": "look_up", "args": {"what": "Evans"}, "id": "c1"}])
EDITED = HumanMessage("Question 12: never mind.", id="now")


def test_the_model_s_input_is_the_view_as_the_messages_are_now(memory):
    state = view_of(memory)
    messages, before = state["messages"], model_input(state)
    assert by_compaction(before[0])
    assert "h11" in [message.id for message in before]
    for change, expected in (
        ([CALL], [*before, CALL]),
        ([EDITED], [*before[:-1], EDITED]),
        ([RemoveMessage(id="h11")], [message for message in before if message.id != "h11"]),
    ):
        assert model_input({**state, "messages": add_messages(messages, change)}) == expected
    anew = [HumanMessage("Let us begin anew.", id="new")]
    assert model_input({**state, "messages": anew}) == anew


@pytest.mark.parametrize("cache", ["sticky", "tail", "turn"])
def test_whispers_of_earlier_turns_survive_if_they_shall(memory, cache):
    memory.record(user="I practise the jazz piano suite on Sundays.", agent="Noted.", thread="old")
    state = view_of(memory, cache=cache)
    asked = model_input(state)[-1].text
    assert MARK in asked
    state["messages"] += [AIMessage(answer(12), id="a12"), HumanMessage("Question 13: thanks?", id="then")]
    state |= RecallNode(memory, cache=cache).invoke(state, thread("one"))
    assert by_compaction(state["llm_input_messages"][0])
    whispered = [text for text in texts(model_input(state)[:-1]) if MARK in text]
    assert whispered == ([asked] if cache == "sticky" else [])


@pytest.mark.parametrize("back_to", ["model", "recall", "compact"])
def test_tools_may_lead_back_anywhere(memory, graph, strict, back_to):
    model = strict(looks_up, max_tokens=LIMIT + 300)
    talked(graph(model, back_to=back_to), range(12))
    assert any(map(by_compaction, model.shown[-1]))
    assert len(model.shown[-1]) == len(model.shown[-2]) + 3 or back_to == "compact"
    assert [len(episode.tool_calls) for episode in memory.episodes.list(thread="one")] == [2] * 12


def test_after_an_interrupt_the_tools_lead_back_to_the_same_context(memory, graph, strict):
    def approve(state):
        interrupt("May I?")
        return {}

    model = strict(*[answered] * 11, looks_up, max_tokens=LIMIT)
    app = graph(model, before_tools=approve)
    talked(app, range(12))
    result = app.invoke(Command(resume=True), thread("one"))
    assert result["messages"][-1].text == answer(11)
    before, after = model.shown[-2:]
    assert any(map(by_compaction, before))
    assert after[: len(before)] == before


# streams


@pytest.mark.parametrize("output", ["llm_input_messages", "messages"])
def test_the_stream_of_messages_shows_nothing_that_compaction_wrote(graph, strict, says, output):
    summariser = says(lambda messages: f"It swings. [ep:{re.search('ep:([0-9a-z]+)', messages[-1].text)[1]}]")
    model = strict(answered, max_tokens=LIMIT)
    app = graph(model, output_messages_key=output, summariser=summariser)
    streamed = []
    for number in range(12):
        streamed += app.stream(user(question(number)), thread("one"), stream_mode="messages")
    assert any("It swings." in message.text for message in model.shown[-1])
    assert [message.text for message, _ in streamed] == [answer(number) for number in range(12)]


# rewriting the history


def test_rewriting_messages_is_opt_in_and_happens_when_a_context_was_rebuilt(memory, graph, strict):
    model = strict(looks_up, max_tokens=LIMIT)
    app = graph(model, output_messages_key="messages")
    lengths = [len(talked(app, [number])["messages"]) for number in range(12)]
    assert max(lengths) < 40
    assert any(map(by_compaction, app.get_state(thread("one")).values["messages"]))
    episodes = memory.episodes.list(thread="one")
    assert [episode.query for episode in episodes] == [question(number) for number in range(12)]
    assert [len(episode.tool_calls) for episode in episodes] == [2] * 12


def test_a_rewritten_history_that_fits_is_left_alone(memory):
    node = CompactionNode(memory, max_tokens=LIMIT, output_messages_key="messages")
    messages = [*history(12), HumanMessage(question(12), id="now")]
    remove, *rewritten = node.invoke({"messages": messages}, thread("one"))["messages"]
    assert isinstance(remove, RemoveMessage)
    assert any(map(by_compaction, rewritten))
    assert node.invoke({"messages": rewritten}, thread("one")) == {}
    again = node.invoke({"messages": messages}, thread("one"))["messages"]  # a retry, whose first try was not kept
    assert again == [remove, *rewritten]
    fresh = CompactionNode(memory, max_tokens=LIMIT, output_messages_key="messages")
    assert fresh.invoke({"messages": rewritten}, thread("one")) == {}


def test_rewriting_needs_a_thread(memory):
    node = CompactionNode(memory, max_tokens=LIMIT, output_messages_key="messages")
    for given in (history(1), [*history(12), HumanMessage(question(12))]):
        with pytest.raises(InvalidInput, match="thread_id"):
            node.invoke({"messages": given})
    assert memory.episodes.list() == []
    assert CompactionNode(memory, max_tokens=LIMIT).invoke({"messages": history(12)})["llm_input_messages"]


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


def test_a_rewritten_turn_whose_state_is_lost_keeps_its_request_and_goes_on(memory, graph, strict):
    """Forgetting one message of the thread takes the state, which may quote it, with it."""

    def forget(state):
        if len(model.shown) == 15:
            [episode] = memory.episodes.list(thread="one")
            assert memory.forget(episode.entries[2]).count == 1
        return {}

    model = strict(stepping(30, "All of it is told."), max_tokens=LIMIT)
    app = graph(model, output_messages_key="messages", before_tools=forget)
    result = app.invoke(user(REQUEST, id="h0"), thread("one"))
    assert result["messages"][-1].text == "All of it is told."
    for number, shown in enumerate(model.shown):
        assert any(m.type == "human" and m.text.endswith(REQUEST) for m in shown), number
        assert number == 0 or f"record {number - 1}x" in shown[-1].text
    (episode,) = memory.episodes.list(thread="one")
    assert len(episode.tool_calls) == 30


def test_a_rewritten_history_led_back_sees_nothing_of_the_branch_that_it_left(graph, strict):
    model = strict(answered, max_tokens=LIMIT)
    app = graph(model, output_messages_key="messages")
    for number in range(16):
        app.invoke(user(question(number), id=f"h{number}"), thread("one"))
        if number == 10:
            past = app.get_state(thread("one")).config
    assert any(map(by_compaction, app.get_state(past).values["messages"]))
    app.invoke(user("Question 11: what came before?", id="fork"), past)
    context = [re.sub(f"{MARK}.*?</tidal-memory [^>]*>", "", text, flags=re.DOTALL) for text in texts(model.shown[-1])]
    numbers = {int(number) for number in re.findall(r"(?:Question|movement) (\d+)", "".join(context))}
    assert 10 in numbers
    assert max(numbers) == 11
    assert context[-1].endswith("what came before?")


# a provider that refuses


@pytest.mark.parametrize("given", ["messages", "pairs", "text", "prompt"])
async def test_a_guarded_model_is_called_once_more_with_less(memory, strict, run, given):
    node, messages = CompactionNode(memory, max_tokens=100_000), [*history(12), HumanMessage(question(12), id="now")]
    asked = {
        "messages": messages,
        "pairs": [(message.type, message.text) for message in messages],
        "text": "Hi.",
        "prompt": ChatPromptValue(messages=messages),
    }[given]
    model = strict(ContextOverflowError("too much"), "Hello.", *[ContextOverflowError("still")] * 2)
    guarded = node.guard(model.bind_tools([look_up]))
    if given == "text":  # nothing can be left out of it
        with pytest.raises(ContextOverflowError, match="too much"):
            await run(guarded, asked, thread("one"))
        assert len(model.shown) == 1
        assert (await run(guarded, asked, thread("one"))).text == "Hello."
        return
    assert (await run(guarded, asked, thread("one"))).text == "Hello."
    refused, smaller = model.shown
    assert texts(refused) == texts(messages)
    assert smaller[-1].text == messages[-1].text
    assert count_tokens_approximately(smaller) <= 0.7 * count_tokens_approximately(refused)
    with pytest.raises(ContextOverflowError, match="still"):
        await run(guarded, asked, thread("two"))
    assert len(model.shown) == 4
    for error in (ValueError("no such model"), ContextOverflow("the turn exceeds the maximum context length")):
        other = strict(error)
        with pytest.raises(type(error)):
            await run(node.guard(other), asked, thread("three"))
        assert len(other.shown) == 1
