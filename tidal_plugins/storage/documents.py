"""The contract of documents: small JSON values with a version, replaced as a whole."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tidal_plugins.model.entry import Scope

STORE: Scope = ()
"""The scope of documents about the whole store. Scopes of users have at least one segment."""


META = "meta"
"""The collection of values about the whole store."""


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value with the version that the next write must name."""

    key: str
    value: Any
    version: int


class Documents(Protocol):
    """Stores documents by collection and key, with as many earlier versions as asked."""

    @abstractmethod
    def write_documents(
        self,
        scope: Scope,
        collection: str,
        values: Mapping[str, Any],
        *,
        expected: int | None = None,
        keep: int = 0,
    ) -> dict[str, int]:
        """Replace documents by key, all or none, and return their new versions. ``expected`` is the version that each
        must have now (0: none), else ``Conflict``. Of their earlier versions the last ``keep`` stay readable, none
        before them."""

    @abstractmethod
    def documents(
        self,
        scope: Scope,
        collection: str,
        keys: Collection[str] | None = None,
        *,
        versions: bool = False,
        limit: int | None = None,
        after: int = 0,
    ) -> list[Document]:
        """List a collection's documents by key, all or those of ``keys``: at most ``limit``, ``after`` skips that many.

        With ``versions=True`` each current document is followed by its earlier versions that were kept, newest first.
        """

    @abstractmethod
    def erase_documents(self, scope: Scope, collection: str, keys: Collection[str]) -> int:
        """Remove documents with all their versions; return how many documents there were. Versions begin anew."""
