"""Tools with which an agent writes in its session, under a policy: rewards and annotations [tidalDB]."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.prebuilt import InjectedState
from pydantic import Field

from langchain_tidal.run import Scope, place_of
from langchain_tidal.tools import MemoryTool, refusals
from tidal_plugins import InvalidInput, Policy, Session, TidalMemory
from tidal_plugins.sessions.requests import annotate, meant, reward
from tidal_plugins.turns import SessionConfig, session_config
from tidal_plugins.turns.answers import Arguments

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
