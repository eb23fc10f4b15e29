"""The async twin of a blocking method, in one line: ``arecall = in_thread(recall)``.

SQLite and the embedder are synchronous, so the twin runs the method on a worker thread and keeps the event
loop free. Cancelling the await does not stop the thread: what it was writing is still written, whole.
"""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def in_thread(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return an async function that runs ``function`` on a worker thread, with the caller's context variables."""

    @functools.wraps(function)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> R:
        import asyncio  # who awaits has it already; who does not is spared 15 ms

        return await asyncio.to_thread(function, *args, **kwargs)

    twin.__name__ = "a" + function.__name__
    twin.__qualname__ = function.__qualname__.rpartition(".")[0] + "." + twin.__name__
    twin.__doc__ = f"Async twin of :meth:`{function.__name__}`: the same, on a worker thread."
    return twin
