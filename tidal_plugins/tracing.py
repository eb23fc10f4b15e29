"""Spans of OpenTelemetry around what takes time, for applications that trace themselves (extra ``otel``).

Nothing is imported for it: an application that traces has loaded ``opentelemetry.trace`` itself, and without it a span
costs one look-up in a dictionary. Spans hold names of errors and counts, never a text of a memory, a query, an id or a
scope.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

TRACER = "tidal_plugins"
"""The name of the tracer that the spans come from."""

Method = TypeVar("Method", bound=Callable[..., Any])


def traced(name: str, figures: Callable[[Any], Mapping[str, int]] = lambda result: {}) -> Callable[[Method], Method]:
    """Put a span around each call of a method. ``figures`` are the counts of its result to attach to the span.

    A failed call's span has the status ``ERROR`` and ``error.type``, the name of the error without its message.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def spanned(*arguments: Any, **options: Any) -> Any:
            trace = sys.modules.get("opentelemetry.trace")
            if trace is None:
                return method(*arguments, **options)
            tracer = trace.get_tracer(TRACER)
            # A message shows up to 80 characters of a caller's value: no exception is recorded as it is.
            with tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as span:
                try:
                    result = method(*arguments, **options)
                except BaseException as error:
                    span.set_attribute("error.type", type(error).__name__)
                    span.set_status(trace.StatusCode.ERROR)
                    raise
                span.set_attributes(figures(result))
                return result

        return cast(Method, spanned)

    return decorate
