"""Runs of the consolidator as they are written down: to go on under the same id after a kill, and to be undone.

A run that is open holds its scope: a run of another process, on any machine, does nothing meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import uuid4

from tidal_plugins.model.clock import from_micros, hours_between, to_micros
from tidal_plugins.model.entry import Scope, derive_id
from tidal_plugins.storage.base import Line, Storage
from tidal_plugins.storage.repeating import repeated
from tidal_plugins.storage.shorthands import read_document, write_document
from tidal_plugins.storage.workers import begin_work, end_work, has_ended, worker_name

RUNS = "consolidation"
"""Collection with the last run's number, and log of what each run changed and how it was before, under its id."""

LEASE = 1.0
"""Hours after which a run of another process counts as cut off, whatever became of it."""

_LAST = "last"


class UnderWay(Exception):
    """Another run of the same scope is under way."""


class _State(NamedTuple):
    """The last run; while it is open, the worker whose it is, and since when."""

    number: int = 0
    open: bool = False
    owner: str = ""
    since: int = 0


@dataclass(slots=True)
class Run:
    """A run that begins before its first change, or goes on with one whose process has ended."""

    storage: Storage
    scope: Scope
    now: datetime
    keep: int
    owner: str = field(default_factory=lambda: worker_name(uuid4().hex))
    number: int | None = None
    _changed: bool = False
    """Whether the run has noted a change, or goes on with one that may have."""

    @repeated
    def resume(self) -> None:
        """Go on with a run that was cut off. Raises ``UnderWay`` where one is not."""
        begin_work(self.owner)
        if not self._state().open:
            return
        with self.storage.transaction():
            state = self._state()
            if state.open and has_ended(state.owner):
                self._take(state)
                self._changed = True
            elif state.open and _is_leased(state, self.now):
                raise UnderWay

    def begin(self) -> None:
        """Begin before work that takes long, so that no other run does the same meanwhile.

        Raises ``UnderWay`` where another run has begun meanwhile, or has taken this one over.
        """
        with self.storage.transaction():
            self._hold()

    def note(self, before: Mapping[str, Any]) -> None:
        """Write down how it was before a change. Call it inside the transaction that makes the change.

        Raises ``UnderWay`` where another run has begun meanwhile, or has taken this one over.
        """
        number = self._hold()
        if not self._changed:
            self.storage.trim_log(self.scope, RUNS, keys=[run_id(self.scope, number - self.keep)])
            self._changed = True
        self.storage.append_log(self.scope, RUNS, [Line(str(self.id), self.now, before)])

    @repeated
    def close(self) -> str | None:
        """End the run, and return its id if it has changed anything."""
        if self.number is not None:
            with self.storage.transaction():
                state = self._state()
                if state.open and state.owner == self.owner:
                    self._write(_State(state.number if self._changed else state.number - 1))
        return self.id

    def leave(self) -> None:
        """Say that nothing is under way here any more, closed or not."""
        end_work(self.owner)

    @property
    def id(self) -> str | None:
        """Return the id of this run, once it has changed anything."""
        return run_id(self.scope, self.number) if self.number is not None and self._changed else None

    def _hold(self) -> int:
        """Begin the run, or make sure that it is still this one, and return its number."""
        state = self._state()
        if self.number is None:
            return self._take(state)
        if (state.number, state.open, state.owner) != (self.number, True, self.owner):
            raise UnderWay
        return self.number

    def _take(self, state: _State) -> int:
        gone = state.open and has_ended(state.owner)
        if state.open and not gone and _is_leased(state, self.now):
            raise UnderWay
        self.number = state.number if gone else state.number + 1
        self._write(_State(self.number, True, self.owner, to_micros(self.now)))
        return self.number

    def _state(self) -> _State:
        document = read_document(self.storage, self.scope, RUNS, _LAST)
        return _State(*document.value) if document else _State()

    def _write(self, state: _State) -> None:
        write_document(self.storage, self.scope, RUNS, _LAST, state)


def run_id(scope: Scope, number: int) -> str:
    return derive_id(scope, RUNS, number)


def _is_leased(state: _State, now: datetime) -> bool:
    """Return whether an open run may go on. A clock that jumped must not let it go on for ever."""
    return abs(hours_between(from_micros(state.since), now)) < LEASE
