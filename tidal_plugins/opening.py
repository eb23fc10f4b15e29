"""Opening a store: the parts of its services are made here, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, cast

from tidal_plugins.affect.default import DefaultEmotion
from tidal_plugins.affect.state import AffectLoop, AffectTuning
from tidal_plugins.compaction.preparation import Preparations
from tidal_plugins.components import Components
from tidal_plugins.embedding.identity import StoreEmbedder
from tidal_plugins.errors import InvalidInput
from tidal_plugins.facts.invalidation import SupersessionFinder, SupersessionTuning
from tidal_plugins.graph.handlers import AgentModel, GraphEntries, ModelReading, TurnReading
from tidal_plugins.graph.reader.budget import Budget
from tidal_plugins.ingestion.episodes import read_corrected, summarised
from tidal_plugins.ingestion.indexing import EntryIndexer
from tidal_plugins.ingestion.redaction import DefaultRedactor, Redaction
from tidal_plugins.ingestion.tombstones import scrub
from tidal_plugins.ingestion.uses import Linker
from tidal_plugins.ingestion.writer import IngestionTuning, Writer, message_entry_id, stand_alone
from tidal_plugins.jobs.queue import Jobs, JobTuning
from tidal_plugins.jobs.throttle import Throttle
from tidal_plugins.jobs.worker import Worker
from tidal_plugins.language.tagger import best_for
from tidal_plugins.model.entry import Scope
from tidal_plugins.reading.sentences import SentenceReading
from tidal_plugins.retrieval.boost import Boosts
from tidal_plugins.retrieval.federation import OpenMemory, Peer, checked_peers, federation
from tidal_plugins.retrieval.pipeline import Recaller
from tidal_plugins.services import KINDS, Handlers, Services
from tidal_plugins.settings import Settings
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.open import open_replica, open_storage, path_of
from tidal_plugins.storage.shorthands import salt, secret
from tidal_plugins.storage.sqlite.opening import Key
from tidal_plugins.validation import check_flag

if TYPE_CHECKING:
    from tidal_plugins.facts.mapping import Facts


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
    services = _services(storage, settings, components, clock, threaded=settings.graph.background and not read_only)
    if settings.storage.read_url is not None:
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
    storage: Storage, settings: Settings, components: Components, clock: Callable[[], datetime], *, threaded: bool
) -> Services:
    """Return the services of an open store. Each part is made of those before it."""
    embedder, own, model = StoreEmbedder(components.embeds, storage), secret(storage), AgentModel()
    emotion = DefaultEmotion(lambda: embedder.embedder) if components.emotion is ... else components.emotion
    jobs = Jobs(storage, settings[JobTuning], clock, Throttle(settings[JobTuning].quiet), KINDS)
    redaction = Redaction(components.redactor or DefaultRedactor(), settings.recording.secrets, own)
    writer = Writer(storage, embedder, settings, own, jobs, model, redaction, components.claim_extractor)
    recaller = Recaller(storage, embedder, settings, Boosts(storage, settings), components.reranker)
    handlers = _handlers(writer, components)
    return Services(
        storage=storage,
        writer=writer,
        recaller=recaller,
        reader=recaller,
        affect=AffectLoop(storage, emotion, settings[AffectTuning]),
        settings=settings,
        preparations=Preparations(),
        jobs=jobs,
        handlers=handlers,
        worker=Worker(jobs, handlers.in_order(graph=settings.graph.enabled), threaded=threaded),
        components=components,
        path=path_of(storage),
        clock=clock,
    )


def _handlers(writer: Writer, components: Components) -> Handlers:
    storage, jobs, settings, frames = writer.storage, writer.jobs, writer.settings, writer.frames
    episodes, budget = partial(read_corrected, storage), Budget(storage, settings.models, settings.zone)
    return Handlers(
        index=EntryIndexer(writer),
        link=Linker(writer),
        supersede=SupersessionFinder(storage, jobs, settings[SupersessionTuning], partial(stand_alone, writer)),
        tag=SentenceReading(storage, jobs, lambda: components.tagger or best_for(writer.embedder.embedder)),
        read=TurnReading(storage, jobs, settings, episodes, frames, message_entry_id, components.graph_extractor),
        entries=GraphEntries(storage, jobs, settings, writer),
        model=ModelReading(
            storage,
            jobs,
            settings,
            episodes,
            frames,
            message_entry_id,
            writer.model,
            budget,
            partial(_facts, writer),
            settings[IngestionTuning].summary_chars,
            partial(summarised, writer),
        ),
    )


def _facts(writer: Writer, scope: Scope) -> Facts:
    from tidal_plugins.ingestion.forget import facts_of  # loaded when a model has read a fact

    return facts_of(writer, scope)


def _with_replica(services: Services) -> Services:
    """Return services whose recalls may be answered by a read replica. All else asks the primary server."""
    reads = open_replica(services.storage, services.settings.storage)
    storage, boosts = cast(Storage, reads), Boosts(cast(Storage, reads), services.settings)
    return replace(services, reader=replace(services.recaller, storage=storage, boosts=boosts), replica=reads)
