"""The services of one store: everything that its views share, built once when the store is opened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from math import inf
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from tidal_plugins.affect.default import check_estimator
from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.compaction.preparation import Preparations
from tidal_plugins.components import Components
from tidal_plugins.errors import InvalidInput
from tidal_plugins.facts.invalidation import SUPERSEDE, SupersessionFinder, SupersessionTuning
from tidal_plugins.graph.handlers import READ, GraphEntries, ModelReading, TurnReading
from tidal_plugins.graph.indexing.stale import ENTRIES
from tidal_plugins.graph.reader.budget import MODEL
from tidal_plugins.graph.stored import GraphTuning
from tidal_plugins.ingestion.indexing import INDEX, EntryIndexer
from tidal_plugins.ingestion.tombstones import missing
from tidal_plugins.ingestion.uses import LINK, Linker
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.jobs.handler import Done, Handler, run
from tidal_plugins.jobs.queue import Jobs
from tidal_plugins.jobs.worker import Worker
from tidal_plugins.maintenance.recurring import ConsolidationTuning
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Entry, Scope, bare_id
from tidal_plugins.model.recall import Recall, Whisper
from tidal_plugins.protocols import Embedder, check_embedder
from tidal_plugins.reading.sentences import TAG, SentenceReading
from tidal_plugins.retrieval.federation import Federation
from tidal_plugins.retrieval.pipeline import Recaller, hide_secrets
from tidal_plugins.retrieval.understand import Request
from tidal_plugins.retrieval.weights import WhisperTuning
from tidal_plugins.retrieval.whisper import compose
from tidal_plugins.sessions.ledger import Ledger
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.damage import A_PAGE, whole, withheld
from tidal_plugins.storage.open import check_writable
from tidal_plugins.storage.shorthands import read_meta
from tidal_plugins.validation import check_number, label

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.dossiers.dossier import Dossiers
    from tidal_plugins.facts.mapping import Facts
    from tidal_plugins.graph.graph import KnowledgeGraph
    from tidal_plugins.graph.queries import Episodes
    from tidal_plugins.ingestion.writer import Progress
    from tidal_plugins.maintenance.consolidator import Consolidator
    from tidal_plugins.maintenance.thread import Maintenance
    from tidal_plugins.model.reports import Backup, Check, Receipt, Retention
    from tidal_plugins.presence.engine import PresenceEngine
    from tidal_plugins.storage.postgres.replica import ReplicaReads

KINDS = (INDEX, LINK, SUPERSEDE, TAG, READ, ENTRIES, MODEL)
"""The kinds of jobs."""

T = TypeVar("T")

WARMING = "What was said about the plans for next week?"
"""A question that goes all the way through recall. Its vector stays in no store."""


@dataclass(frozen=True, slots=True)
class Handlers:
    """Who does the jobs of each kind."""

    index: EntryIndexer
    link: Linker
    supersede: SupersessionFinder
    tag: SentenceReading
    read: TurnReading
    entries: GraphEntries
    model: ModelReading

    def in_order(self, *, graph: bool) -> Sequence[Handler[Any]]:
        """Return the handlers in the order in which a worker asks them, without the reading if ``graph`` is off."""
        first = (self.index, self.link, self.supersede, self.tag)
        return (*first, self.read, self.entries, self.model) if graph else (*first, self.entries, self.model)

    def learn(self, jobs: Jobs, scope: Scope, limit: int) -> int:
        """Do what waits in a scope, reading ``limit`` turns at most, and return how many were read."""
        run(jobs, self.link, scope)
        run(jobs, self.supersede, scope)
        run(jobs, self.tag, scope)
        read = run(jobs, self.read, scope, limit=limit)
        run(jobs, self.entries, scope)
        jobs.settle(scope)
        return sum(one.episodes for one in read.results)


@dataclass(frozen=True, slots=True)
class Services:
    """The parts that every view of one store shares. Methods make the parts of one scope."""

    storage: Storage
    writer: Writer
    recaller: Recaller
    reader: Recaller | Federation
    affect: AffectLoop
    settings: Settings
    preparations: Preparations
    jobs: Jobs
    handlers: Handlers
    worker: Worker
    components: Components
    path: str
    clock: Callable[[], datetime]
    replica: ReplicaReads | None = None
    upkeep: list[Maintenance] = field(default_factory=list)

    def now(self) -> datetime:
        return aware(self.clock(), "the clock's time")

    def recall(self, request: Request, *, secrets: bool) -> Recall:
        """Return the entries that a request brings up, here and at the peers, over its hops.

        Secrets are hidden unless they are asked for, from an assessor too.
        """

        def ask(request: Request) -> Recall:
            found = self._steadily(lambda: self.reader.recall(request))
            return found if secrets else hide_secrets(found)

        if request.hops == 1:
            return ask(request)
        from tidal_plugins.retrieval.hops import over_hops

        return over_hops(ask, request, self.components.assessor, self.settings)

    def whisper(self, request: Request) -> Whisper:
        """Return the whisper for a turn, from here and from the peers. It shows no secret."""
        found, settings = hide_secrets(self._steadily(lambda: self.reader.whisper(request))), self.settings
        return compose(
            found,
            request.now.astimezone(settings.zone),
            settings[WhisperTuning],
            settings[SupersessionTuning].sure,
            self.writer.frames,
            self._thought(request, found) if settings.whisper.thoughts and found.hits else "",
        )

    def _steadily(self, read: Callable[[], Recall]) -> Recall:
        """Read again if the engine opens its file for each reading, and somebody wrote it meanwhile."""
        while_open = getattr(self.storage, "while_open", None)
        found: Recall = while_open(read) if while_open else read()
        return found

    def _thought(self, request: Request, found: Recall) -> str:
        """Return a thought seed of which a memory is found, or nothing."""
        from tidal_plugins.dossiers.seeds import Seeds

        seeds = Seeds(self.storage, self.settings, request.scope).recent(request.now, of={hit.id for hit in found.hits})
        return str(seeds[0]) if seeds else ""

    def warm(self, scope: Scope) -> None:
        """Load the models, and whatever else a first recall waits for."""
        if load := getattr(self.recaller.reranker, "load", None):
            load()
        self.writer.embedder.embed_queries([WARMING])
        asked = Request.of_turn(
            scope, WARMING, self.now(), self.settings, self.affect, exclude=(), session=None, affect=None
        )
        self.whisper(asked)

    def forget(
        self,
        scope: Scope,
        ids: Collection[str],
        source: str | None,
        thread: str | None,
        *,
        everywhere: bool,
        dry_run: bool,
    ) -> Receipt:
        """Remove entries and episodes for good and return a receipt. Raises ``InvalidInput``."""
        from tidal_plugins.ingestion.forget import forget, named

        if not ids and source is None and thread is None:
            raise InvalidInput("say what to forget: ids, source= or thread=")
        source, thread = label(source, "source"), label(thread, "thread")
        source = source and self.writer.redaction.known(source)
        chosen, now = named(self.storage, scope, ids, source, thread), self.now()
        forgotten = forget(self.writer, scope, chosen, now, source=source, everywhere=everywhere, dry_run=dry_run)
        if not dry_run:
            self.worker.call(scope)  # the facts that lost a source are written anew
        return forgotten

    def erase_scope(self, scope: Scope, *, below: bool) -> Receipt:
        """Remove everything that a scope has, for good, and return a receipt."""
        from tidal_plugins.ingestion.forget import erase_scope

        with self.worker.recording(scope):
            return erase_scope(self.writer, scope, self.now(), below=below)

    def reembed(self, embedder: Embedder, progress: Progress | None) -> int:
        """Give the store the vectors of an embedder, which every view uses from then on."""
        from tidal_plugins.ingestion.reembed import reembed

        check_embedder(embedder)
        check_estimator(self.affect.estimator, embedder)
        return reembed(self.writer, embedder, self.now, progress)

    def check(self, repair: bool) -> Check:
        from tidal_plugins.maintenance.check import check

        return check(self.writer, self.handlers.index, self.now(), repair)

    def back_up(self, path: str | PathLike[str], *, replace: bool, damaged: bool) -> Backup:
        from tidal_plugins.maintenance.backups import back_up

        return back_up(self.storage, path, self.now(), replace=replace, damaged=damaged)

    def ledger(self, scope: Scope) -> Ledger:
        return Ledger(
            self.storage,
            scope,
            self.settings,
            partial(missing, self.storage, scope),
            self.writer.redaction.value,
        )

    def dossiers(self, scope: Scope) -> Dossiers:
        from tidal_plugins.dossiers.dossier import Dossiers

        return Dossiers(self.writer, self.recaller, scope, self.components.summariser)

    @whole()
    def entry(self, scope: Scope, id: str) -> Entry:
        """Return an entry by id or citation, in any tier. Raises ``NotFound``, or ``Forgotten`` if it was forgotten."""
        id = bare_id(id)
        with withheld() as damaged:
            found = self.storage.get(scope, [id])
            if id in found:
                damaged.pop(A_PAGE, None)
        if id not in found:
            raise missing(self.storage, scope, id)
        return found[id]

    def episodes(self, scope: Scope) -> Episodes:
        """Return a function that reads episodes of a scope by id, with their words as they were corrected."""
        from tidal_plugins.ingestion.episodes import read_corrected

        return partial(read_corrected, self.storage, scope)

    def graph_parts(self, scope: Scope) -> tuple[Any, ...]:
        """Return the arguments of a graph of a scope."""

        def embed(names: Sequence[str]) -> list[NDArray[np.float32]]:
            return [query.vector for query in self.writer.embedder.embed_queries(names)]

        return self.storage, scope, self.now, self.settings[GraphTuning], self.episodes(scope), embed

    def graph(self, scope: Scope) -> KnowledgeGraph:
        from tidal_plugins.graph.graph import KnowledgeGraph

        return KnowledgeGraph(*self.graph_parts(scope))

    def presence(self, scope: Scope) -> PresenceEngine:
        from tidal_plugins.presence.engine import PresenceEngine

        return PresenceEngine(self.storage, scope, self.settings, self.components.summariser)

    def facts(self, scope: Scope) -> Facts:
        from tidal_plugins.ingestion.forget import facts_of

        return facts_of(self.writer, scope)

    def maintain(self, maintenance: Maintenance) -> Maintenance:
        """Start a maintenance thread that ends when the store is closed. Raises ``Closed`` if it was closed already,
        and ``ReadOnly``."""
        check_writable(self.storage)
        read_meta(self.storage, "")  # raises Closed
        self.upkeep[:] = [one for one in self.upkeep if one.running]
        maintenance.start()
        self.upkeep.append(maintenance)
        return maintenance

    def close(self, timeout: float) -> None:
        """Wait at most ``timeout`` seconds for queued work, end the threads and close the store."""
        if check_number(timeout, "timeout", 0, inf):
            self.worker.drain(timeout)
        for maintenance in self.upkeep:
            maintenance.stop(0)  # a run that is under way ends with Closed
        self.worker.stop()
        if self.replica is not None:
            self.replica.close()
        self.storage.close()

    def do(
        self,
        handler: Handler[T],
        scope: Scope,
        *,
        limit: int | None = None,
        subjects: Collection[str] | None = None,
        failed: bool = False,
        wait: bool = False,
    ) -> Done[T]:
        """Do the jobs of one kind in a scope here and now. The arguments are those of ``run``."""
        done = run(self.jobs, handler, scope, limit=limit, subjects=subjects, failed=failed, wait=wait)
        self.jobs.settle(scope)
        return done

    def consolidator(self, scope: Scope) -> Consolidator:
        from tidal_plugins.maintenance.consolidator import Consolidator
        from tidal_plugins.maintenance.tiers import Retainer

        return Consolidator(
            self.writer,
            scope,
            self.components.summariser,
            refresh=self.dossiers(scope).refresh_due,
            learn=partial(self.handlers.learn, self.jobs, scope, self.settings[ConsolidationTuning].batch),
            expire=partial(Retainer(self.writer, scope).run, dry_run=False) if self.settings.retention else None,
        )

    def expire(self, scope: Scope, *, dry_run: bool, below: bool) -> Retention:
        """Forget what is kept no longer in a scope, and with ``below`` in those that begin with it, and report it."""
        from tidal_plugins.maintenance.tiers import Retainer
        from tidal_plugins.model.reports import combined

        more = self.storage.scopes(scope, Where(include_archived=True)) if below else []
        now = self.now()
        found = [Retainer(self.writer, one).run(now, dry_run=dry_run) for one in sorted({scope, *more})]
        return combined(found)
