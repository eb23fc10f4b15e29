"""Answer histories that are passed whole, in a process of its own.

Argument: the memory's path. Each line of the input is a JSON list of the questions and answers of a thread, the last
question without an answer, and that answer. The process prints a line when it is ready and after each.
"""

import json
import sys

from conftest import ScriptedModel, open_memory
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from langchain_tidal import TidalMemoryMiddleware


def main(path: str) -> None:
    with open_memory(path) as memory:
        print("ready", flush=True)
        for line in sys.stdin:
            *said, answer = json.loads(line)
            messages = [(AIMessage if at % 2 else HumanMessage)(text, id=f"m{at}") for at, text in enumerate(said)]
            agent = create_agent(ScriptedModel(replies=[answer]), [], middleware=[TidalMemoryMiddleware(memory)])
            agent.invoke({"messages": messages}, {"configurable": {"thread_id": "piano"}})
            print("answered", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
