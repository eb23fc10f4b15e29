"""Columns are saved by threads in the background, so that neither a reader nor a writer waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Generic, TypeVar

from tidal_plugins.errors import TidalError
from tidal_plugins.storage.columns.cache import ColumnCache
from tidal_plugins.storage.columns.packing import SIZE

UNSAVED_SHARE = 0.25
"""Share of the entries held as columns that may be stored before these are saved again. Each time reads every piece
once, so that a fixed number would make an import of a million read them 244 times."""

logger = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)


class BackgroundSaving(Generic[K]):
    """Saves the columns of the scopes of one store.

    ``catch_up`` brings the columns of a scope up to date, and saves them if they should be.
    """

    def __init__(self, held: ColumnCache, catch_up: Callable[[K], None]) -> None:
        self._held, self._catch_up = held, catch_up
        self._threads: list[threading.Thread] = []
        self._unread: dict[K, int] = {}  # entries that were stored since the columns were last brought up to date

    def run(self, work: Callable[[], None]) -> None:
        """Do some work in a thread. An error of the store is logged: another time will do."""

        def guarded() -> None:
            try:
                work()
            except TidalError as error:
                logger.info("columns were not saved, and will be another time: %s", error)

        thread = threading.Thread(target=guarded, name="tidal-columns")
        with suppress(RuntimeError):  # the interpreter is shutting down, or there are too many threads
            thread.start()
            self._threads = [*(each for each in self._threads if each.is_alive()), thread]

    def stored(self, scope: K, entries: int) -> None:
        """Bring columns up to date and save them, once many entries were stored since.

        So the next process need not read all rows of an import when it first searches. What is not committed yet is
        read the next time.
        """
        self._unread[scope] = self._unread.get(scope, 0) + entries
        many = max(SIZE, int(self._held.entries(scope) * UNSAVED_SHARE))
        if self._unread[scope] >= many and not any(thread.is_alive() for thread in self._threads):
            self._bring_up(scope)

    def finish(self) -> None:
        """Wait for what is being saved, and save those entries that fill a piece and were stored since."""
        self._wait()
        for scope in [scope for scope, entries in self._unread.items() if entries >= SIZE]:
            self._bring_up(scope)
        self._wait()

    def forget(self) -> None:
        """Start anew in a child process, which has none of the threads."""
        self._threads, self._unread = [], {}

    def _bring_up(self, scope: K) -> None:
        self._unread[scope] = 0
        self.run(lambda: self._catch_up(scope))

    def _wait(self) -> None:
        for thread in self._threads:
            thread.join()
