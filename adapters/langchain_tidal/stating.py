"""Tools with which an agent states facts and relations, which go into the graph under its own name."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.prebuilt import InjectedState
from pydantic import Field

from langchain_tidal.messages import to_exchange, turns
from langchain_tidal.run import Scope, place_of
from langchain_tidal.tools import MemoryTool, SearchGraph, refusals
from tidal_plugins import Policy, TidalMemory
from tidal_plugins.turns import Place, session_config, tools
from tidal_plugins.turns.answers import RELATE, REMEMBER_FACT, FactArguments, RelateArguments


class _Fact(FactArguments):
    state: Annotated[Any, InjectedState] = None
    """The state, given by a graph's ``ToolNode``; no model sees it."""


class _Relation(RelateArguments):
    state: Annotated[Any, InjectedState] = None
    """The same."""


class StatingTool(MemoryTool):
    """A tool that writes a relation. Its evidence is the agent, in the turn in which the tool was called.

    With a ``policy`` each write needs its ``remember``, in the session of the run's thread, which audits it.
    """

    policy: Policy | str | None = Field(None, exclude=True)
    agent: str | None = Field(None, exclude=True)

    def _run(self, *, config: RunnableConfig, state: Any = None, **fields: Any) -> str:
        place = place_of(self.memory, self.scope, config)
        rules = session_config(self.memory, self.policy, self.agent)
        with refusals():
            if rules:
                rules.session(place).permit("remember")
            return tools.relate(place.memory, **fields, turn=_turn(place, state), thread=place.thread)

    async def _arun(self, *, config: RunnableConfig, state: Any = None, **fields: Any) -> str:
        return await asyncio.to_thread(self._run, config=config, state=state, **fields)


class RememberFact(StatingTool):
    """Writes one fact: somebody or something, a predicate, and a value."""

    name: str = "remember_fact"
    description: str = REMEMBER_FACT
    args_schema: Any = _Fact


class Relate(StatingTool):
    """Writes how two people or things are related, are not, or are no longer."""

    name: str = "relate"
    description: str = RELATE
    args_schema: Any = _Relation


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


def _turn(place: Place, state: Any) -> str | None:
    """Return the id that the episode of the turn in hand will have, if the state of a graph tells it."""
    messages = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", None)
    history = turns(messages) if isinstance(messages, list) else []
    exchange = to_exchange(history[-1], place.thread) if history else None
    key = exchange.key if exchange else None
    return None if key is None else place.memory.episodes.id_of(str(key), thread=place.thread)
