"""Tools with which an agent writes facts and relations, and rewards and annotations under a policy [tidalDB]."""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.tools import BaseTool
from langgraph.prebuilt import InjectedState
from pydantic import Field, create_model

from langchain_tidal.run import Scope
from langchain_tidal.tools import MemoryTool, SearchGraph
from tidal_plugins import InvalidInput, Policy, TidalMemory
from tidal_plugins.turns import session_config, tools
from tidal_plugins.turns.tools import AgentTool


class WritingTool(MemoryTool):
    """A tool that is told the state of its graph, from which it knows the turn in hand and what surfaced in it.

    With a ``policy`` each write needs its permission, in the session of the run's thread, which audits it.
    """

    def __init__(self, **fields: Any) -> None:
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
