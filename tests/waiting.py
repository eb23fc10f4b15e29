"""Waiting for others, without a claim about how long it takes: a deadline here only tells hung from slow."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

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
