"""Tools with which an agent writes in its session, under a policy: rewards and annotations [tidalDB].

LlamaIndex makes a tool's schema from its annotations as they stand, so they may not be strings here.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context

from llama_index_tidal.memory import TidalChatMemory
from llama_index_tidal.place import Scope
from tidal_plugins import InvalidInput, Policy, Session, TidalMemory
from tidal_plugins.sessions.requests import annotate, meant, reward
from tidal_plugins.turns import REFUSALS, Place, SessionConfig, in_scope, session_config

CHAT = "memory"
"""The key under which an agent keeps its memory in a ``Context``."""

Act = Callable[[Session, Sequence[str]], str]


def signal_tools(
    memory: TidalMemory, policy: Policy | str, *, agent: str | None = None, scope: Scope | None = None
) -> list[FunctionTool]:
    """Return ``reward_memory`` and ``annotate_memory`` for an agent that writes under a policy, or the name of one.

    They find the session by the memory in the run's ``Context``: the one that a ``TidalChatMemory`` of the same policy,
    agent and scope recalls for, or ``Memory`` with a ``TidalMemoryBlock``. A citation of an episode means its entries
    that ``TidalChatMemory`` showed in the turn, elsewhere all of them. What is refused is told as text. Raises
    ``InvalidInput`` for a policy that is unknown or names unknown signals.
    """
    memory = in_scope(memory, scope)
    config = session_config(memory, policy, agent, check_name=True)
    if config is None:
        raise InvalidInput("an agent writes under a policy: give one, Policy() for one that admits everything")
    signals = _Signals(memory, config)
    return [FunctionTool.from_defaults(async_fn=tool) for tool in (signals.reward_memory, signals.annotate_memory)]


class _Signals:
    def __init__(self, memory: TidalMemory, config: SessionConfig) -> None:
        self._memory = memory
        self._config = config

    async def reward_memory(self, ctx: Context, citation: str, weight: float = 1.0, note: str | None = None) -> str:
        """Say that a memory was useful, by the citation that it was shown with.

        In this conversation it ranks higher from then on; nobody else sees it. There are rules: a refusal comes with
        its reason.

        Args:
            citation (str): The citation of the memory, such as [ep:6k1m] or [mem:2q7z], or the id in it.
            weight (float): How useful it was, 1 for plainly useful.
            note (str): Keywords of what it was useful for; what has them ranks higher, too.
        """
        return await self._done(ctx, citation, partial(reward, weight=weight, note=note))

    async def annotate_memory(self, ctx: Context, citation: str, note: str) -> str:
        """Note something about a memory, by the citation that it was shown with.

        In this conversation whatever speaks of the same ranks higher from then on; nobody else sees it. There are
        rules: a refusal comes with its reason.

        Args:
            citation (str): The citation of the memory, such as [ep:6k1m] or [mem:2q7z], or the id in it.
            note (str): What to note of it, in keywords; what has them ranks higher.
        """
        return await self._done(ctx, citation, partial(annotate, note=note))

    async def _done(self, ctx: Context, citation: str, act: Act) -> str:
        chat = await ctx.store.get(CHAT, default=None)
        try:
            return await asyncio.to_thread(self._do, chat, citation, act)
        except REFUSALS as refused:
            return f"Not done. {refused}"

    def _do(self, chat: Any, citation: str, act: Act) -> str:
        ours = isinstance(chat, TidalChatMemory)
        thread = getattr(chat, "thread" if ours else "session_id", None)
        session = self._config.session(Place(self._memory, thread))
        return act(session, meant(self._memory.episodes.entry_ids(citation), chat.surfaced if ours else ()))
