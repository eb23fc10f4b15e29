"""The episode indexer: it reads an episode, and writes what it says into the graph [SIYA §3.3].

An episode is read without a lock. What was read is written in one short transaction, or in several if it is much, of
which the last removes the job. A transaction writes nothing if the episode has changed or gone meanwhile, or if another
process was faster.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from tidal_plugins.errors import Closed
from tidal_plugins.graph.code.reader import CodeReader, CodeReading
from tidal_plugins.graph.handlers import EpisodesOf
from tidal_plugins.graph.indexing.joining import join_relatives, join_shorter, with_full_paths
from tidal_plugins.graph.indexing.writing import WriteBatch, apply, to_batches
from tidal_plugins.graph.reading.episode import EpisodeReader
from tidal_plugins.jobs.queue import Job, Jobs
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.extraction import Extracted
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import GraphTuning

TRIES = 3
"""Times that an episode is read when another process changes what is known of its files meanwhile."""


@dataclass(frozen=True, slots=True)
class EpisodeIndexer:
    """Indexes episodes of one scope."""

    storage: Storage
    scope: Scope
    jobs: Jobs
    settings: GraphTuning
    episodes: EpisodesOf
    reader: EpisodeReader
    code: CodeReader

    def index(self, kind: str, job: Job) -> Extracted:
        """Index the episode of a job, and return the counts. Raises whatever the extractor raises."""
        for _ in range(TRIES):
            episode = self._episode(job)
            if episode is None:
                with self.storage.transaction():
                    self.jobs.finish(self.scope, kind, [job])
                return Extracted()
            code = self.code.read(episode)
            readings = [*self.reader.read(episode, skipped=code.shown), *code.readings]
            paths = with_full_paths(self.storage, self.scope, readings, code)
            batches, dropped = to_batches(self.scope, episode, readings, self.settings, paths)
            if self._write(kind, job, episode, batches or [WriteBatch()], code):
                return Extracted(
                    episodes=1,
                    mentions=sum(len(reading.extraction.mentions) for reading in readings),
                    assertions=sum(len(reading.extraction.assertions) for reading in readings),
                    dropped=dropped,
                )
            if not self.jobs.current(self.scope, kind, [job]):
                return Extracted()
        self.jobs.give_back(self.scope, kind, [job])  # its files change all the time
        return Extracted()

    def _write(self, kind: str, job: Job, episode: Episode, batches: Sequence[WriteBatch], code: CodeReading) -> bool:
        """Write an episode batch by batch, and return whether no other process was faster.

        The last transaction removes the job. If the process dies before, all batches are written again, which changes
        nothing in those that are stored already.
        """
        now = self.jobs.now()
        for number, batch in enumerate(batches, 1):
            begun = time.monotonic()
            with self.storage.transaction():
                if self._episode(job) != episode or not self.jobs.current(self.scope, kind, [job]):
                    return False
                last = number == len(batches)
                if last and not code.project.store(self.storage):
                    return False
                apply(self.storage, self.scope, batch, now, self.settings)
                if last:
                    join_shorter(self.storage, self.scope, code, now)
                    join_relatives(self.storage, self.scope, batches, now)
                    self.jobs.finish(self.scope, kind, [job])
            if number < len(batches):
                self._give_way(time.monotonic() - begun)
        return True

    def _give_way(self, seconds: float) -> None:
        """Pause so that waiting writers get the lock. SQLite keeps no queue of them."""
        if not self.jobs.throttle.rest(seconds):
            raise Closed("the memory was closed while an episode was written; the episode stays queued")

    def _episode(self, job: Job) -> Episode | None:
        return self.episodes(self.scope, [job.subject]).get(job.subject)
