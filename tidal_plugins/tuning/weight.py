"""A field of a dataclass of weights, with its default and the values that it may have."""

from __future__ import annotations

from dataclasses import field
from typing import Any


def weight(default: Any, **bounds: Any) -> Any:
    """Return a field. ``bounds`` are ``ge``, ``gt``, ``le`` and ``lt`` of a number, and ``among`` the texts to choose
    from."""
    return field(default=default, metadata=bounds)
