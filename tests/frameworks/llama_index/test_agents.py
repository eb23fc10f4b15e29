import asyncio
import json

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.workflow import Context, JsonSerializer
from pydantic import BaseModel

from llama_index_tidal import TidalChatMemory, TidalToolSpec

pytestmark = [  # llama-index-workflows looks at every attribute of an agent, which is a pydantic model
    pytest.mark.filterwarnings("ignore:The `__fields__` attribute is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The `__fields_set__` attribute is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_computed_fields' attribute:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_fields' attribute:DeprecationWarning"),
]

FENCE = "<tidal-memory>"


def texts(messages):
    return [message.content for message in messages]


def roles(messages):
    return [message.role.value for message in messages]


@pytest.fixture
def chat(reminded):
    return TidalChatMemory(reminded, thread="friday")


@pytest.fixture
def step(calls):
    return calls(("metronome", {"tempo": 90}))


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_turn_with_tools_is_one_episode(reminded, chat, says, step, tool, ask, streaming):
    model = says(step, "In the evening.")
    agent = FunctionAgent(llm=model, tools=[tool], streaming=streaming)
    assert str(await agent.run(ask, memory=chat)) == "In the evening."
    (episode,) = reminded.episodes.list(thread="friday")
    (call,) = episode.tool_calls
    assert (episode.query, episode.answer) == (ask, "In the evening.")
    assert (call.name, call.arguments, call.result) == ("metronome", {"tempo": 90}, "The metronome ticks at 90.")
    assert episode.surfaced


async def test_each_step_shows_the_whisper_with_the_question_and_recalls_once(
    chat, says, step, tool, ask, fact, embedder
):
    model = says(step, step, "In the evening.")
    await FunctionAgent(llm=model, tools=[tool]).run(ask, memory=chat)
    assert [roles(shown) for shown in model.shown] == [["user"] + ["assistant", "tool"] * n for n in range(3)]
    questions = {shown[0].content for shown in model.shown}
    assert len(questions) == 1
    assert fact in questions.pop()
    assert embedder.recalls == [ask]


async def test_parallel_calls_are_all_recorded(reminded, chat, says, calls, tool):
    model = says(calls(("metronome", {"tempo": 90}), ("metronome", {"tempo": 120}), text="Two."), "Done.")
    await FunctionAgent(llm=model, tools=[tool]).run("Set 90 and 120.", memory=chat)
    (episode,) = reminded.episodes.list(thread="friday")
    assert sorted(call.result for call in episode.tool_calls) == [
        "The metronome ticks at 120.",
        "The metronome ticks at 90.",
    ]


async def test_a_failing_tool_is_part_of_the_episode(reminded, chat, says, calls, tool):
    model = says(calls(("metronome", {"tempo": -1})), "It cannot.")
    await FunctionAgent(llm=model, tools=[tool]).run("Set −1.", memory=chat)
    (episode,) = reminded.episodes.list(thread="friday")
    assert "no tempo -1" in episode.tool_calls[0].result


async def test_the_agents_state_is_not_written_into_the_memory(reminded, chat, says):
    model = says("Noted.")
    agent = FunctionAgent(llm=model, tools=[], initial_state={"mood": "calm"})
    await agent.run("Hello.", memory=chat)
    assert "mood" in model.shown[0][-1].content
    assert texts(chat.get_all()) == ["Hello.", "Noted."]
    assert reminded.episodes.list(thread="friday")[0].query == "Hello."


async def test_a_question_at_the_end_of_a_history_is_recorded_and_the_history_is_not(reminded, chat, says, ask, fact):
    model = says("In the evening.")
    history = [ChatMessage("Old."), ChatMessage("Old too.", role="assistant"), ChatMessage(ask)]
    await FunctionAgent(llm=model, tools=[]).run(chat_history=history, memory=chat)
    assert fact in model.shown[0][-1].content
    assert [(e.query, e.answer) for e in reminded.episodes.list(thread="friday")] == [(ask, "In the evening.")]


async def test_a_structured_answer_is_made_from_the_history(chat, says, ask):
    class Time(BaseModel):
        when: str

    seen = []

    def structure(messages):
        seen.extend(messages)
        return {"when": messages[-1].content}

    agent = FunctionAgent(llm=says("In the evening."), tools=[], structured_output_fn=structure)
    result = await agent.run(ask, memory=chat)
    assert result.structured_response == {"when": "In the evening."}
    assert FENCE not in str(seen)


@pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")
async def test_a_react_agent_is_recorded_too(reminded, chat, says, tool, ask, fact):
    model = says("Thought: I know.\nAnswer: In the evening.")
    await ReActAgent(llm=model, tools=[tool], streaming=False).run(ask, memory=chat)
    assert fact in str(model.shown[0])
    (episode,) = reminded.episodes.list(thread="friday")
    assert (episode.query, episode.answer) == (ask, "In the evening.")


async def test_a_turn_handed_from_agent_to_agent_is_one_episode(reminded, chat, says, calls, ask, fact):
    first, second = says(calls(("handoff", {"to_agent": "two", "reason": "it knows"}))), says("In the evening.")
    workflow = AgentWorkflow(
        agents=[
            FunctionAgent(name="one", description="asks", llm=first, tools=[], can_handoff_to=["two"]),
            FunctionAgent(name="two", description="knows", llm=second, tools=[]),
        ],
        root_agent="one",
    )
    await workflow.run(ask, memory=chat)
    (episode,) = reminded.episodes.list(thread="friday")
    assert (episode.query, episode.answer) == (ask, "In the evening.")
    assert [call.name for call in episode.tool_calls] == ["handoff"]
    assert fact in str(second.shown[0])


def agents(llm, tools=()):
    agent = FunctionAgent(name="agent", description="it", llm=llm, tools=list(tools))
    yield agent
    yield AgentWorkflow(agents=[agent], root_agent="agent")


@pytest.mark.parametrize("kind", [0, 1], ids=["FunctionAgent", "AgentWorkflow"])
async def test_a_context_that_was_serialised_and_restored_goes_on(reminded, chat, says, step, tool, ask, kind):
    agent = list(agents(says(step, "Noted."), [tool]))[kind]
    ctx = Context(agent)
    await agent.run("I play standards, too.", memory=chat, ctx=ctx)
    saved = json.loads(json.dumps(ctx.to_dict(serializer=JsonSerializer())))
    assert "I play standards" not in json.dumps(saved["state"]["state_data"]["_data"]["memory"])
    model = says("In the evening.")
    agent = list(agents(model, [tool]))[kind]
    await agent.run(ask, ctx=Context.from_dict(agent, saved, serializer=JsonSerializer()))
    assert roles(model.shown[0]) == ["user", "assistant", "tool", "assistant", "user"]
    assert model.shown[0][0].content == "I play standards, too."
    assert [(e.turn, e.query) for e in reminded.episodes.list(thread="friday")] == [
        (1, "I play standards, too."),
        (2, ask),
    ]


async def test_a_tool_that_edits_the_state_leaves_the_chat_whole(reminded, chat, says, calls):
    async def note(ctx: Context, word: str) -> str:
        """Note a word."""
        async with ctx.store.edit_state() as state:
            state["state"]["word"] = word
        return "Noted."

    agent = FunctionAgent(
        llm=says(calls(("note", {"word": "jazz"})), "Done."), tools=[note], initial_state={"word": ""}
    )
    ctx = Context(agent)
    await agent.run("Note jazz.", memory=chat, ctx=ctx)
    assert await ctx.store.get("memory") is chat
    assert [e.answer for e in reminded.episodes.list(thread="friday")] == ["Done."]


@pytest.mark.slow
@pytest.mark.parametrize("workflow", [False, True], ids=["FunctionAgent", "AgentWorkflow"])
def test_a_context_goes_on_in_another_process(reminded, in_process, ask, fact, workflow):
    first = in_process(thread="friday", say="I play standards, too.", replies=["Noted."], workflow=workflow)
    second = in_process(say=ask, replies=["In the evening."], context=first["context"], workflow=workflow)
    assert second["shown"][0][:2] == ["I play standards, too.", "Noted."]
    assert fact in second["shown"][0][2]
    episodes = reminded.episodes.list(thread="friday")
    assert [(e.turn, e.query, e.answer) for e in episodes] == [
        (1, "I play standards, too.", "Noted."),
        (2, ask, "In the evening."),
    ]


@pytest.mark.slow
def test_a_turn_that_waits_for_a_human_is_finished_in_another_process(reminded, in_process, ask, fact):
    confirm = [["confirm", {"question": "May I?"}]]
    first = in_process(thread="friday", say=ask, replies=[confirm, "unused"])
    assert first["result"] is None
    assert reminded.episodes.list(thread="friday") == []
    second = in_process(answer="yes", replies=["In the evening."], context=first["context"])
    assert fact in second["shown"][0][0]
    (episode,) = reminded.episodes.list(thread="friday")
    assert (episode.query, episode.answer) == (ask, "In the evening.")
    assert [call.result for call in episode.tool_calls] == ["The human says yes."]


async def test_the_tools_work_in_an_agent(reminded, says, calls, fact):
    model = says(
        calls(("search_memory", {"query": "jazz piano"}), ("save_memory", {"text": "The left hand is lazy."})), "Done."
    )
    agent = FunctionAgent(llm=model, tools=TidalToolSpec(reminded).to_tool_list())
    await agent.run("Look it up.", memory=TidalChatMemory(reminded.scoped("elsewhere")))
    results = [message.content for message in model.shown[1] if message.role == "tool"]
    assert any(fact in text for text in results)
    assert [hit.text for hit in reminded.recall("left hand", kinds={"fact"})] == ["The left hand is lazy."]


async def test_fifty_agents_run_at_once(memory, says, step, tool):
    async def run(name):
        chat = TidalChatMemory(memory, scope=("user", name))
        await FunctionAgent(llm=says(step, f"Noted, {name}."), tools=[tool]).run(f"I am {name}.", memory=chat)

    names = [f"user{n:02}" for n in range(50)]
    await asyncio.gather(*map(run, names))
    for name in names:
        (episode,) = memory.scoped("user", name).episodes.list()
        assert (episode.query, episode.answer, len(episode.tool_calls)) == (f"I am {name}.", f"Noted, {name}.", 1)
