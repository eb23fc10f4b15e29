"""The worker: one thread of an open memory, which does jobs when nothing else is under way."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from math import inf
from typing import Any

from tidal_plugins.errors import Closed, EmbeddingError
from tidal_plugins.jobs.handler import Handler, next_at, run
from tidal_plugins.jobs.queue import Jobs, waiting
from tidal_plugins.model.entry import Scope

logger = logging.getLogger(__name__)

LINGER = 1.0
"""Seconds without work after which the thread ends; the next call begins another."""

RETRY = 10.0
"""Seconds after which work that failed is taken up again."""

FAREWELL = 5.0
"""Seconds that closing waits for what is under way."""

LAST = 60.0
"""Seconds that the end of the process waits for it: a thread that is loading a parser then, which takes a second, and
eleven where ten others want the processor, would take the process down."""


class Worker:
    """Does the jobs of the scopes that it was called for, kind after kind in the order of ``handlers``, which
    are made when there is something to do.

    The thread begins with the first call, ends when there is nothing to do, when it is stopped and with the process. A
    child process after ``fork`` has none until it calls.
    """

    _thread: threading.Thread | None
    _due: dict[Scope, float]

    def __init__(self, jobs: Jobs, handlers: Callable[[], Sequence[Handler[Any]]], *, threaded: bool) -> None:
        """Initialise the worker. Without ``threaded``, nothing is done until somebody asks for it."""
        self._jobs = jobs
        self._handlers = handlers
        self._threaded = threaded
        self._throttle = jobs.throttle
        self._reset()
        _all.add(self)
        atexit.unregister(_stop_all)
        atexit.register(_stop_all)  # the last registered runs first: before the store lets go of a temporary file

    @contextmanager
    def recording(self, scope: Scope) -> Iterator[None]:
        """Pause the thread during the block, then do what is due in a scope."""
        try:
            with self._throttle.held():
                yield
        finally:
            self.call(scope)

    def call(self, *scopes: Scope) -> None:
        """Have the thread do what is due in some scopes."""
        if not self._threaded:
            return
        self._check_process()
        with self._throttle.changed:
            for scope in scopes:
                self._due[scope] = min(self._due.get(scope, inf), time.monotonic())
            if self._thread is None and not self._throttle.stopped():
                self._thread = threading.Thread(target=self._loop, daemon=True, name="tidal-background")
                self._thread.start()
            self._throttle.changed.notify_all()

    def resume(self, scope: Scope) -> None:
        """Take up what an earlier process left, in ``scope`` and in every scope that has jobs."""
        if self._threaded:
            self.call(*dict.fromkeys([scope, *waiting(self._jobs.storage)]))

    def drain(self, timeout: float) -> bool:
        """Do what is due without waiting for quiet, and return whether nothing was left after ``timeout`` seconds. What
        is to be tried again later is left."""
        self._check_process()
        with self._throttle.changed:
            self._throttle.hurried = True
            self._due = dict.fromkeys(self._due, time.monotonic())  # what was left to other processes, too
            self._throttle.changed.notify_all()
            wait = min(timeout, threading.TIMEOUT_MAX)
            done = self._throttle.changed.wait_for(lambda: self._throttle.stopped() or not self._is_busy(), wait)
            self._throttle.hurried = False
        return done and not self._throttle.stopped()

    def stop(self, timeout: float = FAREWELL) -> bool:
        """End the thread for good, and wait for the step under way, ``timeout`` seconds at most. Return whether it has
        ended."""
        self._throttle.stop()
        self._check_process()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        return thread is None or not thread.is_alive()

    def _loop(self) -> None:
        while (scope := self._next()) is not None:
            later, hurried = None, self._throttle.hurried
            try:
                later = self._work(scope, hurried=hurried)
            except Closed:
                self._throttle.stop()
            except BaseException as error:  # an embedder may end with any, such as a cancelled task's
                logger.warning("work in the background failed with %s; it is taken up again", type(error).__name__)
                logger.debug("work in the background failed", exc_info=True)
                later = timedelta(seconds=RETRY)
            with self._throttle.changed:
                self._working = False
                if later is not None:
                    delay = 0.0 if self._throttle.hurried and not hurried else later.total_seconds()
                    self._due.setdefault(scope, time.monotonic() + delay)
                self._throttle.changed.notify_all()

    def _next(self) -> Scope | None:
        """Return the scope that has waited longest, or ``None`` if none has come for a while; then the thread ends."""
        with self._throttle.changed:
            deadline = time.monotonic() + LINGER
            while not self._throttle.stopped():
                scope = min(self._due, key=self._due.__getitem__, default=None)
                wait = (deadline if scope is None else self._due[scope]) - time.monotonic()
                if wait > 0:
                    self._throttle.changed.wait(wait)
                elif scope is None:
                    break
                else:
                    del self._due[scope]
                    self._working = True
                    return scope
            self._thread = None
            return None

    def _work(self, scope: Scope, *, hurried: bool) -> timedelta | None:
        """Do what is due in a scope, and return the time until more is due, if any.

        Some jobs that another process stored are left to it, and some wait for others, unless somebody waits for the
        end.
        """
        proceed, away = self._throttle.go_on, list[EmbeddingError]()
        handlers = self._handlers() if proceed() else ()
        for handler in handlers:
            try:
                run(self._jobs, handler, scope, own=not hurried, whole=hurried, proceed=proceed)
            except EmbeddingError as error:  # what needs no embedder goes on
                away.append(error)
        if away:
            raise away[0]
        if proceed():
            self._jobs.settle(scope)
        comes = [at for handler in handlers if (at := next_at(self._jobs, handler, scope))]
        return max(min(comes) - self._jobs.now(), timedelta(0)) if comes else None

    def _is_busy(self) -> bool:
        return self._working or any(at <= time.monotonic() for at in self._due.values())

    def _check_process(self) -> None:
        """Begin anew in a child process, which has no thread."""
        self._throttle.check_process()
        if self._process != os.getpid():
            self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._thread = None
        self._due = {}
        self._working = False


_all: weakref.WeakSet[Worker] = weakref.WeakSet()


def _stop_all() -> None:
    """Stop before the interpreter takes apart what a thread may be using."""
    for worker in list(_all):
        worker.stop(LAST)
