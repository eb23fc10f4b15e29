"""Maintenance: consolidation on request or on a thread, and its undo."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tidal_plugins.aio import in_thread
from tidal_plugins.ingestion.gate import Admitted, admitted
from tidal_plugins.ingestion.tombstones import noted_erasures
from tidal_plugins.maintenance.runs import noted_runs
from tidal_plugins.maintenance.thread import Maintenance
from tidal_plugins.model.clock import aware
from tidal_plugins.model.compaction import Compacted
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.reports import Consolidation, Erasure, MaintenanceRun, Retention
from tidal_plugins.retrieval.understand import checked_limit
from tidal_plugins.services import Services
from tidal_plugins.storage.capabilities import question
from tidal_plugins.validation import check_flag


@dataclass(frozen=True, slots=True)
class MaintenanceGroup:
    """The maintenance of one scope. Every method has an async twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    def run(self, now: datetime | None = None) -> Consolidation:
        """Do what is due in this scope, and return a report.

        A run forgets what ``Settings.retention`` no longer keeps, reads pending episodes, settles tiers, prunes
        associations, makes facts of recurring memories, refreshes due dossiers and names thought seeds. It runs in
        small transactions. It is safe to interrupt and to run concurrently.
        """
        at = self._services.now() if now is None else aware(now, "now")
        return self._services.consolidator(self._scope).run(at)

    def undo(self, run: str) -> int:
        """Put back what a run changed, and return how many changes that were. Raises ``NotFound``."""
        return self._services.consolidator(self._scope).undo(run, self._services.now())

    def expire(self, *, dry_run: bool = False, below: bool = False) -> Retention:
        """Forget what ``Settings.retention`` no longer keeps in this scope, and report it.

        It goes as ``memory.forget`` removes it, with its bytes and all that was made of it. ``run`` does the same in
        its scope. ``dry_run`` only reports what would go. ``below`` takes the scopes that begin with this one along.
        """
        looks, deep = check_flag(dry_run, "dry_run"), check_flag(below, "below")
        return self._services.expire(self._scope, dry_run=looks, below=deep)

    def start(self, interval: timedelta = timedelta(hours=1)) -> Maintenance:
        """Run in the background: now, and ``interval`` after the end of each run, until the memory is closed.

        Raises ``Closed`` if the memory was closed already.
        """
        return self._services.maintain(Maintenance(self.run, interval))

    @question
    def admitted(self) -> Admitted:
        """Return how many entries the write gate kept for good, and how many for a while."""
        return admitted(self._services.storage, self._scope)

    @question
    def runs(self, limit: int = 50) -> list[MaintenanceRun]:
        """Return the last runs that did anything, the newest first, whoever started them.

        Of each scope 1,000 are kept. Raises ``InvalidInput``.
        """
        return noted_runs(self._services.storage, self._scope, checked_limit(limit))

    @question
    def compactions(self, limit: int = 50) -> list[Compacted]:
        """Return the last rebuilt contexts of this scope's conversations, the newest first.

        Of each scope 1,000 are kept; one whose last episode was forgotten is not. Raises ``InvalidInput``.
        """
        from tidal_plugins.compaction.state import noted_compactions

        return noted_compactions(self._services.storage, self._scope, checked_limit(limit))

    @question
    def erasures(self, limit: int = 50) -> list[Erasure]:
        """Return the last forgettings of this scope, the newest first, with counts of what went.

        Every way to forget is noted: on request, by retention, and erasing the scope, which ends all earlier notes. Of
        each scope 1,000 are kept. Raises ``InvalidInput``.
        """
        return noted_erasures(self._services.storage, self._scope, checked_limit(limit))

    arun = in_thread(run)
    aruns = in_thread(runs)
    acompactions = in_thread(compactions)
    aerasures = in_thread(erasures)
    aexpire = in_thread(expire)
    aundo = in_thread(undo)
    aadmitted = in_thread(admitted)
