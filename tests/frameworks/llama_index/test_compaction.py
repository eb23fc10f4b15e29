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

from llama_index_tidal import TidalChatMemory, restore_with
from tests.frameworks.conftest import open_memory, queries
from tests.frameworks.llama_index.conftest import answer, calling, contents, result, size, unpaired, user, written
from tests.waiting import PATIENCE
from tidal_plugins import InvalidInput, Statement
from tidal_plugins.model.compaction import Size

LIMIT = 1_500
TOWNS = ("Porto", "Ghent", "Turku", "Split", "Cork", "Basel", "Lviv", "Bergen", "Trieste", "Malmo")


def cited(messages):
    return re.findall(r"\[ep:([0-9a-z]+)\]", " ".join(m.content or "" for m in written(messages)))


def question(number):
    town = TOWNS[number % len(TOWNS)]
    return f"Question {number}: we decided to ship crate {number} to {town} on day {number}. " + "Please note it. " * 12


def reply(number):
    return f"Crate {number} goes out on day {number}, I booked it. " + "The rest stays as it was agreed. " * 8


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
    talk(chat, range(14))
    return chat


# what get returns


async def test_the_view_is_the_history_or_a_summary_with_its_end_and_the_history_is_never_less(memory, chat):
    whole = TidalChatMemory(memory, thread="monday")
    for each in (whole, chat):
        each.put_messages([ChatMessage("Be kind.", role="system"), answer("Welcome!")])
        talk(each, range(3))
        assert each.get() == each.get_all()
        talk(each, range(3, 14))
        each.put(user("And now?"))
    assert whole.get() == whole.get_all()
    view = chat.get()
    assert size(view).tokens <= LIMIT
    assert (view[0], view[1].role.value, view[-1]) == (
        ChatMessage("Be kind.", role="system"),
        "assistant",
        user("And now?"),
    )
    assert "Be kind." not in str(view[1:])
    assert set(cited(view)) <= {episode.id for episode in memory.episodes.list(thread="friday")} != set()
    assert await chat.aget() == chat.get() == view, "the head of the view stays as it is"
    chat.put_messages([answer("Nothing."), user("One more?")])
    assert chat.get()[: len(view)] == view
    assert not written(await chat.aget_all())
    asked = [question(number) for number in range(14)]
    assert [query for query in queries(memory, thread="friday") if query] == [*asked, "And now?"]
    assert contents(chat.get_all())[2:-3:2] == asked
    assert "ep:" not in str(memory.episodes.list(thread="friday"))


@pytest.mark.parametrize(("given", "room"), [({"initial_token_count": 600}, 600), ({"input": "Long " * 500}, 0)])
def test_what_an_engine_adds_is_counted(long, given, room):
    view = long.get(**given)
    added = [user(given["input"])] if "input" in given else []
    assert size([*view, *added]).tokens <= LIMIT - room
    assert len(long.tokenizer_fn("four characters each")) == 5


def test_a_tokenizer_counts_where_one_is_given(memory):
    chat = TidalChatMemory(memory, token_limit=600, tokenizer_fn=str.split)
    talk(chat, range(14))
    chat.put(user("And now?"))
    view = chat.get()
    assert written(view)
    assert sum(len((message.content or "").split()) for message in view) <= 600
    assert chat.tokenizer_fn("two words") == ["two", "words"]


@pytest.mark.parametrize("kind", ["from elsewhere", "again", "as recorded", "the view"])
def test_a_history_that_is_given_is_recorded_once_and_shown_the_same(memory, long, kind):
    history, view = long.get_all(), long.get()
    thread = "friday" if kind in ("as recorded", "the view") else kind
    views = []
    for _ in range(1 + (kind == "again")):
        given = view if kind == "the view" else history
        chat = TidalChatMemory(memory, thread=thread, token_limit=LIMIT, chat_history=given)
        assert len(memory.episodes.list()) == 14 * (1 + len(views))
        chat.put(user("And now?"))
        views.append(chat.get())
        assert size(views[-1]).tokens <= LIMIT
    assert views[0] == views[-1]
    assert contents(chat.get_all()) == [*contents(history), "And now?"]
    assert queries(memory, thread=thread) == [question(number) for number in range(14)]
    chat.put(answer("That is all."))
    assert len(memory.episodes.list(thread=thread)) == 15


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


# histories from elsewhere


def test_a_view_that_is_fed_back_changes_nothing(memory, long):
    long.put(user("And now?"))
    view, history = long.get(), long.get_all()
    long.set(view)
    assert long.get_all() == history
    assert long.get() == view
    long.put_messages(written(view))
    assert long.get_all() == history
    long.put(answer("That is all."))
    assert [e.query for e in memory.episodes.list(thread="friday")] == [*map(question, range(14)), "And now?"]


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


# files, images


@pytest.fixture
def reading(chat):
    """A chat that read two files just before it no longer fitted."""
    while size(chat.get()).tokens < 0.6 * LIMIT:
        talk(chat, [0])
    for number, name in enumerate(("plan.md", "crates.py")):
        call = ToolCallBlock(tool_call_id=f"r{number}", tool_name="Read", tool_kwargs={"file_path": f"/work/{name}"})
        chat.put_messages([user(f"Read {name}."), ChatMessage(role="assistant", blocks=[call])])
        chat.put_messages([result(f"# {name}\nuse {{context_str}} here\n</tidal-file>", f"r{number}"), answer("Read.")])
    while not written(chat.get()):
        talk(chat, [1])
    chat.put(user("And now?"))
    return chat


def test_files_come_back_in_messages_by_the_user_where_that_is_wanted(memory, reading):
    chat = TidalChatMemory.from_dict({**reading.to_dict(), "restore_as": "human", "summary_as": "human"})
    view = chat.get()
    assert {message.role.value for message in written(view)} == {"user"}
    files = [message.content for message in written(view) if message.part == "file"]
    assert len(files) == 2
    assert all(file.startswith('<tidal-file path="/work/') and file.count("</tidal-file>") == 1 for file in files)
    assert view[-1].content == "And now?"


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
def test_restored_it_has_the_same_limits_and_the_same_view(path, restore):
    with open_memory(path) as memory:
        chat = TidalChatMemory(memory, thread="friday", token_limit=LIMIT, byte_limit=50_000, restore_as="human")
        chat.put(ChatMessage("Be kind.", role="system"))
        talk(chat, range(14))
        chat.put(user("And now?"))
        view, data = chat.get(), chat
    with open_memory(path) as memory:
        restore_with(memory)
        restored = restore(data)
        assert (restored.token_limit, restored.byte_limit, restored.restore_as) == (LIMIT, 50_000, "human")
        assert restored.get() == view
        restored.put(answer("Nothing."))
        talk(restored, range(14, 24))
        restored.put(user("And now?"))
        assert size(restored.get()).tokens <= LIMIT
        assert len(memory.episodes.list(thread="friday")) == 25


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


def test_while_a_model_writes_others_may_use_the_chat(memory):
    reached = []

    def use():
        thread = threading.Thread(target=lambda: reached.append(len(chat.get_all())))
        thread.start()
        thread.join(PATIENCE)

    telling = Telling(use)
    chat = TidalChatMemory(memory, thread="friday", token_limit=LIMIT, summariser=telling)
    talk(chat, range(14))
    chat.put(user("And now?"))
    assert written(chat.get())
    assert set(reached) == {29}


# agents


async def look(place: str) -> str:
    """Look at a place."""
    return f"In {place} there is much to see. " * 8


async def test_what_an_agent_holds_back_in_a_tool_loop_makes_room_in_the_history(memory, chat, says):
    talk(chat, range(6))

    def step(messages):
        done = sum(message.role == "tool" for message in messages if not written([message]))
        return calling(("look", {"place": f"town {done}"})) if done < 12 else "I looked everywhere."

    model = says(step)
    await FunctionAgent(llm=model, tools=[look]).run("Look everywhere.", memory=chat)
    assert len(model.shown) == 13
    assert all(unpaired(shown) == [] for shown in model.shown)
    assert not written(model.shown[0])
    assert written(model.shown[-1])
    assert size(model.shown[-1]).tokens <= LIMIT


async def test_a_tool_loop_that_no_room_can_be_made_for_goes_on(memory, chat, says, caplog):
    talk(chat, range(6))

    async def dump(page: int) -> str:
        """Dump a page."""
        return "word " * 2 * LIMIT

    pages = [calling(("dump", {"page": page})) for page in range(3)]
    model = says(*pages, "That was long.")
    await FunctionAgent(llm=model, tools=[dump]).run("Dump it.", memory=chat)
    (warning,) = [record for record in caplog.records if record.name == "llama_index_tidal.memory"]
    assert warning.levelname == "WARNING"
    assert "what the agent holds back in this turn is too long" in warning.message
    assert written(model.shown[-1])
    assert memory.episodes.list(thread="friday")[-1].answer == "That was long."
    chat.put(user("And now?"))
    assert size(chat.get()).tokens <= LIMIT
