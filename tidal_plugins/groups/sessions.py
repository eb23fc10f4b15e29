"""Sessions, in which agents write signals under a policy and an audit, and the signals of the scope [tidalDB]."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import NotFound, SessionClosed
from tidal_plugins.ingestion.tombstones import missing
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.session import AuditEntry, Policy, SessionInfo, SessionSnapshot, Signal, SignalTally
from tidal_plugins.services import Services
from tidal_plugins.sessions import policies as engine
from tidal_plugins.sessions.ledger import Ledger
from tidal_plugins.sessions.session import Session, to_signal
from tidal_plugins.storage.capabilities import question
from tidal_plugins.validation import MAX_METADATA_BYTES, check_flag, check_page, label, mapping


@dataclass(frozen=True, slots=True)
class PolicyGroup(MutableMapping[str, Policy]):
    """The policies of one scope by name: those of ``Settings.policies``, and those stored here. A mapping."""

    _policies: engine.Policies

    def __getitem__(self, name: str) -> Policy:
        """Return a policy by name. Raises ``NotFound``."""
        return self._policies.named(name)

    def __setitem__(self, name: str, policy: Policy) -> None:
        """Store a policy under a name, in place of an earlier one. Sessions that are open keep theirs."""
        self._policies.declare(name, policy)

    def __delitem__(self, name: str) -> None:
        """Remove a stored policy. Sessions that are open keep it. Raises ``NotFound``."""
        self._policies.remove(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._policies.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._policies.names())

    def __len__(self) -> int:
        return len(self._policies.names())

    def check(self, policy: Policy | str | None) -> None:
        """Raise ``InvalidInput`` for a policy that is unknown or names unknown signals."""
        self._policies.find(policy)

    def set(self, name: str, policy: Policy) -> None:
        """Store a policy under a name, as ``policies[name] = policy`` does."""
        self[name] = policy

    def get(self, name: str, default: Any = None) -> Any:
        """Return a policy by name, or ``default`` if there is none."""
        try:
            return self[name]
        except NotFound:
            return default

    aget = in_thread(get)
    aset = in_thread(set)
    acheck = in_thread(check)


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of one scope. Every method has an async twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    @property
    def policies(self) -> PolicyGroup:
        """Return the policies that sessions may name: ``memory.sessions.policies["planner"] = Policy(…)``."""
        services = self._services
        return PolicyGroup(engine.Policies(services.storage, self._scope, services.settings))

    def open(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        policy: Policy | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        thread: str | None = None,
    ) -> Session:
        """Return a session for an agent that writes for a user under a policy: ``with sessions.open(…) as session``.

        ``policy`` is a :class:`Policy` or the name of one in ``policies``; ``None`` admits everything. With ``thread``
        the session that is open for the same thread, user, agent and policy goes on. The start is durable when this
        returns. Raises ``InvalidInput``.
        """
        services, now = self._services, self._services.now()
        name, rules = engine.Policies(services.storage, self._scope, services.settings).find(policy)
        meta = mapping({} if metadata is None else metadata, "metadata", MAX_METADATA_BYTES)
        info = SessionInfo(0, label(user, "user"), label(agent, "agent"), rules, name, meta, now)
        ledger = self._ledger
        return Session(ledger, services.now, ledger.open(info, label(thread, "thread")))

    def resume(self, id: int) -> Session:
        """Return another handle of an open session, also after a crash. Raises ``NotFound``, ``SessionClosed``."""
        info = self._ledger.info(id)
        if not info.is_open:
            raise SessionClosed(f"session {id} was closed: read it with memory.sessions.snapshot({id})")
        return Session(self._ledger, self._services.now, info)

    @question
    def list(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        open: bool | None = None,
        limit: int | None = None,
        after: int = 0,
        newest_first: bool = False,
    ) -> builtins.list[SessionInfo]:
        """List sessions in the order in which they were opened.

        Args:
            user: only those of this user.
            agent: only those of this agent.
            open: only open ones, or only closed ones.
            limit: at most this many.
            after: how many of the first to pass over.
            newest_first: whether those opened last come first.

        Raises ``InvalidInput``.
        """
        most, passed = check_page(limit, after)
        user, agent = label(user, "user"), label(agent, "agent")
        open = None if open is None else check_flag(open, "open")
        found = (
            info
            for info in self._ledger.all(newest_first=check_flag(newest_first, "newest_first"))
            if user in (None, info.user) and agent in (None, info.agent) and open in (None, info.is_open)
        )
        return [*islice(found, passed, None if most is None else passed + most)]

    @question
    def snapshot(self, id: int) -> SessionSnapshot:
        """Return everything that a session holds, or held when it was closed. Raises ``NotFound``."""
        return self._ledger.snapshot(id, self._services.now())

    @question
    def audit(
        self, id: int, *, limit: int | None = None, after: int = 0, newest_first: bool = False
    ) -> builtins.list[AuditEntry]:
        """List the decisions on a session's signals, open or closed, in the order in which they were made.

        Args:
            id: the number of the session.
            limit: at most this many.
            after: how many of the first to pass over.
            newest_first: whether the last come first.

        Raises ``NotFound`` and ``InvalidInput``.
        """
        return self._ledger.audit(id, *check_page(limit, after), newest_first=check_flag(newest_first, "newest_first"))

    aopen = in_thread(open)
    aresume = in_thread(resume)
    alist = in_thread(list)
    asnapshot = in_thread(snapshot)
    aaudit = in_thread(audit)

    @property
    def _ledger(self) -> Ledger:
        return _ledger(self._services, self._scope)


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals of one scope outside any session. Every method has an async twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    def add(self, type: str, entry_id: str, weight: float = 1.0, at: datetime | None = None) -> Signal:
        """Store a signal on an entry, and return it with its score. No policy applies.

        ``weight`` is at least 0; ``at`` is when it happened (default: now). Raises ``NotFound`` for an unknown entry,
        and ``InvalidInput`` for an unknown type or an episode.
        """
        settings, now = self._services.settings, self._services.now()
        return _ledger(self._services, self._scope).share(
            to_signal(settings, type, entry_id, weight, at, None, now), now
        )

    @question
    def tally(self) -> SignalTally:
        """Return the scores of the signals by type and entry, and their counts by type."""
        return _ledger(self._services, self._scope).tally(self._services.now())

    aadd = in_thread(add)
    atally = in_thread(tally)


def _ledger(services: Services, scope: Scope) -> Ledger:
    unknown = partial(missing, services.storage, scope)
    return Ledger(services.storage, scope, services.settings, unknown, services.writer.redaction.value)
