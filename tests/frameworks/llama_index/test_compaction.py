import asyncio
import base64
import json
import pickle
import re
import threading

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    CachePoint,
    ChatMessage,
    CitableBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.workflow import Context, JsonSerializer

from llama_index_tidal import TidalChatMemory, TidalRetriever, TidalToolSpec, restore_with
from llama_index_tidal.messages import WrittenMessage, calls_of
from llama_index_tidal.sizes import size_of
from tests.waiting import PATIENCE
from tidal_plugins import InvalidInput, Size, Statement
from tidal_plugins.errors import ContextOverflow
from tidal_plugins.summarising.sizes import ApproximateCounter

pytestmark = [  # llama-index-workflows looks at every attribute of an agent, which is a pydantic model
    pytest.mark.filterwarnings("ignore:The `__fields__` attribute is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The `__fields_set__` attribute is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_computed_fields' attribute:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_fields' attribute:DeprecationWarning"),
]

LIMIT = 2_000
TOWNS = ("Porto", "Ghent", "Turku", "Split", "Cork", "Basel", "Lviv", "Bergen", "Trieste", "Malmo")


def user(text):
    return ChatMessage(text, role="user")


def answer(text):
    return ChatMessage(text, role="assistant")


def result(text, id):
    return ChatMessage(text, role="tool", additional_kwargs={"tool_call_id": id})


def size(messages):
    return sum((size_of(message, ApproximateCounter()) for message in messages), Size())


def written(messages):
    return [message for message in messages if isinstance(message, WrittenMessage)]


def cited(messages):
    return re.findall(r"\[ep:([0-9a-z]+)\]", " ".join(m.content or "" for m in written(messages)))


def question(number):
    town = TOWNS[number % len(TOWNS)]
    return f"Question {number}: we decided to ship crate {number} to {town} on day {number}. " + "Please note it. " * 12


def reply(number):
    return f"Crate {number} goes out on day {number}, I booked it. " + "The rest stays as it was agreed. " * 8


def unpaired(messages):
    """Ids of tool calls without a result right behind, and of results without a call."""
    open_, lost = [], []
    for message in messages:
        if message.role.value == "tool":
            id_ = message.additional_kwargs.get("tool_call_id")
            open_.remove(id_) if id_ in open_ else lost.append(id_)
        else:
            lost += open_
            open_ = [call.id for call in calls_of(message)]
    return lost + open_


def talk(chat, numbers):
    for number in numbers:
        chat.put(user(question(number)))
        chat.put(answer(reply(number)))


@pytest.fixture
def chat(memory):
    return TidalChatMemory(memory, thread="friday", token_limit=LIMIT)


@pytest.fixture
def long(chat):
    """A chat that no longer fits."""
    talk(chat, range(30))
    return chat


# what get returns


def test_without_a_limit_get_gives_the_whole_history(memory):
    chat = TidalChatMemory(memory)
    talk(chat, range(60))
    assert chat.get() == chat.get_all()
    assert len(chat.get()) == 120


def test_what_fits_is_shown_as_it_is(chat):
    talk(chat, range(3))
    assert chat.get() == chat.get_all()


def test_what_does_not_fit_is_told_in_a_summary_that_cites(memory, long):
    long.put(user("And now?"))
    view = long.get()
    assert size(view).tokens <= LIMIT
    assert view[0].role == "assistant"
    assert view[-1] == user("And now?")
    assert cited(view)
    assert set(cited(view)) <= {episode.id for episode in memory.episodes.list(thread="friday")}


def test_nothing_of_it_is_kept_in_the_history_or_recorded(memory, long):
    long.put(user("And now?"))
    view = long.get()
    long.put(answer("Nothing."))
    assert written(view)
    assert not written(long.get_all())
    assert [m.content for m in long.get_all()[:-2:2]] == [question(number) for number in range(30)]
    assert [e.query for e in memory.episodes.list(thread="friday")] == [m.content for m in long.get_all()[::2]]
    assert "ep:" not in str(memory.episodes.list(thread="friday"))


def test_between_two_compactions_the_head_of_the_view_stays_as_it_is(long):
    long.put(user("One more?"))
    before = long.get()
    assert long.get() == before
    long.put(answer("Yes."))
    long.put(user("And now?"))
    assert long.get()[: len(before)] == before
    assert len(long.get()) == len(before) + 2


def test_every_step_of_a_long_chat_is_within_the_limit(memory, chat):
    for number in range(120):
        chat.put(user(question(number)))
        view = chat.get()
        assert size(view).tokens <= LIMIT
        assert view[-1].content.endswith(question(number))
        chat.put(answer(reply(number)))
    assert [e.query for e in memory.episodes.list(thread="friday")] == [question(number) for number in range(120)]
    assert len(chat.get_all()) == 240


def test_the_system_prompt_stays_first(memory, chat):
    chat.put(ChatMessage("Be kind.", role="system"))
    chat.put(answer("Welcome!"))
    talk(chat, range(30))
    chat.put(user("And now?"))
    view = chat.get()
    assert view[0] == ChatMessage("Be kind.", role="system")
    assert "Be kind." not in str(view[1:])
    assert size(view).tokens <= LIMIT


def test_an_ongoing_turn_with_tools_stays_as_it_is(long, calls):
    ongoing = [user("Set both."), calls(("metronome", {"tempo": 90}), ("metronome", {"tempo": 120}))]
    ongoing += [result("90 it is.", "call-1"), result("120 it is.", "call-2")]
    long.put_messages(ongoing)
    view = long.get()
    assert view[-4:] == ongoing
    assert unpaired(view) == []
    assert size(view).tokens <= LIMIT


@pytest.fixture
def looping(chat):
    """A chat whose question has led to more calls of tools than there is room for."""
    talk(chat, range(5))
    chat.put(user("Look everywhere."))
    for number in range(100):
        call = ToolCallBlock(tool_call_id=f"c{number}", tool_name="look", tool_kwargs={"place": f"town {number}"})
        chat.put_messages([ChatMessage(role="assistant", blocks=[call]), result("It is there. " * 8, f"c{number}")])
    return chat


def test_the_oldest_calls_of_a_long_turn_fold_and_the_question_stays(memory, looping):
    view, history = looping.get(), looping.get_all()
    assert size(view).tokens <= LIMIT
    assert unpaired(view) == []
    assert user("Look everywhere.") in view
    assert view[-2:] == history[-2:]
    assert [message.part for message in written(view)][-1] == "fold"
    looping.put(answer("I looked everywhere."))
    (episode,) = memory.episodes.list(thread="friday", tool="look")
    assert len(episode.tool_calls) == 100
    assert episode.answer == "I looked everywhere."
    assert len(looping.get_all()) == len(history) + 1


def test_a_folded_view_that_is_fed_back_changes_nothing(memory, looping):
    view, history = looping.get(), looping.get_all()
    looping.set(view)
    assert looping.get_all() == history
    assert looping.get() == view


def test_calls_that_older_integrations_keep_elsewhere_are_paired_too(chat):
    for number in range(30):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": '{"n": 1}'}}
        chat.put(user(question(number)))
        chat.put(ChatMessage("", role="assistant", additional_kwargs={"tool_calls": [call]}))
        chat.put_messages([result("It is there. " * 20, f"c{number}"), answer("I saw it.")])
        chat.put(user("And?"))
        assert unpaired(chat.get()) == []
        assert size(chat.get()).tokens <= LIMIT
        chat.put(answer("That is all."))


def test_a_question_that_is_too_long_by_itself_raises(chat):
    chat.put(user("word " * 4 * LIMIT))
    with pytest.raises(ContextOverflow):
        chat.get()


def test_what_an_engine_puts_in_front_is_counted(long):
    long.put(user("And now?"))
    view = long.get(initial_token_count=600)
    assert size(view).tokens <= LIMIT - 600
    assert len(long.tokenizer_fn("four characters each")) == 5


def test_the_input_that_is_put_later_is_counted(long):
    asked = "Long " * 500
    view = long.get(input=asked)
    assert size([*view, user(asked)]).tokens <= LIMIT


async def test_async_twins_do_the_same(long):
    await long.aput(user("And now?"))
    assert await long.aget() == long.get()
    assert await long.aget_all() == long.get_all()


def test_a_tokenizer_counts_where_one_is_given(memory):
    chat = TidalChatMemory(memory, token_limit=900, tokenizer_fn=str.split)
    talk(chat, range(30))
    chat.put(user("And now?"))
    view = chat.get()
    assert written(view)
    assert sum(len((message.content or "").split()) for message in view) <= 900
    assert chat.tokenizer_fn("two words") == ["two", "words"]


# what surfaces


def test_what_was_left_out_may_surface_and_what_is_shown_does_not(memory):
    chat = TidalChatMemory(memory, thread="friday", token_limit=LIMIT)
    chat.put_messages([user("I practise jazz piano every evening."), answer("Noted.")])
    talk(chat, range(40))
    chat.put(user("When do I practise jazz piano?"))
    view = chat.get()
    assert "I practise jazz piano every evening." in view[-1].content
    assert size(view).tokens <= LIMIT
    other = TidalChatMemory(memory.scoped("other"), thread="friday", token_limit=LIMIT)
    other.put_messages([user("I practise jazz piano every evening."), answer("Noted.")])
    other.put(user("When do I practise jazz piano?"))
    assert other.get()[-1].content == "When do I practise jazz piano?"


# histories from elsewhere


def test_turns_from_elsewhere_are_recorded_before_they_are_left_out(memory):
    history = [message for n in range(30) for message in (user(question(n)), answer(reply(n)))]
    chat = TidalChatMemory(memory, thread="friday", token_limit=LIMIT, chat_history=history)
    assert memory.episodes.list() == []
    chat.put(user("And now?"))
    view = chat.get()
    assert size(view).tokens <= LIMIT
    assert [e.query for e in memory.episodes.list(thread="friday")] == [question(number) for number in range(30)]
    assert chat.get_all()[:-1] == history


def test_a_history_that_comes_with_every_call_is_recorded_once_and_shown_the_same(memory, path, open_):
    history = [message for n in range(30) for message in (user(question(n)), answer(reply(n)))]
    views = []
    for _ in range(3):
        chat = TidalChatMemory(memory, thread="friday", token_limit=LIMIT, chat_history=history)
        chat.put(user("And now?"))
        views.append(chat.get())
    assert views[0] == views[1] == views[2]
    assert len(memory.episodes.list(thread="friday")) == 30


def test_turns_that_were_recorded_as_they_were_said_are_not_recorded_again(memory, long):
    chat = TidalChatMemory(memory, thread="friday", token_limit=LIMIT, chat_history=long.get_all())
    chat.put(user("And now?"))
    chat.get()
    assert len(memory.episodes.list(thread="friday")) == 30


def test_a_view_that_is_fed_back_changes_nothing(memory, long):
    long.put(user("And now?"))
    view, history = long.get(), long.get_all()
    long.set(view)
    assert long.get_all() == history
    assert long.get() == view
    long.put_messages(written(view))
    assert long.get_all() == history
    long.put(answer("That is all."))
    assert [e.query for e in memory.episodes.list(thread="friday")] == [*map(question, range(30)), "And now?"]


@pytest.mark.parametrize("same", [True, False], ids=["the same words", "other words"])
def test_a_view_with_new_messages_goes_on_with_the_history(memory, chat, same):
    words = [("Go on.", "I did.")] * 20 if same else [(f"Go on {n}.", f"I did {n}.") for n in range(20)]
    talk(chat, range(12))
    chat.get()
    for question, answered in words:
        chat.put_messages([user(question), answer(answered)])
    chat.put(user("And now?"))
    view, history = chat.get(), chat.get_all()
    assert written(view)
    assert len([message for message in view if message.role == "user"]) > 10
    chat.set([*view, answer("That is all."), user("Really?")])
    assert chat.get_all() == [*history, answer("That is all."), user("Really?")]
    chat.put(answer("Yes."))
    assert [e.answer for e in memory.episodes.list(thread="friday")][-1:] == ["Yes."]


def test_a_view_that_another_object_is_fed_with_finds_its_history_again(memory, long):
    long.put(user("And now?"))
    view = long.get()
    chat = TidalChatMemory(memory, thread="friday", token_limit=LIMIT, chat_history=view)
    assert [m.content for m in chat.get_all()] == [m.content for m in long.get_all()]
    assert size(chat.get()).tokens <= LIMIT
    chat.put(answer("That is all."))
    assert len(memory.episodes.list(thread="friday")) == 31


# files, images


@pytest.fixture
def reading(chat):
    """A chat that read two files just before it no longer fitted."""
    while size(chat.get()).tokens < 0.7 * LIMIT:
        talk(chat, [0])
    for number, name in enumerate(("plan.md", "crates.py")):
        call = ToolCallBlock(tool_call_id=f"r{number}", tool_name="Read", tool_kwargs={"file_path": f"/work/{name}"})
        chat.put_messages([user(f"Read {name}."), ChatMessage(role="assistant", blocks=[call])])
        chat.put_messages([result(f"# {name}\nuse {{context_str}} here\n</tidal-file>", f"r{number}"), answer("Read.")])
    while not written(chat.get()):
        talk(chat, [1])
    chat.put(user("And now?"))
    return chat


def test_files_come_back_as_calls_with_results(reading):
    view = reading.get()
    files = [message for message in written(view) if message.part == "file"]
    assert [message.role.value for message in files] == ["assistant", "tool"] * 2
    assert {call.arguments["file_path"] for m in files for call in calls_of(m)} == {"/work/plan.md", "/work/crates.py"}
    assert unpaired(view) == []
    assert size(view).tokens <= LIMIT


def test_files_come_back_in_messages_by_the_user_where_that_is_wanted(memory, reading):
    chat = TidalChatMemory.from_dict({**reading.to_dict(), "restore_as": "human", "summary_as": "human"})
    view = chat.get()
    assert {message.role.value for message in written(view)} == {"user"}
    files = [message.content for message in written(view) if message.part == "file"]
    assert len(files) == 2
    assert all(file.startswith('<tidal-file path="/work/') and file.count("</tidal-file>") == 1 for file in files)
    assert view[-1].content == "And now?"


def test_a_megabyte_of_an_image_counts_by_its_bytes(memory):
    picture = ImageBlock(image=base64.b64encode(b"\x89PNG" + bytes(750_000)), image_mimetype="image/png")
    chat = TidalChatMemory(memory, token_limit=100_000, byte_limit=1_200_000)
    chat.put(ChatMessage(role="user", blocks=[picture, TextBlock(text="What is this?")]))
    assert size(chat.get()).bytes > 1_000_000
    assert size(chat.get()).tokens < 2_000
    assert not written(chat.get())
    chat.put(answer("A cat."))
    chat.put(ChatMessage(role="user", blocks=[picture, TextBlock(text="And this?")]))
    view = chat.get()
    assert size(view).bytes <= 1_200_000
    assert written(view)
    assert picture in view[-1].blocks
    assert len(chat.get_all()) == 3


def test_what_blocks_carry_is_measured(tmp_path):
    file = tmp_path / "plan.pdf"
    file.write_bytes(bytes(60_000))
    plain = size([user("x")])

    def more(*blocks):
        return size([ChatMessage(role="user", blocks=[TextBlock(text="x"), *blocks])]) - plain

    assert more(CachePoint(cache_control={"type": "ephemeral"})) == Size()
    assert more(DocumentBlock(path=str(file), document_mimetype="application/pdf")).bytes > 80_000
    assert more(DocumentBlock(data=bytes(60_000), document_mimetype="application/pdf")).bytes > 80_000
    assert more(ImageBlock(url="https://example.org/cat.png")).tokens > 1_000
    assert more(ImageBlock(image=b"iVBORw0KGgo" * 20, image_mimetype="image/png")).tokens < 20
    assert more(ThinkingBlock(content="Hm. " * 100)).tokens == 100
    assert more(CitableBlock(title="a", source="b", content="word " * 100)).tokens > 100


# restart


RESTORE = {
    "from_dict": lambda chat: TidalChatMemory.from_dict(json.loads(json.dumps(chat.to_dict()))),
    "pickle": lambda chat: pickle.loads(pickle.dumps(chat)),
    "model_validate_json": lambda chat: TidalChatMemory.model_validate_json(chat.model_dump_json()),
}


@pytest.mark.parametrize("restore", RESTORE.values(), ids=RESTORE)
def test_restored_it_has_the_same_limits_and_the_same_view(path, open_, restore):
    with open_(path) as memory:
        chat = TidalChatMemory(memory, thread="friday", token_limit=LIMIT, byte_limit=50_000, restore_as="human")
        chat.put(ChatMessage("Be kind.", role="system"))
        talk(chat, range(30))
        chat.put(user("And now?"))
        view, data = chat.get(), chat
    with open_(path) as memory:
        restore_with(memory)
        restored = restore(data)
        assert (restored.token_limit, restored.byte_limit, restored.restore_as) == (LIMIT, 50_000, "human")
        assert restored.get() == view
        restored.put(answer("Nothing."))
        talk(restored, range(30, 60))
        restored.put(user("And now?"))
        assert size(restored.get()).tokens <= LIMIT
        assert len(memory.episodes.list(thread="friday")) == 61


def test_what_was_written_before_there_were_limits_is_restored_without(memory, chat):
    old = {k: v for k, v in chat.to_dict().items() if k in ("path", "scope", "thread", "turns")}
    assert TidalChatMemory.from_dict(old).token_limit is None


@pytest.mark.parametrize(
    "wrong",
    [{"token_limit": 0}, {"byte_limit": -1}, {"token_limit": "many"}, {"restore_as": "ai"}, {"summary_as": "system"}],
)
def test_wrong_options_are_refused(memory, wrong):
    with pytest.raises(InvalidInput):
        TidalChatMemory(memory, **wrong)


# summarisers


class Telling:
    """A summariser that says one thing of each source, and what it was asked."""

    def __init__(self, before=lambda: None):
        self.before, self.asked = before, []

    def summarise(self, sources, *, purpose, previous=(), max_tokens):
        self.before()
        self.asked.append((purpose, len(sources), len(previous)))
        return [*previous, *(Statement("Told of it.", (source.id,)) for source in sources)]


def test_a_summariser_writes_the_summary(memory):
    telling = Telling()
    chat = TidalChatMemory(memory, thread="friday", token_limit=4_000, summariser=telling)
    talk(chat, range(60))
    chat.put(user("And now?"))
    view = chat.get()
    assert telling.asked
    assert "Told of" in view[0].content
    assert size(view).tokens <= 4_000


def test_while_a_model_writes_others_may_use_the_chat(memory):
    reached = []

    def use():
        thread = threading.Thread(target=lambda: reached.append(len(chat.get_all())))
        thread.start()
        thread.join(PATIENCE)

    chat = TidalChatMemory(memory, thread="friday", token_limit=LIMIT, summariser=Telling(use))
    talk(chat, range(30))
    chat.put(user("And now?"))
    assert written(chat.get())
    assert set(reached) == {61}


def test_restored_it_goes_on_without_the_summariser(memory):
    chat = TidalChatMemory(memory, thread="friday", token_limit=LIMIT, summariser=Telling())
    talk(chat, range(30))
    restored = TidalChatMemory.from_dict(json.loads(json.dumps(chat.to_dict())))
    restored.put(user("And now?"))
    assert "Told of" not in str(restored.get())
    assert written(restored.get())


# engines


@pytest.fixture
def engines(memory, chat):
    shelf = memory.scoped("kb")
    shelf.remember("The harbour opens at eight.", source="harbour.md")
    library = TidalRetriever(shelf)
    return {
        "simple": lambda llm: SimpleChatEngine.from_defaults(llm=llm, memory=chat, system_prompt="Be brief."),
        "context": lambda llm: ContextChatEngine.from_defaults(library, llm=llm, memory=chat),
        "condense_plus": lambda llm: CondensePlusContextChatEngine.from_defaults(
            library, llm=llm, memory=chat, skip_condense=True
        ),
    }


@pytest.mark.parametrize("name", ["simple", "context", "condense_plus"])
async def test_engines_never_show_more_than_the_limit(memory, chat, engines, says, name):
    model = says(reply(1))
    engine = engines[name](model)
    for number in range(0, 40, 4):
        engine.chat(question(number))
        await engine.achat(question(number + 1))
        "".join(engine.stream_chat(question(number + 2)).response_gen)
        streamed = await engine.astream_chat(question(number + 3))
        "".join([part async for part in streamed.async_response_gen()])
    assert len(model.shown) == 40
    for number, shown in enumerate(model.shown):
        assert question(number) in shown[-1].content
        assert size(message for message in shown if message.role != "system").tokens <= LIMIT
    assert any(cited(shown) for shown in model.shown) or name != "simple"
    assert "[ep:" in str(model.shown[-1])
    assert [e.query for e in memory.episodes.list(thread="friday")] == [question(number) for number in range(40)]
    assert len(chat.get_all()) == 80


@pytest.mark.parametrize("name", ["context", "condense_plus"])
def test_what_was_written_fills_no_template(chat, engines, says, name):
    talk(chat, range(20))
    for number in range(3):
        chat.put_messages([user(f"We decided to use {{context_str}} in file {number}."), answer("Decided.")])
    talk(chat, range(3))
    model = says("Noted.")
    engines[name](model).chat("When does the harbour open, and what of {context_str}?")
    system, *rest = [message.content for message in model.shown[-1]]
    assert "opens at eight" in system
    assert "opens at eight" not in str(rest)
    assert "[ep:" in str(rest)


# agents


async def look(place: str) -> str:
    """Look at a place."""
    return f"In {place} there is much to see. " * 8


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_agent_with_tools_stays_within_the_limit(memory, chat, says, calls, streaming):
    def step(messages):
        if messages[-1].role == "tool":
            return "I looked at both."
        return calls(("look", {"place": "Porto"}), ("look", {"place": "Ghent"}), text="Let me see.")

    model = says(step)
    agent = FunctionAgent(llm=model, tools=[look], streaming=streaming)
    for number in range(25):
        await agent.run(question(number), memory=chat)
    assert len(model.shown) == 50
    for number, shown in enumerate(model.shown):
        assert unpaired(shown) == []
        assert size(shown).tokens <= LIMIT
        asked = [message.content for message in shown if message.role == "user" and not written([message])]
        assert question(number // 2) in asked[-1]
    assert "[ep:" in str(model.shown[-1])
    episodes = memory.episodes.list(thread="friday")
    assert [episode.query for episode in episodes] == [question(number) for number in range(25)]
    assert all(len(episode.tool_calls) == 2 for episode in episodes)
    assert len(chat.get_all()) == 25 * 5


async def test_what_an_agent_holds_back_in_a_tool_loop_makes_room_in_the_history(memory, chat, says, calls):
    talk(chat, range(9))

    def step(messages):
        done = sum(message.role == "tool" for message in messages if not written([message]))
        return calls(("look", {"place": f"town {done}"})) if done < 12 else "I looked everywhere."

    model = says(step)
    await FunctionAgent(llm=model, tools=[look]).run("Look everywhere.", memory=chat)
    assert len(model.shown) == 13
    assert all(unpaired(shown) == [] for shown in model.shown)
    assert not written(model.shown[0])
    assert written(model.shown[-1])
    assert size(model.shown[-1]).tokens <= LIMIT


async def test_a_tool_loop_that_no_room_can_be_made_for_goes_on(memory, chat, says, calls, caplog):
    talk(chat, range(9))

    async def dump(page: int) -> str:
        """Dump a page."""
        return "word " * 2 * LIMIT

    pages = [calls(("dump", {"page": page})) for page in range(3)]
    model = says(*pages, "That was long.")
    await FunctionAgent(llm=model, tools=[dump]).run("Dump it.", memory=chat)
    (warning,) = [record for record in caplog.records if record.name == "llama_index_tidal.memory"]
    assert warning.levelname == "WARNING"
    assert "what the agent holds back in this turn is too long" in warning.message
    assert written(model.shown[-1])
    assert memory.episodes.list(thread="friday")[-1].answer == "That was long."
    chat.put(user("And now?"))
    assert size(chat.get()).tokens <= LIMIT


async def test_an_agents_context_that_was_serialised_goes_on_with_the_same_view(memory, long, says):
    model = says("Noted.")
    agent = FunctionAgent(llm=model, tools=[])
    ctx = Context(agent)
    await agent.run("And now?", memory=long, ctx=ctx)
    saved = json.loads(json.dumps(ctx.to_dict(serializer=JsonSerializer())))
    again = says("Noted, too.")
    agent = FunctionAgent(llm=again, tools=[])
    await agent.run("And then?", ctx=Context.from_dict(agent, saved, serializer=JsonSerializer()))
    before, after = model.shown[0], again.shown[0]
    assert [m.content for m in after[: len(before)]] == [m.content for m in before]
    assert len(memory.episodes.list(thread="friday")) == 32


async def test_an_agent_follows_a_citation(memory, long, says, calls):
    def follow(messages):
        return calls(("read_episode", {"id": cited(messages)[0]}))

    def tell(messages):
        return f"It says: {messages[-1].content}"

    agent = FunctionAgent(llm=says(follow, tell), tools=TidalToolSpec(memory).to_tool_list())
    told = str(await agent.run("What was first?", memory=long))
    assert any(question(number).strip() in told for number in range(30))


async def test_fifty_chats_at_once_never_see_each_other(memory):
    async def one(name):
        chat = TidalChatMemory(memory, scope=("user", name), thread="s", token_limit=LIMIT)
        for number in range(12):
            await chat.aput(user(f"I am {name}. {question(number)}"))
            await chat.aput(answer(f"{reply(number)} {name}"))
        await chat.aput(user(f"Who am I, {name}?"))
        return await chat.aget()

    names = [f"name{number:02}" for number in range(50)]
    for name, view in zip(names, await asyncio.gather(*map(one, names)), strict=True):
        assert {other for other in names if other in str(view)} == {name}
        assert written(view)
