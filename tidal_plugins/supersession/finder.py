"""The finder: a step for later that looks for what each recorded turn supersedes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidal_plugins.errors import Corrupt
from tidal_plugins.model.entry import CONVERSATION, Entry, Scope
from tidal_plugins.storage.base import Line, Storage, Where
from tidal_plugins.storage.claims import Claims
from tidal_plugins.supersession.store import Pair, SupersessionStore
from tidal_plugins.tuning import SupersessionTuning

QUEUE = "supersession"
"""Log of the waiting episodes, by id. Erasing an episode removes its line."""

BATCH = 16
"""Episodes whose links are written in one transaction."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SupersessionFinder:
    """Looks for what recorded turns supersede, in small transactions. With ``enabled`` false it queues nothing new.

    Any process may take up the queue: each claims the turns that it looks through. What two find is the same, and is
    written once.
    """

    storage: Storage
    settings: SupersessionTuning
    step: Callable[[], AbstractContextManager[None]]
    """Enters one step of the background work."""
    stand_alone: Callable[[Scope, Collection[str]], None]
    """Lets search find those of some entries that repeat others, because they hold again."""
    claims: Callable[[Scope], Claims]
    """Returns the claims of this process on the queue of a scope."""

    def queue(self, scope: Scope, episodes: Sequence[str], grown: Collection[str], now: datetime) -> bool:
        """Queue episodes, of which ``grown`` may be queued already. Called inside the transaction that stores them."""
        if self.settings.enabled:
            if grown:
                self.storage.trim_log(scope, QUEUE, keys=grown)
            self.storage.append_log(scope, QUEUE, [Line(episode, now, {}) for episode in episodes])
        return self.settings.enabled

    def run(self, scope: Scope, proceed: Callable[[], bool]) -> timedelta | None:
        """Look through the episodes that wait. Safe to interrupt and to run concurrently."""
        self.find(scope, proceed)
        return None

    def find(self, scope: Scope, proceed: Callable[[], bool] = lambda: True) -> int:
        """Look through the episodes that wait, without those that another process is at, and return how many links
        were made."""
        made, claims = 0, self.claims(scope)
        while proceed():
            with self.step():
                if not (lines := claims.first(BATCH)):
                    break
                try:
                    made += self._find(scope, lines)
                except BaseException:
                    claims.give_back(lines)
                    raise
        return made

    def is_done(self, scope: Scope) -> bool:
        """Return whether no episode waits."""
        return not self.storage.read_log(scope, QUEUE, limit=1)

    def forget(self, scope: Scope, entries: Collection[Entry], blanked: Collection[str], now: datetime) -> set[str]:
        """Do nothing: erasing an entry removes its links, with the values that they quote."""
        return set()

    def _find(self, scope: Scope, lines: Sequence[Line]) -> int:
        pairs: list[Pair] = []
        for line in lines:
            found = self._pairs(scope, line.key)
            self.stand_alone(scope, {later.id for later, _, _ in found})  # the next one is compared with it
            pairs += found
        with self.storage.transaction():
            read = {line.key: line.seq for line in lines}
            now = {line.key: line.seq for line in self.storage.read_log(scope, QUEUE, keys=read)}
            done = {key for key, seq in read.items() if now.get(key) == seq}  # others have grown, or are done
            made = SupersessionStore(self.storage, scope).add(pairs)
            self.storage.trim_log(scope, QUEUE, keys=done)
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
