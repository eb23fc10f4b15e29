"""Agents that write in their session: what they reward comes up in the next model call, and in no other chat."""

from __future__ import annotations

import json
import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from llama_index.core.workflow import Context, JsonSerializer, StartEvent, StopEvent, Workflow, step

from llama_index_tidal import TidalChatMemory, TidalMemoryBlock, TidalRetriever, restore_with, signal_tools
from tidal_plugins import Closed, InvalidInput, Policy, TidalMemory

pytestmark = [  # llama-index-workflows looks at every attribute of an agent, which is a pydantic model
    pytest.mark.filterwarnings("ignore:The `__fields__` attribute is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The `__fields_set__` attribute is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_computed_fields' attribute:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_fields' attribute:DeprecationWarning"),
]

PLANNER = Policy(allow={"reward", "annotate"}, max_signals=3, max_duration=timedelta(hours=1))
ASKED: dict[str, Any] = {"policy": PLANNER, "agent": "planner"}
ASK = "Which jazz piano piece should I practise?"
PIECES = (
    "A jazz piano piece to practise is Naima.",
    "A jazz piano piece to practise is Misty.",
    "A jazz piano piece to practise is Blue Bossa.",
)


def lines(text: str) -> list[str]:
    """The lines of a whisper."""
    return [line for line in text.splitlines() if line.startswith("- [")]


def whispers(model: Any) -> list[list[str]]:
    """What each call of the model was shown of memory."""
    return [lines("\n".join(message.content or "" for message in shown)) for shown in model.shown]


def results(model: Any) -> list[str]:
    """What tools told the model by its last call."""
    return [message.content for message in model.shown[-1] if message.role == "tool"]


@pytest.fixture
def pieces(memory: TidalMemory) -> TidalMemory:
    """A memory in which three turns of an earlier session answer to ASK."""
    for number, piece in enumerate(PIECES):
        memory.record(piece, "Noted.", thread="old", id=f"piece-{number}")
    return memory


@pytest.fixture
def rewarding(calls: Any) -> Any:
    """A reply that rewards the second memory that the model was shown."""

    def reply(messages: Any) -> Any:
        shown = lines("\n".join(message.content or "" for message in messages))
        return calls(("reward_memory", {"citation": shown[1][2:].partition("]")[0] + "]", "weight": 100}))

    return reply


@pytest.fixture
def agent(pieces: TidalMemory) -> Any:
    return lambda model, **options: FunctionAgent(
        name="agent", description="it", llm=model, tools=signal_tools(pieces, **{**ASKED, **options})
    )


@pytest.mark.parametrize("workflow", [False, True], ids=["FunctionAgent", "AgentWorkflow"])
async def test_what_is_rewarded_stands_first_in_the_very_next_model_call(
    pieces: TidalMemory, says: Any, rewarding: Any, agent: Any, workflow: bool
) -> None:
    model = says(rewarding, "Misty.")
    runs = AgentWorkflow(agents=[agent(model)], root_agent="agent") if workflow else agent(model)
    chat = TidalChatMemory(pieces, thread="friday", **ASKED)
    assert str(await runs.run(ASK, memory=chat)) == "Misty."
    first, second = whispers(model)
    assert len(first) == 3
    assert second == [first[1], first[0], first[2]]
    assert results(model) == [
        "Rewarded: it ranks higher in this conversation from now on. Signals left in this session: 2."
    ]
    [info] = pieces.sessions.list()
    assert (info.agent, info.policy, info.accepted) == ("planner", PLANNER, 1)
    assert len(pieces.sessions.snapshot(info.id).entries) == 1, "of the episode, the entry that was shown"
    [episode] = pieces.episodes.list(thread="friday")
    assert sorted(episode.surfaced) == sorted(pieces.recall(ASK, limit=3, threads={"old"}).ids)


async def test_another_chats_lane_stays_as_it_was(pieces: TidalMemory, says: Any, rewarding: Any, agent: Any) -> None:
    model = says(rewarding, "Misty.", "Any.")
    await agent(model).run(ASK, memory=TidalChatMemory(pieces, thread="one", **ASKED))
    await agent(model).run(ASK, memory=TidalChatMemory(pieces, thread="two", **ASKED))
    first, second, other = whispers(model)
    assert second[0] == first[1]
    assert other[0] == first[0]
    assert [info.accepted for info in pieces.sessions.list()] == [1, 0]
    assert pieces.signals.tally().scores == {}, "nothing is said to everyone"


async def test_what_is_refused_comes_back_as_text(
    pieces: TidalMemory, says: Any, calls: Any, rewarding: Any, agent: Any
) -> None:
    wrong = [
        ("reward_memory", {"citation": "[mem:nowhere]"}),
        ("reward_memory", {"citation": pieces.scoped("another").remember("Not yours.").citation}),
        ("reward_memory", {"citation": pieces.episodes.list()[0].citation, "weight": -1}),
        ("annotate_memory", {"citation": pieces.episodes.list()[0].citation, "note": "x" * 10_000}),
    ]
    model = says(calls(*wrong), *[rewarding] * 4, "Enough.")
    answer = await agent(model).run(ASK, memory=TidalChatMemory(pieces, thread="friday", **ASKED))
    assert str(answer) == "Enough."
    told = results(model)
    reasons = ("nowhere", "no entry or episode", "weight is a number", "a note is", "has its 3 signals already")
    refused = [text for text in told if text.startswith("Not done. ")]
    assert len(refused) == len(reasons)
    assert all(any(reason in text for text in refused) for reason in reasons)
    assert max(map(len, refused)) < 300
    [info] = pieces.sessions.list()
    assert (info.accepted, info.rejected) == (3, 1)


async def test_a_context_that_was_restored_on_another_memory_goes_on_in_the_session(
    pieces: TidalMemory, says: Any, rewarding: Any, agent: Any, open_: Any, path: Path
) -> None:
    first = agent(says(rewarding, "Misty."))
    ctx = Context(first)
    await first.run(ASK, memory=TidalChatMemory(pieces, thread="friday", **ASKED), ctx=ctx)
    before = whispers(first.llm)
    saved = json.loads(json.dumps(ctx.to_dict(serializer=JsonSerializer())))
    pieces.close()
    with open_(path) as memory:
        restore_with(memory)
        model = says("Still Misty.")
        second = FunctionAgent(name="agent", description="it", llm=model, tools=signal_tools(memory, **ASKED))
        await second.run(ASK, ctx=Context.from_dict(second, saved, serializer=JsonSerializer()))
        assert whispers(model)[0][0] == before[0][1]
        assert [info.accepted for info in memory.sessions.list()] == [1]


def test_a_policy_goes_through_every_way_of_writing_a_chat_down(pieces: TidalMemory) -> None:
    pieces.sessions.policies["planner"] = PLANNER
    for policy in (PLANNER, "planner", None):
        chat = TidalChatMemory(pieces, thread="friday", policy=policy)
        plain = json.loads(json.dumps(chat.to_dict()))
        for restored in (TidalChatMemory.from_dict(plain), pickle.loads(pickle.dumps(chat))):
            assert restored.policy == policy
        block = TidalMemoryBlock(pieces, policy=policy)
        assert TidalMemoryBlock(**json.loads(block.model_dump_json())).policy == policy


async def test_the_session_is_that_of_the_user_in_the_scope(memory: TidalMemory, says: Any, rewarding: Any) -> None:
    anna = ("user", "anna")
    for piece in PIECES:
        memory.scoped(*anna).record(piece, "Noted.", thread="old")
    model = says(rewarding, "Misty.")
    agent = FunctionAgent(llm=model, tools=signal_tools(memory, scope=anna, **ASKED))
    await agent.run(ASK, memory=TidalChatMemory(memory, scope=anna, thread="friday", **ASKED))
    first, second = whispers(model)
    assert second[0] == first[1]
    assert [info.user for info in memory.scoped(*anna).sessions.list()] == ["anna"]
    assert memory.sessions.list() == []


async def test_a_block_feels_the_session_of_its_memory(
    pieces: TidalMemory, says: Any, rewarding: Any, agent: Any
) -> None:
    model = says(rewarding, "Misty.")
    memory = Memory.from_defaults(session_id="friday", memory_blocks=[TidalMemoryBlock(pieces, **ASKED)])
    await agent(model).run(ASK, memory=memory)
    await memory.sql_store._async_engine.dispose()
    first, second = whispers(model)
    assert second[0] == first[1]
    [info] = pieces.sessions.list()
    assert info.accepted == 2, "an episode means all its entries where it is not known which were shown"


async def test_the_retriever_feels_the_session_of_a_chat(pieces: TidalMemory) -> None:
    misty = next(hit.id for hit in pieces.recall(ASK) if "Misty" in hit.text)
    pieces.sessions.open(agent="planner", policy=PLANNER, thread="friday").signal("reward", misty, 100)
    retriever = TidalRetriever(pieces, thread="friday", **ASKED)
    assert retriever.retrieve(ASK)[0].node.node_id == misty
    assert (await retriever.aretrieve(ASK))[0].node.node_id == misty
    assert TidalRetriever(pieces, thread="monday", **ASKED).retrieve(ASK)[0].node.node_id != misty
    with pytest.raises(InvalidInput, match="thread="):
        TidalRetriever(pieces, **ASKED)


async def test_the_tools_work_in_a_workflow_of_ones_own(pieces: TidalMemory) -> None:
    class Curation(Workflow):
        @step
        async def curate(self, ctx: Context, begin: StartEvent) -> StopEvent:
            await ctx.store.set("memory", begin.get("chat"))
            reward, annotate = signal_tools(pieces, **ASKED)
            told = [await reward.acall(ctx=ctx, citation=begin.get("citation"))]
            told.append(await annotate.acall(ctx=ctx, citation=begin.get("citation"), note="Naima"))
            return StopEvent(result=[output.content for output in told])

    chat, citation = TidalChatMemory(pieces, thread="friday", **ASKED), pieces.episodes.list()[0].citation
    chat.put(ChatMessage(ASK))
    told = await Curation().run(chat=chat, citation=citation)
    assert [text.partition(":")[0] for text in told] == ["Rewarded", "Noted"]
    assert "Naima" in lines(chat.get()[-1].content)[0]
    told = await Curation().run(chat=None, citation=citation)
    assert all(text.startswith("Not done. policy= is for the session of a thread") for text in told)


async def test_a_fault_of_the_store_is_no_text_for_the_model(pieces: TidalMemory) -> None:
    class Broken(Workflow):
        @step
        async def fail(self, ctx: Context, begin: StartEvent) -> StopEvent:
            await ctx.store.set("memory", begin.get("chat"))
            with pytest.raises(Closed):
                await signal_tools_made[0].acall(ctx=ctx, citation="x")
            return StopEvent(result="done")

    chat, signal_tools_made = TidalChatMemory(pieces, thread="friday", **ASKED), signal_tools(pieces, **ASKED)
    pieces.close()
    assert await Broken().run(chat=chat) == "done"


def test_policies_are_checked_when_a_face_is_made(pieces: TidalMemory) -> None:
    wrong = Policy(allow={"clap"})
    for make in (TidalChatMemory, TidalMemoryBlock, TidalRetriever, signal_tools):
        for policy, reason in ((wrong, "clap"), ("nobody", "nobody")):
            with pytest.raises(InvalidInput, match=reason):
                make(pieces, policy=policy)
    for make in (TidalChatMemory, TidalMemoryBlock, TidalRetriever):
        with pytest.raises(InvalidInput, match="policy="):
            make(pieces, agent="planner")
    with pytest.raises(InvalidInput, match="under a policy"):
        signal_tools(pieces, None)  # type: ignore[arg-type]  that is the point


def test_the_model_is_told_what_they_take(pieces: TidalMemory) -> None:
    reward, annotate = (tool.metadata.to_openai_tool()["function"] for tool in signal_tools(pieces, **ASKED))
    assert (reward["name"], sorted(reward["parameters"]["properties"])) == (
        "reward_memory",
        ["citation", "note", "weight"],
    )
    assert (annotate["name"], annotate["parameters"]["required"]) == ("annotate_memory", ["citation", "note"])
    assert "nobody else sees it" in reward["description"]
