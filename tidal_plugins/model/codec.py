"""JSON: model objects as JSON values, read back and checked by pydantic, and the JSON in a model's answer; not for hot
paths."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


def encode(value: Any, *, exclude: frozenset[str] = frozenset()) -> Any:
    """Return a dataclass as a JSON value, without the fields in ``exclude``."""
    return _adapter(type(value)).dump_python(value, mode="json", exclude=set(exclude) or None)


def decode(type_: type[T], value: Any) -> T:
    """Return the object of ``type_`` that :func:`encode` made ``value`` of. Raises pydantic's ``ValidationError``."""
    found: T = _adapter(type_).validate_python(value)
    return found


_adapters: dict[Any, TypeAdapter[Any]] = {}


def _adapter(type_: type) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # importing it takes a while

    if type_ not in _adapters:
        _adapters[type_] = TypeAdapter(type_)
    return _adapters[type_]


_FENCED = lazy_re(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)


def structures(text: str) -> Iterator[Any]:
    """Yield the JSON in a text: first the content of each code fence, then that of the outermost braces."""
    start, end = text.find("{"), text.rfind("}")
    for candidate in [*_FENCED.findall(text), text[start : end + 1] if start >= 0 else ""]:
        try:
            yield json.loads(candidate)
        except (ValueError, RecursionError):
            continue
