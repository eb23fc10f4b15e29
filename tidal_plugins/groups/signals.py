"""Signals of the scope itself, such as a user's ``like``, that shape everyone's ranking [tidalDB]."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from tidal_plugins.aio import in_thread
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.session import Signal, SignalTally
from tidal_plugins.services import Services
from tidal_plugins.sessions.session import to_signal
from tidal_plugins.storage.capabilities import question


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
        return self._services.ledger(self._scope).share(to_signal(settings, type, entry_id, weight, at, None, now), now)

    @question
    def tally(self) -> SignalTally:
        """Return the scores of the signals by type and entry, and their counts by type."""
        return self._services.ledger(self._scope).tally(self._services.now())

    aadd = in_thread(add)
    atally = in_thread(tally)
