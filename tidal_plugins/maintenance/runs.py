"""Runs of the consolidator as they are written down: to go on under the same id after a kill, and to be undone."""

from __future__ import annotations

import os
import socket
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

RUNS = "consolidation"
"""Collection with the last run's number, and log of what each run changed and how it was before, under its id."""

LEASE = 1.0
"""Hours after which a run of another process counts as cut off, whatever became of it."""

_LAST = "last"
_UNDER_WAY: set[str] = set()
"""The owners of runs in this process."""


class UnderWay(Exception):
    """Another run of the same scope is under way."""


class _State(NamedTuple):
    """The last run; while it is open, whose it is: a machine, a process and a name of its own, since when."""

    number: int = 0
    open: bool = False
    host: str = ""
    process: int = 0
    owner: str = ""
    since: int = 0


@dataclass(slots=True)
class Run:
    """A run that begins with the first change that it notes, or goes on with one whose process has ended."""

    storage: Storage
    scope: Scope
    now: datetime
    keep: int
    owner: str = field(default_factory=lambda: uuid4().hex)
    number: int | None = None

    @repeated
    def resume(self) -> None:
        """Go on with a run that was cut off. Raises ``UnderWay`` where one is not."""
        _UNDER_WAY.add(self.owner)
        if not self._state().open:
            return
        with self.storage.transaction():
            state = self._state()
            if state.open and _is_gone(state):
                self._begin(state)
            elif state.open and _is_leased(state, self.now):
                raise UnderWay

    def note(self, before: Mapping[str, Any]) -> None:
        """Write down how it was before a change. Call it inside the transaction that makes the change.

        Raises ``UnderWay`` where another run has begun meanwhile, or has taken this one over.
        """
        state = self._state()
        if self.number is None:
            self._begin(state)
        elif (state.number, state.open, state.owner) != (self.number, True, self.owner):
            raise UnderWay
        self.storage.append_log(self.scope, RUNS, [Line(str(self.id), self.now, before)])

    @repeated
    def close(self) -> str | None:
        """End the run, and return its id if it had begun."""
        if self.number is not None:
            with self.storage.transaction():
                state = self._state()
                if state.open and state.owner == self.owner:
                    self._write(_State(state.number))
        return self.id

    def leave(self) -> None:
        """Say that nothing is under way here any more, closed or not."""
        _UNDER_WAY.discard(self.owner)

    @property
    def id(self) -> str | None:
        """Return the id of this run, once it has begun."""
        return None if self.number is None else run_id(self.scope, self.number)

    def _begin(self, state: _State) -> None:
        gone = state.open and _is_gone(state)
        if state.open and not gone and _is_leased(state, self.now):
            raise UnderWay
        number = state.number if gone else state.number + 1
        self._write(_State(number, True, socket.gethostname(), os.getpid(), self.owner, to_micros(self.now)))
        self.storage.trim_log(self.scope, RUNS, keys=[run_id(self.scope, number - self.keep)])
        self.number = number

    def _state(self) -> _State:
        document = read_document(self.storage, self.scope, RUNS, _LAST)
        return _State(*document.value) if document else _State()

    def _write(self, state: _State) -> None:
        write_document(self.storage, self.scope, RUNS, _LAST, state)


def run_id(scope: Scope, number: int) -> str:
    return derive_id(scope, RUNS, number)


def _is_gone(state: _State) -> bool:
    """Return whether the process of an open run is known to have ended, or to have left it."""
    if state.host != socket.gethostname():
        return False
    return state.owner not in _UNDER_WAY if state.process == os.getpid() else not _runs(state.process)


def _is_leased(state: _State, now: datetime) -> bool:
    """Return whether an open run may go on. A clock that jumped must not let it go on for ever."""
    return abs(hours_between(from_micros(state.since), now)) < LEASE


def _runs(process: int) -> bool:
    """Return whether a process of this machine runs, or may run if that cannot be told."""
    if os.name != "posix":  # there, asking with a signal would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
