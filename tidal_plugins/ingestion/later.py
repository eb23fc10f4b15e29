"""Steps for later: work that follows a write, durable in the store and done on the thread of the open memory.

A turn queues its work in the transaction that stores it. The store lists the scopes that have work, so that the next
opening resumes all of them, whichever scope it opens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from tidal_plugins.ingestion.background import Background
from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Entry, Scope, derive_id
from tidal_plugins.storage.base import STORE, Storage
from tidal_plugins.storage.shorthands import read_document, write_document

WAITING = "waiting"
"""Collection, in the scope of the store itself, of the scopes that have queued work."""


class LaterStep(Protocol):
    """One kind of work that follows a write. It keeps a durable queue of its own in each scope."""

    def queue(self, scope: Scope, episodes: Sequence[str], grown: Collection[str], now: datetime) -> bool:
        """Queue episodes, of which ``grown`` were stored before, and return whether there is anything to do. Called
        inside the transaction that stores them."""
        ...

    def run(self, scope: Scope, proceed: Callable[[], bool]) -> timedelta | None:
        """Do what is due and return the time until more is due, if any. Asks ``proceed`` before each step."""
        ...

    def is_done(self, scope: Scope) -> bool:
        """Return whether nothing is left to do in a scope. Called inside a transaction."""
        ...

    def forget(self, scope: Scope, entries: Collection[Entry], blanked: Collection[str], now: datetime) -> set[str]:
        """Remove what was made from entries that are about to be erased, and return the ids of the entries that were
        removed with it. ``blanked`` are the ids of episodes that lose a part. Called inside the transaction."""
        ...


@dataclass(frozen=True, slots=True)
class Later:
    """The steps for later of one store."""

    storage: Storage
    background: Background
    steps: Sequence[LaterStep]

    @contextmanager
    def recording(self, scope: Scope) -> Iterator[None]:
        """Let the background rest meanwhile, and then tell it that a scope has work."""
        try:
            with self.background.held():
                yield
        finally:
            self.background.call(scope)

    def queue(
        self, scope: Scope, episodes: Sequence[str], grown: Collection[str], now: datetime, *, queued: bool = False
    ) -> None:
        """Queue episodes for every step. Call it inside the transaction that stores them.

        ``queued`` says whether the caller has queued other work.
        """
        noted = [step.queue(scope, episodes, grown, now) for step in self.steps]
        if queued or any(noted):
            self.note(scope, now)

    def forget(self, scope: Scope, entries: Collection[Entry], blanked: Collection[str], now: datetime) -> set[str]:
        """Remove what the steps made from entries, and return the ids of the entries that were removed with it. Call it
        inside the transaction that erases the entries."""
        gone = set().union(*(step.forget(scope, entries, blanked, now) for step in self.steps))
        if entries and not self._is_done(scope):
            self.note(scope, now)
        return gone

    def drop(self, scope: Scope) -> None:
        """Take a scope off the list because nothing is left in it. Call it inside the transaction that erases it."""
        self.storage.erase_documents(STORE, WAITING, [_key(scope)])

    def run(self, scope: Scope, proceed: Callable[[], bool]) -> timedelta | None:
        """Do what is due in a scope and return the time until more is due, if any."""
        found = [step.run(scope, proceed) for step in self.steps]
        if proceed():
            self.settle(scope)
        return min((delay for delay in found if delay is not None), default=None)

    def settle(self, scope: Scope) -> None:
        """Take a scope off the list of those that have work, if nothing is left to do."""
        if read_document(self.storage, STORE, WAITING, _key(scope)):
            with self.storage.transaction():
                if self._is_done(scope):
                    self.storage.erase_documents(STORE, WAITING, [_key(scope)])

    def resume(self, scope: Scope) -> None:
        """Take up the work that an earlier process left, in ``scope`` and in every scope that has queued work."""
        for one in dict.fromkeys([scope, *self.waiting()]):
            self.background.call(one)

    def waiting(self) -> list[Scope]:
        """List the scopes that have queued work."""
        return [tuple(document.value["scope"]) for document in self.storage.documents(STORE, WAITING)]

    def note(self, scope: Scope, now: datetime) -> None:
        """Write down that a scope has work. Call it inside the transaction that queues the work."""
        if read_document(self.storage, STORE, WAITING, _key(scope)) is None:
            write_document(self.storage, STORE, WAITING, _key(scope), {"scope": list(scope), "since": to_micros(now)})

    def _is_done(self, scope: Scope) -> bool:
        return all(step.is_done(scope) for step in self.steps)


def _key(scope: Scope) -> str:
    return derive_id(scope)  # a scope may be longer than a key
