"""``reader=`` in the middleware and in RecordNode: a model reads the recorded turns, and never harms one."""

from __future__ import annotations

import json
from typing import Any

import langchain.chat_models
import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from llama_index.core import MockEmbedding
from llama_index.core.llms import CompletionResponse, LLMMetadata, MockLLM
from llama_index.core.llms import CustomLLM as LlamaCustomLLM
from pydantic import BaseModel

from langchain_tidal import ChatModelReader, TidalMemoryMiddleware
from langgraph_tidal import RecordNode
from tests.frameworks.conftest import ScriptedModel
from tests.frameworks.llama_index.conftest import ScriptedLLM, calling
from tests.graph.scripted import said
from tidal_plugins import HashingEmbedder, InvalidInput, Settings, TidalMemory

TURN = "We have settled in Porto at last, and Ines is with the harbour office."
OFFICE = said("Ines", "works_at", "the harbour office", "Ines is with the harbour office", object_type="organisation")
LINE = json.dumps(OFFICE)
USAGE = {"input_tokens": 900, "output_tokens": 60, "total_tokens": 960}
THREAD = {"configurable": {"thread_id": "monday"}}


class Plain(ScriptedModel):
    """A model without tools, and so without structured output."""

    def with_structured_output(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError


def reads(content: str = "", **arguments: Any) -> AIMessage:
    """Return an answer that calls the tool of the structure, or writes a text."""
    made = [{"name": "TurnsRead", "args": arguments, "id": "call-1"}] if arguments else []
    return AIMessage(content, tool_calls=made, usage_metadata=USAGE)


@pytest.fixture
def memory(tmp_path: Any) -> Any:
    settings = Settings(graph={"background": False})
    with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), settings=settings) as memory:
        yield memory


def kept(memory: TidalMemory) -> list[str]:
    """Return what a model has read, in words."""
    memory.graph.index_pending()
    found = memory.graph.relations(about="Ines") if memory.stats().reader.kept else []
    return [memory.graph.sentence(one) for one in found]


ANSWER = {
    "relations": [OFFICE],
    "facts": [{"message": 1, "key": "home", "value": "Porto", "quote": "We have settled in Porto"}],
    "summaries": [{"episode": 1, "summary": "Ines is with the harbour office."}],
}


class CustomLLM(LlamaCustomLLM):
    """A LlamaIndex model that completes a text from a script."""

    reply: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.reply)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


MODELS = {
    "LangChain, a structure": lambda: ScriptedModel(replies=[reads(**ANSWER)]),
    "LangChain, a text": lambda: FakeListChatModel(responses=[f"Here it is:\n```json\n{json.dumps(ANSWER)}\n```"]),
    "LlamaIndex, calls": lambda: ScriptedLLM(
        replies=[calling(("answer", {"relations": [OFFICE]}), ("answer", {**ANSWER, "relations": ["?"]}))]
    ),
    "LlamaIndex, a text": lambda: CustomLLM(reply=json.dumps(ANSWER)),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_the_frameworks_are_taken_as_they_are(memory: TidalMemory, name: str) -> None:
    memory.graph.read_with(MODELS[name]())
    episode = memory.record(TURN, "Good to hear.")
    assert kept(memory) == ["Ines works at the harbour office"]
    assert memory.facts["home"] == "Porto"
    assert memory.episodes[episode.id].summary == "Ines is with the harbour office."


def test_a_model_that_says_nothing_of_use_leaves_the_episode_waiting(memory: TidalMemory) -> None:
    memory.graph.read_with(MockLLM(max_tokens=5))
    memory.record(TURN, "Good to hear.")
    assert memory.graph.index_pending().failed == 1
    assert memory.stats().reader.failures == 1


@pytest.mark.parametrize("wrong", [HumanMessage("hi"), MockEmbedding(embed_dim=2), ScriptedModel, 7])
def test_what_is_no_model_is_refused(memory: TidalMemory, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=r"reads|reader"):
        memory.graph.read_with(wrong)


def ask(model: Any, memory: TidalMemory, **options: Any) -> None:
    agent = create_agent(model, middleware=[TidalMemoryMiddleware(memory, **options)])
    agent.invoke({"messages": [HumanMessage(TURN)]}, THREAD)


@pytest.mark.parametrize("calls_tools", [True, False])
def test_a_chat_model_reads_what_an_agent_was_told(memory: TidalMemory, calls_tools: bool) -> None:
    reader = ScriptedModel(replies=[reads(relations=[OFFICE])]) if calls_tools else Plain(replies=[reads(LINE)])
    ask(ScriptedModel(replies=["Good to hear."]), memory, reader=reader)
    assert reader.shown == []  # the answer is not held up
    assert kept(memory) == ["Ines works at the harbour office"]
    used = memory.stats().reader
    assert (used.calls, used.tokens_in, used.tokens_out) == (1, 900, 60)


async def test_a_model_that_only_async_code_can_call_reads(memory: TidalMemory) -> None:
    class Async(Plain):
        def _generate(self, *args: Any, **options: Any) -> Any:
            raise NotImplementedError

        async def _agenerate(self, *args: Any, **options: Any) -> Any:
            return ScriptedModel._generate(self, *args, **options)

    middleware = TidalMemoryMiddleware(memory, reader="agent")
    agent = create_agent(Async(replies=["Good to hear.", reads(LINE)]), middleware=[middleware])
    await agent.ainvoke({"messages": [HumanMessage(TURN)]}, THREAD)
    await memory.graph.aindex_pending()
    assert kept(memory) == ["Ines works at the harbour office"]


def test_a_structure_that_cannot_be_read_is_asked_for_again_as_lines(memory: TidalMemory) -> None:
    reader = ScriptedModel(replies=[reads("I would rather talk."), reads(LINE)])
    ask(ScriptedModel(replies=["Good to hear."]), memory, reader=reader)
    assert kept(memory) == ["Ines works at the harbour office"]
    assert memory.stats().reader.calls == 2
    assert "one line of JSON" in reader.shown[1][0].text
    assert "one line of JSON" not in reader.shown[0][0].text


def test_a_failing_model_harms_no_turn(memory: TidalMemory) -> None:
    agent, reader = ScriptedModel(replies=["Good to hear."]), ScriptedModel(replies=[RuntimeError("down")])
    ask(agent, memory, reader=reader)
    assert memory.graph.index_pending().failed == 1
    assert [episode.messages[-1].text for episode in memory.episodes.list()] == ["Good to hear."]
    (waiting,) = [one for one in memory.graph.pending() if one.model]
    assert (waiting.attempts, waiting.error) == (1, "RuntimeError: down")
    reader.replies = [reads(relations=[OFFICE])]
    memory.graph.index_pending(failed=True)
    assert kept(memory) == ["Ines works at the harbour office"]


def test_a_server_that_refuses_tools_is_asked_for_lines_from_then_on(memory: TidalMemory) -> None:
    reader = ScriptedModel(replies=[ValueError("this model does not support tools"), reads(LINE), reads("[]")])
    middleware = TidalMemoryMiddleware(memory, reader=reader)
    agent = create_agent(ScriptedModel(replies=["Good to hear."]), middleware=[middleware])
    agent.invoke({"messages": [HumanMessage(TURN)]}, THREAD)
    assert kept(memory) == ["Ines works at the harbour office"]
    agent.invoke({"messages": [HumanMessage("And the tram was late.")]}, {"configurable": {"thread_id": "tuesday"}})
    memory.graph.index_pending()
    assert memory.stats().reader.calls == 2
    assert len(reader.shown) == 3


# RecordNode


def record(memory: TidalMemory, **options: Any) -> RecordNode:
    node = RecordNode(memory, **options)
    about = {"model_name": "small-1", "model_provider": "acme"}
    answer = AIMessage("Good to hear.", id="answer", response_metadata=about)
    node.invoke({"messages": [HumanMessage(TURN, id="question"), answer]}, THREAD)
    return node


def test_record_node_has_a_model_read(memory: TidalMemory) -> None:
    record(memory, reader=ScriptedModel(replies=[reads(relations=[OFFICE])]))
    assert kept(memory) == ["Ines works at the harbour office"]


def test_record_node_makes_the_model_that_wrote_the_answer(
    memory: TidalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    def make(name: str, *, model_provider: str | None) -> ScriptedModel:
        made.append((name, model_provider))
        return ScriptedModel(replies=[reads(relations=[OFFICE])])

    monkeypatch.setattr(langchain.chat_models, "init_chat_model", make)
    node = record(memory, reader="agent")
    assert kept(memory) == ["Ines works at the harbour office"]
    more = [HumanMessage("Hm.", id="q2"), AIMessage("Yes.", id="a2", response_metadata={"model_name": "small-1"})]
    node.invoke({"messages": more}, THREAD)
    assert made[0] == ("small-1", "acme")


def test_turns_wait_if_the_model_that_wrote_the_answer_cannot_be_made(
    memory: TidalMemory, caplog: pytest.LogCaptureFixture
) -> None:
    record(memory, reader="agent")  # nobody has a provider of that name
    memory.graph.index_pending()
    assert memory.stats().reader.waiting == 1
    assert "small-1" in caplog.text


def test_the_models_of_a_reader_are_checked(memory: TidalMemory) -> None:
    class Nothing(BaseModel):
        pass

    for wrong in ("agents", 7, Nothing()):
        with pytest.raises(InvalidInput):
            TidalMemoryMiddleware(memory, reader=wrong)
        with pytest.raises(InvalidInput):
            RecordNode(memory, reader=wrong)
    with pytest.raises(NotImplementedError):
        ChatModelReader(Plain(replies=["[]"])).answer("?", Nothing)
