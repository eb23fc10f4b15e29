"""Let an agent reward a memory that it was shown and die before the model is asked again, or continue from there.

Arguments: the memory's path, the checkpoints' path, and ``die`` or ``resume``, which asks once more. The process then
prints what the model was shown.
"""

import json
import os
import sys
from typing import Any

from conftest import ScriptedModel, graph_of, open_memory
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from langchain_tidal import signal_tools
from tidal_plugins import Policy

PLANNER = Policy(allow={"reward", "annotate", "view"}, deny={"skip", "dislike"}, max_signals=3)
ASK = "Which jazz piano piece should I practise?"


def second(text: str) -> str:
    """Return the citation in the second line of a whisper."""
    return "[" + text.split("\n- [")[2].partition("]")[0] + "]"


def main(path: str, checkpoints: str, order: str) -> list[str]:
    def reply(messages: Any) -> AIMessage:
        if order == "resume":
            return AIMessage("The second one.")
        if messages[-1].type == "tool":
            os._exit(9)
        call = {
            "name": "reward_memory",
            "args": {"citation": second(messages[-1].text), "weight": 100},
            "id": "call-1",
        }
        return AIMessage("", tool_calls=[call])

    model = ScriptedModel(replies=[reply])
    with open_memory(path) as memory, SqliteSaver.from_conn_string(checkpoints) as saver:
        tools = signal_tools(memory, PLANNER, agent="planner")
        graph = graph_of(memory, model, tools=tools, back_to="recall", policy=PLANNER, agent="planner")
        app, config = graph.compile(checkpointer=saver), {"configurable": {"thread_id": "friday"}}
        if order == "resume":
            app.invoke(None, config)
        app.invoke({"messages": [("user", ASK)]}, config, durability="sync")
    return [message.text for message in model.shown[-1]]


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:4])))
