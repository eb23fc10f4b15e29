"""What only LlamaIndex's agents and chat engines have: contexts, handoffs, reasoning, templates."""

import json
import subprocess
import sys

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.workflow import Context, JsonSerializer

from llama_index_tidal import TidalChatMemory, TidalRetriever
from tests.frameworks.conftest import ASK, FACT, MARK, only
from tests.frameworks.llama_index.conftest import calling, contents, metronome
from tidal_plugins import InvalidInput

STEP = ("metronome", {"tempo": 90})


def roles(messages):
    return [message.role.value for message in messages]


@pytest.fixture
def chat(reminded):
    return TidalChatMemory(reminded, thread="friday")


# agents


async def test_the_agents_state_is_not_written_into_the_memory_and_tools_may_edit_it(reminded, chat, says):
    async def note(ctx: Context, word: str) -> str:
        """Note a word."""
        async with ctx.store.edit_state() as state:
            state["state"]["mood"] = word
        return "Noted."

    model = says(calling(("note", {"word": "jazz"})), "Done.")
    agent = FunctionAgent(llm=model, tools=[note], initial_state={"mood": "calm"})
    ctx = Context(agent)
    await agent.run("Hello.", memory=chat, ctx=ctx)
    assert "mood" in model.shown[0][-1].content
    assert contents(chat.get_all()) == ["Hello.", None, "Noted.", "Done."]
    assert only(reminded, thread="friday").query == "Hello."
    assert await ctx.store.get("memory") is chat


async def test_a_question_at_the_end_of_a_history_is_recorded_and_the_history_is_not(reminded, chat, says):
    seen = []

    def structure(messages):
        seen.extend(messages)
        return {"when": messages[-1].content}

    model = says("In the evening.")
    history = [ChatMessage("Old."), ChatMessage("Old too.", role="assistant"), ChatMessage(ASK)]
    agent = FunctionAgent(llm=model, tools=[], structured_output_fn=structure)
    result = await agent.run(chat_history=history, memory=chat)
    assert FACT in model.shown[0][-1].content
    assert result.structured_response == {"when": "In the evening."}
    assert MARK not in str(seen)
    assert [(e.query, e.answer) for e in reminded.episodes.list(thread="friday")] == [(ASK, "In the evening.")]


ACTS = 'Thought: I need a tool.\nAction: metronome\nAction Input: {"tempo": 90}'
ANSWERS = "Thought: I can answer without using any more tools. I'll use the user's language.\nAnswer: It ticks at 90."


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    "replies", [(ACTS, ANSWERS), (ANSWERS,), ("It ticks at 90.",)], ids=["tool", "thought", "plain"]
)
async def test_the_final_answer_of_a_react_agent_is_recorded_without_the_reasoning(memory, says, streaming, replies):
    chat = TidalChatMemory(memory, thread="studio")
    await ReActAgent(tools=[metronome], llm=says(*replies), streaming=streaming).run("Set it to 90.", memory=chat)
    assert (only(memory).query, only(memory).answer) == ("Set it to 90.", "It ticks at 90.")
    assert "Thought" not in str([hit.text for hit in memory.recall("metronome", kinds={"conversation"})])
    assert only(memory).messages[-1].reasoning.startswith("Thought: ")
    calls = [(call.name, call.arguments, call.result) for call in only(memory).tool_calls]
    assert calls == ([("metronome", {"tempo": 90}, "The metronome ticks at 90.")] if ACTS in replies else [])
    restored = TidalChatMemory.from_dict(chat.to_dict())
    assert restored.get_all() == chat.get_all(), "the history keeps what the agent wrote"


async def test_each_call_of_a_react_agent_is_recorded_with_its_result(memory, says):
    again = ACTS.replace('{"tempo": 90}', '{"tempo": -1}')
    chat = TidalChatMemory(memory, thread="studio")
    await ReActAgent(tools=[metronome], llm=says(ACTS, again, ANSWERS)).run("Set it.", memory=chat)
    first, second = only(memory).tool_calls
    assert (first.arguments, first.result) == ({"tempo": 90}, "The metronome ticks at 90.")
    assert second.arguments == {"tempo": -1}
    assert "no tempo -1" in second.result
    assert only(memory).answer == "It ticks at 90."


@pytest.mark.parametrize("style", ["chat", "achat"])
async def test_what_a_context_engine_retrieved_is_not_whispered_too(reminded, says, style):
    chat = TidalChatMemory(reminded, thread="friday")
    engine = ContextChatEngine.from_defaults(
        TidalRetriever(reminded, limit=3), llm=(model := says("Swing.")), memory=chat
    )
    asked = getattr(engine, style)(ASK)
    await asked if style == "achat" else None
    assert str([message.content for message in model.shown[0]]).count(FACT) == 1
    assert MARK not in str(model.shown[0])
    (episode,) = reminded.episodes.list(thread="friday")
    assert FACT in [reminded.get(id_).text for id_ in episode.surfaced], "it was shown all the same"


@pytest.mark.parametrize("workflow", [False, True], ids=["FunctionAgent", "AgentWorkflow"])
async def test_a_context_that_was_serialised_and_restored_goes_on(reminded, chat, says, workflow):
    def made(model):
        agent = FunctionAgent(name="agent", description="it", llm=model, tools=[metronome])
        return AgentWorkflow(agents=[agent], root_agent="agent") if workflow else agent

    agent = made(says(calling(STEP), "Noted."))
    ctx = Context(agent)
    await agent.run("I play standards, too.", memory=chat, ctx=ctx)
    saved = json.loads(json.dumps(ctx.to_dict(serializer=JsonSerializer())))
    assert "I play standards" not in json.dumps(saved["state"]["state_data"]["_data"]["memory"])
    agent = made(model := says("In the evening."))
    await agent.run(ASK, ctx=Context.from_dict(agent, saved, serializer=JsonSerializer()))
    assert roles(model.shown[0]) == ["user", "assistant", "tool", "assistant", "user"]
    assert model.shown[0][0].content == "I play standards, too."
    episodes = [(e.turn, e.query) for e in reminded.episodes.list(thread="friday")]
    assert episodes == [(1, "I play standards, too."), (2, ASK)]


@pytest.mark.slow
def test_a_turn_that_waits_for_a_human_is_finished_in_another_process(reminded, path):
    def run(step, saved=None):
        command = [sys.executable, "-W", "ignore", "-m", "tests.frameworks.llama_index.waiting_process", path, step]
        done = subprocess.run(command, input=json.dumps(saved), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    waiting = run("ask")
    assert waiting["result"] is None
    assert reminded.episodes.list(thread="friday") == []
    finished = run("answer", waiting["context"])
    assert finished["result"] == "In the evening."
    assert FACT in finished["shown"][0]
    episode = only(reminded, thread="friday")
    assert (episode.query, episode.answer) == (ASK, "In the evening.")
    assert [call.result for call in episode.tool_calls] == ["The human says yes."]


# chat engines


@pytest.fixture
def engines(reminded, chat):
    """Each engine with the chat as its memory, by name."""
    shelf = reminded.scoped("kb")  # a scope of its own, so that what comes from it is not a whisper
    shelf.remember("The jazz club opens at eight.", source="club.md")
    library = TidalRetriever(shelf)
    return {
        "simple": lambda llm: SimpleChatEngine.from_defaults(llm=llm, memory=chat, system_prompt="Be brief."),
        "context": lambda llm: ContextChatEngine.from_defaults(library, llm=llm, memory=chat),
        "condense_plus": lambda llm: CondensePlusContextChatEngine.from_defaults(library, llm=llm, memory=chat),
        "condense": lambda llm: CondenseQuestionChatEngine.from_defaults(
            RetrieverQueryEngine.from_args(library, llm=llm), llm=llm, memory=chat
        ),
    }


@pytest.mark.parametrize("name", ["simple", "context", "condense_plus", "condense"])
async def test_every_turn_is_shown_what_surfaced_and_recorded_in_every_style(reminded, engines, says, name):
    model = says("In the evening, every evening.")
    engine = engines[name](model)
    engine.chat("Hello.")
    before = len(model.shown)
    engine.chat(ASK)
    assert any(FACT in str(messages) for messages in model.shown[before:])
    await engine.achat("And on Sundays?")
    if name != "condense":  # it does not stream
        assert "".join(engine.stream_chat("On Mondays?").response_gen) == "In the evening, every evening."
        told = await engine.astream_chat("On Tuesdays?")
        assert "".join([part async for part in told.async_response_gen()]) == "In the evening, every evening."
    asked = ["Hello.", ASK, "And on Sundays?", "On Mondays?", "On Tuesdays?"][: 3 if name == "condense" else 5]
    episodes = reminded.episodes.list(thread="friday")
    assert [(e.query, e.answer) for e in episodes] == [(text, "In the evening, every evening.") for text in asked]
    assert MARK not in str(episodes)
    assert MARK not in str(engine.chat_history)
    assert episodes[1].surfaced


@pytest.mark.parametrize("name", ["simple", "context", "condense_plus"])
def test_the_whisper_stands_with_the_question_and_nothing_fills_a_template(reminded, engines, says, name):
    reminded.record(user="I practise jazz piano with {context_str} and {query_str}.", agent="Odd.", thread="monday")
    model = says("In the evening.")
    engine = engines[name](model)
    engine.chat("What is {context_str}?")
    first = model.shown[-1][1:]
    engine.chat(ASK)
    system, *rest = model.shown[-1]
    assert roles(rest[: len(first)]) == roles(first)
    assert rest[0] == first[0] or name == "simple", "a whisper stays where it was"
    if name == "simple":  # it puts, and then asks
        assert roles(rest) == ["user", "assistant", "user"]
        assert rest[2].content.startswith(MARK)
        assert rest[2].content.endswith(f"\n\n{ASK}")
        assert "{context_str}?" in rest[0].content
    else:
        assert roles(rest) == [*roles(first), "assistant", "user", "user"]
        assert FACT in rest[-2].content
        assert rest[-1].content == ASK
        assert "The jazz club opens at eight." in system.content
        assert "opens at eight" not in str(rest)
        assert rest[1].content == "What is { context_str }?"
    assert "{ context_str } and { query_str }" in str(rest)


def test_memory_cls_without_a_memory_says_what_to_do(says):
    with pytest.raises(InvalidInput, match="memory=TidalChatMemory"):
        SimpleChatEngine.from_defaults(llm=says("x"), memory_cls=TidalChatMemory)
