"""One policy for errors in all adapters: what raises, what is logged, and what is caught up on."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.llms.types import ChatMessage

from langchain_tidal import TidalConversationMemory, TidalMemoryMiddleware, with_memory
from langgraph_tidal import RecallNode, RecordNode
from llama_index_tidal import TidalChatMemory
from tidal_plugins import (
    BadEmbedding,
    Busy,
    Closed,
    EmbeddingError,
    HashingEmbedder,
    InvalidInput,
    InvalidScope,
    Settings,
    TidalMemory,
)

THREAD = {"configurable": {"thread_id": "t"}}
FACT, NOTED, ASK, ANSWER = "I practise jazz piano.", "Noted.", "What do I practise?", "Jazz piano."


class Embedder(HashingEmbedder):
    """Raises, or returns NaN, while it is told to."""

    fault = None

    def embed(self, texts):
        if self.fault == "raises":
            raise ConnectionError("the embedder is away")
        rows = super().embed(texts)
        return rows * float("nan") if self.fault == "nan" else rows


class Nodes:
    """The nodes of a graph, whose state keeps the history."""

    def __init__(self, memory, **options):
        self.recall, self.recorder = RecallNode(memory, **options), RecordNode(memory, scope=options.get("scope"))
        self.messages = []

    def ask(self, text):
        self.messages.append(HumanMessage(text, id=f"m{len(self.messages)}"))
        self.recall.invoke({"messages": self.messages}, THREAD)

    def answer(self, text):
        self.messages.append(AIMessage(text, id=f"m{len(self.messages)}"))
        self.recorder.invoke({"messages": self.messages}, THREAD)


class Agent:
    """An agent of ``create_agent`` with the middleware, whose checkpointer keeps the history."""

    def __init__(self, memory, **options):
        from langchain.agents import create_agent
        from langgraph.checkpoint.memory import InMemorySaver

        from tests.frameworks.conftest import ScriptedModel

        self.model = ScriptedModel(replies=[lambda shown: self.reply()])
        middleware = [TidalMemoryMiddleware(memory, **options)]
        self.app = create_agent(self.model, [], middleware=middleware, checkpointer=InMemorySaver())
        self.asked, self.before_answer = "", lambda: None

    def ask(self, text):
        self.asked = text

    def answer(self, text):
        def reply():
            self.before_answer()
            return text

        self.reply = reply
        self.app.invoke({"messages": [HumanMessage(self.asked)]}, THREAD)


class Wrapped:
    """A runnable with a memory around it."""

    def __init__(self, memory, **options):
        self.runnable = with_memory(RunnableLambda(lambda _: self.reply()), memory, **options)
        self.before_answer = lambda: None

    def ask(self, text):
        self.asked = text

    def answer(self, text):
        def reply():
            self.before_answer()
            return text

        self.reply = reply
        self.runnable.invoke(self.asked, THREAD)


class Chain:
    """The memory of a classic chain."""

    def __init__(self, memory, **options):
        self.memory = TidalConversationMemory(memory, thread="t", **options)

    def ask(self, text):
        self.asked = {"input": text}
        self.memory.load_memory_variables(self.asked)

    def answer(self, text):
        self.memory.save_context(self.asked, {"output": text})


class Chat:
    """The memory of a LlamaIndex chat."""

    def __init__(self, memory, **options):
        self.memory = TidalChatMemory(memory, thread="t", **options)

    def ask(self, text):
        self.memory.put(ChatMessage(text))
        self.memory.get()

    def answer(self, text):
        self.memory.put(ChatMessage(text, role="assistant"))


ADAPTERS = [Nodes, Agent, Wrapped, Chain, Chat]


@pytest.fixture
def embedder():
    return Embedder()


@pytest.fixture
def memory(tmp_path, embedder):
    with TidalMemory(tmp_path / "agent.db", embedder=embedder, settings=Settings(whisper={"threshold": 0.2})) as memory:
        yield memory


def talk(adapter, question, answer):
    adapter.ask(question)
    adapter.answer(answer)


def recorded(memory):
    return [episode.query for episode in memory.episodes.list()]


@pytest.mark.parametrize(("fault", "error"), [("raises", EmbeddingError), ("nan", BadEmbedding)])
@pytest.mark.parametrize("kind", ADAPTERS)
def test_an_embedder_that_fails_before_a_turn_raises(memory, embedder, kind, fault, error):
    memory.record(FACT, NOTED)
    embedder.fault = fault
    with pytest.raises(error):
        talk(kind(memory), ASK, ANSWER)
    assert recorded(memory) == [FACT]


@pytest.mark.parametrize(("fault", "error"), [("raises", EmbeddingError), ("nan", BadEmbedding)])
@pytest.mark.parametrize("kind", ADAPTERS)
def test_an_embedder_that_fails_after_a_turn_raises_and_leaves_nothing(memory, embedder, kind, fault, error):
    adapter = kind(memory)

    def fails():
        embedder.fault = fault

    adapter.before_answer = fails
    adapter.ask(FACT)
    if kind not in (Agent, Wrapped):
        fails()
    with pytest.raises(error):
        adapter.answer(NOTED)
    assert recorded(memory) == []


@pytest.mark.parametrize("kind", [Nodes, Agent, Chat])
def test_the_next_run_catches_up_on_a_turn_that_was_missed(memory, embedder, kind):
    adapter = kind(memory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TidalMemory, "record_many", refuses(Busy("another process is writing")))
        with pytest.raises(Busy):
            talk(adapter, FACT, NOTED)
    assert recorded(memory) == []
    if kind is Chat:  # nothing was added, so that a retry is whole
        adapter.answer(NOTED)
    talk(adapter, ASK, ANSWER)
    assert recorded(memory) == [FACT, ASK]


@pytest.mark.parametrize("kind", ADAPTERS)
def test_a_turn_that_cannot_be_stored_is_logged_without_its_text_and_the_run_goes_on(memory, kind, caplog):
    adapter = kind(memory)
    talk(adapter, "x" * (memory.settings.ingestion.max_chars + 1), NOTED)
    talk(adapter, ASK, ANSWER)
    assert recorded(memory) == [ASK]
    logged = [record for record in caplog.records if record.name.startswith("tidal_plugins.turns")]
    assert logged
    assert all("was not recorded" in record.getMessage() for record in logged)
    assert "xxx" not in caplog.text


@pytest.mark.parametrize("kind", ADAPTERS)
def test_a_closed_memory_raises(memory, kind):
    adapter = kind(memory)
    memory.close()
    with pytest.raises(Closed):
        talk(adapter, ASK, ANSWER)


@pytest.mark.parametrize("kind", [Nodes, Agent, Wrapped, Chat])
def test_a_mistake_of_the_caller_raises(memory, kind):
    with pytest.raises(InvalidScope):
        talk(kind(memory, scope="anna"), ASK, ANSWER)
    with pytest.raises(InvalidInput, match="policy="):
        kind(memory, agent="planner")


def refuses(error):
    def record_many(*_, **__):
        raise error

    return record_many
