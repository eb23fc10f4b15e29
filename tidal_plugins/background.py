"""The jobs that follow a write: who does those of each kind, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.facts.invalidation import SUPERSEDE, SupersessionFinder, SupersessionTuning
from tidal_plugins.graph.handlers import READ, GraphEntries, ModelReading, TurnReading
from tidal_plugins.graph.indexing.stale import ENTRIES
from tidal_plugins.graph.reader.budget import MODEL, Budget
from tidal_plugins.ingestion.episodes import SUMMARISE, read_corrected, summarised
from tidal_plugins.ingestion.follow import APPRAISE, Appraiser
from tidal_plugins.ingestion.indexing import INDEX, EntryIndexer
from tidal_plugins.ingestion.summaries import EpisodeSummaries
from tidal_plugins.ingestion.uses import LINK, Linker
from tidal_plugins.ingestion.writer import IngestionTuning, Writer, message_entry_id, stand_alone
from tidal_plugins.jobs.handler import Done, Handler, run
from tidal_plugins.jobs.queue import Jobs
from tidal_plugins.language.tagger import best_for
from tidal_plugins.model.entry import Scope
from tidal_plugins.protocols import (
    GraphExtractor,
    SentenceTagger,
)
from tidal_plugins.reading.sentences import TAG, SentenceReading

if TYPE_CHECKING:
    from tidal_plugins.facts.mapping import Facts

KINDS = (INDEX, APPRAISE, LINK, SUPERSEDE, TAG, READ, ENTRIES, MODEL, SUMMARISE)
"""The kinds of jobs."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Handlers:
    """Who does the jobs of each kind."""

    jobs: Jobs
    index: EntryIndexer
    appraise: Appraiser
    link: Linker
    supersede: SupersessionFinder
    tag: SentenceReading
    read: TurnReading
    entries: GraphEntries
    model: ModelReading
    summaries: EpisodeSummaries

    @classmethod
    def of(
        cls, writer: Writer, affect: AffectLoop, tagger: SentenceTagger | None, extractor: GraphExtractor | None
    ) -> Self:
        """Return the handlers of a store. ``None`` stands for the tagger that ships, and for the rules."""
        storage, jobs, settings, delimiters = writer.storage, writer.jobs, writer.settings, writer.delimiters
        episodes, budget = partial(read_corrected, storage), Budget(storage, settings.models, settings.zone)
        return cls(
            jobs=writer.jobs,
            index=EntryIndexer(writer),
            appraise=Appraiser(writer, affect),
            link=Linker(writer),
            supersede=SupersessionFinder(storage, jobs, settings[SupersessionTuning], partial(stand_alone, writer)),
            tag=SentenceReading(storage, jobs, lambda: tagger or best_for(writer.embedder.embedder)),
            read=TurnReading(storage, jobs, settings, episodes, delimiters, message_entry_id, extractor),
            entries=GraphEntries(storage, jobs, settings, writer),
            model=ModelReading(
                storage,
                jobs,
                settings,
                episodes,
                delimiters,
                message_entry_id,
                writer.model,
                budget,
                partial(_facts, writer),
                settings[IngestionTuning].summary_chars,
                partial(summarised, writer),
            ),
            summaries=EpisodeSummaries(writer, budget),
        )

    def in_order(self, *, graph: bool) -> Sequence[Handler[Any]]:
        """Return the handlers in the order in which a worker asks them, without the reading if ``graph`` is off."""
        first = (self.index, self.appraise, self.link, self.supersede, self.tag)
        read = (self.read,) if graph else ()
        return (*first, *read, self.entries, self.model, self.summaries)

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
        """Do the jobs of one kind in a scope here and now, and those of an import, which all others wait for. The
        arguments are those of ``run``."""
        run(self.jobs, self.appraise, scope, failed=failed, wait=wait)
        done = run(self.jobs, handler, scope, limit=limit, subjects=subjects, failed=failed, wait=wait)
        self.jobs.settle(scope)
        return done

    def learn(self, scope: Scope, limit: int) -> int:
        """Do what waits in a scope, reading ``limit`` turns at most, and return how many were read."""
        for handler in (self.appraise, self.link, self.supersede, self.tag):
            run(self.jobs, handler, scope)
        read = run(self.jobs, self.read, scope, limit=limit)
        run(self.jobs, self.entries, scope)
        self.jobs.settle(scope)
        return sum(one.episodes for one in read.results)


def _facts(writer: Writer, scope: Scope) -> Facts:
    from tidal_plugins.ingestion.forget import facts_of  # loaded when a model has read a fact

    return facts_of(writer, scope)
