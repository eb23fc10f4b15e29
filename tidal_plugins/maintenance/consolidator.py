"""The consolidator: what decays settles, what recurs becomes knowledge, what belongs together is pointed out.

A run is a row of small transactions, and holds no lock while a model writes. It can be cut off anywhere: the next one
goes on. To run again at the same time changes nothing more [Tidal §2.4], [Capsule].
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from tidal_plugins.associations.store import ASSOCIATION
from tidal_plugins.background import Handlers
from tidal_plugins.dossiers.dossier import Dossiers
from tidal_plugins.dossiers.seeds import Seeds
from tidal_plugins.errors import Closed, NotFound
from tidal_plugins.ingestion.gate import admitted
from tidal_plugins.ingestion.uses import USES
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.maintenance.recurring import ConsolidationTuning, Recurring
from tidal_plugins.maintenance.runs import (
    COMPRESSED,
    PRUNED,
    RUNS,
    SETTLED,
    Run,
    UnderWay,
    edge_value,
    note_run,
    restore,
    settled,
    tier_value,
)
from tidal_plugins.maintenance.tiers import Retainer
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.reports import Consolidation, Retention, Seed
from tidal_plugins.protocols import Summariser
from tidal_plugins.retrieval.pipeline import Recaller
from tidal_plugins.scoring.decay import DecayTuning
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import Storage, Where, WhereLinks
from tidal_plugins.storage.damage import ENTRIES, noticed
from tidal_plugins.storage.open import check_writable
from tidal_plugins.storage.shorthands import read_document, set_tiers, write_document
from tidal_plugins.storage.transactions import retry
from tidal_plugins.tracing import traced

logger = logging.getLogger(__name__)

_READ = "uses"
"""Key of the document that says how far the log of uses was read."""

UNDER_WAY = "another consolidation is under way"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Consolidator:
    """Consolidates one scope. ``summariser`` writes the facts and the dossiers (default: key sentences)."""

    writer: Writer
    recaller: Recaller
    handlers: Handlers
    scope: Scope
    summariser: Summariser | None = None

    @traced("tidal.maintenance", lambda done: {"tidal.episodes": done.learned, "tidal.errors": len(done.errors)})
    def run(self, now: datetime) -> Consolidation:
        """Run the due steps at ``now``, and report what they did. A step that fails is named and leaves the others
        alone.

        If another run of the scope is under way, this one does nothing and reports so. Raises ``Closed`` if the memory
        was closed, and ``ReadOnly``.
        """
        check_writable(self.storage)
        now = aware(now, "now")
        run = Run(self.storage, self.scope, now, self.settings.runs)
        try:
            run.resume()
            return self._run(run, now)
        except UnderWay:
            return Consolidation(run.id, now, errors=(UNDER_WAY,))
        finally:
            run.leave()

    def _run(self, run: Run, now: datetime) -> Consolidation:
        errors: list[str] = []

        def step(name: str, work: Callable[[], Iterator[T]]) -> list[T]:
            """Run a step and return its results. If it fails, these are the results up to then."""
            done: list[T] = []
            try:
                retry(lambda: done.extend(work()))()
            except (Closed, UnderWay):
                raise
            except Exception as error:
                pass_interrupt(error)
                logger.warning("consolidation: %s: %s", name, type(error).__name__)  # no text of a memory
                errors.append(f"{name}: {type(error).__name__}: {error}")
            return done

        expired = step("retention", lambda: self._expire(now))
        learned = step("graph", self._learn)
        cold = step("tiers", lambda: self._settle(run))
        faded = step("associations", lambda: self._prune(run))
        facts = step("facts", lambda: self._recur(run))
        dossiers = step("dossiers", lambda: self._refresh(run))
        seeds = step("seeds", lambda: self._seeds(now))
        report = Consolidation(
            run=run.close(),
            at=now,
            retention=expired[0] if expired else None,
            learned=sum(learned),
            settled=sum(cold),
            pruned=sum(faded),
            facts=tuple(facts),
            dossiers=tuple(dossiers),
            seeds=tuple(seeds),
            ephemeral=admitted(self.storage, self.scope).share,
            errors=tuple(errors),
        )
        note_run(self.storage, self.scope, report)
        return report

    def undo(self, run: str, now: datetime) -> int:
        """Undo a run, and return how many things were undone.

        Tiers and associations that nothing has changed since get their former values. The facts that the run made are
        removed for good, with everything made of them. The next run settles and prunes anew if that is due. Raises
        ``NotFound`` for a run that is unknown, undone already, or longer ago than ``consolidation.runs``.
        """
        lines = self.storage.read_log(self.scope, RUNS, keys=[run])
        if not lines:
            raise NotFound(
                f"no consolidation {shown(run)} to undo in scope {shown_scope(self.scope)}: "
                "it was undone, or is too long ago"
            )
        restored = 0
        for line in reversed(lines):
            with self.storage.transaction():
                restored += restore(self.storage, self.scope, line.value, self._recurring, now)
        with self.storage.transaction():
            self.storage.trim_log(self.scope, RUNS, keys=[run])
        return restored

    @property
    def storage(self) -> Storage:
        return self.writer.storage

    @property
    def settings(self) -> ConsolidationTuning:
        return self.writer.settings[ConsolidationTuning]

    @property
    def _recurring(self) -> Recurring:
        return Recurring(self.writer, self.scope, self.summariser)

    def _expire(self, now: datetime) -> Iterator[Retention]:
        if self.writer.settings.retention:
            yield Retainer(self.writer, self.scope).run(now, dry_run=False)

    def _settle(self, run: Run) -> Iterator[int]:
        """Write down that entries have turned cold, as of the moment when they did. The rest of their tier stands."""
        half_life = self.writer.settings[DecayTuning].cold
        damaged: set[str] = set()
        while True:
            with self.storage.transaction():
                cold = self._cold(run.now, damaged)
                tiers = {entry.id: entry.tier for entry in cold if entry.tier}
                if tiers:
                    run.note({SETTLED: {id_: tier_value(tier) for id_, tier in tiers.items()}})
                    set_tiers(self.storage, self.scope, {id_: settled(tier, half_life) for id_, tier in tiers.items()})
            if not tiers:
                return
            yield len(tiers)

    def _cold(self, now: datetime, damaged: set[str]) -> list[Entry]:
        while True:
            with noticed() as left_out:
                found = self.storage.find(self.scope, Where(due_by=now, exclude=damaged), limit=self.settings.batch)
            known = len(damaged)
            damaged |= {row.name for row in left_out if row.table == ENTRIES}
            if found or len(damaged) == known:
                return found

    def _prune(self, run: Run) -> Iterator[int]:
        where = WhereLinks(kinds=[ASSOCIATION], expired_at=run.now)
        while True:
            with self.storage.transaction():
                faded = self.storage.links(self.scope, where, limit=self.settings.batch)
                if faded:
                    run.note({PRUNED: [edge_value(edge) for edge in faded]})
                    self.storage.erase_links(self.scope, WhereLinks(ids=[edge.id for edge in faded]))
            if not faded:
                return
            yield len(faded)

    def _recur(self, run: Run) -> Iterator[str]:
        """Read the uses since the last run, and make facts of recurring memories."""
        recurring = self._recurring
        while lines := self.storage.read_log(self.scope, USES, after=self._read(), limit=self.settings.batch):
            while entries := recurring.due(lines, run.now):
                run.begin()
                made = recurring.make(entries, run.now)
                with self.storage.transaction():
                    written = recurring.write(made)
                    if written and made.id:
                        run.note({COMPRESSED: made.id})
                if written and made.id:
                    yield made.id
            with self.storage.transaction():
                last = max(self._read(), lines[-1].seq)
                write_document(self.storage, self.scope, RUNS, _READ, last)
        recurring.thin(run.now)

    def _read(self) -> int:
        document = read_document(self.storage, self.scope, RUNS, _READ)
        return int(document.value) if document else 0

    def _refresh(self, run: Run) -> Iterator[str]:
        dossiers = Dossiers(self.writer, self.recaller, self.scope, self.summariser)
        yield from (dossier.topic for dossier in dossiers.refresh_due(run.now, run.begin))

    def _learn(self) -> Iterator[int]:
        yield self.handlers.learn(self.scope, self.settings.batch)

    def _seeds(self, now: datetime) -> Iterator[Seed]:
        yield from Seeds(self.storage, self.writer.settings, self.scope).take(now)
