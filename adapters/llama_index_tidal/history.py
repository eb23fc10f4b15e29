"""Tools with which a model goes through earlier conversations, looks up names and facts, and reads memories in full."""

from __future__ import annotations

from typing import Any

from llama_index.core.tools import FunctionTool

from llama_index_tidal.place import Scope
from tidal_plugins import TidalMemory
from tidal_plugins.aio import in_thread
from tidal_plugins.turns import REFUSALS, in_scope
from tidal_plugins.turns.answers import HISTORY_TOOLS, ReadTool


def history_tools(memory: TidalMemory, *, scope: Scope | None = None) -> list[FunctionTool]:
    """Return ``thread_history``, ``entity_lookup``, ``fact_search`` and ``memory_get`` over a memory, sync and async.

    They read the memory's own scope or the given one, and write nothing. Answers are bounded, and have a cursor to
    what follows. Refusals and wrong arguments come back as text. ``TidalToolSpec`` has those that search and save.
    """
    place = in_scope(memory, scope)
    return [_tool(place, question) for question in HISTORY_TOOLS]


def _tool(memory: TidalMemory, question: ReadTool) -> FunctionTool:
    def run(**asked: Any) -> str:
        try:
            return question.run(memory, asked).told(memory.frames)
        except REFUSALS as refused:
            return f"Not done. {refused}"

    return FunctionTool.from_defaults(
        fn=run,
        async_fn=in_thread(run),
        name=question.name,
        description=question.description,
        fn_schema=question.arguments,
    )
