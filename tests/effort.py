"""Measure effort in the processor time of one thread, to which other processes on a busy machine add nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMES = 10
"""Ratio of the length of the longer text to that of the shorter one."""

ALLOWED = 3.5
"""Largest ratio of the efforts, as a multiple of the ratio of the lengths. Quadratic work has ``TIMES``."""

ATTEMPTS = 4


def grows_linearly(work: Callable[[str], object], text: Callable[[int], str], chars: int) -> bool:
    """Return whether the effort for a text of ``chars`` is in proportion to the effort for a tenth of it.

    ``text`` makes a text of about the given number of characters. One good attempt of several is enough, because other
    work of the process only makes an attempt look worse.
    """
    short, long = text(chars // TIMES), text(chars)
    return any(_effort(work, long) <= ALLOWED * TIMES * _least(work, short) for _ in range(ATTEMPTS))


def _least(work: Callable[[str], object], text: str) -> float:
    return max(min(_effort(work, text) for _ in range(2)), 1e-3)


def _effort(work: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    work(text)
    return time.thread_time() - began
