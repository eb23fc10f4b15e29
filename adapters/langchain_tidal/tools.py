"""Tools with which a model searches a memory, follows citations, and writes, also under a policy [tidalDB]."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import Field, ValidationError, create_model

from langchain_tidal.messages import to_exchange, turns
from langchain_tidal.retriever import to_document
from langchain_tidal.run import Scope, place_of
from tidal_plugins import InvalidInput, Policy, TidalMemory, Whisper
from tidal_plugins.turns import REFUSALS, Place, checked_memory, session_config, tools
from tidal_plugins.turns.answers import faults
from tidal_plugins.turns.answers.answer import Answer
from tidal_plugins.turns.tools import AgentTool, Call

Format = Literal["content", "content_and_artifact"]


def _refusal(error: ValidationError | Any) -> str:
    """Return the faults of the arguments, for the model to put right, without the values."""
    return f"Not done. {faults(error)}"


class MemoryTool(BaseTool):
    """A tool over a memory. Refusals and wrong arguments come back as text for the model to read.

    With a ``policy`` it searches or writes in the session of the run's thread.
    """

    name: str = ""
    description: str = ""
    memory: TidalMemory = Field(exclude=True, repr=False)
    scope: Scope | None = Field(None, exclude=True)
    policy: Policy | str | None = Field(None, exclude=True)
    agent: str | None = Field(None, exclude=True)
    does: AgentTool = Field(exclude=True, repr=False)
    handle_tool_error: Any = True
    handle_validation_error: Any = _refusal

    def __init__(self, **fields: Any) -> None:
        does = fields.get("does", type(self).model_fields["does"].default)
        known = isinstance(does, AgentTool)  # anything else is refused with the other fields
        shown = {"name": does.name, "description": does.description, "args_schema": does.arguments} if known else {}
        super().__init__(**{**shown, **fields})

    def _run(self, *given: Any, config: RunnableConfig, state: Any = None, **asked: Any) -> Any:
        place = place_of(self.memory, self.scope, config)
        rules = session_config(self.memory, self.policy, self.agent)
        named = dict(zip(self.does.arguments.model_fields, given, strict=False))
        with _refusals():
            reply = self.does.run(Call(place, rules, _turn(place, state), _shown(state)), {**named, **asked})
        text = tools.reply_text(reply, place.memory)
        if self.response_format == "content":
            return text
        if isinstance(reply, Whisper):
            return text, [to_document(hit, scores=True) for hit in reply.hits]
        return text, reply.model_dump(mode="json") if isinstance(reply, Answer) else None

    async def _arun(self, *given: Any, config: RunnableConfig, **asked: Any) -> Any:
        return await asyncio.to_thread(self._run, *given, config=config, **asked)


class SearchMemory(MemoryTool):
    """Returns a line for each memory found, fenced like a whisper, and the documents as the artifact."""

    does: AgentTool = Field(tools.SEARCH_MEMORY, exclude=True, repr=False)
    response_format: Format = "content_and_artifact"


class SaveMemory(MemoryTool):
    """Stores a note of the model's and returns its citation."""

    does: AgentTool = Field(tools.SAVE_MEMORY, exclude=True, repr=False)


class ReadEpisode(MemoryTool):
    """Returns an episode verbatim, by the page, so that a citation can be followed: ``ReadEpisode(memory=memory)``."""

    does: AgentTool = Field(tools.READ_EPISODE, exclude=True, repr=False)


class SearchGraph(MemoryTool):
    """Returns the relations of an entity, each on a line with its evidence and citation, fenced like a whisper.

    ``SearchGraph(memory=memory)`` makes one.
    """

    does: AgentTool = Field(tools.SEARCH_GRAPH, exclude=True, repr=False)


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


def history_tools(memory: TidalMemory, *, scope: Scope | None = None) -> list[BaseTool]:
    """Return ``thread_history``, ``entity_lookup``, ``fact_search`` and ``memory_get`` over a memory.

    They read the memory's own scope or the given one, and write nothing. Answers are bounded, and have a cursor to
    what follows; plain data is the artifact. ``memory_tools`` are those that search and save.
    """
    checked_memory(memory)
    both = "content_and_artifact"
    return [MemoryTool(memory=memory, scope=scope, does=tool, response_format=both) for tool in tools.HISTORY]


class WritingTool(MemoryTool):
    """A tool that is told the state of its graph, from which it knows the turn in hand and what surfaced in it.

    With a ``policy`` each write needs its permission, in the session of the run's thread, which audits it.
    """

    def __init__(self, **fields: Any) -> None:
        from langgraph.prebuilt import InjectedState  # the tools that only read need no LangGraph

        base = type(self).model_fields["does"].default.arguments
        # given by a graph's ``ToolNode``; no model sees it
        schema = create_model(base.__name__, __base__=base, state=(Annotated[Any, InjectedState], None))
        super().__init__(**{"args_schema": schema, **fields})


class RememberFact(WritingTool):
    """Writes one fact: somebody or something, a predicate, and a value. Its evidence is the turn of the call."""

    does: AgentTool = Field(tools.FACT_TOOL, exclude=True, repr=False)


class Relate(WritingTool):
    """Writes how two people or things are related, are not, or are no longer. Its evidence is the turn of the call."""

    does: AgentTool = Field(tools.RELATE_TOOL, exclude=True, repr=False)


class RewardMemory(WritingTool):
    """Rewards a memory in the session of the run's thread."""

    policy: Policy | str = Field(exclude=True)
    does: AgentTool = Field(tools.REWARD_MEMORY, exclude=True, repr=False)


class AnnotateMemory(WritingTool):
    """Annotates a memory in the session of the run's thread."""

    policy: Policy | str = Field(exclude=True)
    does: AgentTool = Field(tools.ANNOTATE_MEMORY, exclude=True, repr=False)


def graph_tools(
    memory: TidalMemory, *, scope: Scope | None = None, policy: Policy | str | None = None, agent: str | None = None
) -> list[BaseTool]:
    """Return ``search_graph``, ``remember_fact`` and ``relate``: to look things up in the graph and to add to it.

    With a ``policy``, or the name of one, that does not admit ``remember``, writing is refused with the reason.
    """
    session_config(memory, policy, agent)
    given: dict[str, Any] = {"memory": memory, "scope": scope}
    writing = {**given, "policy": policy, "agent": agent}
    return [SearchGraph(**given), RememberFact(**writing), Relate(**writing)]


def signal_tools(
    memory: TidalMemory, policy: Policy | str, *, agent: str | None = None, scope: Scope | None = None
) -> list[BaseTool]:
    """Return ``reward_memory`` and ``annotate_memory`` for an agent that writes under a policy, or the name of one.

    The tools find the session by the run's ``thread_id``. It is the session whose signals ``RecallNode`` or
    ``TidalMemoryMiddleware`` uses with the same policy, agent and scope. A citation of an episode means the entries of
    it that the turn showed, or all of its entries if the tool is called outside a graph. Raises ``InvalidInput`` for a
    policy that names unknown signals.
    """
    if session_config(memory, policy, agent) is None:
        raise InvalidInput("an agent writes under a policy: give one, Policy() for one that admits everything")
    given: dict[str, Any] = {"memory": memory, "policy": policy, "agent": agent, "scope": scope}
    return [RewardMemory(**given), AnnotateMemory(**given)]


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn refusals into a ``ToolException``, which goes to the model; a fault of the store stays an error."""
    try:
        yield
    except REFUSALS as error:
        raise ToolException(f"Not done. {error}") from error


def _turn(place: Place, state: Any) -> str | None:
    """Return the id that the episode of the turn in hand will have, if the state of a graph tells it."""
    messages = _value(state, "messages")
    history = turns(messages) if isinstance(messages, list) else []
    exchange = to_exchange(history[-1], place.thread) if history else None
    key = exchange.key if exchange else None
    return None if key is None else place.memory.episodes.id_of(str(key), thread=place.thread)


def _shown(state: Any) -> Sequence[str]:
    """Return the ids that surfaced in the turn, if the state of a graph has them."""
    recalled = _value(state, "recalled")
    return recalled.get("ids", ()) if isinstance(recalled, dict) else ()


def _value(state: Any, name: str) -> Any:
    return state.get(name) if isinstance(state, dict) else getattr(state, name, None)
