"""Throttle: lets work in the background go on while nothing else is under way, one step at a time."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tidal_plugins.storage.workers import begin_work, end_work, worker_name

STARVED = 10
"""Times the quiet that is waited for before work begins although it is not quiet."""


class Throttle:
    """The state that those who work for one open memory share. A child process after ``fork`` has one of its own.

    ``changed`` is the condition that guards it, and is notified of every change.
    """

    def __init__(self, quiet: float) -> None:
        """Initialise the throttle. ``quiet`` is the number of seconds without a write after which work goes on."""
        self._quiet = quiet
        self._token = secrets.token_hex(4)
        self._stopped = False
        self._reset()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no step in the background begin meanwhile."""
        self.check_process()
        with self.changed:
            self._holders += 1
        try:
            yield
        finally:
            with self.changed:
                self._holders -= 1
                self._last = time.monotonic()

    @contextmanager
    def step(self) -> Iterator[None]:
        """Enter one step of the work. Only one runs at a time, in the background or elsewhere."""
        self.check_process()
        with self._step:
            yield

    def go_on(self) -> bool:
        """Wait until it is quiet, or has not been for long, and return whether to go on."""
        with self.changed:
            begun = time.monotonic()
            while not self._stopped:
                now = time.monotonic()
                wait = self._quiet if self._holders else self._last + self._quiet - now
                if wait <= 0 or self.hurried or now - begun > STARVED * self._quiet:
                    return True
                self.changed.wait(wait)
            return False

    def rest(self, seconds: float) -> bool:
        """Leave everything to others for so long; return at once and ``False`` where work was stopped."""
        self.check_process()
        with self.changed:
            return not self.changed.wait_for(self.stopped, seconds)

    def stop(self) -> None:
        """End the work for good."""
        self.check_process()
        with self.changed:
            self._stopped = True
            self.changed.notify_all()
        end_work(self.name)

    def stopped(self) -> bool:
        """Return whether the work was ended."""
        return self._stopped

    @property
    def name(self) -> str:
        """Return a name that tells this process and this memory from all others."""
        self.check_process()
        return worker_name(self._token)

    def check_process(self) -> None:
        """Begin anew in a child process: what it inherited is its parent's, whose threads may hold the locks."""
        if self._process != os.getpid():
            self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self.changed = threading.Condition()
        self.hurried = False
        """Whether somebody waits until nothing is left to do. Then nothing waits for quiet."""
        self._step = threading.Lock()
        self._holders = 0
        self._last = time.monotonic()  # an opening is followed by a question
        if not self._stopped:
            begin_work(worker_name(self._token))
