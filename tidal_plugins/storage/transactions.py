"""Transactions, snapshots and deadlines of a thread, whether they are still open, and transactions that are retried.

A signal handler may raise at any line, also between ``BEGIN`` and the ``try`` around it, or inside the ``finally`` that
was to roll back. So no flag says that a block is open. Its generator does: Python ends it together with the ``with``
statement, whatever was raised and wherever.
"""

from __future__ import annotations

import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, _GeneratorContextManager, contextmanager
from functools import wraps
from inspect import GEN_CLOSED, getgeneratorstate
from math import inf
from typing import Any, ParamSpec, TypeVar

from tidal_plugins.errors import Busy
from tidal_plugins.model.entry import Scope

SLOW_SHARE = 0.1
"""Share of its deadline from which on a question is slow: 0.2 s by default, which a person notices."""


class Block:
    """One transaction, if it ``writes``, or one snapshot."""

    def __init__(self, writes: bool) -> None:
        self.writes = writes
        self.last: dict[str, int] = {}
        """The last numbers of rows, by table, that the transaction has given: nobody else gives any meanwhile."""
        self.ahead: dict[tuple[int, str, str], tuple[Any, ...] | None] = {}
        """Rows of documents that the transaction has read ahead, by scope, collection and key; ``None`` for none."""
        self.created: set[Scope] = set()
        """The scopes that the transaction has added."""
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


class Limit(Block):
    """A deadline of a thread's questions. ``end`` is a time of the monotonic clock, ``around`` the deadline outside."""

    def __init__(self, end: float, around: Limit | None) -> None:
        super().__init__(writes=False)
        self.end, self.around = end, around


class Deadlines(ABC):
    """The deadlines of the questions of each thread."""

    slow = 0
    """Questions that took more than ``SLOW_SHARE`` of their deadline."""
    timeouts = 0
    """Questions that took longer than their deadline."""
    _local: threading.local

    def deadline(self, seconds: float) -> AbstractContextManager[None]:
        """Stop this thread's questions after that many seconds, or when the deadline around this one ends. They raise
        ``QueryTimeout``."""
        around = self.limit
        limit = Limit(min(time.monotonic() + seconds, inf if around is None else around.end), around)
        return limit.made_by(lambda _: self._timed(limit, seconds))

    @property
    def bounded(self) -> bool:
        """Return whether this thread's questions have a deadline."""
        return self.limit is not None

    @property
    def limit(self) -> Limit | None:
        """Return the innermost deadline of this thread that has not been lifted."""
        limit: Limit | None = getattr(self._local, "limit", None)
        while limit is not None and not limit.open:
            limit = limit.around
        return limit

    @contextmanager
    def _timed(self, limit: Limit, seconds: float) -> Iterator[None]:
        begun = time.monotonic()
        try:
            with self._limited(limit, seconds):
                yield
        finally:
            self.slow += limit.around is None and time.monotonic() - begun > SLOW_SHARE * seconds

    @abstractmethod
    def _limited(self, limit: Limit, seconds: float) -> AbstractContextManager[None]:
        """Let what is inside have a deadline, and after it the one around."""


TRIES = 5
"""Times that a transaction is begun before its caller is told that the store is too busy."""

P = ParamSpec("P")
T = TypeVar("T")


def retry(step: Callable[P, T]) -> Callable[P, T]:
    """Run a function again if the server ended its transaction in favour of another one.

    Decorate functions that change nothing but in one transaction, and that read anew what they decide on. Inside
    another transaction the error is raised at once each time, until the outermost function begins anew.
    """

    @wraps(step)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(TRIES - 1):
            try:
                return step(*args, **kwargs)
            except Busy as error:
                if not error.overruled:
                    raise
        return step(*args, **kwargs)

    return run
