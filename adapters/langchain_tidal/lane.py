"""The session of a run: a lane of memory for each thread, under a policy [tidalDB]."""

from __future__ import annotations

from dataclasses import dataclass

from tidal_plugins import InvalidInput, Policy, Session, TidalMemory


@dataclass(frozen=True, slots=True)
class Lane:
    """Whose sessions they are and under which policy. Each thread of an agent and a user has its own."""

    policy: Policy | str
    agent: str | None = None

    def session(self, memory: TidalMemory, user: str | None, thread: str | None) -> Session:
        """Return the session of a thread: the one that is open, or a new one. Raises ``InvalidInput`` without one."""
        if thread is None:
            raise InvalidInput(
                "policy= is for the session of a thread, and this run has none: give it one in its config, "
                '{"configurable": {"thread_id": …}}, or do without policy='
            )
        return memory.sessions.open(user=user, agent=self.agent, policy=self.policy, thread=thread)


def to_lane(memory: TidalMemory, policy: Policy | str | None, agent: str | None) -> Lane | None:
    """Return the lane that a ``policy=`` and an ``agent=`` ask for, ``None`` for no policy.

    Raises ``InvalidInput`` for a policy that names unknown signals, and for an agent without one. (The name of a policy
    is looked up in the scope of a run, and so not before it.)
    """
    if policy is None:
        if agent is not None:
            raise InvalidInput("agent= says who writes in a session: give its policy=, too")
        return None
    memory.sessions.open(agent=agent, policy=None if isinstance(policy, str) else policy)  # opens nothing: refuses
    return Lane(policy, agent)
