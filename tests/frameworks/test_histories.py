"""Histories that are passed whole on every call, as user interfaces and OpenAI-style servers send them."""

import asyncio

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import Memory

from langchain_tidal import TidalMemoryMiddleware, with_memory
from llama_index_tidal import TidalChatMemory, TidalMemoryBlock
from tests.frameworks.conftest import MARK, ScriptedModel, calling, graph_of, metronome
from tests.frameworks.llama_index import conftest as index

CONFIG = {"configurable": {"thread_id": "piano"}}
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


# the doors: each returns a function that passes the earlier turns and a question, and then what the model was shown


def of_chain(invoke):
    def call(memory, answers, past, question, config=CONFIG):
        model = ScriptedModel(replies=answers)
        invoke(memory, model, passed(past, question), config)
        return model.shown[-1][-1].text

    return call


def agent_of(memory, model, tools=(), **options):
    return create_agent(model, tools, middleware=[TidalMemoryMiddleware(memory)], **options)


def of_index(chat_of):
    def call(memory, answers, past, question, config=CONFIG):
        said = [
            index.user(turn[place]) if place == 0 else index.answer(turn[place]) for turn in past for place in (0, 1)
        ]
        chat, model = TidalChatMemory(memory, thread="piano"), index.ScriptedLLM(replies=answers)
        chat_of(memory, chat, model, said, question)
        return model.shown[-1][-1].content

    return call


def put(memory, chat, llm, said, question):
    chat.put_messages(said)
    SimpleChatEngine.from_defaults(llm=llm, memory=chat).chat(question)


def given(memory, chat, llm, said, question):
    chat = TidalChatMemory(memory, thread="piano", chat_history=said)
    SimpleChatEngine.from_defaults(llm=llm, memory=chat).chat(question)


def set_(memory, chat, llm, said, question):
    SimpleChatEngine.from_defaults(llm=llm, memory=chat).chat(question, chat_history=said)


CHAIN = {
    "middleware": of_chain(
        lambda memory, model, said, config: agent_of(memory, model).invoke({"messages": said}, config)
    ),
    "amiddleware": of_chain(
        lambda memory, model, said, config: asyncio.run(agent_of(memory, model).ainvoke({"messages": said}, config))
    ),
    "nodes": of_chain(
        lambda memory, model, said, config: graph_of(memory, model).compile().invoke({"messages": said}, config)
    ),
    "runnable": of_chain(lambda memory, model, said, config: with_memory(model, memory).invoke(said, config)),
}
DOORS = {**CHAIN, "put": of_index(put), "given": of_index(given), "set": of_index(set_)}
ALL = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
CHAINS = pytest.mark.parametrize("door", CHAIN.values(), ids=CHAIN)


def talk(door, memory, turns=TURNS, earlier=(), config=CONFIG):
    """Hold a conversation in which every call passes all earlier turns, through a door made anew for each call.

    Returns the last message that the model was shown in each.
    """
    shown, past = [], list(earlier)
    for question, answer in turns:
        shown.append(door(memory, [answer], past, question, config))
        past.append((question, answer))
    return shown


@ALL
def test_eight_turns_passed_whole_are_eight_episodes_and_the_whisper_repeats_none(door, memory):
    memory.record("The piano in the hall is out of tune.", "I see.", thread="old")
    for last in talk(door, memory)[3:]:
        whisper = last.partition("</tidal-memory ")[0] if MARK in last else ""
        assert [text for turn in TURNS for text in turn if text in whisper] == []
    assert "out of tune" in whisper
    assert queries(memory, thread="piano") == TURNS


@CHAINS
def test_without_a_thread_and_cut_to_the_last_turns_they_are_recorded_once(door, memory):
    talk(door, memory, TURNS[:4], config={})
    past = []
    for question, answer in TURNS:
        door(memory, [answer], past[-2:], question)
        past.append((question, answer))
    assert queries(memory) == [*TURNS[:4], *TURNS]
    other = memory.scoped("other")
    for number in (6, 7):
        door(other, [TURNS[number][1]], TURNS[:number], TURNS[number][0])
    assert queries(other)[-2:] == TURNS[6:], "turns before the memory came"


@ALL
def test_a_regenerated_turn_replaces_the_old_one_in_recall(door, memory):
    anew = (TURNS[3][0], "So What, by Miles Davis.")
    talk(door, memory, TURNS[:4])
    (shown,) = talk(door, memory, [anew], earlier=TURNS[:3])
    assert "Autumn" not in shown, "the whisper does not tell the old answer"
    assert queries(memory) == [*TURNS[:4], anew]
    found = recalled(memory, "jazz standards for a beginner")
    assert set(anew) <= set(found)
    assert TURNS[3][1] not in found
    cited = {hit.entry.episode for hit in memory.recall("jazz standards for a beginner", kinds={"conversation"})}
    assert memory.episodes.list()[3].id not in cited, "the question is that of the new turn"
    assert TURNS[3][1] in [hit.text for hit in memory.recall("Autumn Leaves", include_archived=True)]


@CHAINS
def test_a_first_turn_that_is_regenerated_replaces_the_old_one_and_the_same_answer_does_not(door, memory):
    talk(door, memory, TURNS[:1])
    talk(door, memory, [(TURNS[0][0], "Every single evening?")])
    assert recalled(memory, "practise jazz piano") == [TURNS[0][0], "Every single evening?"]
    other = memory.scoped("other")
    talk(door, other, TURNS[:4])
    talk(door, other, [TURNS[3]], earlier=TURNS[:3])
    assert queries(other) == TURNS[:4]


def test_a_regenerated_turn_of_a_checkpointed_thread_or_of_one_chat_is_an_episode_of_its_own(memory):
    model = ScriptedModel(replies=["Autumn Leaves, for one.", "So What, by Miles Davis."])
    agent = agent_of(memory, model, checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage(TURNS[3][0], id="q")]}, CONFIG)
    before = next(state for state in agent.get_state_history(CONFIG) if state.next == ("model",))
    agent.invoke(None, before.config)
    assert [answer for _, answer in queries(memory)] == ["Autumn Leaves, for one.", "So What, by Miles Davis."]
    assert "Autumn Leaves, for one." not in recalled(memory, "jazz standards for a beginner")
    chat = TidalChatMemory(memory, thread="chat")
    llm = index.ScriptedLLM(replies=[TURNS[0][1], TURNS[1][1], "Lucky you."])
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=chat)
    engine.chat(TURNS[0][0])
    engine.chat(TURNS[1][0])
    engine.chat(TURNS[1][0], chat_history=chat.get_all()[:2])
    assert queries(memory, thread="chat") == [*TURNS[:2], (TURNS[1][0], "Lucky you.")]
    assert TURNS[1][1] not in recalled(memory, "an hour after dinner")


def test_a_turn_that_is_replayed_and_answered_in_the_same_words_is_recorded_once(memory):
    model = ScriptedModel(replies=[calling(("metronome", {"tempo": 90})), "It ticks at 90."] * 2)
    agent = agent_of(memory, model, [metronome], checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("Set it to 90.", id="q")]}, CONFIG)
    first = next(state for state in reversed(list(agent.get_state_history(CONFIG))) if state.next == ("model",))
    recorded = [episode.messages for episode in memory.episodes.list()]
    agent.invoke(None, first.config)
    assert len(model.shown) == 4
    assert [episode.messages for episode in memory.episodes.list()] == recorded


async def test_what_overflows_from_a_history_that_is_passed_whole_is_recorded_once(memory):
    for _ in range(2):
        whole = Memory.from_defaults(session_id="piano", token_limit=60, memory_blocks=[TidalMemoryBlock(memory)])
        for question, answer in TURNS:
            await whole.aput(index.user(question))
            await whole.aput(index.answer(answer))
        await whole.sql_store._async_engine.dispose()
    recorded = queries(memory)
    assert recorded == TURNS[: len(recorded)]
    assert len(recorded) > 3


@pytest.mark.parametrize("between", ["\n\n", "", " "])
def test_a_turn_whose_answers_a_client_joined_is_recognised(memory, between):
    model = ScriptedModel(replies=[calling(("metronome", {"tempo": 90}), text="Let me set it."), "It ticks at 90."])
    agent_of(memory, model, [metronome]).invoke({"messages": [HumanMessage("Set it to 90.")]}, CONFIG)
    joined = ("Set it to 90.", f"Let me set it.{between}It ticks at 90.")
    CHAIN["middleware"](memory, ["You're welcome."], [joined], "Thanks!")
    assert queries(memory) == [("Set it to 90.", "It ticks at 90."), ("Thanks!", "You're welcome.")]


def test_a_fixed_example_ahead_of_each_call_is_no_turn_that_was_edited(memory):
    example = [("Name the key of 'Blue in Green'.", "D minor.")]
    asked = [(f"Name the key of '{tune}'.", key) for tune, key in [("So What", "D Dorian."), ("Misty", "E flat.")]]
    asked += [("Name the key of 'Tenderly'.", "E flat, too."), ("Name the key of 'Nardis'.", "E minor.")]
    for turn in [*asked, (asked[0][0], "D Dorian, then E flat Dorian."), ("Name the key of 'Solar'.", "C minor.")]:
        talk(CHAIN["middleware"], memory, [turn], earlier=example)
    found = recalled(memory, "Name the key")
    assert {query for query, _ in asked} <= set(found)
    assert "D Dorian." not in found, "the same question was answered again"
    assert "D Dorian, then E flat Dorian." in found


@ALL
def test_an_edited_turn_takes_all_that_followed_out_of_recall(door, memory):
    talk(door, memory, TURNS[:6])
    edited = ("My piano teacher is called Ottilie.", "Noted, Ottilie.")
    talk(door, memory, [edited], earlier=TURNS[:2])
    assert queries(memory) == [*TURNS[:6], edited], "old episodes are kept"
    found = recalled(memory, "piano teacher lesson")
    assert {edited[0], TURNS[0][0]} <= set(found)
    assert not {TURNS[2][0], TURNS[3][0], TURNS[5][0]} & set(found)


@CHAINS
def test_a_branch_that_goes_on_comes_back_into_recall(door, memory):
    talk(door, memory, TURNS[:4])
    edited = ("My piano teacher is called Ottilie.", "Noted, Ottilie.")
    talk(door, memory, [edited], earlier=TURNS[:2])
    talk(door, memory, [TURNS[5]], earlier=TURNS[:4])
    assert queries(memory) == [*TURNS[:4], edited, TURNS[5]]
    found = recalled(memory, "piano teacher lesson")
    assert {TURNS[2][0], TURNS[5][0]} <= set(found)
    assert edited[0] not in found


@CHAINS
def test_messages_without_a_history_are_turns_of_their_own(door, memory):
    for _ in range(2):
        talk(door, memory, [("Is it raining?", "Yes.")])
        talk(door, memory, [("And tomorrow?", "No.")])
    assert len(queries(memory)) == 4
    assert "And tomorrow?" in recalled(memory, "tomorrow")


@CHAINS
def test_a_turn_that_was_forgotten_is_not_recorded_again_from_a_passed_history(door, memory):
    talk(door, memory, TURNS[:3])
    memory.forget(memory.episodes.list()[2].id)
    talk(door, memory, TURNS[3:6], earlier=TURNS[:3])
    assert TURNS[2][0] not in [query for query, _ in queries(memory)]
    assert len(queries(memory)) <= 6
    assert "Odile" not in str(recalled(memory, "What is my piano teacher called?"))
