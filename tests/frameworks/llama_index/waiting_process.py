"""Ask an agent whose tool waits for a human, or answer the human's part in the context that is given as JSON.

Arguments: the memory's path, and ``ask`` or ``answer``. The process prints what the model was shown, the result if
there is one, and the context.
"""

import asyncio
import json
import sys
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

from llama_index_tidal import TidalChatMemory, restore_with
from tests.frameworks.conftest import ASK, open_memory
from tests.frameworks.llama_index.conftest import ScriptedLLM, calling


async def confirm(ctx: Context, question: str) -> str:
    """Ask the human."""
    asked = InputRequiredEvent(prefix=question)
    event = await ctx.wait_for_event(HumanResponseEvent, waiter_id="confirm", waiter_event=asked)
    return f"The human says {event.response}."


async def ask(agent: FunctionAgent, memory: Any) -> tuple[Any, None]:
    ctx = Context(agent)
    handler = agent.run(ASK, memory=TidalChatMemory(memory, thread="friday"), ctx=ctx)
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            break
    saved = ctx.to_dict()
    await handler.cancel_run()
    return saved, None


async def answer(agent: FunctionAgent, saved: Any) -> tuple[Any, str]:
    ctx = Context.from_dict(agent, saved)
    handler = agent.run(ctx=ctx)
    ctx.send_event(HumanResponseEvent(response="yes"))
    return ctx.to_dict(), str(await handler)


async def main(path: str, step: str) -> None:
    replies = [calling(("confirm", {"question": "May I?"}))] if step == "ask" else ["In the evening."]
    agent = FunctionAgent(llm=(model := ScriptedLLM(replies=replies)), tools=[confirm])
    with open_memory(path) as memory:
        restore_with(memory)
        saved, result = await (ask(agent, memory) if step == "ask" else answer(agent, json.load(sys.stdin)))
    shown = [message.content for messages in model.shown for message in messages]
    print(json.dumps({"shown": shown, "result": result, "context": saved}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
