"""A ReActAgent's message holds its reasoning; the episode has the answer."""

import pytest
from llama_index.core.agent.workflow import ReActAgent

from llama_index_tidal import TidalChatMemory
from tidal_plugins import TidalMemory

pytestmark = [  # LlamaIndex looks at every attribute of its own objects
    pytest.mark.filterwarnings("ignore:The `__fields__` attribute is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The `__fields_set__` attribute is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_computed_fields' attribute:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_fields' attribute:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]

PLAIN = "It ticks at 90."
ACTS = 'Thought: I need a tool.\nAction: metronome\nAction Input: {"tempo": 90}'
ANSWERS = "Thought: I can answer without using any more tools. I'll use the user's language.\nAnswer: It ticks at 90."


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    "replies", [(ACTS, ANSWERS), (ANSWERS,), ("It ticks at 90.",)], ids=["tool", "thought", "plain"]
)
async def test_the_final_answer_is_recorded_without_the_reasoning(memory: TidalMemory, says, tool, streaming, replies):
    chat = TidalChatMemory(memory, thread="studio")
    agent = ReActAgent(tools=[tool], llm=says(*replies), streaming=streaming)
    await agent.run("Set the metronome to 90.", memory=chat)
    [episode] = memory.episodes.list()
    assert (episode.query, episode.answer) == ("Set the metronome to 90.", "It ticks at 90.")
    assert "Thought" not in str([hit.text for hit in memory.recall("metronome", kinds={"conversation"})])
    restored = TidalChatMemory.from_dict(chat.to_dict())
    assert restored.get_all() == chat.get_all(), "the history keeps what the agent wrote"
