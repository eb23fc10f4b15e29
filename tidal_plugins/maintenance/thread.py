"""Maintenance: consolidation in the background, every so often."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from datetime import timedelta

from tidal_plugins.errors import Closed, InvalidInput
from tidal_plugins.shown import shown

logger = logging.getLogger(__name__)


class Maintenance:
    """A thread that runs maintenance: when it is started, and then ``interval`` after the end of each run.

    It ends with the process, when it is stopped, and when the memory is closed. Any other error is logged, and the next
    run comes all the same. A child process after ``fork`` has no such thread until it starts one.
    """

    def __init__(self, consolidate: Callable[[], object], interval: timedelta) -> None:
        if not isinstance(interval, timedelta) or not timedelta(0) < interval <= timedelta(days=366):
            raise InvalidInput(f"interval must be a timedelta above 0 and of a year at most, got {shown(interval)}")
        self._consolidate = consolidate
        self._interval = interval
        self._thread: threading.Thread | None = None
        self._reset()

    @property
    def running(self) -> bool:
        """Return whether the thread is alive in this process."""
        self._check_process()
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread, unless it is running."""
        self._check_process()
        with self._lock:
            if not self.running:
                self._stopped = threading.Event()
                self._thread = threading.Thread(
                    target=self._loop, args=(self._stopped,), daemon=True, name="tidal-maintenance"
                )
                self._thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """End the thread, and return whether it has ended.

        Waits until it has ended, at most ``timeout`` seconds: a model may be writing.
        """
        self._check_process()
        with self._lock:
            thread, stopped = self._thread, self._stopped
        stopped.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        return not self.running

    def _loop(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            try:
                self._consolidate()
            except Closed:
                return
            except Exception as error:
                logger.warning("maintenance failed with %s and is tried again", type(error).__name__)
                logger.debug("maintenance failed", exc_info=True)
            stopped.wait(self._interval.total_seconds())

    def _check_process(self) -> None:
        if self._process != os.getpid():  # what was inherited belongs to the parent, and its lock may be held there
            self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = None
