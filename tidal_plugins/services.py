"""The services of one store: everything that its views share, built once when the store is opened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from os import PathLike
from typing import TYPE_CHECKING, Any

from tidal_plugins.affect.default import check_estimator
from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.compaction.preparation import Preparations
from tidal_plugins.errors import Forgotten, InvalidInput, NotFound
from tidal_plugins.graph.reader.later import ModelLater
from tidal_plugins.ingestion.associate import Coactivation
from tidal_plugins.ingestion.background import Background
from tidal_plugins.ingestion.unindexed import Unindexed
from tidal_plugins.ingestion.writer import Writer, message_entry_id
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Entry, Scope, bare_id, mark_of
from tidal_plugins.model.recall import Recall, Whisper
from tidal_plugins.plugs import Plugs
from tidal_plugins.protocols import (
    Embedder,
    check_embedder,
)
from tidal_plugins.retrieval.federation import Federation
from tidal_plugins.retrieval.pipeline import Recaller
from tidal_plugins.retrieval.request import Request
from tidal_plugins.retrieval.secrets import hide_secrets
from tidal_plugins.retrieval.whisper import compose
from tidal_plugins.sessions.ledger import Ledger
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.claims import Claims
from tidal_plugins.storage.damage import whole
from tidal_plugins.storage.open import check_writable
from tidal_plugins.storage.salt import salt
from tidal_plugins.storage.shorthands import read_meta
from tidal_plugins.supersession.finder import SupersessionFinder
from tidal_plugins.tuning import Tuning
from tidal_plugins.validation import check_number, label

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.dossiers.dossier import Dossiers
    from tidal_plugins.facts.mapping import Facts
    from tidal_plugins.graph.graph import KnowledgeGraph
    from tidal_plugins.graph.indexing.indexer import GraphIndexer
    from tidal_plugins.graph.lookup import Episodes
    from tidal_plugins.ingestion.writer import Progress
    from tidal_plugins.maintenance.consolidator import Consolidator
    from tidal_plugins.maintenance.thread import Maintenance
    from tidal_plugins.model.check import Backup, Check
    from tidal_plugins.model.episode import Episode
    from tidal_plugins.model.receipt import Receipt
    from tidal_plugins.model.retention import Retention
    from tidal_plugins.presence.engine import PresenceEngine
    from tidal_plugins.storage.postgres.replica import ReplicaReads

WARMING = "What was said about the plans for next week?"
"""A question that goes all the way through recall. Its vector stays in no store."""


@dataclass(frozen=True, slots=True)
class Services:
    """The parts that every view of one store shares. Methods make the parts of one scope."""

    storage: Storage
    writer: Writer
    unindexed: Unindexed
    recaller: Recaller
    reader: Recaller | Federation
    affect: AffectLoop
    settings: Tuning
    preparations: Preparations
    background: Background
    supersessions: SupersessionFinder
    coactivation: Coactivation
    model_reading: ModelLater
    plugs: Plugs
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

        return over_hops(ask, request, self.plugs.assessor, self.settings)

    def whisper(self, request: Request) -> Whisper:
        """Return the whisper for a turn, from here and from the peers. It shows no secret."""
        found, settings = hide_secrets(self._steadily(lambda: self.reader.whisper(request))), self.settings
        return compose(
            found,
            request.now.astimezone(settings.zone),
            settings.whisper,
            settings.supersession.sure,
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
            self.background.call(scope)  # the facts that lost a source are written anew
        return forgotten

    def erase_scope(self, scope: Scope, *, below: bool) -> Receipt:
        """Remove everything that a scope has, for good, and return a receipt."""
        from tidal_plugins.ingestion.forget import erase_scope

        return erase_scope(self.writer, scope, self.now(), below=below)

    def reembed(self, embedder: Embedder, progress: Progress | None) -> int:
        """Give the store the vectors of an embedder, which every view uses from then on."""
        from tidal_plugins.ingestion.reembed import reembed

        check_embedder(embedder)
        check_estimator(self.affect.estimator, embedder)
        return reembed(self.writer, embedder, self.now, progress)

    def check(self, repair: bool) -> Check:
        from tidal_plugins.maintenance.check import check

        return check(self.writer, self.unindexed, self.now(), repair)

    def back_up(self, path: str | PathLike[str], *, replace: bool, damaged: bool) -> Backup:
        from tidal_plugins.maintenance.backups import back_up

        return back_up(self.storage, path, self.now(), replace=replace, damaged=damaged)

    def ledger(self, scope: Scope) -> Ledger:
        return Ledger(
            self.storage,
            scope,
            self.settings.signals,
            lambda id_: self.missing(scope, id_),
            self.writer.redaction.value,
        )

    def dossiers(self, scope: Scope) -> Dossiers:
        from tidal_plugins.dossiers.dossier import Dossiers

        return Dossiers(self.writer, self.recaller, scope, self.plugs.summariser)

    @whole()
    def entry(self, scope: Scope, id: str) -> Entry:
        """Return an entry by id or citation, in any tier. Raises ``NotFound``, or ``Forgotten`` if it was forgotten."""
        id = bare_id(id)
        found = self.storage.get(scope, [id])
        if id not in found:
            raise self.missing(scope, id)
        return found[id]

    def episodes(self, scope: Scope) -> Episodes:
        """Return a function that reads episodes of a scope by id, with their words as they were corrected."""
        from tidal_plugins.ingestion.corrections import read_corrected

        def episodes(ids: Collection[str]) -> Mapping[str, Episode]:
            return read_corrected(self.storage, scope, dict.fromkeys(ids))

        return episodes

    def graph_parts(self, scope: Scope) -> tuple[Any, ...]:
        """Return the arguments of a graph of a scope."""

        def embed(names: Sequence[str]) -> list[NDArray[np.float32]]:
            return [query.vector for query in self.writer.embedder.embed_queries(names)]

        return self.storage, scope, self.now, self.settings.graph, self.episodes(scope), embed

    def graph(self, scope: Scope) -> KnowledgeGraph:
        from tidal_plugins.graph.graph import KnowledgeGraph

        return KnowledgeGraph(*self.graph_parts(scope))

    def presence(self, scope: Scope) -> PresenceEngine:
        from tidal_plugins.presence.engine import PresenceEngine

        return PresenceEngine(self.storage, scope, self.settings, self.plugs.summariser)

    def facts(self, scope: Scope) -> Facts:
        from tidal_plugins.facts.mapping import Facts
        from tidal_plugins.ingestion.forget import forget

        def remove(ids: Collection[str]) -> int:
            return forget(self.writer, scope, ids, self.now()).count

        redact = self.writer.redaction.value
        return Facts(self.storage, scope, self.now, self.writer, self.settings.facts, remove, redact)

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
            self.background.drain(timeout)
        for maintenance in self.upkeep:
            maintenance.stop(0)  # a run that is under way ends with Closed
        self.background.stop()
        if self.replica is not None:
            self.replica.close()
        self.storage.close()

    def graph_indexer(self, scope: Scope) -> GraphIndexer:
        from tidal_plugins.english.tags import tags
        from tidal_plugins.graph.indexing.entries import GraphEntries
        from tidal_plugins.graph.indexing.indexer import GraphIndexer
        from tidal_plugins.graph.indexing.stale import STALE
        from tidal_plugins.graph.reading.episode import EpisodeReader
        from tidal_plugins.graph.traffic.reader import TrafficReader

        settings, timeout, frames = self.settings.graph, self.settings.models.timeout, self.writer.frames
        claims = Claims(self.storage, scope, STALE, self.background.name, self.now, settings.claim)
        return GraphIndexer(
            storage=self.storage,
            scope=scope,
            settings=settings,
            clock=self.now,
            worker=self.background,
            episodes=self.episodes(scope),
            reader=EpisodeReader(
                self.plugs.graph_extractor,
                settings.max_chars,
                timeout,
                lambda: self.background.stopped,
                message_entry_id,
                frames,
            ),
            traffic=TrafficReader(
                self.storage,
                scope,
                self.settings.compaction.file_tools,
                self.settings.compaction.system_paths,
                settings.max_assertions,
            ),
            entries=GraphEntries(self.storage, scope, settings, self.writer, tags, claims),
            timeout=timeout,
        )

    def find_supersessions(self, scope: Scope) -> int:
        """Look through the turns that wait for what they supersede, and return how many links were made."""
        made = self.supersessions.find(scope)
        self.writer.later.settle(scope)
        return made

    def link_pending(self, scope: Scope) -> int:
        """Link what came up together in the turns that wait for it, and return how many turns there were."""
        linked = self.coactivation.link(scope)
        self.writer.later.settle(scope)
        return linked

    def consolidator(self, scope: Scope) -> Consolidator:
        from tidal_plugins.maintenance.consolidator import Consolidator
        from tidal_plugins.maintenance.retention import Retainer

        def index() -> int:
            self.link_pending(scope)
            self.find_supersessions(scope)
            return self.graph_indexer(scope).run(limit=self.settings.consolidation.batch).episodes

        def expire(now: datetime) -> Retention:
            return Retainer(self.writer, scope).run(now, dry_run=False)

        refresh, rules = self.dossiers(scope).refresh_due, self.settings.retention
        return Consolidator(self.writer, scope, self.plugs.summariser, refresh, index, expire if rules else None)

    def expire(self, scope: Scope, *, dry_run: bool, below: bool) -> Retention:
        """Forget what is kept no longer in a scope, and with ``below`` in those that begin with it, and report it."""
        from tidal_plugins.maintenance.retention import Retainer
        from tidal_plugins.model.retention import combined

        more = self.storage.scopes(scope, Where(include_archived=True)) if below else []
        now = self.now()
        found = [Retainer(self.writer, one).run(now, dry_run=dry_run) for one in sorted({scope, *more})]
        return combined(found)

    def missing(self, scope: Scope, id: str) -> NotFound:
        """Return the error for an id that is not there, or not there any more."""
        from tidal_plugins.ingestion.tombstones import tombstoned

        if tombstoned(self.storage, scope, [id]):
            return Forgotten(f"{shown(id)} was forgotten on request")
        if not salt(self.storage).startswith(mark_of(id)):
            return NotFound(
                f"no entry or episode {shown(id)} in scope {shown_scope(scope)}: it may be "
                "an id of another store, such as a peer; ask the memory that made it"
            )
        return NotFound(f"no entry or episode {shown(id)} in scope {shown_scope(scope)}")
