"""Connections that wait for their next block.

``psycopg_pool`` connects in threads of its own and answers a wrong password or a server that is down with a timeout.
This pool connects in the thread that asks, so that the error says what is wrong, and a child process starts with none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import Busy

if TYPE_CHECKING:
    import psycopg

MOST_CONNECTIONS = 16
"""Connections of a store at a time. A block that finds none free waits for one."""

IDLE = 300.0
"""Seconds after which a connection that nobody used is closed when another one is given back."""


class Pool:
    """Gives out connections, the one last used first."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]], most: int, timeout: float) -> None:
        self._connect, self._most, self._timeout = connect, most, timeout
        self._free: list[tuple[float, psycopg.Connection[Any]]] = []
        self._inherited: list[object] = []
        self._given, self._closed = 0, False
        self._changed = threading.Condition()

    def take(self) -> psycopg.Connection[Any]:
        """Return a free connection, or a new one. Raises ``Busy`` if all stay in use for too long."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._given < self._most, self._timeout):
                raise Busy(f"all {self._most} connections are in use; try again, or use fewer threads")
            self._given += 1
            if self._free:
                return self._free.pop()[1]
        try:
            return self._connect()
        except BaseException:
            self._returned()
            raise

    def give_back(self, connection: psycopg.Connection[Any], *, usable: bool) -> None:
        """Keep a connection for the next block, or close it."""
        now, old = time.monotonic(), []
        with self._changed:
            usable = usable and not self._closed
            if usable:
                self._free.append((now, connection))
                while self._free[0][0] < now - IDLE:
                    old.append(self._free.pop(0)[1])
        self._returned()
        for one in [*old, *([] if usable else [connection])]:
            with suppress(Exception):
                one.close()

    def close(self) -> None:
        """Close the connections that are free, and the others when they are given back."""
        with self._changed:
            self._closed = True
        self.drop()

    def drop(self) -> None:
        """Close the connections that are free, since the server was started anew."""
        with self._changed:
            free, self._free = self._free, []
        for _, connection in free:
            with suppress(Exception):
                connection.close()

    def forked(self, in_use: psycopg.Connection[Any] | None) -> None:
        """Start anew in a child process. What the parent has open is not closed: that would end it for the parent."""
        self._inherited += [*self._free, in_use]
        self._free, self._given, self._changed = [], 0, threading.Condition()

    def _returned(self) -> None:
        with self._changed:
            self._given -= 1
            self._changed.notify()
