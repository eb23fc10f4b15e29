"""What an engine may offer beyond the contract: deadlines, figures, an examination, backups, and a listing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

from tidal_plugins.model.entry import Scope
from tidal_plugins.model.reports import Fault
from tidal_plugins.storage.base import Log
from tidal_plugins.storage.damage import marked, noticed


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
class Verified(Protocol):
    """An engine with damage that no checksum tells, for which it looks now and then."""

    def verify(self) -> None:
        """Look whether the whole store is in order. If it is not, readings tell so from then on."""


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


class Measures(NamedTuple):
    """Sizes in bytes, counts since the store was opened, whether the log of an earlier process was gone, and who reads
    while the log is too long."""

    file_bytes: int = 0
    log_bytes: int = 0
    slow: int = 0
    timeouts: int = 0
    log_lost: bool = False
    log_readers: tuple[str, ...] = ()


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


Read = TypeVar("Read", bound=Callable[..., Any])


@runtime_checkable
class Bounded(Protocol):
    """An engine that can interrupt its reads. One without it reads to the end."""

    def within_deadline(self) -> AbstractContextManager[None]:
        """Raise ``QueryTimeout`` from a read of this thread that is still under way when the time is over. Joins a
        deadline that is running; a write is never interrupted."""


def within_deadline(storage: object) -> AbstractContextManager[None]:
    """Bound the reads inside by the deadline of the engine, if it can interrupt them."""
    return storage.within_deadline() if isinstance(storage, Bounded) else nullcontext()


def question(read: Read) -> Read:
    """Make a method a question: its reads of the store have the engine's deadline together.

    A list that lacks damaged rows is returned with its ``degraded``; any other answer without them raises ``Corrupt``.
    The method's object has a ``_storage``, or ``_services`` with one. Long work, such as maintenance, reembedding and
    the export of a graph, is no question and may take as long as it needs.
    """

    @wraps(read)
    def bounded(self: Any, *args: Any, **options: Any) -> Any:
        storage = self._storage if hasattr(self, "_storage") else self._services.storage
        with within_deadline(storage), noticed() as damaged:
            found = read(self, *args, **options)
        return marked(found, damaged)

    return cast(Read, bounded)
