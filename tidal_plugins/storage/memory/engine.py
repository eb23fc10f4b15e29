"""The in-memory engine: the parts of the contract over tables in memory."""

from __future__ import annotations

import threading

from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.memory.checks import CheckStore
from tidal_plugins.storage.memory.documents import DocumentStore
from tidal_plugins.storage.memory.entries import EntryStore
from tidal_plugins.storage.memory.links import LinkStore
from tidal_plugins.storage.memory.listing import ListingStore
from tidal_plugins.storage.memory.log import LogStore
from tidal_plugins.storage.memory.search import SearchStore
from tidal_plugins.storage.memory.state import Contents


class MemoryStorage(EntryStore, SearchStore, LinkStore, LogStore, DocumentStore, CheckStore, ListingStore, Storage):
    """Stores a memory in this process, which takes it along when it ends.

    Engines over the same ``contents`` are handles on one store; by default the store is a new one. A transaction waits
    ``busy_timeout`` seconds for another one to end, then it raises ``Busy``.

    Filters scan a scope, and a transaction copies the tables that it changes: some ten thousand entries of a scope are
    a reasonable size.
    """

    def __init__(self, contents: Contents | None = None, *, busy_timeout: float = 30.0) -> None:
        self._contents = contents = contents or Contents()
        self._timeout = busy_timeout
        self._local = threading.local()
        self.path = contents.path

    def scrub(self) -> bool:
        with self._draft() as draft:
            indexes = draft.change("indexes")
            for scope in indexes:
                indexes[scope] = indexes[scope].compacted(draft.table(scope, "passages"))
        return True

    def close(self) -> None:
        self._contents = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"
