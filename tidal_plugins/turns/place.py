"""Place of a run: the memory in a scope, a thread, a user, and a session under a policy [tidalDB]."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from tidal_plugins.errors import InvalidInput, InvalidScope
from tidal_plugins.memory import TidalMemory
from tidal_plugins.model.entry import Scope, user_of
from tidal_plugins.model.session import Policy
from tidal_plugins.sessions.session import Session


@dataclass(frozen=True, slots=True)
class Place:
    """The memory and the thread of a run. ``user`` is served by the run; the default is the user of the scope."""

    memory: TidalMemory
    thread: str | None = None
    user: str | None = None

    @property
    def key(self) -> Hashable:
        """Return a key for values that are kept for each thread."""
        return self.memory.scope, self.thread


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
    memory.sessions.open(agent=agent, policy=checked)  # checks the arguments; a session opens when it is first used
    return SessionConfig(policy, agent)


def in_scope(memory: TidalMemory, scope: Scope | None) -> TidalMemory:
    """Return the memory in ``scope``, or as it is for ``None``. Raises ``InvalidScope`` for anything but a tuple."""
    if scope is None:
        return memory
    if not isinstance(scope, tuple) or not scope:  # a str would fall apart into letters
        raise InvalidScope(f"a scope must be a tuple such as ('user', '42'), got {scope!r}")
    return memory.scoped(*scope)
