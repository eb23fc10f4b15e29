"""An agent with files, in a process of its own: a ReAct loop whose model follows a script, on a memory and checkpoints.

Its argument is a JSON order with ``folder`` (for memory, checkpoints and the agent's files), ``turns`` ``[first,
last)``, and ``stop``: whether to leave the last turn before its tools have run. A turn that an earlier process left in
this way is finished first. The process prints what the model was shown, measured at each call.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import Field

from langchain_tidal import reserved
from langgraph_tidal import CompactionNode, RecallNode, RecordNode, TidalState, model_input
from tidal_plugins import HashingEmbedder, Settings, TidalMemory

MAX_TOKENS = 3_000
MAX_BYTES = 14_000
PROMPT = SystemMessage("You are an agent that keeps the files of a workshop. Use your tools, then answer.")
SETTINGS = Settings(whisper={"threshold": 0.2}, storage={"durability": "fast"})
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "workshop"}, "recursion_limit": 500}

LONG = 40
"""Number of tool calls in a long turn: more than the context holds."""

_THINGS = "bolt gear lathe plank rivet hinge spindle washer clamp chisel".split()


def query(turn: int) -> str:
    thing = _THINGS[turn % len(_THINGS)]
    return f"Turn {turn}: how many of {thing} number {turn * 7919 % 1000} are left, and what do we do about «{thing}»?"


def script(turn: int) -> list[list[tuple[str, dict[str, Any]]]]:
    """Return the steps of a turn: for each, the calls that the model makes side by side."""
    path, other = f"stock/{turn % 12}.txt", f"notes/{turn % 7}.md"
    if turn % 60 == 35:
        return [[("Read", {"file_path": f"stock/{step % 12}.txt"})] for step in range(LONG)]
    if turn % 4 == 0:
        return []
    if turn % 4 == 1:
        return [[("Read", {"file_path": path}), ("Bash", {"command": f"wc -c {path} && grep -n item {path}"})]]
    if turn % 4 == 2:
        write = ("Write", {"file_path": other, "content": f"decided in turn {turn}\n" * 6})
        return [[("Read", {"file_path": path})], [write], [("Read", {"file_path": other})]]
    return [[("Bash", {"command": "cat missing.txt"})], [("Bash", {"command": "ls stock | head -5"})]]


def tools_on(folder: Path) -> list[BaseTool]:
    @tool("Read")
    def read(file_path: str) -> str:
        """Read a file."""
        return (folder / file_path).read_text()

    @tool("Write")
    def write(file_path: str, content: str) -> str:
        """Write a file."""
        (folder / file_path).parent.mkdir(exist_ok=True)
        (folder / file_path).write_text(content)
        return f"wrote {len(content)} characters to {file_path}"

    @tool("Bash")
    def bash(command: str) -> str:
        """Run a command."""
        done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=500)
        if done.returncode:
            raise ValueError(f"exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    return [read, write, bash]


class Worker(BaseChatModel):
    """A model that follows the script of the current turn, and notes what it is shown."""

    schemas: int
    calls: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        turn, done = where(messages)
        steps = script(turn)
        self.calls.append(self.noted(messages, turn))
        if done == len(steps):
            reply = AIMessage(
                f"We decided: of number {turn * 7919 % 1000} there are {turn % 90} left. Done with {turn}."
            )
        else:
            calls = enumerate(steps[done])
            reply = AIMessage(
                "", tool_calls=[{"name": n, "args": a, "id": f"t{turn}-{done}-{place}"} for place, (n, a) in calls]
            )
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def noted(self, messages: Sequence[BaseMessage], turn: int) -> dict[str, Any]:
        payload = sum(len(said(message).encode()) for message in messages)
        return {
            "turn": turn,
            "tokens": count_tokens_approximately(messages, use_usage_metadata_scaling=False) + self.schemas // 4,
            "bytes": payload + self.schemas,
            "asked": sum(query(turn) in message.text for message in messages if isinstance(message, HumanMessage)),
            "unpaired": unpaired(messages),
            "prompts": [place for place, m in enumerate(messages) if isinstance(m, SystemMessage)],
            "written": [[m.type, m.text] for m in messages if "lc_source" in m.additional_kwargs],
            "texts": [m.text for m in messages] if len(self.calls) % 50 == 0 or turn % 100 == 99 else [],
        }


def where(messages: Sequence[BaseMessage]) -> tuple[int, int]:
    """Return the turn that the model is asked in, and the number of its finished steps."""
    asked = [m.text for m in messages if isinstance(m, HumanMessage) and "lc_source" not in m.additional_kwargs]
    turn = int(re.findall(r"Turn (\d+): how many", asked[-1])[-1])
    done = [m.tool_call_id.split("-") for m in messages if isinstance(m, ToolMessage)]
    steps = [int(step) for name, step, _ in (id_ for id_ in done if len(id_) == 3) if name == f"t{turn}"]
    return turn, max(steps, default=-1) + 1


def said(message: BaseMessage) -> str:
    calls = list(message.tool_calls) if isinstance(message, AIMessage) else []
    return json.dumps([message.type, message.content, calls], ensure_ascii=False, default=str)


def unpaired(messages: Sequence[BaseMessage]) -> list[str]:
    wrong: list[str] = []
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool_call_id in waiting:
            waiting.remove(message.tool_call_id)
        elif isinstance(message, ToolMessage):
            wrong.append(message.tool_call_id)
        else:
            wrong += waiting
            waiting = [str(call["id"]) for call in message.tool_calls] if isinstance(message, AIMessage) else []
    return wrong + waiting


def graph(memory: TidalMemory, model: Worker, tools: list[BaseTool]) -> StateGraph[Any]:
    beside = reserved(PROMPT, tools)
    compaction = CompactionNode(memory, max_tokens=MAX_TOKENS, max_bytes=MAX_BYTES, reserved=beside)

    def call_model(state: TidalState) -> dict[str, Any]:
        return {"messages": [model.invoke([PROMPT, *model_input(state)])]}

    built = StateGraph(TidalState)
    built.add_node("compact", compaction)
    built.add_node("recall", RecallNode(memory))
    built.add_node("model", call_model)
    built.add_node("tools", ToolNode(tools, handle_tool_errors=True))
    built.add_node("record", RecordNode(memory))
    built.add_edge(START, "compact").add_edge("compact", "recall").add_edge("recall", "model")
    built.add_conditional_edges("model", tools_condition, {"tools": "tools", END: "record"})
    return built.add_edge("tools", "compact")


def main(order: dict[str, Any]) -> dict[str, Any]:
    folder = Path(order["folder"])
    tools = tools_on(folder / "files")
    model = Worker(schemas=sum(len(json.dumps(convert_to_openai_tool(each))) for each in tools))
    first, last = order["turns"]
    with (
        TidalMemory(folder / "agent.db", embedder=HashingEmbedder(), settings=SETTINGS) as memory,
        SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver,
    ):
        app = graph(memory, model, tools).compile(checkpointer=saver)
        if app.get_state(CONFIG).next:
            app.invoke(None, CONFIG, durability="exit")
        for turn in range(first, last):
            given = {"messages": [HumanMessage(query(turn), id=f"turn-{turn}")]}
            stop = ["tools"] if order.get("stop") and turn == last - 1 else None
            app.invoke(given, CONFIG, durability="exit", interrupt_before=stop)
        state = app.get_state(CONFIG)
        messages = state.values["messages"]
        return {
            "calls": model.calls,
            "waits": list(state.next),
            "asked": [m.text for m in messages if isinstance(m, HumanMessage)],
            "written": [m.text for m in messages if "lc_source" in m.additional_kwargs],
            "saved": list(state.values),
            "messages": len(messages),
        }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
