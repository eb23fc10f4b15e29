"""The services of a store: the parts that its views share, and how they are made, in order, when it is opened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from os import PathLike
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tidal_plugins.affect.default import DefaultEmotion, check_estimator
from tidal_plugins.affect.state import AffectLoop, AffectTuning
from tidal_plugins.compaction.preparation import Preparations
from tidal_plugins.embedding.identity import StoreEmbedder
from tidal_plugins.embedding.onnx import OnnxEmbedder
from tidal_plugins.errors import InvalidInput
from tidal_plugins.facts.invalidation import SupersessionTuning
from tidal_plugins.jobs.queue import Jobs, JobTuning
from tidal_plugins.jobs.throttle import Throttle
from tidal_plugins.jobs.worker import Worker
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Entry, Scope, bare_id
from tidal_plugins.model.recall import Recall, Whisper
from tidal_plugins.protocols import (
    ClaimExtractor,
    CoverageAssessor,
    Embedder,
    EmotionEstimator,
    GraphExtractor,
    Redactor,
    Reranker,
    SentenceTagger,
    Summariser,
    check_embedder,
    check_protocol,
)
from tidal_plugins.retrieval.boost import Boosts
from tidal_plugins.retrieval.federation import Federation, OpenMemory, Peer, checked_peers, federation
from tidal_plugins.retrieval.pipeline import Recaller, hide_secrets
from tidal_plugins.retrieval.understand import Request
from tidal_plugins.retrieval.weights import WhisperTuning
from tidal_plugins.retrieval.whisper import compose
from tidal_plugins.settings import Settings
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.damage import A_PAGE, whole, withheld
from tidal_plugins.storage.open import check_writable, open_replica, open_storage, path_of
from tidal_plugins.storage.scrubbing import scrub
from tidal_plugins.storage.shorthands import read_meta, salt, secret
from tidal_plugins.storage.sqlite.opening import Key
from tidal_plugins.validation import check_flag, check_number

if TYPE_CHECKING:
    from tidal_plugins.background import Handlers
    from tidal_plugins.dossiers.dossier import Dossiers
    from tidal_plugins.ingestion.writer import Writer
    from tidal_plugins.jobs.handler import Handler
    from tidal_plugins.maintenance.thread import Maintenance
    from tidal_plugins.model.delimiters import Delimiters
    from tidal_plugins.storage.postgres.replica import ReplicaReads

T = TypeVar("T")


def open_services(
    path: str | PathLike[str] | None,
    *,
    storage: Storage | None,
    key: Key | None,
    read_only: bool,
    components: Components,
    peers: Iterable[Peer | OpenMemory | str | PathLike[str]],
    settings: Settings | None,
    clock: Callable[[], datetime],
) -> Services:
    """Open a store. Raises ``InvalidInput`` for an argument that does not fit, and ``StorageError``."""
    if settings is None:
        settings = Settings.model_construct()  # validators take milliseconds to build, and defaults need none
    if not isinstance(settings, Settings):
        raise InvalidInput(f"settings= takes Settings, such as Settings(recall={{'limit': 5}}), got {shown(settings)}")
    if settings.tuning or "compact" in settings.compaction.model_fields_set:
        from tidal_plugins.weights import check

        check(settings)
    others = checked_peers(peers)
    if components.redactor and settings.recording.secrets == "keep":
        raise InvalidInput(
            "a redactor of your own replaces what it finds: give recording={'secrets': 'mask'} or 'refuse'"
        )
    if not callable(clock):
        raise InvalidInput(f"clock= is a function that returns the time, got {shown(clock)}")
    storage = open_storage(path, storage, settings.storage, key, read_only=check_flag(read_only, "read_only"))
    try:
        return assemble(storage, components, others, settings, clock, read_only=read_only)
    except InvalidInput:
        if path is not None:
            storage.close()
        raise


def assemble(
    storage: Storage,
    components: Components,
    peers: Sequence[Peer],
    settings: Settings,
    clock: Callable[[], datetime],
    *,
    read_only: bool = False,
) -> Services:
    """Return the services of an open store. Each part is made of those before it."""
    replica = None if settings.storage.read_url is None else open_replica(storage, settings.storage)
    embedder, own = StoreEmbedder(components.embeds, storage), secret(storage)
    emotion = DefaultEmotion(lambda: embedder.embedder) if components.emotion is ... else components.emotion
    jobs = Jobs(storage, settings[JobTuning], clock, Throttle(settings[JobTuning].quiet), _kinds)
    recaller = Recaller(storage, embedder, settings, Boosts(storage, settings), components.reranker)
    reader = recaller if replica is None else _on_replica(recaller, replica)
    salt(storage)  # a new store gets its salt before anything is written
    if not read_only:
        scrub(storage)  # a forgetting may have been interrupted
    services = Services(
        storage=storage,
        embedder=embedder,
        key=own,
        recaller=recaller,
        reader=reader,
        affect=AffectLoop(storage, emotion, settings[AffectTuning]),
        settings=settings,
        preparations=Preparations(),
        jobs=jobs,
        threaded=settings.graph.background and not read_only,
        components=components,
        peers=peers,
        path=path_of(storage),
        clock=clock,
        replica=replica,
    )
    if not peers:
        return services
    return replace(services, reader=federation(reader, peers, lambda *asked: services.writer.forgotten(*asked)))


def _kinds() -> Sequence[str]:
    """Return the kinds of jobs."""
    from tidal_plugins.background import KINDS

    return KINDS


def _on_replica(recaller: Recaller, replica: ReplicaReads) -> Recaller:
    """Return a recaller that a read replica may answer. All else asks the primary server."""
    reads = cast(Storage, replica)
    return replace(recaller, storage=reads, boosts=Boosts(reads, recaller.settings))


@dataclass(frozen=True, slots=True)
class Components:
    """The components of a store, as the arguments of ``TidalMemory``. ``None`` means the default, or off.

    Raises ``InvalidInput`` for one that does not fit its protocol.
    """

    embedder: Embedder | None = None
    emotion: EmotionEstimator | EllipsisType | None = ...
    summariser: Summariser | None = None
    claim_extractor: ClaimExtractor | None = None
    graph_extractor: GraphExtractor | None = None
    reranker: Reranker | None = None
    redactor: Redactor | None = None
    assessor: CoverageAssessor | None = None
    tagger: SentenceTagger | None = None

    def __post_init__(self) -> None:
        check_protocol(self.summariser, Summariser, "a summariser has a method summarise")
        check_protocol(self.reranker, Reranker, "a reranker has a method rerank")
        check_protocol(self.assessor, CoverageAssessor, "an assessor has a method assess")
        check_protocol(self.redactor, Redactor, "a redactor has a method find")
        check_protocol(self.tagger, SentenceTagger, "a tagger has a method tag")
        check_protocol(self.claim_extractor, ClaimExtractor, "a claim extractor has a method extract")
        check_protocol(self.graph_extractor, GraphExtractor, "a graph extractor has a method extract_graph")
        if self.embedder is not None:
            check_embedder(self.embedder)
        if self.emotion is not ...:
            check_protocol(self.emotion, EmotionEstimator, "an emotion estimator has a method estimate")
        check_estimator(self.emotion, self.embeds)

    @property
    def embeds(self) -> Embedder:
        """Return the embedder, the default one if none was given."""
        return OnnxEmbedder() if self.embedder is None else self.embedder


@dataclass(frozen=True)
class Services:
    """The parts that every view of one store shares. Methods make the parts of one scope.

    What a recall does not need is made, and its modules are loaded, when it is first used.
    """

    storage: Storage
    embedder: StoreEmbedder
    key: bytes
    """The store's own secret."""
    recaller: Recaller
    reader: Recaller | Federation
    affect: AffectLoop
    settings: Settings
    preparations: Preparations
    jobs: Jobs
    threaded: bool
    """Whether jobs are done in the background."""
    components: Components
    peers: Sequence[Peer]
    path: str
    clock: Callable[[], datetime]
    replica: ReplicaReads | None
    upkeep: list[Maintenance] = field(default_factory=list)
    _made: dict[str, Any] = field(default_factory=dict, init=False)
    _making: Any = field(default_factory=threading.RLock, init=False)

    @property
    def writer(self) -> Writer:
        return self._once(self._writer)

    @property
    def handlers(self) -> Handlers:
        """Return those who do the jobs."""
        return self._once(self._handlers)

    @property
    def worker(self) -> Worker:
        return self._once(self._worker)

    def _once(self, make: Callable[[], T]) -> T:
        """Return what is made when it is first asked for, by one thread."""
        name = make.__name__
        if name not in self._made:
            with self._making:
                if name not in self._made:
                    self._made[name] = make()
        made: T = self._made[name]
        return made

    def _writer(self) -> Writer:
        from tidal_plugins.graph.handlers import AgentModel
        from tidal_plugins.ingestion.redaction import DefaultRedactor, Redaction
        from tidal_plugins.ingestion.writer import Writer

        components, settings = self.components, self.settings
        redaction = Redaction(components.redactor or DefaultRedactor(), settings.recording.secrets, self.key)
        model, reader = AgentModel(summariser=components.summariser), components.claim_extractor
        return Writer(self.storage, self.embedder, settings, self.key, self.jobs, model, redaction, reader)

    def _handlers(self) -> Handlers:
        from tidal_plugins.background import Handlers

        return Handlers.of(self.writer, self.affect, self.components.tagger, self.components.graph_extractor)

    def _worker(self) -> Worker:
        def handlers() -> Sequence[Handler[Any]]:
            return self.handlers.in_order(graph=self.settings.graph.enabled)

        return Worker(self.jobs, handlers, threaded=self.threaded)

    @property
    def delimiters(self) -> Delimiters:
        """Return the delimiters that this store puts around recalled text."""
        from tidal_plugins.model.delimiters import Delimiters

        return Delimiters(self.key)

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
            self.delimiters,
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
            from tidal_plugins.ingestion.tombstones import missing

            raise missing(self.storage, scope, id)
        return found[id]

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
        self._stop()
        self.storage.close()

    def reopened(self) -> Services:
        """End the threads, and return services of the same store, which has other contents by now."""
        self._stop()
        return assemble(self.storage, self.components, self.peers, self.settings, self.clock)

    def _stop(self) -> None:
        for maintenance in self.upkeep:
            maintenance.stop(0)  # a run that is under way ends with Closed
        self.worker.stop()
        if self.replica is not None:
            self.replica.close()
