"""The services of one store: everything that its views share, built once when the store is opened."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from os import PathLike
from types import EllipsisType
from typing import Any

from tidal_plugins.affect.default import reads
from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.compaction.compactor import Compactor
from tidal_plugins.compaction.preparation import Preparations
from tidal_plugins.compaction.recorded import Recorder
from tidal_plugins.dossiers.dossier import Dossiers
from tidal_plugins.embedding.identity import StoreEmbedder
from tidal_plugins.embedding.sentence_transformer import SentenceTransformerEmbedder
from tidal_plugins.errors import Forgotten, InvalidInput, NotFound
from tidal_plugins.facts.facts import PersistentFacts
from tidal_plugins.graph.graph import KnowledgeGraph
from tidal_plugins.ingestion.background import Background
from tidal_plugins.ingestion.forget import forget, scrub
from tidal_plugins.ingestion.learn import Learner
from tidal_plugins.ingestion.record import known_episodes
from tidal_plugins.ingestion.writer import FORGOTTEN, Writer
from tidal_plugins.maintenance.consolidator import Consolidator
from tidal_plugins.maintenance.thread import Maintenance
from tidal_plugins.model.clock import aware
from tidal_plugins.model.compaction import Size
from tidal_plugins.model.entry import Entry, Scope, bare_id
from tidal_plugins.model.episode import Episode
from tidal_plugins.protocols import (
    ClaimExtractor,
    CoverageAssessor,
    Embedder,
    EmotionEstimator,
    GraphExtractor,
    Reranker,
    Summariser,
    TokenCounter,
)
from tidal_plugins.retrieval.federation import Federation, OpenMemory, Peer, checked_peers, federation
from tidal_plugins.retrieval.recall import Recaller
from tidal_plugins.sessions.boost import Boosts
from tidal_plugins.sessions.ledger import Ledger
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.open import open_storage, path_of
from tidal_plugins.storage.shorthands import read_meta, write_meta
from tidal_plugins.summarising.extractive import ExtractiveSummariser
from tidal_plugins.summarising.sizes import ApproximateCounter
from tidal_plugins.tuning import Tuning
from tidal_plugins.validation import label, positive

SECRET = "secret"


@dataclass(frozen=True, slots=True)
class Services:
    """What every view of one store shares. What belongs to a scope is made for it."""

    storage: Storage
    writer: Writer
    recaller: Recaller
    federation: Federation
    affect: AffectLoop
    settings: Tuning
    preparations: Preparations
    background: Background
    summariser: Summariser | None
    extractor: GraphExtractor | None
    assessor: CoverageAssessor | None
    path: str
    clock: Callable[[], datetime]
    upkeep: list[Maintenance] = field(default_factory=list)

    def now(self) -> datetime:
        return aware(self.clock(), "the clock's time")

    def forget(self, scope: Scope, ids: Collection[str], source: str | None, thread: str | None) -> int:
        """Remove entries and episodes for good and return how many. Raises ``InvalidInput``."""
        if not ids and source is None and thread is None:
            raise InvalidInput("say what to forget: ids, source= or thread=")
        source, thread = label(source, "source"), label(thread, "thread")
        chosen = {bare_id(id_) for id_ in ids}
        for where in (source and Where(sources={source}), thread and Where(threads={thread})):
            if where:
                chosen.update(entry.id for entry in self.storage.find(scope, where))
        forgotten = forget(self.writer, scope, chosen, self.now(), source=source)
        self.background.call(scope)  # the facts that lost a source are written anew
        return forgotten

    def compactor(
        self,
        scope: Scope,
        max_tokens: int | None,
        max_bytes: int | None,
        summariser: Summariser | None,
        counter: TokenCounter | None,
    ) -> Compactor:
        """Return what keeps a context within limits. Raises ``InvalidInput``."""
        settings = self.settings.compaction
        tokens = positive(settings.max_tokens if max_tokens is None else max_tokens, "max_tokens")
        size = positive(settings.max_bytes if max_bytes is None else max_bytes, "max_bytes")
        return Compactor(
            Recorder(self.writer, self.affect, scope),
            self.preparations,
            Size(tokens, size),
            check_protocol(summariser, Summariser, "a summariser has a method summarise"),
            counter or ApproximateCounter(),
            self.now,
        )

    def ledger(self, scope: Scope) -> Ledger:
        return Ledger(self.storage, scope, self.settings.signals, lambda id_: self.missing(scope, id_))

    def dossiers(self, scope: Scope) -> Dossiers:
        return Dossiers(self.writer, self.recaller, scope, ExtractiveSummariser(), self.summariser)

    def entry(self, scope: Scope, id: str) -> Entry:
        """Return an entry by id or citation, whatever its tier. Raises ``NotFound``, or ``Forgotten`` if it was."""
        id = bare_id(id)
        found = self.storage.get(scope, [id])
        if id not in found:
            raise self.missing(scope, id)
        return found[id]

    def graph_parts(self, scope: Scope) -> tuple[Any, ...]:
        """Return the arguments of a graph of a scope."""

        def episodes(ids: Collection[str]) -> Mapping[str, Episode]:
            return known_episodes(self.writer, scope, dict.fromkeys(ids))

        return self.storage, scope, self.now, self.settings.graph, episodes, self.writer.embedder.embed

    def graph(self, scope: Scope) -> KnowledgeGraph:
        return KnowledgeGraph(*self.graph_parts(scope))

    def facts(self, scope: Scope) -> PersistentFacts:
        def remove(ids: Collection[str]) -> int:
            return forget(self.writer, scope, ids, self.now())

        return PersistentFacts(self.storage, scope, self.now, self.writer.records, self.settings.facts, remove)

    def maintain(self, maintenance: Maintenance) -> Maintenance:
        """Start a maintenance thread that ends when the store is closed. Raises ``Closed`` if it was closed already."""
        read_meta(self.storage, "")  # raises Closed
        self.upkeep[:] = [one for one in self.upkeep if one.running]
        maintenance.start()
        self.upkeep.append(maintenance)
        return maintenance

    def close(self) -> None:
        """End the threads and close the store."""
        for maintenance in self.upkeep:
            maintenance.stop(0)  # a run that is under way ends with Closed
        self.background.stop()
        self.storage.close()

    def learner(self, scope: Scope) -> Learner:
        return Learner(self.writer, self.graph(scope), self.extractor, self.background, self.now, scope)

    def consolidator(self, scope: Scope) -> Consolidator:
        def learn() -> int:
            return self.learner(scope).learn(limit=self.settings.consolidation.batch).episodes

        return Consolidator(self.writer, scope, self.summariser, self.dossiers(scope).refresh_due, learn)

    def missing(self, scope: Scope, id: str) -> NotFound:
        """The error for an id that is not there, or not there any more."""
        if self.storage.read_document(scope, FORGOTTEN, f"id:{id}"):
            return Forgotten(f"{id!r} was forgotten on request")
        return NotFound(f"no entry or episode {id!r} in scope {scope}")


def build_services(
    path: str | PathLike[str] | None,
    *,
    storage: Storage | None,
    embedder: Embedder | None,
    emotion: EmotionEstimator | EllipsisType | None,
    summariser: Summariser | None,
    claim_extractor: ClaimExtractor | None,
    graph_extractor: GraphExtractor | None,
    reranker: Reranker | None,
    assessor: CoverageAssessor | None,
    peers: Iterable[Peer | OpenMemory | str | PathLike[str]],
    settings: Settings,
    clock: Callable[[], datetime],
) -> Services:
    """Open a store. Raises ``InvalidInput`` for what does not fit where it is plugged in, and ``StorageError``."""
    tuning = Tuning.of(settings)
    others = checked_peers(peers)
    writes = check_protocol(summariser, Summariser, "a summariser has a method summarise")
    judges = check_protocol(reranker, Reranker, "a reranker has a method rerank")
    assesses = check_protocol(assessor, CoverageAssessor, "an assessor has a method assess")
    claims = check_protocol(claim_extractor, ClaimExtractor, "a claim extractor has a method extract")
    graph = check_protocol(graph_extractor, GraphExtractor, "a graph extractor has a method extract_graph")
    embedder = SentenceTransformerEmbedder() if embedder is None else embedder
    reader = reads(emotion, embedder)
    storage = open_storage(path, storage, tuning.storage)

    def learn(scope: Scope, going: Callable[[], bool]) -> timedelta | None:
        """What the background does."""
        learner = services.learner(scope)
        learner.learn(by=background.name, going=going)
        return learner.later()

    bound, learns = StoreEmbedder(embedder, storage), tuning.graph.enabled
    background = Background(learn, tuning.graph.quiet, threaded=learns and tuning.graph.background)
    writer = Writer(storage, bound, tuning, _secret(storage), claims, background if learns else None)
    recaller = Recaller(storage, bound, tuning, Boosts(storage, tuning.signals), judges)
    services = Services(
        storage=storage,
        writer=writer,
        recaller=recaller,
        federation=federation(recaller, others, writer.forgotten),
        affect=AffectLoop(storage, reader, tuning.affect),
        settings=tuning,
        preparations=Preparations(),
        background=background,
        summariser=writes,
        extractor=graph,
        assessor=assesses,
        path=path_of(storage),
        clock=clock,
    )
    scrub(storage)  # what a forgetting that was cut off left behind
    return services


def check_protocol(given: Any, protocol: type, rule: str) -> Any:
    """Return what is plugged in, if it fits or is nothing; else raise ``InvalidInput`` with the rule."""
    if given is not None and (isinstance(given, type) or not isinstance(given, protocol)):
        name = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
        raise InvalidInput(f"{rule}, got {name}; adapters wrap models")
    return given


def _secret(storage: Storage) -> bytes:
    if read_meta(storage, SECRET) is None:  # a store that has one opens without waiting for whoever writes
        with storage.transaction():
            if read_meta(storage, SECRET) is None:
                write_meta(storage, SECRET, secrets.token_hex(16))
    return bytes.fromhex(read_meta(storage, SECRET))
