"""The graph as a step for later: recording queues an episode, and the background indexes it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tidal_plugins.graph.indexing.queue import QUEUE
from tidal_plugins.graph.indexing.stale import stale
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.storage.base import Storage

if TYPE_CHECKING:
    from tidal_plugins.graph.indexing.indexer import GraphIndexer


@dataclass(frozen=True, slots=True)
class GraphLater:
    """Indexes recorded episodes in the graph of their scope. With ``enabled`` false it queues nothing new."""

    storage: Storage
    indexer: Callable[[Scope], GraphIndexer]
    enabled: bool

    def queue(self, scope: Scope, episodes: Sequence[str], grown: Collection[str], now: datetime) -> bool:
        """Queue episodes, of which ``grown`` may be queued already. Called inside the transaction that stores them."""
        if self.enabled:
            indexer = self.indexer(scope)
            indexer.queue.add(episodes, now, grown=grown, by=indexer.worker.name)
        return self.enabled

    def run(self, scope: Scope, proceed: Callable[[], bool]) -> timedelta | None:
        """Index what is due, and return the time until more is due, if any.

        Episodes that another process recorded are left to it for a while, unless somebody waits for the end.
        """
        if not self.enabled or not self._has_work(scope):
            return None
        indexer = self.indexer(scope)
        indexer.run(by=None if indexer.worker.hurried else indexer.worker.name, proceed=proceed)
        return indexer.next_due()

    def is_done(self, scope: Scope) -> bool:
        """Return whether no episode will be due and the entries of the graph are up to date."""
        if not self._has_work(scope):
            return True
        return self.indexer(scope).next_due() is None and not stale(self.storage, scope, 1)

    def forget(self, scope: Scope, entries: Collection[Entry], blanked: Collection[str], now: datetime) -> set[str]:
        """Remove the knowledge learned from entries, and return the ids of the graph's entries that were removed with
        it.

        The graph's remaining entries are written anew, without the forgotten parts.
        """
        from tidal_plugins.graph.indexing.entries import graph_entry_id
        from tidal_plugins.graph.indexing.forgetting import forget_knowledge

        indexer = self.indexer(scope)
        gone = forget_knowledge(indexer.storage, scope, entries, indexer.settings.functional, now)
        changed = {
            graph_entry_id(indexer.storage, scope, id_) for id_ in gone.entities | gone.relations | gone.lessened
        }
        indexer.storage.erase(scope, changed)
        indexer.queue.read_anew(blanked, now)
        return changed

    def _has_work(self, scope: Scope) -> bool:
        """Return whether anything is queued. The modules that index it load only then."""
        return bool(self.storage.read_log(scope, QUEUE, limit=1) or stale(self.storage, scope, 1))
