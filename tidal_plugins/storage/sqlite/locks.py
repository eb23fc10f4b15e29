"""Locks within this process: for opening a file, and for the right to write it.

**Opening.** A read-only opening does not go together with writing the same file from the same process. SQLite shares
the index of the log between all connections of a process, so that one which may not write it makes it read-only for all
of them, and closing a file that was opened without locks gives up the locks of the others. So each waits for the other
here; a reader is told when the file is open for writing already.

**Writing.** The threads of a process write in turn, and processes try for the lock by short, uneven steps.
"""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
import weakref
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress

from tidal_plugins.errors import Busy
from tidal_plugins.storage.transactions import Block

_WRITING, _READING = "writing", "reading"

LOOK_INSIDE = 0.005
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

    def holders(self, path: str) -> list[Hashable]:
        """Return what in this process has a file open for writing."""
        with self._lock:
            return list(self._holders.get(os.path.realpath(path), ()))

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
                time.sleep(LOOK_INSIDE)
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


LOOK_AGAIN = 0.1
"""Seconds after which a thread that waits looks whether those before it still want to write."""

FIRST_STEP, LAST_STEP = 0.016, 0.001
"""Seconds that a process sleeps at most before it tries the lock of another one again: when it comes, and when it has
waited for long."""

LONG = 0.1
"""Seconds after which a process has waited for long. It is ten writes of a turn, of some 10 ms each."""


class WriteQueue:
    """The threads of this process that want to write one file. They do so in the order in which they came.

    SQLite itself lets whoever tries at the right moment go first, so that a thread among many may wait without end.
    """

    def __init__(self) -> None:
        self.forked()

    @contextmanager
    def turn(self, block: Block, path: str, timeout: float) -> Iterator[float]:
        """Wait for the turn of ``block`` and keep it inside. Yields how many of the ``timeout`` seconds are left.

        A block that an exception ended at an odd place is passed over. Raises ``Busy``.
        """
        turn, end = _Turn(block), time.monotonic() + timeout
        try:
            self._turns.append(turn)
            while not self._is_first(turn):
                left = end - time.monotonic()
                if left <= 0:
                    raise Busy(f"other threads kept {path} locked for {timeout} s; try again, or raise busy_timeout")
                turn.called.acquire(timeout=min(left, LOOK_AGAIN))
            yield max(end - time.monotonic(), 0.0)
        finally:
            self._leave(turn)

    def forked(self) -> None:
        """Start anew in a child process, where no other thread is."""
        self._turns: deque[_Turn] = deque()  # each of its methods is one step, so that it needs no lock

    def _is_first(self, turn: _Turn) -> bool:
        while (first := self._first()) is not None and first is not turn:
            if first.block.open:
                return False
            self._remove(first)
        return True

    def _leave(self, turn: _Turn) -> None:
        self._remove(turn)
        following = self._first()
        if following is not None:
            following.call()

    def _first(self) -> _Turn | None:
        try:
            return self._turns[0]
        except IndexError:
            return None

    def _remove(self, turn: _Turn) -> None:
        with suppress(ValueError):  # it never came, or others have removed it; in a child process nobody is there
            self._turns.remove(turn)


class _Turn:
    """A place in the queue. ``called`` is a lock that is released when it may be its turn."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.called = threading.Lock()
        self.called.acquire()

    def call(self) -> None:
        with suppress(RuntimeError):  # it was called before and has not looked yet
            self.called.release()


class LockWait:
    """SQLite's busy handler: waits at most ``seconds`` for the lock of another process.

    SQLite's own sleeps up to 100 ms between two attempts, the longer the longer it has waited, so that whoever came
    last goes first. Here the steps are uneven, and the shorter the longer it has waited.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._begun = 0.0

    def __call__(self, attempts: int) -> bool:
        """Sleep before the next attempt; return ``False`` to give up."""
        now = time.monotonic()
        if not attempts:
            self._begun = now
        waited = now - self._begun
        if waited >= self.seconds:
            return False
        longest = max(LAST_STEP, FIRST_STEP * (1 - waited / LONG))
        time.sleep(min(random.uniform(longest / 2, longest), self.seconds - waited))
        return True


_queues: weakref.WeakValueDictionary[str, WriteQueue] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def queue_of(path: str) -> WriteQueue:
    """Return the one queue of this process for a file."""
    file = os.path.realpath(path)
    with _lock:
        queue = _queues.get(file)
        if queue is None:
            queue = _queues[file] = WriteQueue()
        return queue


def _forked() -> None:
    global _lock
    _lock = threading.Lock()
    for queue in list(_queues.values()):
        queue.forked()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forked)
