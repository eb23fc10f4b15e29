"""Calls on other threads: the async twin of a blocking method, in one line, and a call that may only take so long.

SQLite and the embedder are synchronous, so the twin in ``arecall = in_thread(recall)`` runs the method on a worker
thread and keeps the event loop free. Cancelling the await does not stop the thread: what it was writing is still
written, whole.
"""

import contextvars
import functools
import threading
import time
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


def in_time(ask: Callable[[], R], seconds: float, *, given_up: Callable[[], bool] = bool) -> R:
    """Return what ``ask`` returns, on a thread of its own with the caller's context variables.

    The thread is left behind where it takes longer, with ``TimeoutError``, and where ``given_up`` says meanwhile that
    nobody waits any more, with ``InterruptedError``.
    """
    from concurrent.futures import Future  # who calls a model can wait for it

    done: Future[R] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(ask))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True, name="tidal-ask").start()
    end = time.monotonic() + seconds
    while True:
        try:
            return done.result(min(_LOOK_UP, max(0.0, end - time.monotonic())))
        except TimeoutError as error:
            if done.done():
                return done.result()  # or its own error
            if given_up():
                raise InterruptedError("nobody waits for the answer any more") from error
            if time.monotonic() >= end:
                raise TimeoutError(f"no answer within {seconds:g} s") from error


_LOOK_UP = 0.1
"""Seconds after which whoever waits looks whether it is still wanted."""
