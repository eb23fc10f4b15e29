"""Maintenance: consolidation on request or on a thread, its undo, what was done, and figures to watch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import Corrupt
from tidal_plugins.facts.invalidation import SUPERSEDE
from tidal_plugins.graph.handlers import READ
from tidal_plugins.graph.reader.budget import MODEL
from tidal_plugins.ingestion.gate import Admitted, admitted
from tidal_plugins.ingestion.tombstones import noted_erasures
from tidal_plugins.maintenance.runs import noted_runs
from tidal_plugins.maintenance.thread import Maintenance
from tidal_plugins.maintenance.tiers import Retainer, count_tiers
from tidal_plugins.model.clock import aware
from tidal_plugins.model.compaction import Compacted
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.reports import Consolidation, Erasure, MaintenanceRun, Retention, Stats, combined
from tidal_plugins.retrieval.understand import checked_limit
from tidal_plugins.services import Services
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.capabilities import Verified, count_keys, measures, question, within_deadline
from tidal_plugins.storage.scrubbing import UNSCRUBBED
from tidal_plugins.storage.shorthands import read_meta
from tidal_plugins.validation import check_flag

if TYPE_CHECKING:
    from tidal_plugins.maintenance.consolidator import Consolidator


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
        return self._consolidator.run(at)

    def undo(self, run: str) -> int:
        """Put back what a run changed, and return how many changes that were. Raises ``NotFound``."""
        return self._consolidator.undo(run, self._services.now())

    def expire(self, *, dry_run: bool = False, below: bool = False) -> Retention:
        """Forget what ``Settings.retention`` no longer keeps in this scope, and report it.

        It goes as ``memory.forget`` removes it, with its bytes and all that was made of it. ``run`` does the same in
        its scope. ``dry_run`` only reports what would go. ``below`` takes the scopes that begin with this one along.
        """
        looks, deep = check_flag(dry_run, "dry_run"), check_flag(below, "below")
        writer, now = self._services.writer, self._services.now()
        more = writer.storage.scopes(self._scope, Where(include_archived=True)) if deep else []
        scopes = sorted({self._scope, *more})
        return combined([Retainer(writer, scope).run(now, dry_run=looks) for scope in scopes])

    def start(self, interval: timedelta = timedelta(hours=1)) -> Maintenance:
        """Run in the background: now, and ``interval`` after the end of each run, until the memory is closed.

        Each time the file is examined first, so that answers tell of damage that no checksum shows. Raises ``Closed``
        if the memory was closed already.
        """

        def examine_and_run() -> None:
            if isinstance(storage := self._services.storage, Verified):
                storage.verify()
            self.run()

        return self._services.maintain(Maintenance(examine_and_run, interval))

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

    @property
    def _consolidator(self) -> Consolidator:
        from tidal_plugins.maintenance.consolidator import Consolidator

        services, summariser = self._services, self._services.components.summariser
        return Consolidator(services.writer, services.recaller, services.handlers, self._scope, summariser)


def stats(services: Services, scope: Scope) -> Stats:
    """Return the figures of a scope, as of one state of the store."""
    storage = services.storage
    with within_deadline(storage), storage.snapshot():
        kinds = Counter[str]()
        for (kind, _), volume in storage.statistics(scope).volumes.items():
            kinds[kind] += volume.entries
        tiers = count_tiers(storage, scope, services.now())
        waiting = count_keys(storage, scope, [READ, SUPERSEDE, MODEL])
        try:
            unscrubbed = bool(read_meta(storage, UNSCRUBBED))
        except Corrupt:  # it stands on a damaged page, if it is there
            unscrubbed = True
        figures = measures(storage)
        used = services.handlers.model.budget.usage(scope, services.now())
    left = figures.file_bytes + figures.log_bytes if unscrubbed else 0
    return Stats(
        entries=kinds.total(),
        waiting=waiting,
        file_bytes=figures.file_bytes,
        log_bytes=figures.log_bytes,
        unscrubbed_bytes=left,
        slow=figures.slow,
        timeouts=figures.timeouts,
        log_lost=figures.log_lost,
        log_readers=figures.log_readers,
        reader=used,
        kinds=dict(+kinds),
        tiers=tiers,
    )
