"""Workers: the names under which they hold work, and whether one is known to have ended.

A worker is a part of a process that takes work from a queue which others share. Its name tells its machine and its
process, so that the work of a process that was killed is taken over at once on the same machine.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

_at_work: set[str] = set()
"""The names of the workers of this process. A child process has none of them: their names tell another process."""


def worker_name(token: str) -> str:
    """Return the name of a worker of this process. ``token`` tells it from all others."""
    return f"{token}-{os.getpid()}@{_machine(_host())}"


def begin_work(name: str) -> None:
    """Note that a worker of this process may hold work from now on."""
    _at_work.add(name)


def end_work(name: str) -> None:
    """Note that a worker of this process holds nothing any more."""
    _at_work.discard(name)


def has_ended(name: str) -> bool:
    """Return whether a worker is known to have ended. Nothing is known of a worker of another machine."""
    worker, _, machine = name.partition("@")
    process = worker.rpartition("-")[2]
    if machine != _machine(_host()) or not process.isdecimal():
        return False
    if int(process) == os.getpid():
        return name not in _at_work
    return not _runs(int(process))


def _host() -> str:
    import socket  # a process that does no work, such as one that only reads, needs none

    return socket.gethostname()


@cache
def _machine(host: str) -> str:
    """Return the name of this machine. Containers may share one, and number their processes apart."""
    try:
        return f"{host}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # not on Linux
        return host


def _runs(process: int) -> bool:
    """Return whether a process of this machine runs, or may run if that cannot be told."""
    if os.name != "posix":  # there, asking with a signal would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
