"""Threads: async twins of blocking methods, ``arecall = in_thread(recall)``, and a limit on the time of models.

SQLite and the embedder are synchronous, so the twin in ``arecall = in_thread(recall)`` runs the method on a worker
thread and keeps the event loop free. Cancelling the await does not stop the thread: what it was writing is still
written, whole.
"""

import contextvars
import functools
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def in_thread(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return an async function that runs ``function`` on a worker thread, with the caller's context variables."""

    @functools.wraps(function)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> R:
        return await to_thread(function, *args, **kwargs)

    twin.__name__ = "a" + function.__name__
    twin.__qualname__ = function.__qualname__.rpartition(".")[0] + "." + twin.__name__
    twin.__doc__ = f"Async twin of :meth:`{function.__name__}`: the same, on a worker thread."
    return twin


async def to_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run ``function`` on a worker thread, as ``asyncio.to_thread`` does."""
    import asyncio  # who awaits has it already; who does not is spared 15 ms

    return await asyncio.to_thread(function, *args, **kwargs)


def in_time(ask: Callable[[], R], seconds: float, *, given_up: Callable[[], bool] = bool) -> R:
    """Run ``ask`` on a thread of its own, with the caller's context variables; return its result or raise its error.

    The thread is left behind, with ``TimeoutError``, if it takes longer than ``seconds``, and with ``InterruptedError``
    if ``given_up`` says meanwhile that nobody waits any more.
    """
    done: Future[R] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(ask))
        except (Exception, KeyboardInterrupt) as error:
            done.set_exception(error)
        except BaseException as error:  # such as a cancelled task of the model's: it ends this thread, not the caller's
            failed = RuntimeError(f"the model ended with {type(error).__name__}")
            failed.__cause__ = error
            done.set_exception(failed)

    threading.Thread(target=run, daemon=True, name="tidal-model").start()
    end = time.monotonic() + seconds
    while not done.done():
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no answer within {seconds:g} s")
        if given_up():
            raise InterruptedError("nobody waits for the answer any more")
        wait([done], min(_LOOK_UP, left))
    return done.result()


_LOOK_UP = 0.1
"""Seconds after which whoever waits looks whether it is still wanted."""
