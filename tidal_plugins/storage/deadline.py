"""The deadline of a question: a read that a caller waits for ends after ``Settings.storage.query_deadline``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

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

    The method's object has a ``_storage``, or ``_services`` with one. Long work, such as maintenance, reembedding and
    the export of a graph, is no question and may take as long as it needs.
    """

    @wraps(read)
    def bounded(self: Any, *args: Any, **options: Any) -> Any:
        storage = self._storage if hasattr(self, "_storage") else self._services.storage
        with within_deadline(storage):
            return read(self, *args, **options)

    return cast(Read, bounded)
