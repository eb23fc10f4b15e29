"""The examination of a store in memory: nothing on a disk can damage it, so only its indexes are compared."""

from __future__ import annotations

from tidal_plugins.model.check import Fault
from tidal_plugins.storage.checks import Checks, Examined
from tidal_plugins.storage.memory.state import MemoryBase

TABLES = ("entries", "passages", "links", "log", "documents")


class CheckStore(MemoryBase, Checks):
    """Examines a store in memory."""

    def examine(self) -> Examined:
        state, faults = self._state(), list[Fault]()
        rows = dict.fromkeys(TABLES, 0)
        for name in state.names():
            if len(name) > 1 and name[1] in TABLES:
                rows[name[1]] += len(state.table(*name))
            if name[1:] == ("entries",):
                passages = state.table(name[0], "passages")
                missing = [kept.entry.id for kept in state.table(*name).values() if set(kept.passages) - set(passages)]
                faults += [Fault("passages", id_, "it is missing", True) for id_ in missing]
        return Examined(rows, faults)

    def rebuild(self) -> None:
        """Do nothing: what has no file loses no agreement with it."""
