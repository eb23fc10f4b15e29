"""The graph indexer: it reads pending episodes and writes what they say into the graph and recall's index [SIYA §3.3].

An episode passes through in this order: it is claimed, so that no other worker reads it meanwhile, and read without a
lock; what was read is written in one short transaction, or in several if it is much, of which the last takes the
episode out of the queue; at the end the entries of all that changed are brought up to date. A transaction writes
nothing if the episode has changed or gone meanwhile, or if another process was faster.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from tidal_plugins.errors import Closed, StorageError
from tidal_plugins.graph.indexing.batches import WriteBatch, to_batches
from tidal_plugins.graph.indexing.entries import GraphEntries
from tidal_plugins.graph.indexing.paths import join_shorter, with_full_paths
from tidal_plugins.graph.indexing.queue import ExtractionQueue, Ticket
from tidal_plugins.graph.indexing.relatives import join_relatives
from tidal_plugins.graph.indexing.writing import apply
from tidal_plugins.graph.lookup import Episodes
from tidal_plugins.graph.reading.episode import EpisodeReader
from tidal_plugins.graph.traffic.reader import Traffic, TrafficReader
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.extraction import Extracted
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import GraphTuning

logger = logging.getLogger(__name__)

MOST_CLAIMED = 8
"""Episodes that are claimed at a time, at most."""

CLAIMED_SECONDS = 0.5
"""Time that reading the episodes of one claim should take. More are claimed of what is read fast, since each claim is a
transaction; one at a time of what a model reads, so that other workers have something to do."""

FIRST_REST, LONGEST_REST = 0.01, 0.5
"""Seconds between two looks at what other workers hold."""

TRIES = 3
"""Times that an episode is read when another process changes what is known of its files meanwhile."""


class Worker(Protocol):
    """The thread that the indexer may run on, which lets one step run at a time."""

    @property
    def name(self) -> str: ...

    @property
    def hurried(self) -> bool: ...

    def step(self) -> AbstractContextManager[None]: ...

    def rest(self, seconds: float) -> bool: ...


@dataclass(frozen=True, slots=True)
class GraphIndexer:
    """Indexes the pending episodes of one scope."""

    storage: Storage
    scope: Scope
    settings: GraphTuning
    clock: Callable[[], datetime]
    worker: Worker
    episodes: Episodes
    reader: EpisodeReader
    traffic: TrafficReader
    entries: GraphEntries
    timeout: float

    def run(
        self,
        *,
        by: str | None = None,
        failed: bool = False,
        limit: int | None = None,
        wait: bool = False,
        proceed: Callable[[], bool] = lambda: True,
    ) -> Extracted:
        """Read what is due, at most ``limit`` episodes, bring recall's index up to date, and return the counts.

        What other workers hold is passed over. With ``wait``, they are waited for; what they leave is read. Runs in
        small transactions; it is safe to interrupt and to run concurrently. ``proceed`` is asked before each step.
        :meth:`ExtractionQueue.due` explains ``by`` and ``failed``. An error of an extractor is stored in the queue.
        Raises ``StorageError`` and ``Closed``.
        """
        passed, pace, now = set[int](), _Pace(limit), self.clock()
        total = self._index(self.queue.claimed(now, pace.size, passed, by=by, failed=failed), pace, proceed)
        for _ in self._rests(passed.__len__) if wait else ():
            among = frozenset(passed)
            passed.clear()
            left = self.queue.claimed(self.clock(), pace.size, passed, by=by, failed=failed, among=among)
            total += self._index(left, pace, proceed)
        total += index_changes(self.entries, self.worker, self.clock, proceed)
        for _ in self._rests(lambda: int(self.entries.held_until() is not None)) if wait else ():
            total += index_changes(self.entries, self.worker, self.clock, proceed)
        return total

    def next_due(self) -> timedelta | None:
        """Return the time until an episode is due again, or an entry that another worker holds; ``None`` if none is."""
        now = self.clock()
        found = [self.queue.next_at(now, by=self.worker.name), self.entries.held_until()]
        return min((max(at - now, timedelta(0)) for at in found if at is not None), default=None)

    @property
    def queue(self) -> ExtractionQueue:
        return ExtractionQueue(self.storage, self.scope, self.settings, self.worker.name, self.clock, self.timeout)

    def _index(self, groups: Iterable[Sequence[Ticket]], pace: _Pace, proceed: Callable[[], bool]) -> Extracted:
        """Index episodes that are claimed, and give back those that were not come to."""
        total = Extracted()
        for group in groups:
            left, begun = deque(group), time.monotonic()
            try:
                while left and proceed():
                    with self.worker.step():
                        total += self._index_episode(left[0])
                    left.popleft()
            finally:
                self._give_back(left)
            if left:
                break
            pace.done(len(group), time.monotonic() - begun)
        return total

    def _rests(self, held: Callable[[], int]) -> Iterator[None]:
        """Rest before each look at what others hold, until it is nothing, or no less for as long as a claim lasts."""
        rest, before, begun = FIRST_REST, held(), time.monotonic()
        while before and time.monotonic() - begun < self.queue.claims.seconds and self.worker.rest(rest):
            yield
            now, rest = held(), min(2 * rest, LONGEST_REST)
            if now < before:
                rest, begun = FIRST_REST, time.monotonic()
            before = now

    def _give_back(self, tickets: Iterable[Ticket]) -> None:
        self.queue.claims.give_back([ticket.line for ticket in tickets])

    def _index_episode(self, ticket: Ticket) -> Extracted:
        if not self.queue.is_current(ticket):
            return Extracted()  # another process has read it
        try:
            return self._read_and_write(ticket)
        except (StorageError, Closed):
            raise  # the fault is not the episode's or the extractor's
        except Exception as error:
            logger.warning("an episode could not be read for the graph: %s", type(error).__name__)  # no text of it
            self.queue.put_back(ticket, f"{type(error).__name__}: {error}", self.clock())
            return Extracted(failed=1)

    def _read_and_write(self, ticket: Ticket) -> Extracted:
        for _ in range(TRIES):
            episode = self._episode(ticket)
            if episode is None:
                with self.storage.transaction():
                    self.queue.take_out(ticket)
                return Extracted()
            traffic = self.traffic.read(episode)
            readings = [*self.reader.read(episode, skipped=traffic.shown), *traffic.readings]
            paths = with_full_paths(self.storage, self.scope, readings, traffic)
            batches, dropped = to_batches(self.scope, episode, readings, self.settings, paths)
            if self._write(ticket, episode, batches or [WriteBatch()], traffic):
                return Extracted(
                    episodes=1,
                    mentions=sum(len(reading.extraction.mentions) for reading in readings),
                    assertions=sum(len(reading.extraction.assertions) for reading in readings),
                    dropped=dropped,
                )
            if not self.queue.is_current(ticket):
                break
        self._give_back([ticket])
        return Extracted()  # an episode that has changed, or whose files did, stays in the queue

    def _write(self, ticket: Ticket, episode: Episode, batches: Sequence[WriteBatch], traffic: Traffic) -> bool:
        """Write an episode batch by batch, and return whether no other process was faster.

        The last transaction takes the episode out of the queue. If the process dies before, all batches are written
        again, which changes nothing in those that are stored already.
        """
        now = self.clock()
        for number, batch in enumerate(batches, 1):
            begun = time.monotonic()
            with self.storage.transaction():
                if self._episode(ticket) != episode or not self.queue.is_current(ticket):
                    return False
                last = number == len(batches)
                if last and not traffic.store(self.storage):
                    return False
                apply(self.storage, self.scope, batch, now, self.settings)
                if last:
                    join_shorter(self.storage, self.scope, traffic, now)
                    join_relatives(self.storage, self.scope, batches, now)
                    self.queue.take_out(ticket)
            if number < len(batches):
                self._give_way(time.monotonic() - begun)
        return True

    def _give_way(self, seconds: float) -> None:
        """Pause so that waiting writers get the lock. SQLite keeps no queue of them."""
        if not self.worker.rest(seconds):
            raise Closed("the memory was closed while an episode was written; the episode stays queued")

    def _episode(self, ticket: Ticket) -> Episode | None:
        id_ = ticket.pending.episode
        return self.episodes([id_]).get(id_)


@dataclass(slots=True)
class _Pace:
    """How many episodes are claimed at a time: as many as are read in a moment, and at most ``left`` in all."""

    left: int | None
    most: int = 1

    def size(self) -> int:
        return self.most if self.left is None else min(self.most, self.left)

    def done(self, episodes: int, seconds: float) -> None:
        if self.left is not None:
            self.left -= episodes
        self.most = max(1, min(MOST_CLAIMED, int(CLAIMED_SECONDS * episodes / max(seconds, 1e-9))))


def index_changes(
    entries: GraphEntries, worker: Worker, clock: Callable[[], datetime], proceed: Callable[[], bool]
) -> Extracted:
    """Bring recall's entries of all that changed up to date, in small steps, and count those that were written."""
    total = Extracted()
    while proceed():
        with worker.step():
            written = entries.update(clock())
        if written is None:
            break
        total += Extracted(facts=written)
    return total
