"""The storage contract: the methods that an engine must have for the mechanisms above it.

Engines know no feature names. Five small protocols serve every mechanism: :class:`Entries`, :class:`Search`,
:class:`Links`, :class:`Log` and :class:`Documents`. An engine has them all, and the lifecycle of :class:`Storage`.

Every call names its scope and never returns anything of another one. Writes belong inside
:meth:`Storage.transaction`, which makes one logical write one transaction; several reads that must agree belong inside
:meth:`Storage.snapshot`. A row that is not as it was written is left out of what a call returns, and noted with
:func:`tidal_plugins.storage.damage.note`; one about the whole store (``META``) raises ``Corrupt``. The suite
``tidal_plugins.testing.StoreContract`` states the behaviour in full and runs on every engine.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from tidal_plugins.storage.documents import META, STORE, Document, Documents
from tidal_plugins.storage.entries import (
    HEAD,
    TAIL,
    Adjacent,
    Corpus,
    Entries,
    EntrySummary,
    Match,
    Passage,
    PassageVectors,
    Record,
    Span,
    Statistics,
    Volume,
    Where,
)
from tidal_plugins.storage.links import ALL_LINKS, Links, Step, WhereLinks
from tidal_plugins.storage.log import Claim, Line, Log
from tidal_plugins.storage.search import Outdated, Renewal, Search

__all__ = [
    "ALL_LINKS", "HEAD", "STORE", "TAIL", "Adjacent", "Claim", "Corpus", "Document", "Documents", "Entries",
    "EntrySummary", "Line", "Links", "Log", "META", "Match", "Outdated", "Passage", "PassageVectors", "Record",
    "Renewal", "Search", "Span", "Statistics", "Step", "Storage", "Volume", "Where", "WhereLinks",
]  # fmt: skip


@runtime_checkable
class Storage(Entries, Search, Links, Log, Documents, Protocol):
    """An engine. Methods may be called from any thread."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Make the writes inside all or nothing: commit them durably at the end, roll back on any exception. Joins a
        transaction that is open."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Let the reads inside see one state of the store. Joins what is open."""

    @abstractmethod
    def scrub(self) -> bool:
        """Overwrite what erased entries left behind in files and indexes. Return ``False`` when a reader kept some.

        It may rewrite the whole store: call it once after many erasures, outside transactions. Raises ``StorageError``
        if it cannot be done.
        """

    @abstractmethod
    def close(self) -> None:
        """Release files and memory. Using the store afterwards raises ``Closed``."""
