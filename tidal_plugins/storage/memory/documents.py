"""Documents in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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

    def write_documents(
        self,
        scope: Scope,
        collection: str,
        values: Mapping[str, Any],
        *,
        expected: int | None = None,
        keep: int = 0,
    ) -> dict[str, int]:
        texts = {key: to_json(value) for key, value in values.items()}
        check_storable((collection, *texts, *texts.values()))
        with self._draft() as draft:
            table = draft.table(scope, "documents", collection)
            earlier: dict[str, tuple[_Version, ...]] = {key: table.get(key, ()) for key in texts}
            versions = {key: known[0][1] if known else 0 for key, known in earlier.items()}
            for key, version in versions.items():
                if expected not in (None, version):
                    reason = f"is at version {version}, not {expected}; read it again and retry"
                    raise Conflict(f"{collection}/{key} {reason}")
            written = draft.change(scope, "documents", collection)
            for key, text in texts.items():
                written[key] = (text, versions[key] + 1), *earlier[key][: max(keep, 0)]
            return {key: version + 1 for key, version in versions.items()}

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
        table = self._state().table(scope, "documents", collection)
        chosen = table.keys() if keys is None else table.keys() & set(keys)
        return [
            _document(key, *version)
            for key in sorted(chosen)[after : None if limit is None else after + limit]
            for version in (table[key] if versions else table[key][:1])
        ]

    def erase_documents(self, scope: Scope, collection: str, keys: Collection[str]) -> int:
        with self._draft() as draft:
            table = draft.change(scope, "documents", collection)
            return sum(table.pop(key, None) is not None for key in set(keys))


def _document(key: str, text: str, version: int) -> Document:
    return Document(key, from_json(text), version)
