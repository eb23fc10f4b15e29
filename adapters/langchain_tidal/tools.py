"""Tools with which a model searches a memory and its graph, reads its history, saves to it, and follows citations."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import Field, ValidationError

from langchain_tidal.retriever import to_document
from langchain_tidal.run import Scope, place_of, scoped
from tidal_plugins import Policy, TidalMemory
from tidal_plugins.graph.render import Aspect
from tidal_plugins.turns import REFUSALS, checked_memory, session_config, tools
from tidal_plugins.turns.answers import HISTORY_TOOLS, Arguments, ReadTool, SaveArguments, faults


class SearchArguments(Arguments):
    query: str = Field(min_length=1, max_length=2_000, description="What to look for, in plain words.")
    limit: int = Field(5, ge=1, le=20, description="How many memories to return at most.")
    kind: Literal["conversation", "skill", "kb", "fact"] | None = Field(None, description="Only memories of this kind.")
    since: datetime | None = Field(None, description="Only what happened at or after this time, ISO 8601, UTC.")
    until: datetime | None = Field(None, description="Only what happened before this time, ISO 8601, UTC.")
    include_archived: bool = Field(False, description="Also search old memories that have faded, if nothing was found.")


class ReadArguments(Arguments):
    citation: str = Field(min_length=1, max_length=100, description="A citation such as [ep:6k1m], or the id in it.")
    page: int = Field(1, ge=1, description="Which page of it, from 1.")


class GraphArguments(Arguments):
    entity: str = Field(
        min_length=1, max_length=500, description="Its name, such as a function, file, person or term; or a question."
    )
    aspect: Aspect = Field(
        "relations",
        description="relations: how it is related. dependents: what a change of it would affect. history: what was "
        "believed of it, and when.",
    )
    at: datetime | None = Field(None, description="What was believed and true at this time, ISO 8601, UTC.")
    limit: int = Field(10, ge=1, le=20, description="How many lines to return at most.")


def _refusal(error: ValidationError | Any) -> str:
    """Return the faults of the arguments, for the model to put right, without the values."""
    return f"Not done. {faults(error)}"


class MemoryTool(BaseTool):
    """A tool over a memory. Refusals and wrong arguments come back as text for the model to read."""

    memory: TidalMemory = Field(exclude=True, repr=False)
    scope: Scope | None = Field(None, exclude=True)
    handle_tool_error: Any = True
    handle_validation_error: Any = _refusal

    def _scoped(self, config: RunnableConfig) -> TidalMemory:
        return scoped(self.memory, self.scope, config)


class SearchMemory(MemoryTool):
    """Returns a line for each memory found, fenced like a whisper, and the documents as the artifact."""

    name: str = "search_memory"
    description: str = (
        "Search the memory of earlier conversations, skills, documents and facts. Returns the best matches, "
        "each on one line with a citation, its age and its source."
    )
    args_schema: Any = SearchArguments
    policy: Policy | str | None = Field(None, exclude=True)
    agent: str | None = Field(None, exclude=True)
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"

    def _run(self, query: str, *, config: RunnableConfig, **filters: Any) -> tuple[str, list[Document]]:
        place = place_of(self.memory, self.scope, config)
        rules = session_config(self.memory, self.policy, self.agent)
        with refusals():
            session = rules.session(place) if rules else None
            found = tools.search(place.memory, query, session=session, **filters)
        return found.text or tools.NOTHING_FOUND, [to_document(hit, scores=True) for hit in found.hits]

    async def _arun(self, query: str, *, config: RunnableConfig, **filters: Any) -> tuple[str, list[Document]]:
        return await asyncio.to_thread(self._run, query, config=config, **filters)


class SaveMemory(MemoryTool):
    """Stores a note of the model's and returns its citation."""

    name: str = "save_memory"
    description: str = (
        "Save a fact, a skill or a document to memory, for later conversations. What is said in this conversation "
        "is remembered anyway: save what was worked out, or what the user asks to be remembered."
    )
    args_schema: Any = SaveArguments

    def _run(self, text: str, *, config: RunnableConfig, **fields: Any) -> str:
        with refusals():
            return tools.save(self._scoped(config), text, **fields)

    async def _arun(self, text: str, *, config: RunnableConfig, **fields: Any) -> str:
        return await asyncio.to_thread(self._run, text, config=config, **fields)


class ReadEpisode(MemoryTool):
    """Returns an episode verbatim, by the page, so that a citation can be followed: ``ReadEpisode(memory=memory)``."""

    name: str = "read_episode"
    description: str = (
        "Read an earlier turn of the conversation verbatim: what was said, which tools ran, and what they returned. "
        "Use it when a summary or a memory cites [ep:ID] and its exact words matter. The first line names the turns "
        "before and after it, too."
    )
    args_schema: Any = ReadArguments

    def _run(self, citation: str, page: int = 1, *, config: RunnableConfig) -> str:
        with refusals():
            return self._scoped(config).episodes.page(citation, page)

    async def _arun(self, citation: str, page: int = 1, *, config: RunnableConfig) -> str:
        return await asyncio.to_thread(self._run, citation, page, config=config)


class SearchGraph(MemoryTool):
    """Returns the relations of an entity, each on a line with its evidence and citation, fenced like a whisper.

    ``SearchGraph(memory=memory)`` makes one.
    """

    name: str = "search_graph"
    description: str = (
        "Look up what is known of something by name (code, files, packages, people, decisions …): how it is related to "
        "others, what depends on it, or what was believed of it at some time. Each line cites the turn that says so."
    )
    args_schema: Any = GraphArguments

    def _run(self, entity: str, *, config: RunnableConfig, **asked: Any) -> str:
        with refusals():
            return tools.search_graph(self._scoped(config), entity, **asked)

    async def _arun(self, entity: str, *, config: RunnableConfig, **asked: Any) -> str:
        return await asyncio.to_thread(self._run, entity, config=config, **asked)


def memory_tools(
    memory: TidalMemory,
    *,
    scope: Scope | None = None,
    policy: Policy | str | None = None,
    agent: str | None = None,
) -> list[BaseTool]:
    """Return ``search_memory`` and ``save_memory`` over a memory, in its own scope or the given one.

    With a ``policy`` a search uses the signals in the session of the run's thread; see ``signal_tools``.
    ``TidalCompaction`` brings ``read_episode`` along; elsewhere ``ReadEpisode(memory=memory)`` is it. The tool over the
    graph is ``SearchGraph(memory=memory)``.
    """
    session_config(memory, policy, agent)
    return [
        SearchMemory(memory=memory, scope=scope, policy=policy, agent=agent),
        SaveMemory(memory=memory, scope=scope),
    ]


@contextmanager
def refusals() -> Iterator[None]:
    """Turn refusals into a ``ToolException``, which goes to the model; a fault of the store stays an error."""
    try:
        yield
    except REFUSALS as error:
        raise ToolException(f"Not done. {error}") from error


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
