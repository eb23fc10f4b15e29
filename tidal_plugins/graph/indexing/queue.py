"""The extraction queue: the episodes that wait to be read for the graph, durable and in order [SIYA §3.3].

An episode enters the queue in the transaction that records it, and leaves it in the one that writes what was read. So
none is lost, and none is written twice. A line of the log is never changed: it is removed, and another one is appended.
A process whose line is gone has been overtaken, and writes nothing. Workers claim the lines that they read, so that
none reads what another one is reading.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tidal_plugins.english.secrets import masked
from tidal_plugins.model.clock import MICROSECOND, aware, hours_between
from tidal_plugins.model.codec import decode, encode
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.extraction import Pending
from tidal_plugins.storage.base import Line, Storage
from tidal_plugins.storage.claims import Claims
from tidal_plugins.storage.repeating import repeated
from tidal_plugins.tuning import GraphTuning

QUEUE = "extraction"
"""Log of the waiting episodes, by id. Erasing an episode removes its line."""

PAGE = 64
"""Lines that are read at a time."""

MAX_ERROR = 500
"""Characters that are kept of an error."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A line of the queue as it was read, and the process that recorded the episode."""

    pending: Pending
    line: Line
    by: str

    @property
    def seq(self) -> int:
        """Return the number of the line, which tells whether it is still current."""
        return self.line.seq


@dataclass(frozen=True, slots=True)
class ExtractionQueue:
    """The queue of one scope, in one ``log``: the rules have one, and a model that reads beside them has another.

    ``worker`` is the name of this process, and ``timeout`` the seconds that reading an episode may take.
    """

    storage: Storage
    scope: Scope
    settings: GraphTuning
    worker: str
    clock: Callable[[], datetime]
    timeout: float
    log: str = QUEUE

    @property
    def claims(self) -> Claims:
        seconds = self.settings.claim + self.timeout
        return Claims(self.storage, self.scope, self.log, self.worker, self.clock, seconds)

    def add(self, episodes: Sequence[str], now: datetime, *, grown: Collection[str] = (), by: str = "") -> None:
        """Queue episodes, of which ``grown`` may be queued already. Call it inside the transaction that stores them.

        ``by`` names the process that records them, which reads them first.
        """
        if grown:
            self.storage.trim_log(self.scope, self.log, keys=grown)
        self.storage.append_log(self.scope, self.log, [_line(Pending(episode, now), by, now) for episode in episodes])

    def due(self, now: datetime, *, by: str | None = None, failed: bool = False) -> Iterator[Ticket]:
        """Yield the episodes that are due at ``now`` and that no other worker holds, in order.

        Those that are queued meanwhile are left out. ``by`` restricts them to the episodes that this process recorded,
        and to those that another process has left unread for long. ``failed`` includes the episodes that wait for
        another attempt, or were given up.
        """
        for ticket in self._tickets():
            if self._is_due(ticket, now, by, failed) and not self.claims.is_held(ticket.line):
                yield ticket

    def claimed(
        self,
        now: datetime,
        size: Callable[[], int],
        passed: set[int],
        *,
        by: str | None = None,
        failed: bool = False,
        among: Collection[int] | None = None,
    ) -> Iterator[list[Ticket]]:
        """Claim episodes that are due, as :meth:`due` says, and yield them in order, ``size()`` at most at a time.

        Ends when ``size()`` is 0. The lines that other workers hold are added to ``passed``. ``among`` restricts the
        episodes to some lines.
        """
        for page in self._pages():
            left = [ticket for ticket in page if among is None or ticket.seq in among]
            left = [ticket for ticket in left if self._is_due(ticket, now, by, failed)]
            while left and (most := size()):
                taken = {line.seq for line in self.claims.take([ticket.line for ticket in left], most)}
                end = max(taken, default=left[-1].seq)
                passed |= {ticket.seq for ticket in left if ticket.seq <= end} - taken
                if taken:
                    yield [ticket for ticket in left if ticket.seq in taken]
                left = [ticket for ticket in left if ticket.seq > end]

    def pending(self) -> list[Pending]:
        """List the episodes that wait to be read, in order."""
        return [ticket.pending for ticket in self._tickets()]

    def next_at(self, now: datetime, *, by: str) -> datetime | None:
        """Return when the next episode is due for the process ``by``, or ``None`` if none is."""
        return min(self.coming(now, by=by), default=None)

    def coming(self, now: datetime, *, by: str) -> list[datetime]:
        """Return when each episode is due for the process ``by``: those that are due already at ``now``."""
        return [at for ticket in self._tickets() if (at := self._comes(ticket, now, by))]

    def read_anew(self, episodes: Collection[str], now: datetime) -> None:
        """Drop the errors of episodes that lost a part, because an error may quote it, and queue them anew.

        Call it inside the transaction that forgets the part. A process that is reading one of them is overtaken.
        """
        lines = self.storage.read_log(self.scope, self.log, keys=episodes) if episodes else []
        for ticket in map(_ticket, lines):
            self._put(Pending(ticket.pending.episode, ticket.pending.since), ticket.by, now)

    def is_current(self, ticket: Ticket) -> bool:
        """Return whether a line is still in the queue: the episode was not read, changed or removed meanwhile."""
        lines = self.storage.read_log(self.scope, self.log, keys=[ticket.pending.episode])
        return [line.seq for line in lines] == [ticket.seq]

    def take_out(self, ticket: Ticket) -> bool:
        """Remove a line, and return whether it was still current.

        Call it inside the transaction that writes what was read.
        """
        stood = self.is_current(ticket)
        if stood:
            self.storage.trim_log(self.scope, self.log, keys=[ticket.pending.episode])
        return stood

    @repeated
    def put_back(self, ticket: Ticket, error: str, now: datetime) -> None:
        """Store the error of an episode that could not be read, and when to try again."""
        attempts = ticket.pending.attempts + 1
        plain = masked(error.encode(errors="replace").decode())  # a provider repeats keys that it does not know
        later = None if attempts >= self.settings.attempts else self._later(attempts, now)
        failed = Pending(ticket.pending.episode, ticket.pending.since, attempts, plain[:MAX_ERROR], later)
        with self.storage.transaction():
            if self.take_out(ticket):
                self._put(failed, ticket.by, now)

    def _put(self, pending: Pending, by: str, now: datetime) -> None:
        self.storage.trim_log(self.scope, self.log, keys=[pending.episode])
        self.storage.append_log(self.scope, self.log, [_line(pending, by, now)])

    def _tickets(self) -> Iterator[Ticket]:
        """Yield every line that is in the queue now; lines that are put back meanwhile do not come again."""
        for page in self._pages():
            yield from page

    def _pages(self) -> Iterator[list[Ticket]]:
        newest = self.storage.read_log(self.scope, self.log, limit=1, newest_first=True)
        after, last = 0, newest[0].seq if newest else 0
        while after < last:
            lines = self.storage.read_log(self.scope, self.log, after=after, limit=PAGE)
            yield [_ticket(line) for line in lines if line.seq <= last]
            after = lines[-1].seq if lines else last

    def _later(self, attempts: int, now: datetime) -> datetime:
        seconds = min(self.settings.retry * 2.0 ** (attempts - 1), self.settings.retry_cap)
        return aware(now) + timedelta(seconds=seconds)

    def _is_due(self, ticket: Ticket, now: datetime, by: str | None, failed: bool) -> bool:
        pending = ticket.pending
        return (self._is_ready(pending, now) or failed) and (by in (None, ticket.by) or self._is_orphan(pending, now))

    def _is_ready(self, pending: Pending, now: datetime) -> bool:
        """Return whether an episode is due. If the clock went back, it waits no longer than it was put off for."""
        at = pending.next_at
        most = self.settings.retry_cap if pending.attempts else 0.0
        return at is not None and (at <= now or hours_between(now, at) * 3600 > most)

    def _comes(self, ticket: Ticket, now: datetime, by: str) -> datetime | None:
        """Return when ``by`` may read an episode: one that another process recorded, only when it is orphaned, and one
        that another worker holds, when its claim ends."""
        pending = ticket.pending
        if pending.next_at is None:
            return None
        at = now if self._is_ready(pending, now) else pending.next_at
        at = max(at, self.claims.held_until(ticket.line) or at)
        if ticket.by == by or self._is_orphan(pending, now):
            return at
        return max(at, pending.next_at + timedelta(seconds=self.settings.orphaned) + MICROSECOND)

    def _is_orphan(self, pending: Pending, now: datetime) -> bool:
        at = pending.next_at or pending.since
        return abs(hours_between(at, now)) * 3600 > self.settings.orphaned


def _line(pending: Pending, by: str, now: datetime) -> Line:
    next_at = pending.next_at or (None if pending.error else now)
    return Line(pending.episode, now, {"pending": encode(replace(pending, next_at=next_at)), "by": by})


def _ticket(line: Line) -> Ticket:
    return Ticket(decode(Pending, line.value["pending"]), line, line.value["by"])
