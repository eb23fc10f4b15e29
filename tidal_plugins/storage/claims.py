"""Claims: how several workers, on any machine, share the lines of a log that are work to be done.

A worker claims a few lines, works without a transaction, and removes the lines in the one that writes what it made. A
claim keeps others from doing the same meanwhile. It is no lock: one that ends too early costs work that is done twice,
and the transaction that finds its line gone writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidal_plugins.errors import TidalError
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Line, Storage
from tidal_plugins.storage.log import latest_claim
from tidal_plugins.storage.workers import has_ended


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one worker on the lines of a log. They end after ``seconds`` of ``clock``."""

    storage: Storage
    scope: Scope
    log: str
    worker: str
    clock: Callable[[], datetime]
    seconds: float

    def take(self, lines: Sequence[Line], limit: int | None = None) -> list[Line]:
        """Claim the first lines that no other worker holds, at most ``limit``, and return them."""
        free = [line for line in lines if not self.is_held(line)]
        if not free:
            return []
        now = aware(self.clock())
        ended = {line.claim.by for line in free if line.claim and has_ended(line.claim.by)}
        held = self._claim(free, now, now + timedelta(seconds=self.seconds), limit, ended)
        return [line for line in free if line.seq in held]

    def first(self, most: int) -> list[Line]:
        """Claim the first lines of the log that no other worker holds, at most ``most``, and return them."""
        after = 0
        while lines := self.storage.read_log(self.scope, self.log, after=after, limit=most):
            if taken := self.take(lines):
                return taken
            if len(lines) < most:
                break
            after = lines[-1].seq
        return []

    def is_held(self, line: Line) -> bool:
        """Return whether another worker holds a line, as it was read."""
        return self.held_until(line) is not None

    def held_until(self, line: Line) -> datetime | None:
        """Return the time until which another worker holds a line, as it was read; ``None`` if none does."""
        claim = line.claim
        if claim is None or claim.by == self.worker:
            return None
        now = aware(self.clock())
        latest = latest_claim(now, now + timedelta(seconds=self.seconds))
        return claim.until if now < claim.until <= latest and not has_ended(claim.by) else None

    def give_back(self, lines: Collection[Line]) -> None:
        """Let others claim lines that this worker holds. If that fails, they can when the claim has ended."""
        if lines:
            now = aware(self.clock())
            with suppress(TidalError):  # the store may be closed: then this worker has ended, and holds nothing
                self._claim(lines, now, now, None, ())

    def _claim(
        self, lines: Collection[Line], now: datetime, until: datetime, limit: int | None, ended: Collection[str]
    ) -> set[int]:
        held = self.storage.claim_log(
            self.scope,
            self.log,
            [line.seq for line in lines],
            by=self.worker,
            now=now,
            until=until,
            limit=limit,
            ended=ended,
        )
        return set(held)
