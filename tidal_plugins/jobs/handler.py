"""Handlers: who does the jobs of one kind, and the loop that all kinds are done by."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Generic, TypeVar

from tidal_plugins.errors import Closed, EmbeddingError, StorageError
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.jobs.queue import Job, Jobs
from tidal_plugins.model.entry import Scope

logger = logging.getLogger(__name__)

MOST_CLAIMED = 8
"""Jobs that are done one at a time and claimed at once, at most."""

CLAIMED_SECONDS = 0.5
"""Time that the jobs of one claim should take. More are claimed of what is done fast, since each claim is a
transaction; one at a time of what a model does, so that other workers have something to do."""

FIRST_REST, LONGEST_REST = 0.01, 0.5
"""Seconds between two looks at what other workers hold."""

T = TypeVar("T")


class NotNow(Exception):
    """The jobs of a kind cannot be done at the moment, through no fault of theirs. They stay as they are."""


class Handler(ABC, Generic[T]):
    """Does the jobs of one ``kind``.

    After each failure a job is done with half as many others, so that one that cannot be done holds up no other for
    long.
    """

    kind: ClassVar[str]
    own_first: ClassVar[bool] = False
    """Whether a job is left for a while to the process that stored it."""
    spares: ClassVar[tuple[type[Exception], ...]] = (StorageError, Closed)
    """Errors that are no fault of a job: it stays as it is, and they are raised. An ``EmbeddingError`` of an
    answer is a fault of one of the texts."""

    @property
    def most(self) -> int:
        """Return how many jobs are done at a time."""
        return 1

    @property
    def claim(self) -> float:
        """Return for how many seconds jobs are claimed; 0 where their transaction is all the work."""
        return 0.0

    @property
    def patience(self) -> float:
        """Return for how many seconds a job waits for others to be done with."""
        return 0.0

    def ready(self, now: datetime) -> datetime | None:
        """Return from when on jobs can be done here: ``now``, later, or ``None`` if this process lacks the means."""
        return now

    def parts(self, scope: Scope, jobs: Sequence[Job]) -> Iterable[Sequence[Job]]:
        """Divide jobs that are done at a time where they are too much."""
        yield jobs

    @abstractmethod
    def do(self, scope: Scope, jobs: Sequence[Job]) -> T:
        """Do jobs, and take them out of the queue in the transaction that writes what came of them."""


@dataclass(slots=True)
class Done(Generic[T]):
    """The results of jobs, how many failed, and how many were claimed or taken in all."""

    results: list[T] = field(default_factory=list)
    failed: int = 0
    taken: int = 0


def run(
    jobs: Jobs,
    handler: Handler[T],
    scope: Scope,
    *,
    own: bool = False,
    failed: bool = False,
    whole: bool = True,
    limit: int | None = None,
    subjects: Collection[str] | None = None,
    wait: bool = False,
    proceed: Callable[[], bool] = lambda: True,
) -> Done[T]:
    """Do the jobs of a kind that are due, and return what came of them. Safe to interrupt and to run concurrently.

    Args:
        own: whether to leave those that another process has just stored to it, if their kind wants that.
        failed: whether to include those that wait for another attempt, or were given up.
        whole: whether a few are done that would wait for others.
        limit: at most so many.
        subjects: only those on some subjects.
        wait: whether to wait for those that other workers hold; what they leave is done.
        proceed: asked before each step.

    An error of a job is stored with it, unless its handler spares it. Raises ``StorageError`` and ``Closed``.
    """
    loop = _Loop(jobs, handler, scope, own and handler.own_first, failed, whole, limit, subjects, proceed)
    loop.once(None)
    for _ in loop.rests() if wait else ():
        among, loop.passed = loop.passed, set()
        loop.once(among)
    return loop.done


def next_at(jobs: Jobs, handler: Handler[T], scope: Scope) -> datetime | None:
    """Return when the next job of a kind is due here, or ``None`` if none is."""
    now = jobs.now()
    if (ready := handler.ready(now)) is None:
        return None
    own, comes, due = handler.own_first, list[datetime](), list[Job]()
    for job in jobs.pending(scope, handler.kind):
        if (at := jobs.comes(job, now, handler.claim, own=own)) is not None:
            comes.append(at)
            due += [job] if at <= now else []
    if due and handler.patience and not any(_groups(handler, due, now, whole=False)):
        comes = [at for at in comes if at > now]
        comes += [max(job.since + timedelta(seconds=handler.patience), now) for job in due]
    return max(min(comes), ready) if comes else None


@dataclass(slots=True)
class _Loop(Generic[T]):
    """One run over the jobs of a kind."""

    jobs: Jobs
    handler: Handler[T]
    scope: Scope
    own: bool
    failed: bool
    whole: bool
    limit: int | None
    subjects: Collection[str] | None
    proceed: Callable[[], bool]
    passed: set[int] = field(default_factory=set)
    """The jobs that other workers hold."""
    done: Done[T] = field(default_factory=Done)
    pace: int = 1
    """How many jobs are claimed at once that are done one at a time."""

    def once(self, among: Collection[int] | None) -> None:
        """Do the jobs that are there now, or those ``among`` them."""
        due = self._due(self.jobs.now(), among)
        for group in _groups(self.handler, due, self.jobs.now(), whole=self.whole, pace=lambda: self.pace):
            left, room = list(group), self._room()
            while left and room and self.proceed() and self._is_ready():
                held = self._taken(left, room)
                end = max((job.seq for job in held), default=left[-1].seq)
                self.passed |= {job.seq for job in left if job.seq <= end} - {job.seq for job in held}
                left = [job for job in left if job.seq > end]
                if not self._all_done(held):
                    return
                room = self._room()
            if left:
                return

    def rests(self) -> Iterator[None]:
        """Rest before each look at what others hold, until it is nothing, or no less for as long as a claim lasts."""
        rest, before, begun = FIRST_REST, len(self.passed), time.monotonic()
        while before and time.monotonic() - begun < self.handler.claim and self.jobs.throttle.rest(rest):
            yield
            now, rest = len(self.passed), min(2 * rest, LONGEST_REST)
            if now < before:
                rest, begun = FIRST_REST, time.monotonic()
            before = now

    def _due(self, now: datetime, among: Collection[int] | None) -> Iterator[Job]:
        for job in self.jobs.pending(self.scope, self.handler.kind, self.subjects):
            if (
                (among is None or job.seq in among)
                and (self.failed or self.jobs.is_due(job, now))
                and (not self.own or self.jobs.is_mine(job, now))
            ):
                yield job

    def _room(self) -> int:
        """Return how many jobs may still be taken."""
        return self.handler.most + MOST_CLAIMED if self.limit is None else self.limit - self.done.taken

    def _is_ready(self) -> bool:
        now = self.jobs.now()
        ready = self.handler.ready(now)
        return ready is not None and ready <= now

    def _taken(self, jobs: Sequence[Job], room: int) -> list[Job]:
        handler = self.handler
        if handler.claim:
            held = self.jobs.claim(self.scope, handler.kind, jobs, handler.claim, room)
        else:
            held = list(jobs[:room])
        self.done.taken += len(held)
        return held

    def _all_done(self, held: Sequence[Job]) -> bool:
        """Do jobs, and return whether all were come to. The others are given back."""
        if not held:
            return True
        one_by_one, left, begun = self.handler.most == 1, list(held), time.monotonic()
        try:
            for part in [[job] for job in held] if one_by_one else self.handler.parts(self.scope, held):
                if len(left) < len(held) and not (self.proceed() and self._is_ready()):
                    return False
                self._do(part)
                come_to = {job.seq for job in part}
                left = [job for job in left if job.seq not in come_to]
        except NotNow:
            return False
        finally:
            if self.handler.claim:
                self.jobs.give_back(self.scope, self.handler.kind, left)
        if one_by_one:
            seconds = max(time.monotonic() - begun, 1e-9)
            self.pace = max(1, min(MOST_CLAIMED, int(CLAIMED_SECONDS * len(held) / seconds)))
        return True

    def _do(self, part: Sequence[Job]) -> None:
        handler, scope = self.handler, self.scope
        with self.jobs.throttle.step():
            current = self.jobs.current(scope, handler.kind, part) if handler.claim else part
            if not current:
                return  # another process was faster
            try:
                self.done.results.append(handler.do(scope, current))
                return
            except Exception as error:
                pass_interrupt(error)
                bad = isinstance(error, EmbeddingError) and error.answered
                if isinstance(error, (*handler.spares, NotNow)) and not bad:
                    raise  # no text of another one gets into the log
                if not bad or len(current) == 1:
                    logger.warning("%d of kind %s failed: %s", len(current), handler.kind, type(error).__name__)
                    self.jobs.put_back(scope, handler.kind, current, error)
                    self.done.failed += len(current)
                    return
        for job in current:  # one text must not keep others from being found
            self._do([job])


def _groups(
    handler: Handler[T], due: Iterable[Job], now: datetime, *, whole: bool, pace: Callable[[], int] = lambda: 1
) -> Iterator[list[Job]]:
    """Yield jobs to do together. The last few wait for others if their kind wants that, unless one has long."""
    waiting: dict[int, list[Job]] = {}
    for job in due:
        group = waiting.setdefault(job.attempts, [])
        group.append(job)
        if len(group) >= (pace() if handler.most == 1 else handler.most >> job.attempts):
            yield waiting.pop(job.attempts)
    for attempts, group in waiting.items():
        waited = max(abs((now - job.since).total_seconds()) for job in group)
        if whole or attempts or waited >= handler.patience:
            yield group
