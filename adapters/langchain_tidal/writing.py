"""Tools with which an agent writes facts and relations, and rewards and annotations under a policy [tidalDB]."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.prebuilt import InjectedState
from pydantic import Field

from langchain_tidal.messages import to_exchange, turns
from langchain_tidal.run import Scope, place_of
from langchain_tidal.tools import MemoryTool, SearchGraph, refusals
from tidal_plugins import InvalidInput, Policy, Session, TidalMemory
from tidal_plugins.sessions.requests import annotate, meant, reward
from tidal_plugins.turns import Place, SessionConfig, session_config, tools
from tidal_plugins.turns.answers import RELATE, REMEMBER_FACT, Arguments, FactArguments, RelateArguments


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


CITATION = "The citation of the memory, such as [ep:6k1m] or [mem:2q7z], or the id in it."


class _SignalArguments(Arguments):
    citation: str = Field(min_length=1, max_length=100, description=CITATION)
    state: Annotated[Any, InjectedState] = None
    """The state, given by a graph's ``ToolNode``; no model sees it."""


class RewardArguments(_SignalArguments):
    weight: float = Field(1.0, ge=0, description="How useful it was: 1 for plainly useful.")
    note: str | None = Field(None, description="Keywords of what it was useful for: what has them ranks higher, too.")


class AnnotateArguments(_SignalArguments):
    note: str = Field(min_length=1, description="What to note of it, in keywords: what has them ranks higher.")


class SignalTool(MemoryTool):
    """A tool that writes in the session of the run's thread, and nowhere else.

    A refusal of the policy comes back as text, like wrong arguments.
    """

    policy: Policy | str = Field(exclude=True)
    agent: str | None = Field(None, exclude=True)

    def _opened(self, config: RunnableConfig, citation: str, state: Any) -> tuple[Session, Sequence[str]]:
        """Return the session of a run, and the entries that a citation means there."""
        place = place_of(self.memory, self.scope, config)
        session = SessionConfig(self.policy, self.agent).session(place)
        return session, meant(place.memory.episodes.entry_ids(citation), _shown(state))


class RewardMemory(SignalTool):
    """Rewards a memory in the session of the run's thread."""

    name: str = "reward_memory"
    description: str = (
        "Say that a memory was useful, by the citation that it was shown with. In this conversation it ranks higher "
        "from then on; nobody else sees it. There are rules: a refusal comes with its reason."
    )
    args_schema: Any = RewardArguments

    def _run(
        self,
        citation: str,
        weight: float = 1.0,
        note: str | None = None,
        state: Any = None,
        *,
        config: RunnableConfig,
    ) -> str:
        with refusals():
            session, entries = self._opened(config, citation, state)
            return reward(session, entries, weight, note)

    async def _arun(self, *args: Any, config: RunnableConfig, **arguments: Any) -> str:
        return await asyncio.to_thread(self._run, *args, config=config, **arguments)


class AnnotateMemory(SignalTool):
    """Annotates a memory in the session of the run's thread."""

    name: str = "annotate_memory"
    description: str = (
        "Note something about a memory, by the citation that it was shown with. In this conversation whatever speaks "
        "of the same ranks higher from then on; nobody else sees it. There are rules: a refusal comes with its reason."
    )
    args_schema: Any = AnnotateArguments

    def _run(self, citation: str, note: str, state: Any = None, *, config: RunnableConfig) -> str:
        with refusals():
            session, entries = self._opened(config, citation, state)
            return annotate(session, entries, note)

    async def _arun(self, *args: Any, config: RunnableConfig, **arguments: Any) -> str:
        return await asyncio.to_thread(self._run, *args, config=config, **arguments)


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


def _shown(state: Any) -> Sequence[str]:
    """Return the ids that surfaced in the turn, if the state of a graph has them."""
    recalled = state.get("recalled") if isinstance(state, dict) else getattr(state, "recalled", None)
    return recalled.get("ids", ()) if isinstance(recalled, dict) else ()
