"""Who reads a file, and so may keep its log from beginning anew: threads of this process, and other processes."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

_LOCKS = Path("/proc/locks")
"""Where Linux lists the locks of files."""

_READ_MARKS = range(123, 128)
"""Bytes of the log's index that SQLite locks for readers."""


class Reading:
    """The threads that are in a snapshot of a file, each with the time at which it began."""

    def __init__(self) -> None:
        self._since: dict[threading.Thread, float] = {}

    def begin(self) -> None:
        self._since[threading.current_thread()] = time.monotonic()

    def end(self) -> None:
        self._since.pop(threading.current_thread(), None)

    def threads(self) -> list[str]:
        """Name the threads but this one, and say for how long they have been reading."""
        now, own = time.monotonic(), threading.current_thread()
        found = [(thread.name, now - since) for thread, since in list(self._since.items()) if thread is not own]
        return [f"thread {name} of this process, for {seconds:.0f} s" for name, seconds in found]


def processes(path: str) -> list[str]:
    """Name the other processes that read a file. Only Linux tells, and only of processes in sight."""
    found = set[int]()
    with suppress(OSError, ValueError):
        index = Path(f"{os.path.realpath(path)}-shm").stat()
        place = f"{os.major(index.st_dev):02x}:{os.minor(index.st_dev):02x}:{index.st_ino}"
        for line in _LOCKS.read_text().splitlines():
            fields = line.split()  # 1: POSIX ADVISORY READ 4711 08:01:1234 124 124
            if len(fields) == 8 and fields[5] == place and int(fields[6]) in _READ_MARKS:  # one that waits has one more
                found.add(int(fields[4]))
    return [f"process {process}" for process in sorted(found - {os.getpid()}) if process > 0]
