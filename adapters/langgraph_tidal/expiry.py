"""Times to live of a store's items. An item is archived when its time is over, and no search returns it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime, timedelta
from math import inf

from tidal_plugins import Closed, Entry, InvalidInput, TidalError, Tier
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import EntrySummary
from tidal_plugins.validation import check_number

logger = logging.getLogger(__name__)

SWEEP_MINUTES = 5
"""Minutes between sweeps if nobody says how many: as in LangGraph's own stores."""

UNFADING = 1e9
"""Half-life in hours: until its time is over an item counts in full."""


def lasting(minutes: float | None, now: datetime) -> Tier | None:
    """Return the tier of an item that is archived after some minutes and does not fade before.

    Raises ``InvalidInput`` for anything but a number above 0.
    """
    if minutes is None:
        return None
    try:
        end = now + timedelta(minutes=minutes)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"ttl must be a number of minutes, got {shown(minutes)}") from error
    if end <= now:
        raise InvalidInput(f"ttl must be more than 0 minutes, got {shown(minutes)}")
    return Tier(1.0, now, UNFADING, archived_at=end)


def renewed(tier: Tier, now: datetime) -> Tier:
    if tier.archived_at is None:
        return tier
    return replace(tier, anchored_at=now, archived_at=now + (tier.archived_at - tier.anchored_at))


def expired(item: Entry | EntrySummary, now: datetime) -> bool:
    return item.tier is not None and item.tier.state(now) == "archived"


class Sweeper:
    """Calls ``sweep`` at an interval, on a thread of its own."""

    def __init__(self, sweep: Callable[[], object]) -> None:
        self._sweep = sweep
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._futures: list[Future[None]] = []

    def start(self, minutes: float) -> Future[None]:
        """Start the thread unless it runs, and return a future that ends it when it is cancelled.

        Raises ``InvalidInput`` for an interval that is not above 0.
        """
        seconds = 60 * check_number(minutes, "sweep_interval_minutes", 0, inf)
        if not seconds:
            raise InvalidInput("sweep_interval_minutes must be more than 0")
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._ended = threading.Event()
                arguments = self._ended, min(seconds, threading.TIMEOUT_MAX)
                self._thread = threading.Thread(target=self._loop, args=arguments, daemon=True, name="tidal-ttl")
                self._thread.start()
            future, ended = Future[None](), self._ended
            self._futures.append(future)
        future.add_done_callback(lambda one: ended.set() if one.cancelled() else None)
        return future

    def stop(self, timeout: float | None = None) -> bool:
        """End the thread, and return whether it has ended after ``timeout`` seconds; ``None`` waits for it."""
        with self._lock:
            thread = self._thread
            self._ended.set()
        if thread is not None:
            thread.join(timeout)
        return thread is None or not thread.is_alive()

    def _loop(self, ended: threading.Event, seconds: float) -> None:
        while not ended.wait(seconds):
            try:
                self._sweep()
            except Closed:
                break
            except TidalError as error:
                logger.warning("expired items stay until the next sweep: %s", error)
        with self._lock:
            futures, self._futures = self._futures, []
        for future in futures:
            if future.set_running_or_notify_cancel():
                future.set_result(None)
