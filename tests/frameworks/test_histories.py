"""Histories that are passed whole on every call, as user interfaces and OpenAI-style servers send them."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_tidal import TidalMemoryMiddleware, with_memory
from tests.frameworks.conftest import chat_graph

CONFIG = {"configurable": {"thread_id": "piano"}}
MARK = "<tidal-memory>"
TURNS = [
    ("I practise jazz piano every evening.", "How nice, for how long?"),
    ("An hour or so, after dinner.", "A good habit."),
    ("My piano teacher is called Odile.", "Noted, Odile."),
    ("Which jazz standards suit a beginner?", "Autumn Leaves, for one."),
    ("Thanks!", "You're welcome."),
    ("My next piano lesson is on Friday.", "Then practise on Thursday."),
    ("Thanks!", "You're welcome."),
    ("What should I play on the piano this evening?", "Scales, then Autumn Leaves."),
]


def passed(turns, asked=None):
    """Return a history as a client sends it: plain, without ids."""
    said = [m for question, answer in turns for m in (HumanMessage(question), AIMessage(answer))]
    return [*said, HumanMessage(asked)] if asked else said


def queries(memory, **where):
    return [(episode.query, episode.answer) for episode in memory.episodes.list(**where)]


def recalled(memory, text):
    return [hit.text for hit in memory.recall(text, limit=20, kinds={"conversation"})]


def middleware(memory, model, tools=(), **options):
    agent = create_agent(model, tools, middleware=[TidalMemoryMiddleware(memory)], **options)
    return lambda messages, config=CONFIG: agent.invoke({"messages": messages}, config)


def amiddleware(memory, model):
    agent = create_agent(model, [], middleware=[TidalMemoryMiddleware(memory)])
    return lambda messages, config=CONFIG: asyncio.run(agent.ainvoke({"messages": messages}, config))


def nodes(memory, model):
    graph = chat_graph(memory, model).compile()
    return lambda messages, config=CONFIG: graph.invoke({"messages": messages}, config)


def runnable(memory, model):
    chain = with_memory(model, memory)
    return lambda messages, config=CONFIG: chain.invoke(messages, config)


@pytest.fixture(params=[middleware, amiddleware, nodes, runnable])
def door(request, memory):
    return lambda model: request.param(memory, model)


def talk(door, says, turns=TURNS, config=CONFIG, earlier=()):
    """Hold a conversation in which every call passes all earlier turns, through a door made anew for each call."""
    models, past = [], list(earlier)
    for question, answer in turns:
        model = says(answer)
        door(model)(passed(past, question), config)
        models.append(model)
        past.append((question, answer))
    return models


@pytest.mark.parametrize("config", [CONFIG, {}], ids=["thread", "no thread"])
def test_eight_turns_passed_whole_are_eight_episodes(door, memory, says, config):
    talk(door, says, config=config)
    assert queries(memory) == TURNS


def test_eight_turns_through_one_door_are_eight_episodes(door, memory, says):
    call = door(says(*[answer for _, answer in TURNS]))
    for number, (question, _) in enumerate(TURNS):
        call(passed(TURNS[:number], question))
    assert queries(memory) == TURNS


def test_the_whisper_does_not_repeat_what_a_passed_history_shows(door, memory, says):
    memory.record("The piano in the hall is out of tune.", "I see.", thread="old")
    for model in talk(door, says)[3:]:
        [shown] = model.shown
        whisper = shown[-1].text.partition("</tidal-memory ")[0] if MARK in shown[-1].text else ""
        assert [text for turn in TURNS for text in turn if text in whisper] == []
    assert "out of tune" in whisper


def test_a_history_cut_to_its_last_turns_is_recorded_once(door, memory, says):
    past = []
    for question, answer in TURNS:
        door(says(answer))(passed(past[-2:], question))
        past.append((question, answer))
    assert queries(memory) == TURNS


def test_turns_before_the_memory_came_are_caught_up_once(memory, says):
    agent = lambda answer: middleware(memory, says(answer))  # noqa: E731
    for number in range(5, 8):
        agent(TURNS[number][1])(passed(TURNS[:number], TURNS[number][0]))
    assert queries(memory) == TURNS


def test_a_regenerated_turn_replaces_the_old_one_in_recall(door, memory, says):
    talk(door, says, TURNS[:4])
    model = says("So What, by Miles Davis.")
    door(model)(passed(TURNS[:3], TURNS[3][0]))
    assert queries(memory) == [*TURNS[:4], (TURNS[3][0], "So What, by Miles Davis.")]
    found = recalled(memory, "jazz standards for a beginner")
    assert {"So What, by Miles Davis.", TURNS[3][0]} <= set(found)
    assert TURNS[3][1] not in found
    cited = {hit.entry.episode for hit in memory.recall("jazz standards for a beginner", kinds={"conversation"})}
    assert memory.episodes.list()[3].id not in cited, "the question is that of the new turn"
    assert TURNS[3][1] in [hit.text for hit in memory.recall("Autumn Leaves", include_archived=True)]


def test_the_whisper_of_a_regenerated_turn_does_not_tell_the_old_answer(door, memory, says):
    talk(door, says, TURNS[:4])
    model = says("So What, by Miles Davis.")
    door(model)(passed(TURNS[:3], TURNS[3][0]))
    assert "Autumn" not in model.shown[0][-1].text


def test_an_edited_turn_takes_all_that_followed_out_of_recall(door, memory, says):
    talk(door, says, TURNS[:6])
    edited = ("My piano teacher is called Ottilie.", "Noted, Ottilie.")
    talk(door, says, [edited], earlier=TURNS[:2])
    assert queries(memory) == [*TURNS[:6], edited], "old episodes are kept"
    found = recalled(memory, "piano teacher lesson")
    assert {edited[0], TURNS[0][0]} <= set(found)
    assert not {TURNS[2][0], TURNS[3][0], TURNS[5][0]} & set(found)


def test_a_branch_that_goes_on_comes_back_into_recall(door, memory, says):
    talk(door, says, TURNS[:4])
    edited = ("My piano teacher is called Ottilie.", "Noted, Ottilie.")
    talk(door, says, [edited], earlier=TURNS[:2])
    talk(door, says, [TURNS[5]], earlier=TURNS[:4])
    assert queries(memory) == [*TURNS[:4], edited, TURNS[5]]
    found = recalled(memory, "piano teacher lesson")
    assert {TURNS[2][0], TURNS[5][0]} <= set(found)
    assert edited[0] not in found


def test_the_same_answer_again_is_the_same_episode(door, memory, says):
    talk(door, says, TURNS[:4])
    talk(door, says, [TURNS[3]], earlier=TURNS[:3])
    assert queries(memory) == TURNS[:4]


def test_a_first_turn_that_is_regenerated_replaces_the_old_one(door, memory, says):
    talk(door, says, TURNS[:1])
    talk(door, says, [(TURNS[0][0], "Every single evening?")])
    assert recalled(memory, "practise jazz piano") == [TURNS[0][0], "Every single evening?"]


def test_two_conversations_in_one_thread_leave_each_other_alone(door, memory, says):
    talk(door, says, TURNS[:3])
    other = [("Good morning!", "Good morning."), ("Which tyres does a tandem need?", "Wide ones.")]
    talk(door, says, other)
    talk(door, says, [TURNS[3]], earlier=TURNS[:3])
    assert queries(memory) == [*TURNS[:3], *other, TURNS[3]]
    assert other[1][0] in recalled(memory, "Which tyres for the tandem?")


@pytest.mark.slow
def test_a_turn_with_ids_that_two_processes_answer_at_once_is_one_episode(memory, path):
    worker = Path(__file__).with_name("history_process.py")
    command = [sys.executable, str(worker), str(path)]
    places = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": places, "OMP_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    with ExitStack() as stack:
        workers = [stack.enter_context(subprocess.Popen(command, **pipes)) for _ in range(2)]
        stack.callback(lambda: [each.kill() for each in workers])
        assert [each.stdout.readline() for each in workers] == ["ready\n"] * 2
        for turns in range(2, len(TURNS) + 1):
            line = json.dumps([text for turn in TURNS[:turns] for text in turn]) + "\n"
            for each in workers:
                each.stdin.write(line)
                each.stdin.flush()
            assert [each.stdout.readline() for each in workers] == ["answered\n"] * 2
    assert queries(memory) == TURNS


def test_messages_without_a_history_are_turns_of_their_own(door, memory, says):
    for _ in range(2):
        talk(door, says, [("Is it raining?", "Yes.")])
        talk(door, says, [("And tomorrow?", "No.")])
    assert len(queries(memory)) == 4
    assert "And tomorrow?" in recalled(memory, "tomorrow")


def test_a_regenerated_turn_of_a_checkpointed_thread_is_an_episode_of_its_own(memory, says):
    saver = InMemorySaver()
    agent = create_agent(
        says("Autumn Leaves, for one.", "So What, by Miles Davis."),
        [],
        middleware=[TidalMemoryMiddleware(memory)],
        checkpointer=saver,
    )
    agent.invoke({"messages": [HumanMessage(TURNS[3][0], id="q")]}, CONFIG)
    before = next(state for state in agent.get_state_history(CONFIG) if state.next == ("model",))
    agent.invoke(None, before.config)
    assert [answer for _, answer in queries(memory)] == ["Autumn Leaves, for one.", "So What, by Miles Davis."]
    assert "Autumn Leaves, for one." not in recalled(memory, "jazz standards for a beginner")


def test_a_turn_that_was_forgotten_is_not_recorded_again_from_a_passed_history(door, memory, says):
    talk(door, says, TURNS[:3])
    memory.forget(memory.episodes.list()[2].id)
    talk(door, says, TURNS[3:6], earlier=TURNS[:3])
    assert TURNS[2][0] not in [query for query, _ in queries(memory)]
    assert len(queries(memory)) <= 6
    assert "Odile" not in str(recalled(memory, "What is my piano teacher called?"))


def test_text_that_no_store_takes_stops_no_thread(door, memory, says):
    turns = [TURNS[0], ("A file is called \ud800.wav.", "It is called \udcff, then."), TURNS[1]]
    talk(door, says, turns)
    assert [query for query, _ in queries(memory)] == [TURNS[0][0], "A file is called \ufffd.wav.", TURNS[1][0]]


@pytest.mark.parametrize("between", ["\n\n", "", " "])
def test_a_turn_whose_answers_a_client_joined_is_recognised(memory, says, metronome_tool, between):
    call = AIMessage("Let me set it.", tool_calls=[{"name": "metronome", "args": {"tempo": 90}, "id": "call-1"}])
    middleware(memory, says(call, "It ticks at 90."), tools=[metronome_tool])([HumanMessage("Set it to 90.")])
    joined = ("Set it to 90.", f"Let me set it.{between}It ticks at 90.")
    middleware(memory, says("You're welcome."))(passed([joined], "Thanks!"))
    assert queries(memory) == [("Set it to 90.", "It ticks at 90."), ("Thanks!", "You're welcome.")]


def test_a_fixed_example_ahead_of_each_call_is_no_turn_that_was_edited(memory, says):
    door = lambda model: middleware(memory, model)  # noqa: E731
    example = [("Name the key of 'Blue in Green'.", "D minor.")]
    asked = [(f"Name the key of '{tune}'.", key) for tune, key in [("So What", "D Dorian."), ("Misty", "E flat.")]]
    asked += [("Name the key of 'Tenderly'.", "E flat, too."), ("Name the key of 'Nardis'.", "E minor.")]
    for turn in [*asked, (asked[0][0], "D Dorian, then E flat Dorian."), ("Name the key of 'Solar'.", "C minor.")]:
        talk(door, says, [turn], earlier=example)
    found = recalled(memory, "Name the key")
    assert {query for query, _ in asked} <= set(found)
    assert "D Dorian." not in found, "the same question was answered again"
    assert "D Dorian, then E flat Dorian." in found
