"""Reading by a model as a step for later: recording queues a turn, and the background reads several at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tidal_plugins.graph.reader.budget import READER_QUEUE
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.protocols import TurnReader
from tidal_plugins.storage.base import Storage

if TYPE_CHECKING:
    from tidal_plugins.graph.reader.indexer import ModelIndexer


@dataclass(slots=True)
class ModelLater:
    """Has ``reader``, if there is one, read the recorded turns. Without one nothing is queued, and what waits stays."""

    storage: Storage
    indexer: Callable[[Scope], ModelIndexer]
    reader: TurnReader | None = None

    def queue(self, scope: Scope, episodes: Sequence[str], grown: Collection[str], now: datetime) -> bool:
        """Queue episodes, of which ``grown`` may be queued already. Called inside the transaction that stores them."""
        if self.reader is None:
            return False
        indexer = self.indexer(scope)
        indexer.queue.add(episodes, now, grown=grown, by=indexer.worker.name)
        return True

    def run(self, scope: Scope, proceed: Callable[[], bool]) -> timedelta | None:
        """Read what is due, and return the time until more is due, if any.

        If somebody waits for the end, nothing waits for others to be read with.
        """
        if self.reader is None or not self._has_work(scope):
            return None
        indexer = self.indexer(scope)
        hurried = indexer.worker.hurried
        indexer.run(by=None if hurried else indexer.worker.name, whole=hurried, proceed=proceed)
        return indexer.next_due()

    def is_done(self, scope: Scope) -> bool:
        """Return whether no turn waits, but for those that were given up."""
        if not self._has_work(scope):
            return True
        indexer = self.indexer(scope)
        return not indexer.queue.coming(indexer.clock(), by=indexer.worker.name)

    def forget(self, scope: Scope, entries: Collection[Entry], blanked: Collection[str], now: datetime) -> set[str]:
        """Queue the turns anew that lose a part. What was learned from it goes with the rest of the graph."""
        self.indexer(scope).queue.read_anew(blanked, now)
        return set()

    def _has_work(self, scope: Scope) -> bool:
        return bool(self.storage.read_log(scope, READER_QUEUE, limit=1))
