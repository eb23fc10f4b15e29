"""Documents in memory."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tidal_plugins.errors import Conflict
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Document, Documents
from tidal_plugins.storage.memory.state import MemoryBase
from tidal_plugins.storage.rows import check_storable
from tidal_plugins.storage.values import from_json, to_json

_Version = tuple[str, int]


class DocumentStore(MemoryBase, Documents):
    """Stores the versions of each document as JSON, the newest first."""

    def write_document(
        self, scope: Scope, collection: str, key: str, value: Any, *, expected: int | None = None, keep: int = 0
    ) -> int:
        text = to_json(value)
        check_storable((collection, key, text))
        with self._draft() as draft:
            versions: tuple[_Version, ...] = draft.table(scope, "documents", collection).get(key, ())
            version = versions[0][1] if versions else 0
            if expected is not None and expected != version:
                raise Conflict(f"{collection}/{key} is at version {version}, not {expected}; read it again and retry")
            written = (text, version + 1), *versions[: max(keep, 0)]
            draft.change(scope, "documents", collection)[key] = written
            return version + 1

    def documents(
        self, scope: Scope, collection: str, keys: Collection[str] | None = None, *, versions: bool = False
    ) -> list[Document]:
        table = self._state().table(scope, "documents", collection)
        chosen = table.keys() if keys is None else table.keys() & set(keys)
        return [
            _document(key, *version)
            for key in sorted(chosen)
            for version in (table[key] if versions else table[key][:1])
        ]

    def erase_documents(self, scope: Scope, collection: str, keys: Collection[str]) -> int:
        with self._draft() as draft:
            table = draft.change(scope, "documents", collection)
            return sum(table.pop(key, None) is not None for key in set(keys))


def _document(key: str, text: str, version: int) -> Document:
    return Document(key, from_json(text), version)
