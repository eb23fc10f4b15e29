"""The figures that an engine may give about itself, for those who watch it."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol, runtime_checkable

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.log import Log


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


@runtime_checkable
class CountsKeys(Protocol):
    """An engine that counts what its logs are about without reading their lines."""

    def count_keys(self, scope: Scope, logs: Collection[str]) -> int:
        """Return how many keys have lines in any of some logs of a scope."""


def count_keys(storage: Log, scope: Scope, logs: Collection[str]) -> int:
    """Return how many keys have lines in any of some logs of a scope. All lines are read if the engine cannot count."""
    if isinstance(storage, CountsKeys):
        return storage.count_keys(scope, logs)
    return len({line.key for log in logs for line in storage.read_log(scope, log)})
