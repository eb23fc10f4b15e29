"""Writes: the tools that change the memory, each of which a policy admits or refuses first."""

from __future__ import annotations

import threading
from typing import Any

from tidal_plugins import Policy, TidalMemory
from tidal_plugins.model.entry import user_of
from tidal_plugins.model.session import Action
from tidal_plugins.sessions.session import Session
from tidal_plugins.turns import tools
from tidal_plugins.turns.answers import FactArguments, ForgetArguments, RelateArguments, SaveArguments

AGENT = "mcp"
"""The agent that the server's sessions name."""

MAX_WRITES = 200
"""Writes of one run of a server. A person can still read that many in the audit; a model that needs more saves what it
should not."""

WRITES = Policy(allow=frozenset({"remember", "forget"}), max_signals=MAX_WRITES)
"""The policy of a server that may write, if it is given no other."""


class Writes:
    """The writes of one run of a server: one session under a policy, opened by the first write."""

    def __init__(self, memory: TidalMemory, policy: Policy | str | None = None) -> None:
        """Initialise the writes. Raises ``InvalidInput`` for a policy that is unknown or names unknown signals."""
        self._memory = memory
        chosen: Policy | str = WRITES if policy is None else policy
        memory.sessions.open(policy=chosen)  # checks it; nothing is stored before the first write
        self.policy = memory.sessions.policies[chosen] if isinstance(chosen, str) else chosen
        self._chosen = chosen
        self._session: Session | None = None
        self._lock = threading.Lock()

    def admits(self, action: Action) -> bool:
        """Return whether the policy has a place for an action at all."""
        return action not in self.policy.deny and (not self.policy.allow or action in self.policy.allow)

    def remember(self, asked: SaveArguments) -> tuple[str, dict[str, Any]]:
        """Store a note; return a sentence with its citation, and its data. Raises ``PolicyViolation``."""
        self._current().permit("remember")
        saved = tools.remember(self._memory, asked.text, kind=asked.kind, tags=asked.tags)
        return tools.saved_as(saved), {"citation": saved.citation, "left": self._left()}

    def relate(self, asked: FactArguments | RelateArguments) -> tuple[str, dict[str, Any]]:
        """Write a fact or a relation into the graph; return a sentence, and its data. Raises ``PolicyViolation``."""
        session = self._current()
        session.permit("remember")
        told = tools.relate(self._memory, **asked.model_dump(), thread=f"session {session.id}")
        return told, {"left": self._left()}

    def forget(self, asked: ForgetArguments) -> tuple[str, dict[str, Any]]:
        """Remove memories for good; return what went in words, and as data. Raises ``PolicyViolation``."""
        self._memory.get(asked.ids[0])  # a mistake does not use up the session
        self._current().permit("forget", asked.ids[0])
        receipt = self._memory.forget(*asked.ids)
        data = {"removed": receipt.count, "ids": list(receipt.ids), "remains": list(receipt.remains)}
        return f"Forgotten: {receipt}.", {**data, "left": self._left()}

    def close(self) -> None:
        """Close the session, if there is one."""
        with self._lock:
            if self._session is not None:
                self._session.close()

    def _current(self) -> Session:
        with self._lock:
            if self._session is None:
                user = user_of(self._memory.scope)
                self._session = self._memory.sessions.open(user=user, agent=AGENT, policy=self._chosen)
            return self._session

    def _left(self) -> int | None:
        return self._current().info.remaining
