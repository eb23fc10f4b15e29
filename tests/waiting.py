"""Waiting for others, without a claim about how long it takes: a deadline here only tells hung from slow."""

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
"""Seconds after which a test takes something for hung."""


def eventually(holds: Callable[[], object]) -> bool:
    """Return whether a condition came to hold."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


async def aeventually(holds: Callable[[], object]) -> bool:
    """Return whether a condition came to hold while the event loop ran on."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.01)
    return True


def threads_end(others: set[threading.Thread]) -> bool:
    """Return whether every thread but these and the present one has ended."""
    for thread in set(threading.enumerate()) - others - {threading.current_thread()}:
        thread.join(PATIENCE)
    return set(threading.enumerate()) <= others | {threading.current_thread()}


def meet(folder: Path, parties: int) -> None:
    """Go on when so many processes have come to the same new folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(os.getpid())).touch()
    end = time.monotonic() + PATIENCE
    while len(list(folder.iterdir())) < parties:
        assert time.monotonic() < end, "the others never came"


@contextmanager
def write_lock(path: str | Path) -> Iterator[Callable[[], None]]:
    """Let another process hold the write lock of a file; what is yielded makes it let go."""
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
    """Return whether work waited for a write lock while the event loop ran on; it is done then.

    Another process lets go of the lock when the loop has gone round some times: were the loop blocked, the work would
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
