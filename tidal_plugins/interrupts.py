"""Exceptions that a signal handler raises, such as a soft time limit, in whatever code the main thread is at.

Code that goes on when a component fails catches any ``Exception`` of it. One that comes from a handler is none of the
component's: it belongs to whoever set the handler.
"""

from __future__ import annotations

import signal
from functools import partial
from types import CodeType
from typing import Any


def pass_interrupt(error: BaseException) -> None:
    """Raise an exception again if a signal handler raised it."""
    codes = _handlers()
    trace = error.__traceback__ if codes else None
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            raise error
        trace = trace.tb_next


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
