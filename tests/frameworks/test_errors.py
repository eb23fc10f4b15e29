"""One policy for errors in all adapters: what raises, what is logged, and what is caught up on."""

from __future__ import annotations

import os
from contextlib import closing

import pytest
from langchain_core.runnables import RunnableLambda

from langchain_tidal import TidalConversationMemory, with_memory
from tests.frameworks.conftest import open_memory, queries, thread
from tests.frameworks.doors import DOORS, Door
from tests.inside import raw
from tidal_plugins import Busy, Closed, Corrupt, EmbeddingError, HashingEmbedder, TidalMemory

FACT, NOTED, ASK, ANSWER = "I practise jazz piano.", "Noted.", "What do I practise?", "Jazz piano."


PAGE = 4096


class Embedder(HashingEmbedder):
    """Raises, or returns NaN, while it is told to."""

    fault = None

    def embed(self, texts):
        if self.fault == "raises":
            raise ConnectionError("the embedder is away")
        rows = super().embed(texts)
        return rows * float("nan") if self.fault == "nan" else rows


class Wrapped(Door):
    """A runnable with a memory around it, and the memory of a classic chain."""

    def says(self, *replies):
        return replies

    def app(self, replies, **options):
        runnable = RunnableLambda(lambda _: replies[0]("") if callable(replies[0]) else replies[0])

        async def ask(text, name="t"):
            return with_memory(runnable, self.memory, **options).invoke(text, thread(name))

        return ask


class Classic(Wrapped):
    def app(self, replies, **options):
        chat = TidalConversationMemory(self.memory, thread="t", **options)

        async def ask(text, name="t"):
            chat.load_memory_variables({"input": text})
            said = replies[0]("") if callable(replies[0]) else replies[0]
            chat.save_context({"input": text}, {"output": said})

        return ask


ALL = pytest.mark.parametrize("kind", [*DOORS.values(), Wrapped, Classic])
FAULTS = pytest.mark.parametrize(("fault", "answered"), [("raises", False), ("nan", True)])


@pytest.fixture
def embedder():
    return Embedder()


@pytest.fixture
def memory(path, embedder):
    with open_memory(path, embedder) as memory:
        yield memory


@FAULTS
@ALL
async def test_an_embedder_that_fails_before_or_after_a_turn_raises_and_leaves_nothing(
    memory, embedder, kind, fault, answered
):
    def fails(shown):
        embedder.fault = fault
        return NOTED

    door = kind(memory)
    with pytest.raises(EmbeddingError) as caught:
        await door.app(door.says(fails))(FACT, "t")
    assert caught.value.answered is answered
    assert queries(memory) == []
    embedder.fault = None
    memory.record(FACT, NOTED)
    embedder.fault = fault
    with pytest.raises(EmbeddingError) as caught:
        await door.app(door.says(ANSWER))(ASK, "u")
    assert caught.value.answered is answered
    assert queries(memory) == [FACT]


@pytest.mark.parametrize("kind", DOORS.values())
async def test_the_next_run_catches_up_on_a_turn_that_was_missed(memory, kind):
    def record_many(*_, **__):
        raise Busy("another process is writing")

    door = kind(memory)
    ask = door.app(door.says(NOTED, ANSWER, ANSWER))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TidalMemory, "record_many", record_many)
        await ask(FACT, "t")
    assert queries(memory) == []
    await ask(ASK, "t")
    assert "".join(queries(memory, thread="t")).replace("\n", "") == FACT + ASK


@ALL
async def test_a_turn_that_cannot_be_stored_is_logged_without_its_text_and_the_run_goes_on(memory, kind, caplog):
    door = kind(memory)
    ask = door.app(door.says(ANSWER))
    await ask("x" * (memory.settings.recording.max_chars + 1), "t")
    await ask(ASK, "t")
    assert queries(memory) == [ASK]
    logged = [record for record in caplog.records if record.name.startswith("tidal_plugins.turns")]
    assert logged
    assert all("was not recorded" in record.getMessage() for record in logged)
    assert "xxx" not in caplog.text


@pytest.mark.parametrize("damage", ["swapped", "entries", "documents"])
@ALL
async def test_an_agent_with_a_damaged_memory_goes_on_without_it(path, kind, damage, caplog):
    with open_memory(path, Embedder()) as memory:
        for number in range(12):
            memory.record(f"{FACT} {number}", NOTED, thread="t")
    with closing(raw(path)) as connection:
        sql = "SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"
        pages = {name: (page - 1) * PAGE for name, page in connection.execute(sql).fetchall()}
    data = bytearray(path.read_bytes())
    if damage == "swapped":
        one, other = pages["entries_by_time"], pages["log_by_key"]
        data[one : one + PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[one : one + PAGE]
    else:
        data[pages[damage] + 100 : pages[damage] + PAGE - 100] = os.urandom(PAGE - 200)
    path.write_bytes(data)
    try:
        memory = open_memory(path, Embedder())
    except Corrupt:  # there is no memory, and whoever makes the agent leaves it out
        return
    with memory:
        door = kind(memory)
        model, said = door.says(lambda _: answers.append(ANSWER) or ANSWER, ANSWER), door
        answers = []
        ask = said.app(model, **({"compact": 4000} if kind in DOORS.values() else {}))
        await ask(ASK, "t")
        await ask(FACT, "t")
    assert answers
    logged = [record.getMessage() for record in caplog.records if "agents go on without" in record.getMessage()]
    assert logged == list(dict.fromkeys(logged))
    assert not any(FACT in message for message in logged)


@ALL
async def test_a_closed_memory_raises(memory, kind):
    door = kind(memory)
    ask = door.app(door.says(ANSWER))
    memory.close()
    with pytest.raises(Closed):
        await ask(ASK, "t")
