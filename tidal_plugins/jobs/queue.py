"""The queue of jobs: durable, in order, shared by all processes that have the store open.

A job tells what is to be done by its kind and by the id of its subject, an episode or an entry, never by a text. It is
stored in the transaction of the write that it follows, and removed in the one that writes what came of it: none is
lost, and none is done twice. A job is never changed: it is removed, and another one is stored. Who finds a job gone
was overtaken, and writes nothing. A worker claims the jobs that it does, so that no other does the same meanwhile.

Each kind has a log of its own in each scope, with one line for each subject. So the jobs of a kind are found without
reading those of others, and erasing an entry removes its jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tidal_plugins.errors import TidalError
from tidal_plugins.jobs.throttle import Throttle
from tidal_plugins.model.clock import aware, from_micros, hours_between, to_micros
from tidal_plugins.model.entry import Scope, derive_id
from tidal_plugins.secrets.finding import masked
from tidal_plugins.storage.base import STORE, Line, Storage, latest_claim
from tidal_plugins.storage.shorthands import read_document, write_document
from tidal_plugins.storage.transactions import retry
from tidal_plugins.storage.workers import has_ended
from tidal_plugins.tuning import Weights, tunable

CLAIM = 120.0
"""Seconds, beside those that a model may take, for which a process holds the episodes that it reads. When it was
killed, others on other machines read them after that."""


@dataclass(frozen=True, kw_only=True)
class JobTuning(Weights, group="jobs"):
    """What follows a write."""

    retry: float = tunable(60.0, gt=0)
    """Seconds before an episode that could not be read is read again; they double each time."""
    retry_cap: float = tunable(86_400.0, gt=0)
    """The longest such wait in seconds."""
    attempts: int = tunable(8, gt=0)
    """Times that an episode is read in vain before it waits until somebody asks for it."""
    orphaned: float = tunable(120.0, ge=0)
    """Seconds after which an episode that another process has recorded and not read is taken over from it."""
    quiet: float = tunable(0.2, ge=0)
    """Seconds without recording before an episode is read in the background; after ten times that it is read anyway."""


WAITING = "waiting"
"""Collection, in the scope of the store itself, of the scopes that have jobs. An opening resumes the jobs of all."""

PAGE = 64
"""Jobs that are read at a time."""

MAX_ERROR = 500
"""Characters that are kept of an error."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job as it was read.

    Attributes:
        subject: the id of an episode, an entry, or whatever the kind is about.
        line: the line of the log; its ``seq`` tells whether the job is still current.
        since: when it was first stored.
        due: when it is to be done; ``None`` if it was given up until somebody asks.
        attempts: how often it has failed.
        error: the error of the last attempt, without secrets.
        by: the worker that stored it, where that matters.
        detail: ids and numbers that its kind needs.
    """

    subject: str
    line: Line
    since: datetime
    due: datetime | None
    attempts: int = 0
    error: str | None = None
    by: str = ""
    detail: Any = None

    @property
    def seq(self) -> int:
        return self.line.seq


def enqueue(
    storage: Storage,
    scope: Scope,
    kind: str,
    details: Mapping[str, Any],
    now: datetime,
    *,
    replacing: Collection[str] = (),
    by: str = "",
) -> None:
    """Store jobs, each with its details by its subject. Call it inside the transaction of what they follow.

    ``replacing`` are the subjects that may have a job already. Call :func:`note` once, too, unless a job is under way.
    """
    enqueue_all(storage, scope, {kind: (details, by)}, now, replacing=replacing)


def enqueue_all(
    storage: Storage,
    scope: Scope,
    jobs: Mapping[str, tuple[Mapping[str, Any], str]],
    now: datetime,
    *,
    replacing: Collection[str] = (),
) -> None:
    """Store jobs of several kinds, as :func:`enqueue` does: by kind the details by subject, and the worker."""
    for kind in jobs if replacing else ():
        storage.trim_log(scope, kind, keys=replacing)
    lines = {}
    for kind, (details, by) in jobs.items():
        who = {"by": by} if by else {}
        lines[kind] = [
            Line(subject, now, who if detail is None else {**who, "detail": detail})
            for subject, detail in details.items()
        ]
    if any(lines.values()):
        storage.append_logs(scope, lines)


def note(storage: Storage, scope: Scope, now: datetime) -> None:
    """Write down that a scope has jobs. Call it inside the transaction that stores them."""
    if read_document(storage, STORE, WAITING, waiting_key(scope)) is None:
        write_document(storage, STORE, WAITING, waiting_key(scope), {"scope": list(scope), "since": to_micros(now)})


def drop_scope(storage: Storage, scope: Scope) -> None:
    """Write down that a scope has no jobs. Call it inside the transaction that erases it."""
    storage.erase_documents(STORE, WAITING, [waiting_key(scope)])


def waiting(storage: Storage) -> list[Scope]:
    """List the scopes that have jobs."""
    return [tuple(document.value["scope"]) for document in storage.documents(STORE, WAITING)]


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs of a store, of all ``kinds``, as one worker sees them."""

    storage: Storage
    settings: JobTuning
    clock: Callable[[], datetime]
    throttle: Throttle
    kinds: Callable[[], Sequence[str]]

    def now(self) -> datetime:
        return aware(self.clock(), "the clock's time")

    def pending(self, scope: Scope, kind: str, subjects: Collection[str] | None = None) -> Iterator[Job]:
        """Yield the jobs that are there now, all or those on some ``subjects``, in order. Those that are put back
        meanwhile do not come again."""
        most = PAGE if subjects is None else None
        lines = self.storage.read_log(scope, kind, keys=subjects, limit=most)
        yield from map(_job, lines)
        if len(lines) == most:
            newest = self.storage.read_log(scope, kind, limit=1, newest_first=True)
            last = newest[0].seq if newest else 0
            while lines and (after := lines[-1].seq) < last:
                lines = self.storage.read_log(scope, kind, after=after, limit=PAGE)
                yield from (_job(line) for line in lines if line.seq <= last)

    def current(self, scope: Scope, kind: str, jobs: Sequence[Job]) -> list[Job]:
        """Return those of some jobs that were not done, changed or removed since they were read."""
        there = {line.seq for line in self.storage.read_log(scope, kind, keys=[job.subject for job in jobs])}
        return [job for job in jobs if job.seq in there]

    def finish(self, scope: Scope, kind: str, jobs: Sequence[Job]) -> list[Job]:
        """Remove jobs, and return those that were still current. Call it inside the transaction that writes what came
        of them, and write nothing of the others."""
        still = self.current(scope, kind, jobs)
        if still:
            self.storage.trim_log(scope, kind, keys=[job.subject for job in still])
        return still

    @retry
    def put_back(self, scope: Scope, kind: str, jobs: Sequence[Job], error: Exception) -> None:
        """Store the error of jobs that failed, and when to try again: later each time, and not for ever."""
        said = masked(f"{type(error).__name__}: {error}".encode(errors="replace").decode())[:MAX_ERROR]
        with self.storage.transaction():
            now = self.now()
            self.storage.append_log(
                scope, kind, [_failed(job, said, now, self._later(job, now)) for job in self.finish(scope, kind, jobs)]
            )

    def renew(self, scope: Scope, subjects: Collection[str], now: datetime) -> bool:
        """Store the jobs on some subjects anew, and return whether there are any.

        Call it inside the transaction that takes a part from them: an error may quote it. Who does such a job at the
        moment is overtaken.
        """
        found = False
        for kind in self.kinds() if subjects else ():
            if lines := self.storage.read_log(scope, kind, keys=subjects):
                self.storage.trim_log(scope, kind, keys=subjects)
                self.storage.append_log(scope, kind, [_renewed(_job(line), now) for line in lines])
                found = True
        return found

    @retry
    def settle(self, scope: Scope) -> None:
        """Take a scope off the list of those that have jobs, unless one is left that will be due."""
        if read_document(self.storage, STORE, WAITING, waiting_key(scope)):
            with self.storage.transaction():
                if not any(job.due for kind in self.kinds() for job in self.pending(scope, kind)):
                    drop_scope(self.storage, scope)

    def claim(self, scope: Scope, kind: str, jobs: Sequence[Job], seconds: float, most: int) -> list[Job]:
        """Claim the first ``most`` jobs that no other worker holds for so many seconds, and return them."""
        free = [job.line for job in jobs if self.held_until(job, seconds) is None]
        if not free:
            return []
        now = self.now()
        ended = {line.claim.by for line in free if line.claim and has_ended(line.claim.by)}
        held = self._claim(scope, kind, free, now, now + timedelta(seconds=seconds), most, ended)
        return [job for job in jobs if job.seq in held]

    def held_until(self, job: Job, seconds: float) -> datetime | None:
        """Return the time until which another worker holds a job, as it was read; ``None`` if none does."""
        claim = job.line.claim
        if claim is None or claim.by == self.throttle.name:
            return None
        now = self.now()
        latest = latest_claim(now, now + timedelta(seconds=seconds))
        return claim.until if now < claim.until <= latest and not has_ended(claim.by) else None

    def give_back(self, scope: Scope, kind: str, jobs: Collection[Job]) -> None:
        """Let others claim jobs that this worker holds. If that fails, they can when the claim has ended."""
        if jobs:
            now = self.now()
            with suppress(TidalError):  # the store may be closed: then this worker has ended, and holds nothing
                self._claim(scope, kind, [job.line for job in jobs], now, now, None, ())

    def is_due(self, job: Job, now: datetime) -> bool:
        """Return whether a job is due. If the clock went back, it waits no longer than it was put off for."""
        most = self.settings.retry_cap if job.attempts else 0.0
        return job.due is not None and (job.due <= now or hours_between(now, job.due) * 3600 > most)

    def is_mine(self, job: Job, now: datetime) -> bool:
        """Return whether this worker stored a job, or the one that did has left it undone for long."""
        return job.by == self.throttle.name or self._since_due(job, now) > self.settings.orphaned

    def comes(self, job: Job, now: datetime, seconds: float, *, own: bool) -> datetime | None:
        """Return when this worker may do a job, ``now`` at the earliest; ``None`` if it was given up."""
        if job.due is None:
            return None
        at = max(now if self.is_due(job, now) else job.due, self.held_until(job, seconds) or now)
        if not own or self.is_mine(job, now):
            return at
        return max(at, job.due + timedelta(seconds=self.settings.orphaned, microseconds=1))

    def _since_due(self, job: Job, now: datetime) -> float:
        return abs(hours_between(job.due or job.since, now)) * 3600

    def _later(self, job: Job, now: datetime) -> datetime | None:
        if job.attempts + 1 >= self.settings.attempts:
            return None
        return now + timedelta(seconds=min(self.settings.retry * 2.0**job.attempts, self.settings.retry_cap))

    def _claim(
        self,
        scope: Scope,
        kind: str,
        lines: Collection[Line],
        now: datetime,
        until: datetime,
        most: int | None,
        ended: Collection[str],
    ) -> set[int]:
        seqs, by = [line.seq for line in lines], self.throttle.name
        return set(self.storage.claim_log(scope, kind, seqs, by=by, now=now, until=until, limit=most, ended=ended))


def _job(line: Line) -> Job:
    value = line.value or {}
    since = from_micros(value["since"]) if "since" in value else line.at
    due = line.at if "due" not in value else None if value["due"] is None else from_micros(value["due"])
    error, by = value.get("error"), value.get("by", "")
    return Job(line.key, line, since, due, value.get("attempts", 0), error, by, value.get("detail"))


def _renewed(job: Job, now: datetime) -> Line:
    kept = {name: value for name, value in (job.line.value or {}).items() if name in ("by", "detail")}
    return Line(job.subject, now, {**kept, "since": to_micros(job.since)})


def _failed(job: Job, error: str, now: datetime, due: datetime | None) -> Line:
    failure = {"attempts": job.attempts + 1, "error": error, "due": due and to_micros(due)}
    return Line(job.subject, now, {**_renewed(job, now).value, **failure})


def waiting_key(scope: Scope) -> str:
    """Return the key of the document that says that a scope has jobs."""
    return derive_id(scope)  # a scope may be longer than a key
