"""The filters of a store's search: equality, nesting, and ``$eq $ne $gt $gte $lt $lte``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from tidal_plugins import InvalidInput
from tidal_plugins.shown import shown

Scalar = str | int | float | bool | None


def equalities(wanted: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return the part of a filter that the memory's own index can decide: fields that equal a string or a boolean."""
    return {name: value for name, value in wanted.items() if isinstance(value, str | bool)}


def check(wanted: Any) -> None:
    """Raise ``InvalidInput`` if a filter has an unknown operator."""
    if isinstance(wanted, Mapping):
        for name, operand in wanted.items():
            if _is_operation(wanted):
                _operator(name)
            else:
                check(operand)


def holds(value: Any, wanted: Any) -> bool:
    """Return whether ``value`` is as wanted. Only the named fields of a mapping count; a missing one is ``None``."""
    if _is_operation(wanted):
        return all(_operator(name)(value, operand) for name, operand in wanted.items())
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(holds(value.get(name), part) for name, part in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(holds, value, wanted))
    return _equal(value, wanted)


def _is_operation(wanted: Any) -> bool:
    return isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted)


def _operator(name: str) -> Callable[[Any, Any], bool]:
    if name not in _OPERATORS:
        raise InvalidInput(f"a filter's operators are {' '.join(_OPERATORS)}, got {shown(name)}")
    return _OPERATORS[name]


def _equal(value: Any, other: Any) -> bool:
    """Return whether two values are equal as in JSON: 1 is 1.0, and neither ``true`` nor "1"."""
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(_equal(value[name], other[name]) for name in value)
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(_equal, value, other))
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison of numbers with numbers and strings with strings. Other values are in no order."""

    def in_order(value: Any, other: Any) -> bool:
        same = all(map(_is_number, (value, other))) or all(isinstance(side, str) for side in (value, other))
        return same and compare(value, other)

    return in_order


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": _equal,
    "$ne": lambda value, other: not _equal(value, other),
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
}
