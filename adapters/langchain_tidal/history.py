"""Tools with which a model goes through earlier conversations, looks up names and facts, and reads memories in full."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import Field

from langchain_tidal.run import Scope
from langchain_tidal.tools import MemoryTool, refusals
from tidal_plugins import TidalMemory
from tidal_plugins.turns import checked_memory
from tidal_plugins.turns.answers import HISTORY_TOOLS, ReadTool


class AskMemory(MemoryTool):
    """Returns the answer to a question as a fenced text, and as plain data in the artifact."""

    question: ReadTool = Field(exclude=True, repr=False)
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"

    def _run(self, *, config: RunnableConfig, **asked: Any) -> tuple[str, dict[str, Any]]:
        memory = self._scoped(config)
        with refusals():
            answer = self.question.run(memory, asked)
        return answer.told(memory.frames), answer.model_dump(mode="json")

    async def _arun(self, *, config: RunnableConfig, **asked: Any) -> tuple[str, dict[str, Any]]:
        return await asyncio.to_thread(self._run, config=config, **asked)


def history_tools(memory: TidalMemory, *, scope: Scope | None = None) -> list[BaseTool]:
    """Return ``thread_history``, ``entity_lookup``, ``fact_search`` and ``memory_get`` over a memory.

    They read the memory's own scope or the given one, and write nothing. Answers are bounded, and have a cursor to
    what follows. ``memory_tools`` are those that search and save.
    """
    checked_memory(memory)
    return [
        AskMemory(
            memory=memory,
            scope=scope,
            question=question,
            name=question.name,
            description=question.description,
            args_schema=question.arguments,
        )
        for question in HISTORY_TOOLS
    ]
