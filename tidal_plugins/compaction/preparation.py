"""Summaries that are made in the background, before they are needed [SIYA §2.1]."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidal_plugins.model.dossier import Source
    from tidal_plugins.summarising.summary import Condensed


THREADS = 64


@dataclass(frozen=True, slots=True)
class Prepared:
    """The result of condensing sources on top of the state with the id ``base``."""

    base: str | None
    sources: tuple[Source, ...]
    condensed: Condensed


@dataclass(slots=True)
class _Job:
    what: Hashable
    process: int = field(default_factory=os.getpid)
    done: Future[Prepared | None] = field(default_factory=Future)


class Preparations:
    """At most one preparation per thread is under way; the next one builds on it. The last ``THREADS`` are kept."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[Hashable, _Job] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, thread: Hashable, what: Hashable, work: Callable[[Prepared | None], Prepared | None]) -> None:
        """Run ``work`` in the background, and give it the result of the last preparation for the same ``thread``.

        Nothing is done if the last preparation is still running, or was for the same ``what``.
        """
        with self._lock:
            before = self._jobs.get(thread)
            if before and before.process == os.getpid() and (before.what == what or not before.done.done()):
                return
            job = self._jobs[thread] = _Job(what)
            self._jobs.move_to_end(thread)
            while len(self._jobs) > THREADS:
                self._jobs.popitem(last=False)
        threading.Thread(target=_run, args=(job, before, work), daemon=True, name="tidal-prepare").start()

    def take(self, thread: Hashable, timeout: float) -> Prepared | None:
        """Take the preparation of a ``thread`` out, waiting at most ``timeout`` seconds for it.

        Return ``None`` if there is none, or if it failed.
        """
        with self._lock:
            job = self._jobs.pop(thread, None)
        return _result(job, timeout)


def _run(job: _Job, before: _Job | None, work: Callable[[Prepared | None], Prepared | None]) -> None:
    try:
        job.done.set_result(work(_result(before, 0)))
    except BaseException as error:  # whoever takes it goes on without it
        job.done.set_exception(error)


def _result(job: _Job | None, timeout: float) -> Prepared | None:
    if job is None or job.process != os.getpid():  # a child process has no thread that would finish it
        return None
    try:
        return job.done.result(timeout)
    except Exception:
        return None
