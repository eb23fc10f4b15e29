"""What the frameworks share of compaction, told of each door: contexts stay within their limit, and nothing is lost."""

from __future__ import annotations

import itertools
import re

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from tests.frameworks.conftest import MARK, only, queries
from tidal_plugins.errors import ContextOverflow

LIMIT = 1_500
CITED = re.compile(r"\[ep:([0-9a-z]+)\]")
DOORS = pytest.mark.parametrize(
    "door", ["nodes", "nodes, async", "middleware", "middleware, async", "engine", "agent"], indirect=True
)


def question(number):
    return f"Question {number}: what did we decide about the {number}. movement of the jazz piano suite, and why? " * 2


def answer(number):
    return f"We decided to play movement {number} at {60 + number} beats per minute, because it swings. " * 4


def answered(door):
    """Return a reply that answers the last question shown."""

    def reply(messages):
        asked = [text for role, text in map(door.plain, messages) if role == "user" and "Question" in text]
        return answer(int(re.findall(r"Question (\d+)", asked[-1])[-1]))

    return reply


def rebuilt(door, model):
    """Return the contexts that a model was shown in which compaction wrote something."""
    return [shown for shown in model.shown if any(map(door.written, shown))]


@DOORS
async def test_a_long_conversation_stays_within_the_limit_and_loses_nothing(memory, door):
    memory.record(user="I practise the jazz piano suite on Sundays.", agent="Noted.", thread="old")
    model = door.says(answered(door))
    ask = door.app(model, compact=LIMIT)
    for number in range(20):
        await ask(question(number))
    assert all(door.tokens(shown) <= LIMIT + 200 * (MARK in str(shown)) for shown in model.shown)
    assert all(door.plain(shown[-1])[1].endswith(question(number)) for number, shown in enumerate(model.shown))
    seen = rebuilt(door, model)
    assert len(seen) > 8
    assert any(MARK in door.plain(shown[-1])[1] for shown in seen)
    cited = CITED.findall("".join(door.plain(m)[1] for m in seen[-1] if door.written(m)))
    assert {memory.episodes[id_].thread for id_ in cited} == {"friday"}
    told = [text for number in range(20) for text in (question(number), answer(number))]
    assert [text for _, text in door.history()] == told
    assert [(e.query, e.answer) for e in memory.episodes.list(thread="friday")] == list(
        zip(told[::2], told[1::2], strict=True)
    )
    heads = [[door.plain(message) for message in shown[:2]] for shown in seen]
    assert 1 < len([1 for one, other in itertools.pairwise(heads) if one != other]) + 1 <= len(heads) / 2 + 1


@tool
def look_up(what: str) -> str:
    """Look something up."""
    return f"On {what} the archive says: {what} was played in {1900 + len(what)}. " * 8


@pytest.mark.parametrize("door", ["nodes", "nodes, async", "middleware", "middleware, async"], indirect=True)
async def test_a_long_tool_loop_keeps_the_request_and_valid_pairs(memory, door):
    def looked_up(number):
        calls = [{"name": "look_up", "args": {"what": name}, "id": f"{name} {number}"} for name in ("Evans", "Monk")]
        return AIMessage(f"Step {number}.", tool_calls=calls)

    request = "Question 1: look up everything that there is on Evans and Monk, step by step."
    model = door.says(*map(looked_up, range(20)), "All of it is told.")  # it refuses a broken pair
    assert await door.app(model, tools=[look_up], compact=LIMIT)(request) == "All of it is told."
    assert len(rebuilt(door, model)) > 10
    assert all(any(m.type == "human" and m.text.endswith(request) for m in shown) for shown in model.shown)
    assert [message.tool_call_id for message in model.shown[-1][-2:]] == ["Evans 19", "Monk 19"]
    assert len(door.history()) == 2 + 20 * 3
    episode = only(memory, thread="friday")
    assert episode.query == request
    assert len(episode.tool_calls) == 40


@DOORS
async def test_what_cannot_be_shortened_is_a_typed_error(memory, door):
    with pytest.raises(ContextOverflow):
        await door.app(door.says("No."), compact=1_000)("Tell me all. " * 1_000)


@DOORS
async def test_another_process_goes_on_with_the_same_context(memory, door):
    first, second = door.says(answered(door)), door.says(answered(door))
    ask = door.app(first, compact=LIMIT)
    for number in range(12):
        await ask(question(number))
    door.restart()
    await door.app(second, compact=LIMIT)("Question 12: is that all?")
    (before, *_), (after, *_) = first.shown[-1], second.shown[0]
    assert door.written(before)
    assert door.written(after)
    assert door.plain(before) == door.plain(after) or len(second.shown[0]) < len(first.shown[-1])
    assert len(queries(memory, thread="friday")) == 13


@pytest.mark.parametrize("door", ["nodes", "middleware", "engine"], indirect=True)
async def test_compaction_keeps_to_its_scope(memory, door):
    model = door.says(answered(door))
    ask = door.app(model, compact=LIMIT, scope=("user", "ada"))
    for number in range(10):
        await ask(question(number))
    assert rebuilt(door, model)
    assert memory.episodes.list() == []
    assert len(memory.scoped("user", "ada").episodes.list()) == 10
