"""Wait for other threads and processes. A deadline here only tells hung from slow; it says nothing about speed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 120.0
"""Seconds after which a test regards something as hung."""


def eventually(holds: Callable[[], object]) -> bool:
    """Wait until a condition holds, and return whether it did."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


async def aeventually(holds: Callable[[], object]) -> bool:
    """Wait until a condition holds while the event loop runs on, and return whether it did."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.01)
    return True


def threads_end(others: set[threading.Thread]) -> bool:
    """Wait until every thread but these and the present one has ended, and return whether they did."""
    for thread in set(threading.enumerate()) - others - {threading.current_thread()}:
        thread.join(PATIENCE)
    return set(threading.enumerate()) <= others | {threading.current_thread()}


def meet(folder: Path, parties: int) -> None:
    """Wait until ``parties`` processes have come to the same new folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(os.getpid())).touch()
    end = time.monotonic() + PATIENCE
    while len(list(folder.iterdir())) < parties:
        assert time.monotonic() < end, "the others never came"


@contextmanager
def write_lock(path: str | Path) -> Iterator[Callable[[], None]]:
    """Let another process hold the write lock of a file; yield a function that makes it let go."""
    code = (
        "import sqlite3, sys; store = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "store.execute('begin immediate'); print('locked', flush=True); sys.stdin.read()"
    )
    command, pipe = [sys.executable, "-c", code, str(path)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stdout.readline() == "locked\n"
        try:
            yield holder.stdin.close
        finally:
            holder.stdin.close()


async def waits_without_blocking(path: str | Path, work: Coroutine[Any, Any, Any]) -> bool:
    """Do work on a locked file, and return whether it waited for the lock while the event loop ran on.

    Another process lets go of the lock once the loop has gone round some times. If the work blocked the loop, it would
    give up and raise.
    """
    with write_lock(path) as let_go:
        pending = asyncio.ensure_future(work)
        for _ in range(30):
            await asyncio.sleep(0.01)
        waited = not pending.done()
        let_go()
        await pending
    return waited
