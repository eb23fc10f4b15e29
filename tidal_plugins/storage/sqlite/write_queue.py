"""Waiting for the right to write: in turn within this process, and by short, uneven steps for other processes."""

from __future__ import annotations

import os
import random
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tidal_plugins.errors import Busy
from tidal_plugins.storage.blocks import Block

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
