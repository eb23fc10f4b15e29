"""Blocks: the transactions and snapshots of a thread, and whether they are still open.

A signal handler may raise at any line, also between ``BEGIN`` and the ``try`` around it, or inside the ``finally`` that
was to roll back. So no flag says that a block is open. Its generator does: Python ends it together with the ``with``
statement, whatever was raised and wherever.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator
from contextlib import _GeneratorContextManager
from inspect import GEN_CLOSED, getgeneratorstate


class Block:
    """One transaction, if it ``writes``, or one snapshot."""

    def __init__(self, writes: bool) -> None:
        self.writes = writes
        self.last: dict[str, int] = {}
        """The last numbers of rows, by table, that the transaction has given: nobody else gives any meanwhile."""
        self._steps: Callable[[], Generator[None, None, None] | None] = lambda: None

    @property
    def open(self) -> bool:
        """Return whether the code of the block has not ended."""
        steps = self._steps()
        return steps is not None and getgeneratorstate(steps) != GEN_CLOSED

    def made_by(self, steps: Callable[[Block], _GeneratorContextManager[None]]) -> _GeneratorContextManager[None]:
        """Return the context manager that ``steps`` makes for this block, which is open as long as that one is."""
        context = steps(self)
        self._steps = weakref.ref(context.gen)
        return context
