"""Exceptions that a signal handler raises, such as a soft time limit, in whatever code the main thread is at.

Code that goes on when a component fails catches any ``Exception`` of it. One that comes from a handler is none of the
component's: it belongs to whoever set the handler.
"""

from __future__ import annotations

import signal
from functools import partial
from traceback import walk_tb
from types import CodeType
from typing import Any


def pass_interrupt(error: BaseException) -> None:
    """Raise an exception again if a signal handler raised it, or its cause, which a client of a service may wrap."""
    codes = _handlers()
    cause: BaseException | None = error
    seen = set[int]()
    while codes and cause is not None and id(cause) not in seen:
        seen.add(id(cause))  # an error may be made its own cause
        if any(frame.f_code in codes for frame, _ in walk_tb(cause.__traceback__)):
            raise cause
        cause = cause.__cause__  # not its context: the call may have been made while something else was handled


def _handlers() -> set[CodeType]:
    """Return the code of the handlers that are set; those of Python itself are in C, and have none."""
    found = (signal.getsignal(number) for number in signal.valid_signals())
    return {code for code in map(_code, found) if code is not None}


def _code(handler: Any) -> CodeType | None:
    while isinstance(handler, partial):
        handler = handler.func
    if not callable(handler):
        return None
    for function in (handler, type(handler).__call__):
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None
