"""A LangChain agent with a memory, as one middleware. Runs offline: the model is a stand-in."""

import tempfile
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.language_models import FakeListChatModel

from langchain_tidal import TidalMemoryMiddleware
from tidal_plugins import TidalMemory


@wrap_model_call
def show(request: Any, handler: Any) -> Any:
    print(f"\nthe model is shown:\n{request.messages[-1].text}")
    return handler(request)


def talk(path: Path, thread: str, words: str, answer: str) -> None:
    with TidalMemory(path) as memory:  # opened anew, as another process would
        model = FakeListChatModel(responses=[answer])  # put your chat model here
        agent = create_agent(model, middleware=[TidalMemoryMiddleware(memory), show])
        given = {"role": "user", "content": words}
        result = agent.invoke({"messages": [given]}, {"configurable": {"thread_id": thread}})
        print(f"\nthe model answers:\n{result['messages'][-1].text}")


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "agent.db")
    talk(file, "monday", "I play jazz piano, and my left hand is lazy.", "Noted.")
    talk(file, "friday", "What should I practise on the piano?", "Stride bass lines, for that left hand.")
