"""Place of a run: the memory in a scope, a thread, a user, and a session under a policy [tidalDB]."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from tidal_plugins.errors import InvalidInput
from tidal_plugins.memory import TidalMemory
from tidal_plugins.model.entry import Scope, user_of
from tidal_plugins.model.exchange import Exchange, asked_by_agent
from tidal_plugins.model.session import Policy
from tidal_plugins.sessions.session import Session
from tidal_plugins.shown import shown
from tidal_plugins.validation import check_choice, label

Nested = Literal["apart", "skip", "user"]
"""What is recorded of a run inside a tool of another run.

``apart``: its turns, in a thread of its own, the questions as an agent's. ``skip``: nothing. ``user``: its turns, in
the thread of the run around it, as if the user had asked.
"""


def checked_nested(nested: Nested) -> Nested:
    """Return the value of ``nested=``, or raise ``InvalidInput``."""
    return check_choice(nested, "nested", get_args(Nested))


@dataclass(frozen=True, slots=True)
class Place:
    """The memory and the thread of a run. ``user`` is served by the run; the default is the user of the scope.

    In a ``nested`` run the questions are an agent's.
    """

    memory: TidalMemory
    thread: str | None = None
    user: str | None = None
    nested: bool = False

    @property
    def key(self) -> Hashable:
        """Return a key for values that are kept for each thread."""
        return self.memory.scope, self.thread

    def heard(self, exchange: Exchange | None) -> Exchange | None:
        """Return a turn of this run as it is recorded: in a nested run an agent asked."""
        return by_agent(exchange) if exchange and self.nested else exchange


def by_agent(exchange: Exchange) -> Exchange:
    """Return a turn whose questions an agent asked."""
    return replace(exchange, messages=asked_by_agent(exchange.messages))


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """The policy and the agent of a run's sessions. Each thread of an agent and a user has a session of its own."""

    policy: Policy | str
    agent: str | None = None

    def session(self, place: Place) -> Session:
        """Return the session of a thread: the open one, or a new one. Raises ``InvalidInput`` without a thread."""
        if place.thread is None:
            raise InvalidInput(
                "policy= is for the session of a thread, and there is no thread here: give the run a thread (in "
                'LangGraph\'s terms a "thread_id"), or do without policy='
            )
        user = place.user or user_of(place.memory.scope)
        return place.memory.sessions.open(user=user, agent=self.agent, policy=self.policy, thread=place.thread)


def session_config(
    memory: TidalMemory, policy: Policy | str | None, agent: str | None, *, check_name: bool = False
) -> SessionConfig | None:
    """Return the configuration that ``policy=`` and ``agent=`` ask for, ``None`` without a policy.

    Raises ``InvalidInput`` for a policy with unknown signals, and for an agent without a policy. ``check_name`` also
    refuses a name that no policy has; leave it out if the scope of the runs is not known yet.
    """
    if policy is None:
        if agent is not None:
            raise InvalidInput("agent= says who writes in a session: give its policy=, too")
        return None
    checked = policy if check_name or not isinstance(policy, str) else None
    memory.sessions.policies.check(checked)
    return SessionConfig(policy, label(agent, "agent"))


def checked_memory(memory: TidalMemory) -> TidalMemory:
    """Return a memory as it is, or raise ``InvalidInput``."""
    if not isinstance(memory, TidalMemory):
        raise InvalidInput(f"give a TidalMemory, such as TidalMemory('agent.db'), got {shown(memory)}")
    return memory


def in_scope(memory: TidalMemory, scope: Scope | None) -> TidalMemory:
    """Return the memory in ``scope``, or as it is for ``None``. Raises ``InvalidInput`` for anything but a tuple."""
    checked_memory(memory)
    if scope is None:
        return memory
    if not isinstance(scope, tuple) or not scope:  # a str would fall apart into letters
        raise InvalidInput(f"a scope must be a tuple such as ('user', '42'), got {shown(scope)}")
    return memory.scoped(*scope)
