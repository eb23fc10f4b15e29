"""A LlamaIndex query engine over a memory. Runs offline: the model is a stand-in."""

import tempfile
from pathlib import Path
from typing import Any

from llama_index.core.llms import ChatMessage, MockFunctionCallingLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from llama_index_tidal import TidalRetriever
from tidal_plugins import Note, TidalMemory


def say(messages: Any, **kwargs: Any) -> ChatMessage:
    return ChatMessage("On the first of March, to Ilse.", role="assistant")


model = MockFunctionCallingLLM(response_generator=say, is_chat_model=True)  # put your model here

with tempfile.TemporaryDirectory() as folder, TidalMemory(Path(folder, "agent.db")) as memory:
    memory.record(user="I pay Ilse for the mooring, in cash.", agent="Noted.", thread="monday")
    memory.remember(
        [
            Note("The mooring fee is due on the first of March.", source="harbour.md"),
            Note("To reef the main, ease the sheet and lower the halyard.", kind="skill", source="reefing.md"),
        ]
    )
    engine = RetrieverQueryEngine.from_args(TidalRetriever(memory, limit=2), llm=model)
    question = "When do I pay for the mooring, and whom?"
    answer = engine.query(question)
    print(f"you ask:\n{question}\n\nthe model answers:\n{answer}\n\nit was shown:")
    for node in answer.source_nodes:
        print(f"{node.score:.2f}  {node.metadata['kind']}: {node.text}")
