"""The figures that an engine may give about itself, for those who watch it."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable


class Measures(NamedTuple):
    """Sizes in bytes, counts since the store was opened, and whether the log of an earlier process was gone."""

    file_bytes: int = 0
    log_bytes: int = 0
    slow: int = 0
    timeouts: int = 0
    log_lost: bool = False


@runtime_checkable
class Measured(Protocol):
    """An engine that gives figures about itself."""

    def measures(self) -> Measures:
        """Return the figures as they are now. Reads no entry."""


def measures(storage: object) -> Measures:
    """Return the figures of an engine; zeros of one that gives none."""
    return storage.measures() if isinstance(storage, Measured) else Measures()
