"""One policy for errors in all adapters: what raises, what is logged, and what is caught up on."""

from __future__ import annotations

import pytest
from langchain_core.runnables import RunnableLambda

from langchain_tidal import TidalConversationMemory, with_memory
from tests.frameworks.conftest import open_memory, queries, thread
from tests.frameworks.doors import DOORS, Door
from tidal_plugins import Busy, Closed, EmbeddingError, HashingEmbedder, TidalMemory

FACT, NOTED, ASK, ANSWER = "I practise jazz piano.", "Noted.", "What do I practise?", "Jazz piano."


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
        with pytest.raises(Busy):
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


@ALL
async def test_a_closed_memory_raises(memory, kind):
    door = kind(memory)
    ask = door.app(door.says(ANSWER))
    memory.close()
    with pytest.raises(Closed):
        await ask(ASK, "t")
