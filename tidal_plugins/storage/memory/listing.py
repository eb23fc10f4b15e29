"""The listing of a store in memory: its scopes, with the names of their documents and logs."""

from __future__ import annotations

from tidal_plugins.storage.checks import Listing, Listings, Names
from tidal_plugins.storage.memory.log import LAST_SEQ
from tidal_plugins.storage.memory.state import MemoryBase

_HELD = ("entries", "links", "documents", "log")


class ListingStore(MemoryBase, Listings):
    """Lists a store from the names of its tables."""

    def listing(self) -> Listing:
        state = self._state()
        held = [name for name in state.names() if len(name) > 1 and name[1] in _HELD and state.table(*name)]

        def names(scope: object, use: str) -> tuple[str, ...]:
            return tuple(sorted(str(name[2]) for name in held if name[:2] == (scope, use)))

        scopes = {
            scope: Names(names(scope, "documents"), names(scope, "log")) for scope in sorted({n[0] for n in held})
        }
        return Listing(scopes, state.table(*LAST_SEQ).get("log", 0))
