"""What every view of one store shares: the rooms of the house, furnished once when the store is opened."""

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
from tidal_plugins.compaction.preparation import Preparations
from tidal_plugins.condensing.extractive import ExtractiveSummariser
from tidal_plugins.embedding.identity import StoreEmbedder
from tidal_plugins.embedding.sentence_transformer import SentenceTransformerEmbedder
from tidal_plugins.errors import Forgotten, InvalidInput, NotFound
from tidal_plugins.graph.knowledge.graph import KnowledgeGraph
from tidal_plugins.ingestion.background import Background
from tidal_plugins.ingestion.learn import Learner
from tidal_plugins.ingestion.record import known_episodes
from tidal_plugins.ingestion.writer import FORGOTTEN, Writer
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.protocols import (
    CoverageAssessor,
    Embedder,
    EmotionEstimator,
    Extractor,
    GraphExtractor,
    Reranker,
    Summariser,
)
from tidal_plugins.retrieval.federation import Federation, OpenMemory, Peer, checked_peers, federation
from tidal_plugins.retrieval.recall import Recaller
from tidal_plugins.sessions.boost import Boosts
from tidal_plugins.sessions.ledger import Ledger
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.synthesis.consolidator import Consolidator
from tidal_plugins.synthesis.dossier import Dossiers
from tidal_plugins.synthesis.maintenance import Maintenance

SECRET = "secret"


@dataclass(frozen=True, slots=True)
class Rooms:
    """What every view of one store shares. What belongs to a scope is made for it."""

    storage: Storage
    writer: Writer
    recaller: Recaller
    federation: Federation
    affect: AffectLoop
    settings: Settings
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

    def ledger(self, scope: Scope) -> Ledger:
        return Ledger(self.storage, scope, self.settings.signals, lambda id_: self.missing(scope, id_))

    def dossiers(self, scope: Scope) -> Dossiers:
        return Dossiers(self.writer, self.recaller, scope, ExtractiveSummariser(), self.summariser)

    def graph(self, scope: Scope) -> KnowledgeGraph:
        def episodes(ids: Collection[str]) -> Mapping[str, Episode]:
            return known_episodes(self.writer, scope, dict.fromkeys(ids))

        embed = self.writer.embedder.embed
        return KnowledgeGraph(self.storage, scope, self.now, self.settings.graph, episodes, embed)

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


def furnished(
    path: str | PathLike[str],
    *,
    embedder: Embedder | None,
    emotion: EmotionEstimator | EllipsisType | None,
    summariser: Summariser | None,
    extractor: Extractor | GraphExtractor | None,
    reranker: Reranker | None,
    assessor: CoverageAssessor | None,
    peers: Iterable[Peer | OpenMemory | str | PathLike[str]],
    settings: Settings,
    clock: Callable[[], datetime],
) -> Rooms:
    """Open a store. Raises ``InvalidInput`` for what does not fit where it is plugged in, and ``StorageError``."""
    others = checked_peers(peers)
    writes = plugged(summariser, Summariser, "a summariser has a method summarise")
    judges = plugged(reranker, Reranker, "a reranker has a method rerank")
    assesses = plugged(assessor, CoverageAssessor, "an assessor has a method assess")
    claims, graph = _extractors(extractor)
    embedder = SentenceTransformerEmbedder() if embedder is None else embedder
    reader = reads(emotion, embedder)
    storage = SQLiteStorage(
        path,
        durability=settings.storage.durability,
        busy_timeout=settings.storage.busy_timeout,
        query_deadline=settings.storage.query_deadline,
        vector_cache_bytes=settings.storage.vector_cache_mb * 1024 * 1024,
    )

    def learn(scope: Scope, going: Callable[[], bool]) -> timedelta | None:
        """What the background does."""
        learner = rooms.learner(scope)
        learner.learn(by=background.name, going=going)
        return learner.later()

    bound, learns = StoreEmbedder(embedder, storage), settings.graph.enabled
    background = Background(learn, settings.graph.quiet, threaded=learns and settings.graph.background)
    writer = Writer(storage, bound, settings, _secret(storage), claims, background if learns else None)
    recaller = Recaller(storage, bound, settings, Boosts(storage, settings.signals), judges)
    rooms = Rooms(
        storage=storage,
        writer=writer,
        recaller=recaller,
        federation=federation(recaller, others, writer.forgotten),
        affect=AffectLoop(storage, reader, settings.affect),
        settings=settings,
        preparations=Preparations(),
        background=background,
        summariser=writes,
        extractor=graph,
        assessor=assesses,
        path=storage.path,
        clock=clock,
    )
    return rooms


def plugged(given: Any, protocol: type, rule: str) -> Any:
    """Return what is plugged in, if it fits or is nothing; else raise ``InvalidInput`` with the rule."""
    if given is not None and (isinstance(given, type) or not isinstance(given, protocol)):
        name = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
        raise InvalidInput(f"{rule}, got {name}; adapters wrap models")
    return given


def _extractors(given: Extractor | GraphExtractor | None) -> tuple[Extractor | None, GraphExtractor | None]:
    """What reads claims, and what reads the graph."""
    claims = given if isinstance(given, Extractor) else None
    graph = given if isinstance(given, GraphExtractor) else None
    if given is not None and claims is None and graph is None:
        name = type(given).__name__
        raise InvalidInput(f"an extractor has a method extract or extract_graph, got {name}; adapters wrap models")
    return claims, graph


def _secret(storage: Storage) -> bytes:
    if storage.read_meta(SECRET) is None:  # a store that has one opens without waiting for whoever writes
        with storage.transaction():
            if storage.read_meta(SECRET) is None:
                storage.write_meta(SECRET, secrets.token_hex(16))
    return bytes.fromhex(storage.read_meta(SECRET))
