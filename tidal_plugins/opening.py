"""Opening a store: the parts of its services are made here, and tied together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from os import PathLike
from typing import TYPE_CHECKING, cast

from tidal_plugins.affect.default import DefaultEmotion
from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.compaction.preparation import Preparations
from tidal_plugins.embedding.identity import StoreEmbedder
from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.indexing.later import GraphLater
from tidal_plugins.graph.reader.later import ModelLater
from tidal_plugins.ingestion.associate import Coactivation
from tidal_plugins.ingestion.background import Background
from tidal_plugins.ingestion.later import Later
from tidal_plugins.ingestion.redaction import DefaultRedactor, Redaction
from tidal_plugins.ingestion.scrub import scrub
from tidal_plugins.ingestion.unindexed import Unindexed
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.entry import Scope
from tidal_plugins.plugs import Plugs
from tidal_plugins.retrieval.boost import Boosts
from tidal_plugins.retrieval.federation import OpenMemory, Peer, checked_peers, federation
from tidal_plugins.retrieval.pipeline import Recaller
from tidal_plugins.services import Services
from tidal_plugins.settings import Settings
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.claims import Claims
from tidal_plugins.storage.open import open_storage, path_of
from tidal_plugins.storage.salt import salt, secret
from tidal_plugins.storage.sqlite.encryption import Key
from tidal_plugins.supersession.finder import QUEUE as FINDING
from tidal_plugins.supersession.finder import SupersessionFinder
from tidal_plugins.tuning import Tuning
from tidal_plugins.validation import check_flag

if TYPE_CHECKING:
    from tidal_plugins.graph.reader.indexer import ModelIndexer


def open_services(
    path: str | PathLike[str] | None,
    *,
    storage: Storage | None,
    key: Key | None,
    read_only: bool,
    plugs: Plugs,
    peers: Iterable[Peer | OpenMemory | str | PathLike[str]],
    settings: Settings | None,
    clock: Callable[[], datetime],
) -> Services:
    """Open a store. Raises ``InvalidInput`` for an argument that does not fit, and ``StorageError``."""
    tuning, others = Tuning.of(settings), checked_peers(peers)
    if plugs.redactor and tuning.secrets.stored == "keep":
        raise InvalidInput("a redactor of your own replaces what it finds: give secrets={'stored': 'mask'} or 'refuse'")
    if not callable(clock):
        raise InvalidInput(f"clock= is a function that returns the time, got {shown(clock)}")
    storage = open_storage(path, storage, tuning.storage, key, read_only=check_flag(read_only, "read_only"))
    services = _services(storage, tuning, plugs, clock, threaded=tuning.graph.background and not read_only)
    if tuning.storage.read_url is not None:
        try:
            services = _with_replica(services)
        except InvalidInput:
            if path is not None:
                storage.close()
            raise
    if others:
        own = services.reader
        assert isinstance(own, Recaller)
        services = replace(services, reader=federation(own, others, services.writer.forgotten))
    salt(storage)  # a new store gets its salt before anything is written
    if not read_only:
        scrub(storage)  # a forgetting may have been interrupted
    return services


def _services(
    storage: Storage, tuning: Tuning, plugs: Plugs, clock: Callable[[], datetime], *, threaded: bool
) -> Services:
    """Return the services of an open store. Some parts call others that are made after them, so by name."""

    def run(scope: Scope, proceed: Callable[[], bool]) -> timedelta | None:
        return later.run(scope, proceed)

    def let_stand_alone(scope: Scope, ids: Collection[str]) -> None:
        from tidal_plugins.ingestion.repeats import stand_alone

        stand_alone(writer, scope, ids)

    def claims(scope: Scope) -> Claims:
        return Claims(storage, scope, FINDING, background.name, services.now, tuning.graph.claim)

    embedder, own = StoreEmbedder(plugs.embeds, storage), secret(storage)
    emotion = DefaultEmotion(lambda: embedder.embedder) if plugs.emotion is ... else plugs.emotion
    background = Background(run, tuning.graph.quiet, threaded=threaded)
    supersessions = SupersessionFinder(storage, tuning.supersession, background.step, let_stand_alone, claims)
    coactivation = Coactivation(lambda: writer, background.step)
    unindexed = Unindexed(lambda: writer)
    graph = GraphLater(storage, lambda scope: services.graph_indexer(scope), tuning.graph.enabled)
    model_reading = ModelLater(storage, lambda scope: _model_indexer(services, scope))
    later = Later(storage, background, [unindexed, coactivation, supersessions, graph, model_reading])
    redaction = Redaction(plugs.redactor or DefaultRedactor(), tuning.secrets.stored, own)
    writer = Writer(storage, embedder, tuning, own, later, redaction, plugs.claim_extractor)
    recaller = Recaller(storage, embedder, tuning, Boosts(storage, tuning.signals), plugs.reranker)
    services = Services(
        storage=storage,
        writer=writer,
        unindexed=unindexed,
        recaller=recaller,
        reader=recaller,
        affect=AffectLoop(storage, emotion, tuning.affect),
        settings=tuning,
        preparations=Preparations(),
        background=background,
        supersessions=supersessions,
        coactivation=coactivation,
        model_reading=model_reading,
        plugs=plugs,
        path=path_of(storage),
        clock=clock,
    )
    return services


def _with_replica(services: Services) -> Services:
    """Return services whose recalls may be answered by a read replica. All else asks the primary server."""
    from tidal_plugins.storage.postgres.replica import replica_reads

    reads = replica_reads(services.storage, services.settings.storage)
    storage, boosts = cast(Storage, reads), Boosts(cast(Storage, reads), services.settings.signals)
    return replace(services, reader=replace(services.recaller, storage=storage, boosts=boosts), replica=reads)


def _model_indexer(services: Services, scope: Scope) -> ModelIndexer:
    """Return the indexer that reads turns of a scope with a model, as the budget allows."""
    from tidal_plugins.graph.reader.budget import Budget
    from tidal_plugins.graph.reader.indexer import ModelIndexer

    rules, settings = services.graph_indexer(scope), services.settings
    return ModelIndexer(
        storage=services.storage,
        scope=scope,
        settings=settings.reader,
        graph=settings.graph,
        clock=services.now,
        worker=services.background,
        episodes=rules.episodes,
        entries=rules.entries,
        budget=Budget(services.storage, scope, settings.reader, settings.zone),
        frames=services.writer.frames,
        reader=services.model_reading.reader,
        timeout=settings.models.timeout,
        stopped=lambda: services.background.stopped,
    )
