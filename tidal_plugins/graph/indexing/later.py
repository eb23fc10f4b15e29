"""The graph as a step for later: an episode is queued when it is recorded, and read in the background."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidal_plugins.graph.indexing.forgetting import fact_id, forget_knowledge
from tidal_plugins.graph.indexing.indexer import Learner
from tidal_plugins.graph.indexing.stale import stale
from tidal_plugins.model.entry import Entry, Scope


@dataclass(frozen=True, slots=True)
class GraphLater:
    """Reads recorded episodes for the graph of each scope. ``enabled`` is false when nothing new is to be read."""

    indexer: Callable[[Scope], Learner]
    enabled: bool

    def queue(self, scope: Scope, episode: str, now: datetime) -> bool:
        """Queue an episode, new or grown. Called inside the transaction that stores it."""
        if self.enabled:
            indexer = self.indexer(scope)
            indexer.queue.add(episode, now, by=indexer.background.name)
        return self.enabled

    def run(self, scope: Scope, proceed: Callable[[], bool]) -> timedelta | None:
        """Read what is due, and return the time until more is due, if any."""
        indexer = self.indexer(scope)
        indexer.learn(by=indexer.background.name, going=proceed)
        return indexer.later()

    def is_done(self, scope: Scope) -> bool:
        """Return whether no episode will be due and the entries of the graph are up to date."""
        indexer = self.indexer(scope)
        return indexer.later() is None and not stale(indexer.writer.storage, scope, 1)

    def forget(self, scope: Scope, entries: Collection[Entry], blanked: Collection[str], now: datetime) -> set[str]:
        """Remove what was learned from entries, and return the ids of the graph's entries that were removed with it:
        those of what is left are written anew, without what is forgotten."""
        indexer = self.indexer(scope)
        storage = indexer.writer.storage
        gone = forget_knowledge(storage, scope, entries, indexer.settings.functional, now)
        changed = {fact_id(scope, id_) for id_ in gone.entities | gone.relations | gone.lessened}
        storage.erase(scope, changed)
        indexer.queue.read_anew(blanked, now)
        return changed
