"""Locks within this process: they keep a file from being open for writing and for reading only at one time.

A read-only opening does not go together with writing the same file from the same process. SQLite shares the index of
the log between all connections of a process, so that one which may not write it makes it read-only for all of them,
and closing a file that was opened without locks gives up the locks of the others. So each waits for the other here;
a reader is told when the file is open for writing already.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
import weakref
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager

from tidal_plugins.errors import Busy

_WRITING, _READING = "writing", "reading"

LOOK_AGAIN = 0.005
"""Seconds after which a thread that waits looks whether those inside are still there: less than an opening takes."""

GIVE_WAY = 0.25
"""Seconds for which a newcomer lets those go first who wait for another purpose. Otherwise threads that read without a
pause would keep one that is to write out. They go in after it: those inside may wait for them."""

_NUMBERS = itertools.count()


class FileLocks:
    """Holds one lock for each file. Any number of holders share it for one purpose, never for both."""

    def __init__(self) -> None:
        self._holders: dict[str, weakref.WeakSet[Hashable]] = {}
        self.forked()

    @contextmanager
    def writing(self, path: str, holder: Hashable, timeout: float) -> Iterator[None]:
        """Let ``holder`` open a connection inside. It has the file open for writing from then on."""
        file = os.path.realpath(path)
        with self._held(file, _WRITING, timeout):
            yield
            with self._lock:
                self._holders.setdefault(file, weakref.WeakSet()).add(holder)

    @contextmanager
    def reading(self, path: str, timeout: float) -> Iterator[bool]:
        """Let the caller open, use and close a connection inside. Yields ``True`` if nothing else in this
        process has the file open."""
        file = os.path.realpath(path)
        with self._held(file, _READING, timeout):
            with self._lock:
                alone = not self._holders.get(file)
            yield alone

    def closed(self, path: str, holder: Hashable) -> None:
        """Record that ``holder`` has closed its connections."""
        file = os.path.realpath(path)
        with self._lock:
            holders = self._holders.get(file)
            if holders is not None:
                holders.discard(holder)
                if not holders:
                    del self._holders[file]

    def forked(self) -> None:
        """Start anew in a child process, where no lock is held."""
        self._lock = threading.Lock()
        self._places: dict[str, weakref.WeakSet[_Place]] = {}

    @contextmanager
    def _held(self, file: str, purpose: str, timeout: float) -> Iterator[None]:
        place = _Place(purpose)
        end = place.since + timeout
        try:
            while not self._enter(file, place):
                if time.monotonic() >= end:
                    raise Busy(f"{file} was being opened or read by another thread for {timeout} s; try again")
                time.sleep(LOOK_AGAIN)
            yield
        finally:
            with self._lock:
                self._places.get(file, set()).discard(place)

    def _enter(self, file: str, place: _Place) -> bool:
        """Let ``place`` in, and return ``True``, if nobody is inside for another purpose, nor is to go first."""
        with self._lock:
            places = self._places.setdefault(file, weakref.WeakSet())
            places.add(place)
            if any(one.inside for one in places if one.purpose != place.purpose):
                return False
            if place.gives_way(places):
                return False
            place.inside = True
            return True


class _Place:
    """One holder inside or waiting, while its code runs: an exception between two lines takes its place along."""

    def __init__(self, purpose: str) -> None:
        self.purpose = purpose
        self.inside = False
        self.since = time.monotonic()
        self._number = next(_NUMBERS)
        self._thread = threading.get_ident()

    def gives_way(self, places: Iterable[_Place]) -> bool:
        """Return whether one that waits for another purpose was here first.

        A thread that is inside already does not wait for one that waits for it, and nobody gives way for long.
        """
        if time.monotonic() >= self.since + GIVE_WAY or any(
            one.inside and one._thread == self._thread for one in places
        ):
            return False
        return any(one.purpose != self.purpose and one._number < self._number for one in places)


FILE_LOCKS = FileLocks()

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=FILE_LOCKS.forked)
