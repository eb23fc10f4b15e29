"""Effort counted in the processor time of one thread: other processes that keep the machine busy add nothing to it."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMES = 10
"""The longer text is so many times as long as the shorter one."""

ALLOWED = 3.5
"""Times the ratio of the lengths that the ratio of the efforts may be; quadratic work has ``TIMES`` times it."""

ATTEMPTS = 4


def grows_linearly(work: Callable[[str], object], text: Callable[[int], str], chars: int) -> bool:
    """Return whether the effort for a text of ``chars`` is in proportion to the effort for a tenth of it.

    ``text`` makes a text of about so many characters. One good attempt of several is enough: what else the process
    does may only make an attempt look worse.
    """
    short, long = text(chars // TIMES), text(chars)
    return any(_effort(work, long) <= ALLOWED * TIMES * _least(work, short) for _ in range(ATTEMPTS))


def _least(work: Callable[[str], object], text: str) -> float:
    return max(min(_effort(work, text) for _ in range(2)), 1e-3)


def _effort(work: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    work(text)
    return time.thread_time() - began
