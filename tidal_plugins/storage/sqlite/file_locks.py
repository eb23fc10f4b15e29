"""Locks within this process: they keep a file from being open for writing and for reading only at one time.

A read-only opening does not go together with writing the same file from the same process. SQLite shares the index of
the log between all connections of a process, so that one which may not write it makes it read-only for all of them,
and closing a file that was opened without locks gives up the locks of the others. So each waits for the other here;
a reader is told when the file is open for writing already.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from tidal_plugins.errors import Busy

_WRITING, _READING = "writing", "reading"


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
        self._lock = threading.Condition()
        self._inside: dict[str, tuple[str, int]] = {}

    @contextmanager
    def _held(self, file: str, purpose: str, timeout: float) -> Iterator[None]:
        with self._lock:
            if not self._lock.wait_for(lambda: self._inside.get(file, (purpose, 0))[0] == purpose, timeout):
                raise Busy(f"{file} was being opened or read by another thread for {timeout} s; try again")
            self._inside[file] = purpose, self._inside.get(file, (purpose, 0))[1] + 1
        try:
            yield
        finally:
            with self._lock:
                left = self._inside.pop(file, (purpose, 1))[1] - 1
                if left:
                    self._inside[file] = purpose, left
                else:
                    self._lock.notify_all()


FILE_LOCKS = FileLocks()

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=FILE_LOCKS.forked)
