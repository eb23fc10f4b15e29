"""Take one step with an agent in a process of its own, whose context comes and goes as JSON.

The argument is the memory's path. Standard input is a JSON object with ``say``, or ``answer`` to a tool that waits for
a human; the ``replies`` of the model; the ``context`` of the step before; ``thread``, and ``workflow`` (for an
``AgentWorkflow``). The process prints the outcome.
"""

import asyncio
import json
import sys
from typing import Any

from conftest import ScriptedLLM, calling
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

from llama_index_tidal import TidalChatMemory, restore_with
from tests.frameworks.conftest import open_memory


async def confirm(ctx: Context, question: str) -> str:
    """Ask the human."""
    event = await ctx.wait_for_event(
        HumanResponseEvent, waiter_id="confirm", waiter_event=InputRequiredEvent(prefix=question)
    )
    return f"The human says {event.response}."


async def step(path: str, command: dict[str, Any]) -> dict[str, Any]:
    model = ScriptedLLM(replies=[reply if isinstance(reply, str) else calling(*reply) for reply in command["replies"]])
    agent: Any = FunctionAgent(name="agent", description="it", llm=model, tools=[confirm])
    if command.get("workflow"):
        agent = AgentWorkflow(agents=[agent], root_agent="agent")
    with open_memory(path) as memory:
        restore_with(memory)
        saved = command.get("context")
        ctx = Context.from_dict(agent, saved) if saved else Context(agent)
        chat = None if saved else TidalChatMemory(memory, thread=command["thread"])
        if "answer" in command:
            handler = agent.run(ctx=ctx)
            ctx.send_event(HumanResponseEvent(response=command["answer"]))
        else:
            handler = agent.run(command["say"], memory=chat, ctx=ctx)
        waiting = False
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent) and "answer" not in command:
                waiting = True
                break
        saved = ctx.to_dict()
        result = None if waiting else str(await handler)
        if waiting:
            await handler.cancel_run()
        else:
            saved = ctx.to_dict()
    shown = [[message.content for message in messages] for messages in model.shown]
    return {"shown": shown, "result": result, "context": saved}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(step(sys.argv[1], json.loads(sys.stdin.read())))))
