"""Processes that share the work of an arm, and say nothing of what they are told to expect."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

WORKERS = 2
"""Processes that work at once, by default: the cores of the machine of development."""
CHUNK = 8
"""Items that a process takes at a time."""


def each(function: Callable[[T], R], items: Sequence[T], workers: int) -> Iterator[R]:
    """Yield what a function of a module returns for each item, in order. With one worker, this process does it."""
    if workers < 2:
        yield from map(function, items)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([function.__module__])
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from pool.map(function, items, chunksize=CHUNK)


@contextmanager
def quiet() -> Iterator[None]:
    """Log nothing inside: a damaged file has hundreds of errors to report."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
