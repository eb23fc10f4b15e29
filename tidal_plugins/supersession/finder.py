"""The finder looks for what recorded turns supersede."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from tidal_plugins.errors import Closed, Corrupt, EmbeddingError, StorageError
from tidal_plugins.jobs.handler import Handler
from tidal_plugins.jobs.queue import Job, Jobs
from tidal_plugins.model.entry import CONVERSATION, Scope
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.supersession.store import Pair, SupersessionStore
from tidal_plugins.tuning import SupersessionTuning

SUPERSEDE = "job:supersede"
"""Jobs by episode."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SupersessionFinder(Handler[int]):
    """Looks for what turns supersede, and returns how many links it made. What two workers find is the same, and is
    written once."""

    storage: Storage
    jobs: Jobs
    settings: SupersessionTuning
    stand_alone: Callable[[Scope, Collection[str]], None]
    """Lets search find those of some entries that repeat others, because they hold again."""

    kind = SUPERSEDE
    spares = (StorageError, Closed, EmbeddingError)
    most = 16
    """Episodes whose links are written in one transaction."""

    @property
    def claim(self) -> float:
        return self.jobs.settings.claim

    def do(self, scope: Scope, jobs: Sequence[Job]) -> int:
        pairs: list[Pair] = []
        for job in jobs:
            found = self._pairs(scope, job.subject)
            self.stand_alone(scope, {later.id for later, _, _ in found})  # the next one is compared with it
            pairs += found
        with self.storage.transaction():
            made = SupersessionStore(self.storage, scope).add(pairs)
            self.jobs.finish(scope, SUPERSEDE, jobs)
        return made

    def _pairs(self, scope: Scope, episode: str) -> Sequence[Pair]:
        from tidal_plugins.supersession.comparing import Comparison

        try:
            with self.storage.snapshot():
                said = self.storage.find(scope, Where(kinds={CONVERSATION}, episodes={episode}))
                compared = Comparison(self.storage, scope, self.settings)
                return [pair for entry in said for pair in compared.pairs(entry)]
        except Corrupt:
            logger.error("what an episode supersedes is not known: a row is damaged")
            return ()
