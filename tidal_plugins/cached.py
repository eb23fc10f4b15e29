"""Attributes that are worked out when they are first read.

The ``functools.cached_property`` of Python 3.11 holds a lock while it works, one for all instances of a class: threads
wait for each other, and a process that is forked meanwhile waits for ever. Later versions have none.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 (its name there)
        """That of Python 3.12: two threads that read an attribute at once both work it out, and one value stays."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value
