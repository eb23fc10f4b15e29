"""Model objects as JSON values, read back and checked by pydantic; not for hot paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

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
