"""Turns at torch: models of this process work one after the other, on as many threads as each was told, quietly."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# One lock for all models, since torch's number of threads, saved and restored below, belongs to the process.
lock = threading.RLock()
_forked = False

# Locks are not fair: without a pause between batches a query can wait for several batches of somebody's bulk call.
TURN_SECONDS = 0.001


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use so many threads, one after a fork; what the host application has set is put back."""
    # torch keeps the number per thread, and hands the last one set to threads that are new to it: so it is set
    # around each call, in the thread that calls.
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1 if _forked else count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def no_progress_bars() -> Iterator[None]:
    """Keep transformers and the hub's client from drawing on the terminal, unless the environment asks for it."""
    from transformers.utils import logging as bars

    if not bars.is_progress_bar_enabled() or "HF_HUB_DISABLE_PROGRESS_BARS" in os.environ:
        yield
        return
    bars.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        bars.enable_progress_bar()  # type: ignore[no-untyped-call]


def _after_fork() -> None:
    # OpenMP's threads do not survive a fork and waiting for them never ends, so the child makes do with one.
    global _forked
    _forked = "torch" in sys.modules
    lock.release()


if hasattr(os, "register_at_fork"):  # no fork while a model works: the child would inherit locks nobody releases
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=_after_fork)
