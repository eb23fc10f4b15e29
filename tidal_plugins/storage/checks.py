"""What an engine may offer beyond the contract: to be examined, to be backed up, and to be listed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from tidal_plugins.model.check import Fault
from tidal_plugins.model.entry import Scope


@dataclass(frozen=True, slots=True)
class Examined:
    """The state of a store.

    Attributes:
        rows: how many rows each table has.
        faults: what is wrong.
        unindexed: the intact entries whose passages, words or vectors are not all there, by scope, each with the
            passages that it should have as far as they are known: start and end.
        log_bytes: the size of the write-ahead log.
        log_lost: whether the store was opened without the log that held its last commits. A rebuilding ends this.
    """

    rows: Mapping[str, int]
    faults: Sequence[Fault] = ()
    unindexed: Mapping[Scope, Mapping[str, Sequence[tuple[int, int]]]] = field(default_factory=dict)
    log_bytes: int = 0
    log_lost: bool = False


@runtime_checkable
class Checks(Protocol):
    """Examines a store, and rebuilds what an engine can rebuild by itself."""

    @abstractmethod
    def examine(self) -> Examined:
        """Read the whole store, in one snapshot, and return what is wrong with it. Nothing is changed."""

    @abstractmethod
    def rebuild(self) -> None:
        """Count anew, renew indexes and remove index rows of what is not there. Nothing that is intact is removed."""


@runtime_checkable
class Backups(Protocol):
    """Copies a store to a file while it is in use."""

    key: Callable[[], str | bytes] | None
    """Returns the key of the file and of its copies; ``None`` for one that is not encrypted."""

    @abstractmethod
    def copy_to(self, path: str, *, damaged: bool = False) -> None:
        """Write one state of the store to a file that does not exist yet. Writers are not held up.

        Raises ``Corrupt`` where the store cannot be read as it was written, unless it may be ``damaged``.
        """


class Names(NamedTuple):
    """The names of a scope's collections of documents and of its logs, sorted."""

    collections: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()


class Listing(NamedTuple):
    """The scopes that have anything, with what they have. ``last_seq`` is that of the last line of any log, also of one
    that was removed since."""

    scopes: Mapping[Scope, Names]
    last_seq: int = 0


@runtime_checkable
class Listings(Protocol):
    """Lists what is stored, so that all of it can be read through the contract."""

    @abstractmethod
    def listing(self) -> Listing:
        """Return which scopes have entries, links, documents or logs, as the open snapshot sees the store."""
