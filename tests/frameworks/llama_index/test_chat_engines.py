import asyncio
import threading

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.query_engine import RetrieverQueryEngine

from llama_index_tidal import TidalChatMemory, TidalRetriever
from tests.waiting import waits_without_blocking
from tidal_plugins import InvalidInput

FENCE = "<tidal-memory>"


def texts(messages):
    return [message.content for message in messages]


@pytest.fixture
def chat(reminded):
    return TidalChatMemory(reminded, thread="friday")


@pytest.fixture
def library(reminded):
    """A retriever over a scope of its own, so that what comes from it is not a whisper."""
    shelf = reminded.scoped("kb")
    shelf.remember("The jazz club opens at eight.", source="club.md")
    return TidalRetriever(shelf)


@pytest.fixture
def engines(chat, library):
    """Each engine with the chat as its memory, by name."""
    return {
        "simple": lambda llm: SimpleChatEngine.from_defaults(llm=llm, memory=chat),
        "context": lambda llm: ContextChatEngine.from_defaults(library, llm=llm, memory=chat),
        "condense_plus": lambda llm: CondensePlusContextChatEngine.from_defaults(library, llm=llm, memory=chat),
        "condense": lambda llm: CondenseQuestionChatEngine.from_defaults(
            RetrieverQueryEngine.from_args(library, llm=llm), llm=llm, memory=chat
        ),
    }


# all engines


@pytest.mark.parametrize("name", ["simple", "context", "condense_plus", "condense"])
async def test_every_turn_is_recorded_sync_and_async(reminded, engines, says, ask, name):
    engine = engines[name](says("In the evening."))
    engine.chat(ask)
    await engine.achat("And on Sundays?")
    episodes = reminded.episodes.list(thread="friday")
    assert [(e.query, e.answer) for e in episodes] == [
        (ask, "In the evening."),
        ("And on Sundays?", "In the evening."),
    ]
    assert FENCE not in str(episodes)
    assert FENCE not in str(engine.chat_history)
    assert episodes[0].surfaced


@pytest.mark.parametrize("name", ["simple", "context", "condense_plus"])
def test_a_streamed_answer_is_recorded_from_the_thread_that_streams(reminded, engines, says, ask, name):
    answer = engines[name](says("In the evening, every evening.")).stream_chat(ask)
    assert "".join(answer.response_gen) == "In the evening, every evening."
    assert [e.answer for e in reminded.episodes.list(thread="friday")] == ["In the evening, every evening."]


@pytest.mark.parametrize("name", ["simple", "context", "condense_plus"])
async def test_a_streamed_answer_is_recorded_in_async(reminded, engines, says, ask, name):
    answer = await engines[name](says("In the evening, every evening.")).astream_chat(ask)
    assert "".join([part async for part in answer.async_response_gen()]) == "In the evening, every evening."
    assert [e.answer for e in reminded.episodes.list(thread="friday")] == ["In the evening, every evening."]


@pytest.mark.parametrize("name", ["simple", "context", "condense_plus", "condense"])
def test_the_model_is_shown_what_surfaced(engines, says, ask, fact, name):
    model = says("In the evening.")
    engine = engines[name](model)
    engine.chat("Hello.")
    before = len(model.shown)
    engine.chat(ask)
    assert any(fact in str(messages) for messages in model.shown[before:])


@pytest.mark.parametrize("name", ["simple", "context", "condense_plus"])
def test_a_history_that_comes_with_each_call_is_recorded_once(reminded, engines, says, name):
    engine, history = engines[name](says("Noted.")), []
    for number in range(3):
        engine.chat(f"Question {number}.", chat_history=history)
        history = list(engine.chat_history)
        assert len(history) == 2 * number + 2
    assert len(reminded.episodes.list(thread="friday")) == 3


@pytest.mark.parametrize("name", ["simple", "context", "condense_plus"])
def test_after_a_failing_model_the_same_question_is_one_turn(reminded, engines, says, name):
    engine = engines[name](says(RuntimeError("away"), "Here I am."))
    with pytest.raises(RuntimeError):
        engine.chat("Are you there?")
    engine.chat("Are you there?")
    (episode,) = reminded.episodes.list(thread="friday")
    assert episode.answer == "Here I am."


def test_reset_begins_anew(reminded, engines, says):
    engine = engines["simple"](says("Noted."))
    engine.chat("Hello.")
    engine.reset()
    assert engine.chat_history == []
    engine.chat("Hello again.")
    assert len(reminded.episodes.list(thread="friday")) == 2


# one engine each


def test_the_simple_engine_shows_it_at_the_head_of_the_question(engines, says, ask, fact):
    model = says("In the evening.")
    engine = engines["simple"](model)
    engine.chat("Hello.")
    engine.chat(ask)
    *earlier, question = texts(model.shown[-1])
    assert earlier == ["Hello.", "In the evening."]
    assert question.startswith(FENCE)
    assert question.endswith("\n\n" + ask)
    assert fact in question


def test_the_system_prompt_stays_first(chat, says, ask):
    model = says("In the evening.")
    SimpleChatEngine.from_defaults(llm=model, memory=chat, system_prompt="Be brief.").chat(ask)
    assert [message.role.value for message in model.shown[0]] == ["system", "user"]


def test_memory_cls_without_a_memory_says_what_to_do(says):
    with pytest.raises(InvalidInput, match="memory=TidalChatMemory"):
        SimpleChatEngine.from_defaults(llm=says("x"), memory_cls=TidalChatMemory)


@pytest.mark.parametrize("name", ["context", "condense_plus"])
def test_engines_that_ask_before_they_put_show_it_right_before_the_question(engines, says, ask, fact, name):
    model = says("In the evening.")
    engine = engines[name](model)
    engine.chat("Hello.")
    engine.chat(ask)
    shown = model.shown[-1]
    assert [message.role.value for message in shown] == ["system", "user", "assistant", "user", "user"]
    hello, _, whisper, question = texts(shown)[1:]
    assert (hello, question) == ("Hello.", ask)
    assert fact in whisper


@pytest.mark.parametrize("name", ["context", "condense_plus"])
def test_memories_and_history_fill_no_template(reminded, engines, says, ask, name):
    reminded.record(user="I practise jazz piano with {context_str} and {query_str}.", agent="Odd.", thread="monday")
    model = says("Odd indeed.")
    engine = engines[name](model)
    engine.chat("What is {context_str}?")
    engine.chat(ask)
    system, *rest = texts(model.shown[-1])
    assert "The jazz club opens at eight." in system
    assert "opens at eight" not in str(rest)
    assert "{ context_str } and { query_str }" in str(rest)
    assert "What is { context_str }?" in rest


def test_without_a_whisper_the_model_is_shown_nothing_more(memory, says):
    model = says("Hi.")
    SimpleChatEngine.from_defaults(llm=model, memory=TidalChatMemory(memory)).chat("Hello.")
    assert model.shown == [[ChatMessage("Hello.")]]


# many at once


async def test_fifty_users_who_talk_at_once_never_see_each_other(memory, says):
    names = [f"user{n:02}" for n in range(50)]

    async def talk(name):
        model = says("Noted.")
        for day in ("monday", "friday"):
            chat = TidalChatMemory(memory, scope=("user", name), thread=day)
            engine = SimpleChatEngine.from_defaults(llm=model, memory=chat)
            await engine.achat(f"I am {name}, and I practise jazz piano at the {name} club.")
            await engine.achat("Where do I practise jazz piano?")
        return str(model.shown)

    shown = await asyncio.gather(*map(talk, names))
    for name, seen in zip(names, shown, strict=True):
        assert {other for other in names if other in seen} == {name}
        episodes = memory.scoped("user", name).episodes.list()
        assert [episode.thread for episode in episodes] == ["monday"] * 2 + ["friday"] * 2
    assert memory.episodes.list() == []


async def test_nothing_of_it_runs_on_the_event_loop(reminded, chat, embedder, says, ask, library):
    threads = []
    embed = embedder.embed
    embedder.embed = lambda given: threads.append(threading.current_thread()) or embed(given)
    await SimpleChatEngine.from_defaults(llm=says("Noted."), memory=chat).achat(ask)
    await ContextChatEngine.from_defaults(library, llm=says("Noted."), memory=chat).achat(ask)
    assert len(threads) >= 4
    assert threading.main_thread() not in threads


async def test_the_event_loop_runs_on_while_another_process_holds_the_lock(memory, says, path):
    async def one(thread):
        chat = TidalChatMemory(memory, thread=thread)
        await SimpleChatEngine.from_defaults(llm=says("Noted."), memory=chat).achat("I practise jazz piano.")

    async def eight():
        await asyncio.gather(*(one(f"s{n}") for n in range(8)))

    await one("warm")
    assert await waits_without_blocking(path, eight())
    assert len(memory.episodes.list()) == 9
