"""Transactions that the server ended in favour of others, and that are run again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from tidal_plugins.errors import Busy

TRIES = 5
"""Times that a transaction is begun before its caller is told that the store is too busy."""

P = ParamSpec("P")
T = TypeVar("T")


def repeated(step: Callable[P, T]) -> Callable[P, T]:
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
