"""A LlamaIndex chat with a memory, in one argument. Runs offline: the model is a stand-in."""

import tempfile
from pathlib import Path
from typing import Any

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, MockFunctionCallingLLM

from llama_index_tidal import TidalChatMemory
from tidal_plugins import TidalMemory


def talk(path: Path, thread: str, words: str, answer: str) -> None:
    def say(messages: Any, **kwargs: Any) -> ChatMessage:
        print(f"\nthe model is shown:\n{messages[-1].content}")
        return ChatMessage(answer, role="assistant")

    model = MockFunctionCallingLLM(response_generator=say)  # put your model here

    with TidalMemory(path) as memory:  # opened anew, as another process would
        engine = SimpleChatEngine.from_defaults(llm=model, memory=TidalChatMemory(memory, thread=thread))
        print(f"\nthe model answers:\n{engine.chat(words)}")


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "agent.db")
    talk(file, "monday", "I play jazz piano, and my left hand is lazy.", "Noted.")
    talk(file, "friday", "What should I practise on the piano?", "Stride bass lines, for that left hand.")
