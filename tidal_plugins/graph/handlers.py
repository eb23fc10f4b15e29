"""The jobs of the graph: turns to read by rules and by a model, and entries of recall to bring up to date.

What they are done with is loaded when there is a job.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from tidal_plugins.actions.paths import SYSTEM_PATHS
from tidal_plugins.aio import in_time
from tidal_plugins.errors import Closed, ComponentError, EmbeddingError, StorageError
from tidal_plugins.graph.indexing.stale import ENTRIES
from tidal_plugins.graph.reader.budget import MODEL, Budget, ReaderTuning
from tidal_plugins.jobs.handler import Handler
from tidal_plugins.jobs.queue import CLAIM, Job, Jobs
from tidal_plugins.model.delimiters import Delimiters
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.exchange import Episode, Message
from tidal_plugins.model.graph import Extracted
from tidal_plugins.protocols import GraphExtractor, Summariser, TurnReader
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage

if TYPE_CHECKING:
    from tidal_plugins.facts.mapping import Facts
    from tidal_plugins.graph.indexing.entries import EntryWriter
    from tidal_plugins.graph.reader.indexer import ModelIndexer


BATCH = 64
"""Entities and relations that are embedded for recall, and written, at a time."""


READ = "job:read"
"""Jobs by episode."""

EpisodesOf = Callable[[Scope, Collection[str]], Mapping[str, Episode]]
"""Returns the episodes of a scope that are found, by id."""


R = TypeVar("R")


def asked(ask: Callable[[], R], seconds: float, stopped: Callable[[], bool], name: str) -> R:
    """Return the answer of a model. Raises ``Closed`` if the memory was closed meanwhile, and whatever it raises."""
    try:
        return in_time(ask, seconds, given_up=stopped)
    except InterruptedError as error:
        raise Closed(f"the memory was closed while {name} was at work; the turns stay queued") from error
    except KeyboardInterrupt as error:
        if threading.current_thread() is threading.main_thread():
            raise
        raise ComponentError(f"{name} ended with KeyboardInterrupt") from error


@dataclass(slots=True)
class AgentModel:
    """The model that reads turns beside the rules, and the one that summarises them. ``None`` if nobody does: then no
    turn is stored for it, and those that other processes have stored are left to them."""

    reader: TurnReader | None = None
    summariser: Summariser | None = None


@dataclass(frozen=True)
class TurnReading(Handler[Extracted]):
    """Reads turns into the graph, by ``extractor`` or by rules."""

    storage: Storage
    jobs: Jobs
    settings: Settings
    episodes: EpisodesOf
    delimiters: Delimiters
    entry_id: Callable[[Episode, Message], str]
    extractor: GraphExtractor | None

    kind = READ
    own_first = True

    @property
    def claim(self) -> float:
        return CLAIM + self.settings.models.timeout

    def do(self, scope: Scope, jobs: Sequence[Job]) -> Extracted:
        from tidal_plugins.graph.code.reader import CodeReader
        from tidal_plugins.graph.indexing.indexer import EpisodeIndexer, EpisodeReader
        from tidal_plugins.graph.records.relations import MAX_ASSERTIONS
        from tidal_plugins.graph.stored import GraphTuning

        settings = self.settings
        stopped, timeout = self.jobs.throttle.stopped, self.settings.models.timeout
        reader = EpisodeReader(self.extractor, settings, timeout, stopped, self.entry_id, self.delimiters)
        extra, foreign = settings.compaction.file_tools, SYSTEM_PATHS
        code = CodeReader(self.storage, scope, extra, foreign, MAX_ASSERTIONS)
        indexer = EpisodeIndexer(self.storage, scope, self.jobs, settings[GraphTuning], self.episodes, reader, code)
        return sum((indexer.index(READ, job) for job in jobs), Extracted())


@dataclass(frozen=True)
class ModelReading(Handler[Extracted]):
    """Reads turns into the graph by a model, several at a time, as its budget allows."""

    storage: Storage
    jobs: Jobs
    settings: Settings
    episodes: EpisodesOf
    delimiters: Delimiters
    entry_id: Callable[[Episode, Message], str]
    model: AgentModel
    budget: Budget
    facts: Callable[[Scope], Facts]
    summary_chars: int
    summarised: Callable[[Scope, str, str], None]
    """Gives an episode, by its id, another summary."""

    kind = MODEL
    own_first = True

    @property
    def most(self) -> int:
        return self.settings[ReaderTuning].turns

    @property
    def claim(self) -> float:
        return CLAIM + 2 * self.settings.models.timeout  # a model may be asked twice

    @property
    def patience(self) -> float:
        return self.settings[ReaderTuning].wait

    def ready(self, now: datetime) -> datetime | None:
        if self.model.reader is None or not getattr(self.model.reader, "ready", True):
            return None
        return self.budget.tomorrow(now) if self.budget.is_spent(now) else now

    def parts(self, scope: Scope, jobs: Sequence[Job]) -> Iterable[Sequence[Job]]:
        return self._indexer(scope).parts(jobs)

    def do(self, scope: Scope, jobs: Sequence[Job]) -> Extracted:
        return self._indexer(scope).read(MODEL, jobs)

    def _indexer(self, scope: Scope) -> ModelIndexer:
        from tidal_plugins.graph.reader.indexer import ModelIndexer

        return ModelIndexer(
            self.storage,
            scope,
            self.jobs,
            self.settings,
            self.summary_chars,
            self.episodes,
            self.delimiters,
            self.entry_id,
            self.budget,
            self.facts(scope),
            self.summarised,
            self.model.reader,
        )


@dataclass(frozen=True)
class GraphEntries(Handler[Extracted]):
    """Keeps the entries by which recall finds entities and relations up to date."""

    storage: Storage
    jobs: Jobs
    settings: Settings
    writer: EntryWriter

    kind = ENTRIES
    spares = (StorageError, Closed, EmbeddingError)

    @property
    def most(self) -> int:
        return BATCH

    @property
    def claim(self) -> float:
        return CLAIM

    def do(self, scope: Scope, jobs: Sequence[Job]) -> Extracted:
        from tidal_plugins.graph.indexing.entries import EntryUpdate
        from tidal_plugins.graph.stored import GraphTuning

        return Extracted(
            facts=EntryUpdate(self.storage, scope, self.settings[GraphTuning], self.writer).run(self.jobs, jobs)
        )
