"""Background: one thread of an opened memory, which works when nobody else does."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from math import inf

from tidal_plugins.errors import Closed
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.workers import begin_work, end_work, worker_name

logger = logging.getLogger(__name__)

LINGER = 1.0
"""Seconds without work after which the thread ends; the next call begins another."""

STARVED = 10
"""Times the quiet that is waited for before work begins although it is not quiet."""

RETRY = 10.0
"""Seconds after which work that failed is taken up again."""

FAREWELL = 1.0
"""Seconds that the end of the process waits for what is under way."""

Work = Callable[[Scope, Callable[[], bool]], timedelta | None]
"""Does what is due in a scope, asking before each step whether to go on. Returns when there will be more to do, if
ever."""


class Background:
    """Calls ``work`` for the scopes that were called for, when nothing has been held up for ``quiet`` seconds.

    The thread begins with the first call, ends when there is nothing to do, when it is stopped and with the process. A
    child process after ``fork`` has none until it calls.
    """

    def __init__(self, work: Work, quiet: float, *, threaded: bool = True) -> None:
        """Initialise the work. Without ``threaded``, nothing is done until somebody calls for it."""
        self._work = work
        self._quiet = quiet
        self._threaded = threaded
        self._token = secrets.token_hex(4)
        self._closed = False
        self._thread: threading.Thread | None = None
        self._due: dict[Scope, float] = {}
        self._holders = 0
        self._working = False
        self._hurried = False
        self._reset()
        _all.add(self)

    def call(self, scope: Scope) -> None:
        """Have the thread do what is due in a scope."""
        if not self._threaded:
            return
        self._check_process()
        with self._changed:
            self._due[scope] = min(self._due.get(scope, inf), time.monotonic())
            self._start()
            self._changed.notify_all()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Begin nothing new meanwhile."""
        self._check_process()
        with self._changed:
            self._holders += 1
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                self._last = time.monotonic()

    @contextmanager
    def step(self) -> Iterator[None]:
        """Enter one step of the work. Only one runs at a time, here or on the thread."""
        self._check_process()
        with self._step:
            yield

    @property
    def name(self) -> str:
        """Return a name that tells this process and this memory from all others."""
        self._check_process()
        return worker_name(self._token)

    @property
    def running(self) -> bool:
        """Return whether the thread is alive in this process."""
        self._check_process()
        return self._thread is not None and self._thread.is_alive()

    @property
    def stopped(self) -> bool:
        return self._closed

    @property
    def hurried(self) -> bool:
        """Return whether somebody waits until nothing is left to do."""
        return self._hurried

    def rest(self, seconds: float) -> bool:
        """Leave everything to others for so long; return at once and ``False`` where work was stopped."""
        self._check_process()
        with self._changed:
            return not self._changed.wait_for(lambda: self._closed, seconds)

    def drain(self, timeout: float) -> bool:
        """Do what is due without waiting for quiet, and return whether nothing was left after ``timeout`` seconds. Work
        that is to be tried again later is left."""
        self._check_process()
        with self._changed:
            self._hurried = True
            self._due = dict.fromkeys(self._due, time.monotonic())  # what was left to other processes, too
            self._changed.notify_all()
            done = self._changed.wait_for(lambda: self._closed or not self._is_busy(), timeout)
            self._hurried = False
        return done and not self._closed

    def stop(self, timeout: float = FAREWELL) -> bool:
        """End the thread for good, and wait for the step under way, ``timeout`` seconds at most. Return whether it has
        ended."""
        self._check_process()
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        end_work(self.name)
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        return not self.running

    def _start(self) -> None:
        if self._thread is None and self._threaded and not self._closed:
            self._thread = threading.Thread(target=self._loop, daemon=True, name="tidal-background")
            self._thread.start()

    def _loop(self) -> None:
        while (scope := self._next()) is not None:
            later, hurried = None, self._hurried
            try:
                later = self._work(scope, self._go_on)
            except Closed:
                self._closed = True
            except Exception as error:
                logger.warning("work in the background failed with %s; it is taken up again", type(error).__name__)
                logger.debug("work in the background failed", exc_info=True)
                later = timedelta(seconds=RETRY)
            with self._changed:
                self._working = False
                if later is not None:
                    delay = 0.0 if self._hurried and not hurried else later.total_seconds()
                    self._due.setdefault(scope, time.monotonic() + delay)
                self._changed.notify_all()

    def _next(self) -> Scope | None:
        """Return the scope that has waited longest, or ``None`` if none has come for a while; then the thread ends."""
        with self._changed:
            deadline = time.monotonic() + LINGER
            while not self._closed:
                scope = min(self._due, key=self._due.__getitem__, default=None)
                wait = (deadline if scope is None else self._due[scope]) - time.monotonic()
                if wait > 0:
                    self._changed.wait(wait)
                elif scope is None:
                    break
                else:
                    del self._due[scope]
                    self._working = True
                    return scope
            self._thread = None
            return None

    def _is_busy(self) -> bool:
        return self._working or any(at <= time.monotonic() for at in self._due.values())

    def _go_on(self) -> bool:
        """Wait until it is quiet, or has not been for long, and say whether to go on."""
        with self._changed:
            begun = time.monotonic()
            while not self._closed:
                now = time.monotonic()
                wait = self._quiet if self._holders else self._last + self._quiet - now
                if wait <= 0 or self._hurried or now - begun > STARVED * self._quiet:
                    return True
                self._changed.wait(wait)
            return False

    def _check_process(self) -> None:
        if self._process != os.getpid():  # what was inherited belongs to the parent, and its locks may be held there
            self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._step = threading.Lock()
        self._thread = None
        self._due = {}
        self._holders = 0
        self._working = False
        self._hurried = False
        self._last = 0.0
        if not self._closed:
            begin_work(worker_name(self._token))


_all: weakref.WeakSet[Background] = weakref.WeakSet()


def _stop_all() -> None:
    """Stop before the interpreter takes apart what a thread may be using."""
    for background in list(_all):
        background.stop()


atexit.register(_stop_all)
