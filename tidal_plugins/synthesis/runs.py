"""Runs of the consolidator as they are written down: to go on under the same id after a kill, and to be undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from tidal_plugins.model.entry import Scope, derive_id
from tidal_plugins.storage.base import Line, Storage

RUNS = "consolidation"
"""Collection with the last run's number, and log of what each run changed and how it was before, under its id."""

_LAST = "last"


class _State(NamedTuple):
    number: int = 0
    open: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A run that begins with the first change that it notes. One that was cut off goes on."""

    storage: Storage
    scope: Scope
    now: datetime
    keep: int

    @property
    def id(self) -> str | None:
        """The id of the run that is open."""
        state = self._state()
        return run_id(self.scope, state.number) if state.open else None

    def note(self, before: Mapping[str, Any]) -> None:
        """Write down how it was before a change. Call it inside the transaction that makes the change."""
        state = self._state()
        if not state.open:
            state = _State(state.number + 1, open=True)
            self._write(state)
            self.storage.erase_log(self.scope, RUNS, [run_id(self.scope, state.number - self.keep)])
        self.storage.append_log(self.scope, RUNS, [Line(run_id(self.scope, state.number), self.now, before)])

    def close(self) -> str | None:
        """End the run, and return its id if it had begun."""
        with self.storage.transaction():
            id_ = self.id
            if id_:
                self._write(self._state()._replace(open=False))
            return id_

    def _state(self) -> _State:
        document = self.storage.read_document(self.scope, RUNS, _LAST)
        return _State(*document.value) if document else _State()

    def _write(self, state: _State) -> None:
        self.storage.write_document(self.scope, RUNS, _LAST, state)


def run_id(scope: Scope, number: int) -> str:
    return derive_id(scope, RUNS, number)
