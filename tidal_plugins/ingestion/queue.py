"""The extraction queue: which episodes are still to be read for the graph, durable and in order [SIYA §3.3].

An episode enters it in the transaction that records it, and leaves it in the one that writes what was read: none is
lost, and none is done twice. A line of the log is never changed: one that is to say something else goes, and another
takes its place at the end. So whoever holds a line that is there no more has been overtaken, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tidal_plugins.model.clock import MICROSECOND, aware, from_micros, hours_between, to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.extraction import Pending
from tidal_plugins.storage.base import Line, Storage
from tidal_plugins.tuning import GraphTuning

QUEUE = "extraction"
"""Log of episodes that are still to be read, under their ids. Forgetting an episode takes its line along."""

PAGE = 64
"""Lines that are read at a time."""

MAX_ERROR = 500
"""Characters of an error that are kept."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A line of the queue, as it was read: ``seq`` tells whether it still stands."""

    pending: Pending
    seq: int
    by: str


@dataclass(frozen=True, slots=True)
class ExtractionQueue:
    """The queue of one scope."""

    storage: Storage
    scope: Scope
    settings: GraphTuning

    def add(self, episode: str, now: datetime, *, by: str = "") -> None:
        """Queue an episode, new or grown. Call it inside the transaction that stores it.

        ``by`` names the process that records it, which has first call on it.
        """
        self._put(Pending(episode, now), by, now)

    def due(self, now: datetime, *, by: str | None = None, failed: bool = False) -> Iterator[Ticket]:
        """Yield what is to be read at ``now``, in order, as far as it is in the queue already.

        With ``by``, only what this process recorded, and what no other has come to in a while: it was killed, then.
        ``failed``: what was given up, too, and what waits to be tried again.
        """
        for ticket in self._tickets():
            pending = ticket.pending
            if (self._is_ready(pending, now) or failed) and (by in (None, ticket.by) or self._is_orphan(pending, now)):
                yield ticket

    def pending(self) -> list[Pending]:
        """List what is still to be read, in order."""
        return [ticket.pending for ticket in self._tickets()]

    def next_at(self, now: datetime, *, by: str) -> datetime | None:
        """When the next one is due for the process ``by``; ``None`` where nothing is to come."""
        return min((at for ticket in self._tickets() if (at := self._comes(ticket, now, by))), default=None)

    def read_anew(self, episodes: Collection[str], now: datetime) -> None:
        """Forget what went wrong with episodes of which a part was forgotten: an error may quote it. Call it inside
        that transaction; who is reading one of them has been overtaken."""
        lines = self.storage.read_log(self.scope, QUEUE, keys=episodes) if episodes else []
        for ticket in map(_ticket, lines):
            self._put(Pending(ticket.pending.episode, ticket.pending.since), ticket.by, now)

    def stands(self, ticket: Ticket) -> bool:
        """Whether a line is still there: where it is not, somebody else read the episode, or it has changed or gone."""
        lines = self.storage.read_log(self.scope, QUEUE, keys=[ticket.pending.episode])
        return [line.seq for line in lines] == [ticket.seq]

    def take_out(self, ticket: Ticket) -> bool:
        """Remove a line, and return whether it still stood. Call it inside the transaction that writes what was
        read."""
        stood = self.stands(ticket)
        if stood:
            self.storage.trim_log(self.scope, QUEUE, keys=[ticket.pending.episode])
        return stood

    def put_back(self, ticket: Ticket, error: str, now: datetime) -> None:
        """Write down that reading an episode failed, and when to try again."""
        attempts = ticket.pending.attempts + 1
        later = None if attempts >= self.settings.attempts else self._later(attempts, now)
        failed = Pending(ticket.pending.episode, ticket.pending.since, attempts, error[:MAX_ERROR], later)
        with self.storage.transaction():
            if self.take_out(ticket):
                self._put(failed, ticket.by, now)

    def _put(self, pending: Pending, by: str, now: datetime) -> None:
        next_at = pending.next_at or (None if pending.error else now)
        value = {
            "since": to_micros(pending.since),
            "attempts": pending.attempts,
            "error": pending.error,
            "next_at": None if next_at is None else to_micros(next_at),
            "by": by,
        }
        self.storage.trim_log(self.scope, QUEUE, keys=[pending.episode])
        self.storage.append_log(self.scope, QUEUE, [Line(pending.episode, now, value)])

    def _tickets(self) -> Iterator[Ticket]:
        """Every line that is there now: one that is put back on the way is not come to again."""
        newest = self.storage.read_log(self.scope, QUEUE, limit=1, newest_first=True)
        after, last = 0, newest[0].seq if newest else 0
        while after < last:
            lines = self.storage.read_log(self.scope, QUEUE, after=after, limit=PAGE)
            yield from (_ticket(line) for line in lines if line.seq <= last)
            after = lines[-1].seq if lines else last

    def _later(self, attempts: int, now: datetime) -> datetime:
        seconds = min(self.settings.retry * 2.0 ** (attempts - 1), self.settings.retry_cap)
        return aware(now) + timedelta(seconds=seconds)

    def _is_ready(self, pending: Pending, now: datetime) -> bool:
        """Whether its time has come. The clock may have gone back: nothing waits longer than it was put off for."""
        at = pending.next_at
        most = self.settings.retry_cap if pending.attempts else 0.0
        return at is not None and (at <= now or hours_between(now, at) * 3600 > most)

    def _comes(self, ticket: Ticket, now: datetime, by: str) -> datetime | None:
        """When ``by`` may read an episode: one that another process recorded, only when that has left it."""
        pending = ticket.pending
        if pending.next_at is None:
            return None
        at = now if self._is_ready(pending, now) else pending.next_at
        if ticket.by == by or self._is_orphan(pending, now):
            return at
        return max(at, pending.next_at + timedelta(seconds=self.settings.orphaned) + MICROSECOND)

    def _is_orphan(self, pending: Pending, now: datetime) -> bool:
        at = pending.next_at or pending.since
        return abs(hours_between(at, now)) * 3600 > self.settings.orphaned


def _ticket(line: Line) -> Ticket:
    value: dict[str, Any] = line.value
    next_at = value["next_at"]
    pending = Pending(
        line.key,
        from_micros(value["since"]),
        value["attempts"],
        value["error"],
        None if next_at is None else from_micros(next_at),
    )
    return Ticket(pending, line.seq, value["by"])
