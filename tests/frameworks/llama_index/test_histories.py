"""Histories that are passed whole on every call, as user interfaces send them."""

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import Memory

from llama_index_tidal import TidalChatMemory, TidalMemoryBlock

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


def passed(turns):
    return [
        ChatMessage(text, role=role) for turn in turns for role, text in zip(("user", "assistant"), turn, strict=True)
    ]


def queries(memory, **where):
    return [(episode.query, episode.answer) for episode in memory.episodes.list(**where)]


def recalled(memory, text):
    return [hit.text for hit in memory.recall(text, limit=20, kinds={"conversation"})]


def put(memory, llm, past, question):
    chat = TidalChatMemory(memory, thread="piano")
    chat.put_messages(passed(past))
    return SimpleChatEngine.from_defaults(llm=llm, memory=chat).chat(question)


def given(memory, llm, past, question):
    chat = TidalChatMemory(memory, thread="piano", chat_history=passed(past))
    return SimpleChatEngine.from_defaults(llm=llm, memory=chat).chat(question)


def set_(memory, llm, past, question):
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=TidalChatMemory(memory, thread="piano"))
    return engine.chat(question, chat_history=passed(past))


@pytest.fixture(params=[put, given, set_])
def call(request):
    return request.param


def talk(call, memory, says, turns=TURNS, earlier=()):
    models, past = [], list(earlier)
    for question, answer in turns:
        models.append(says(answer))
        call(memory, models[-1], past, question)
        past.append((question, answer))
    return models


def test_eight_turns_passed_whole_are_eight_episodes(call, memory, says):
    talk(call, memory, says)
    assert queries(memory) == TURNS


def test_the_whisper_does_not_repeat_what_a_passed_history_shows(call, memory, says):
    memory.record("The piano in the hall is out of tune.", "I see.", thread="old")
    for model in talk(call, memory, says)[3:]:
        [shown] = model.shown
        last = shown[-1].content
        whisper = last.partition("</tidal-memory ")[0] if MARK in last else ""
        assert [text for turn in TURNS for text in turn if text in whisper] == []
    assert "out of tune" in whisper


def test_a_regenerated_turn_replaces_the_old_one_in_recall(call, memory, says):
    talk(call, memory, says, TURNS[:4])
    [model] = talk(call, memory, says, [(TURNS[3][0], "So What, by Miles Davis.")], earlier=TURNS[:3])
    assert "Autumn" not in model.shown[0][-1].content
    assert queries(memory) == [*TURNS[:4], (TURNS[3][0], "So What, by Miles Davis.")]
    found = recalled(memory, "jazz standards for a beginner")
    assert {TURNS[3][0], "So What, by Miles Davis."} <= set(found)
    assert TURNS[3][1] not in found


def test_an_edited_turn_takes_all_that_followed_out_of_recall(call, memory, says):
    talk(call, memory, says, TURNS[:6])
    edited = ("My piano teacher is called Ottilie.", "Noted, Ottilie.")
    talk(call, memory, says, [edited], earlier=TURNS[:2])
    assert queries(memory) == [*TURNS[:6], edited]
    found = set(recalled(memory, "piano teacher lesson"))
    assert edited[0] in found
    assert not {TURNS[2][0], TURNS[5][0]} & found


def test_one_memory_whose_history_is_regenerated(memory, says):
    chat = TidalChatMemory(memory, thread="piano")
    engine = SimpleChatEngine.from_defaults(llm=says(TURNS[0][1], TURNS[1][1], "Lucky you."), memory=chat)
    engine.chat(TURNS[0][0])
    engine.chat(TURNS[1][0])
    engine.chat(TURNS[1][0], chat_history=chat.get_all()[:2])
    assert queries(memory) == [*TURNS[:2], (TURNS[1][0], "Lucky you.")]
    assert TURNS[1][1] not in recalled(memory, "an hour after dinner")


@pytest.mark.asyncio
async def test_what_overflows_from_a_history_that_is_passed_whole_is_recorded_once(memory):
    for _ in range(2):
        blocks = [TidalMemoryBlock(memory)]
        whole = Memory.from_defaults(session_id="piano", token_limit=60, memory_blocks=blocks)
        for message in passed(TURNS):
            await whole.aput(message)
        await whole.sql_store._async_engine.dispose()
    recorded = queries(memory)
    assert recorded == TURNS[: len(recorded)]
    assert len(recorded) > 3
