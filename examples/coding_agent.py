"""A coding agent that goes on in a new session: its capsule begins with the state of the work. Runs offline: the model
is a stand-in, its tools write and test real files in a temporary folder."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool

from langchain_tidal import TidalCapsule, TidalCompaction, TidalMemoryMiddleware
from tidal_plugins import DiskFiles, TidalMemory

TIDES = "def height(hour):\n    return 4 if hour % 12 < 6 else 1\n"
CHECK = """import unittest
from tides import height


class HeightTest(unittest.TestCase):
    def test_noon(self):
        self.assertEqual(height(12), 4)

    def test_evening(self):
        self.assertEqual(height(18), 2)
"""
SESSIONS: dict[str, tuple[str, list[tuple[str, dict[str, Any]]], str]] = {
    "monday": (
        "Add the heights of the tides, with a test. From now on heights are in metres, never in feet.",
        [
            ("write_file", {"file_path": "tides.py", "content": TIDES}),
            ("write_file", {"file_path": "test_tides.py", "content": CHECK}),
            ("bash", {"command": "python -m unittest"}),
            ("write_todos", {"todos": [{"content": "mend the height of the evening", "status": "pending"}]}),
        ],
        "The height of the evening is wrong still.",
    ),
    "tuesday": ("Good morning. Where were we?", [], "At the height of the evening."),
}


class Scripted(BaseChatModel):
    """Stands in for your chat model: it makes the calls of a list, one after the other, and then answers."""

    steps: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=next(self.steps))])


def script(calls: list[tuple[str, dict[str, Any]]], answer: str) -> Iterator[AIMessage]:
    for place, (name, given) in enumerate(calls):
        yield AIMessage("", tool_calls=[{"name": name, "args": given, "id": f"call-{place}"}])
    yield AIMessage(answer)


def tools_in(folder: Path) -> list[BaseTool]:
    @tool
    def write_file(file_path: str, content: str) -> str:
        """Write a file."""
        (folder / file_path).write_text(content, "utf-8")
        return f"File created: {file_path}"

    @tool
    def bash(command: str) -> str:
        """Run a command."""
        words = [sys.executable, *command.split()[1:]]
        done = subprocess.run(words, cwd=folder, capture_output=True, encoding="utf-8", timeout=60, check=False)
        return done.stdout + done.stderr

    @tool
    def write_todos(todos: list[dict[str, str]]) -> str:
        """Keep what is to do."""
        return f"{len(todos)} to do"

    return [write_file, bash, write_todos]


@wrap_model_call
def show(request: Any, handler: Any) -> Any:
    if request.messages[-1].type == "human" and request.system_message:
        print(f"\nthe model begins with:\n{request.system_message.text}")
    return handler(request)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "harbour")
        work.mkdir()
        for thread, (asked, calls, answer) in SESSIONS.items():
            with TidalMemory(Path(folder, "agent.db")) as memory:  # opened anew, as another process would
                middleware = [
                    TidalCapsule(memory),
                    TidalCompaction(memory, files=DiskFiles(work)),
                    TidalMemoryMiddleware(memory),
                    show,
                ]
                agent = create_agent(Scripted(steps=script(calls, answer)), tools_in(work), middleware=middleware)
                given: Any = {"messages": [{"role": "user", "content": asked}]}
                print(f"\n{thread}, the user asks:\n{asked}")
                agent.invoke(given, {"configurable": {"thread_id": thread}})


if __name__ == "__main__":
    main()
