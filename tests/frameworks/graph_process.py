"""Run one step of a conversation in a process of its own: a graph on a memory and checkpoints.

Arguments: the memory's path, the checkpoints' path, and a JSON command with ``thread``, ``replies`` and either ``say``
or ``resume``; ``ask_before_tools`` interrupts there. The process prints what the model was shown, and the outcome.
"""

import json
import sys
from typing import Any

from conftest import ScriptedModel, graph_of, metronome, open_memory
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, interrupt


def approve(state: Any) -> dict[str, Any]:
    interrupt("May I?")
    return {}


def reply(value: Any) -> Any:
    return AIMessage(**value) if isinstance(value, dict) else value


def main(path: str, checkpoints: str, command: dict[str, Any]) -> dict[str, Any]:
    model = ScriptedModel(replies=[reply(value) for value in command["replies"]])
    with open_memory(path) as memory, SqliteSaver.from_conn_string(checkpoints) as saver:
        before = approve if command.get("ask_before_tools") else None
        graph = graph_of(memory, model, tools=[metronome], before_tools=before)
        app = graph.compile(checkpointer=saver)
        given = Command(resume=command["resume"]) if "resume" in command else {"messages": [("user", command["say"])]}
        result = app.invoke(given, {"configurable": {"thread_id": command["thread"]}})
    return {
        "shown": [[message.text for message in messages] for messages in model.shown],
        "messages": [message.text for message in result["messages"]],
        "recalled": result["recalled"],
        "interrupted": "__interrupt__" in result,
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))))
