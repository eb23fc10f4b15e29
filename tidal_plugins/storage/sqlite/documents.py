"""Documents in an SQLite file."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tidal_plugins.errors import Conflict
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import META, STORE, Document, Documents
from tidal_plugins.storage.checksums import checksum
from tidal_plugins.storage.damage import DOCUMENTS, Damaged, corrupt, intact, noticed
from tidal_plugins.storage.rows import Row
from tidal_plugins.storage.sqlite.base import SQLiteBase
from tidal_plugins.storage.sqlite.conditions import IDS
from tidal_plugins.storage.values import from_json, to_json

COPIES = "copies of meta"
"""The collection of copies of the values about the whole store, which every reading of it depends on."""

_WRITE = """
    INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET value = ?4, version = ?5, checksum = ?6
"""
_THIS = "scope = ? AND collection = ? AND key = ?"


class DocumentStore(SQLiteBase, Documents):
    """Stores current documents as rows of one table, their earlier versions of another."""

    def documents(
        self, scope: Scope, collection: str, keys: Collection[str] | None = None, *, versions: bool = False
    ) -> list[Document]:
        with self.snapshot():
            if (scope, collection) == (STORE, META):
                return self._about_store(keys)
            found = self._read("documents", scope, collection, keys)
            if not versions:
                return found
            earlier: dict[str, list[Document]] = {document.key: [] for document in found}
            for document in self._read("earlier_documents", scope, collection, keys):
                if document.key in earlier:  # else what stands now is damaged, and no earlier one may stand for it
                    earlier[document.key].append(document)
            return [version for document in found for version in (document, *earlier[document.key])]

    def _read(self, table: str, scope: Scope, collection: str, keys: Collection[str] | None) -> list[Document]:
        sql = f"SELECT collection, key, value, version, checksum FROM {table} WHERE scope = ? AND collection = ?"
        chosen = [] if keys is None else [to_json(list(keys))]
        sql += f"{f' AND key IN {IDS}' if chosen else ''} ORDER BY key, version DESC"
        rows = self._readable(DOCUMENTS, sql, self._key(scope), collection, *chosen)
        return list(intact(rows, lambda row: _document(row, scope)))

    def _about_store(self, keys: Collection[str] | None) -> list[Document]:
        """Return values about the whole store. The copy of one stands in for it where it is damaged.

        Without them nothing of the store can be read as it was meant: ``Corrupt`` is raised where the copy is too.
        """
        with noticed() as damaged:
            found = {document.key: document for document in self._read("documents", STORE, META, keys)}
        if not damaged and keys is not None and found.keys() >= set(keys):
            return list(found.values())
        with noticed() as copies_damaged:
            copies = {document.key: document for document in self._read("documents", STORE, COPIES, keys)}
        if damaged and copies_damaged:
            raise corrupt(next(iter(damaged)))
        both = copies | found
        return [both[key] for key in sorted(both)]

    def write_document(
        self, scope: Scope, collection: str, key: str, value: Any, *, expected: int | None = None, keep: int = 0
    ) -> int:
        with self.transaction():
            this = (self._writable_scope(scope), collection, key)
            version = int(self._db.one(f"SELECT version FROM documents WHERE {_THIS}", *this) or 0)
            if (
                expected is not None
                and expected != version
                and (expected or self._read("documents", scope, collection, [key]))
            ):
                raise Conflict(f"{collection}/{key} is at version {version}, not {expected}; read it again and retry")
            if keep > 0:
                columns = "scope, collection, key, version, value, checksum"
                self._db.run(f"INSERT INTO earlier_documents SELECT {columns} FROM documents WHERE {_THIS}", *this)
            if version > 0:
                oldest = version - max(keep, 0)
                self._db.run(f"DELETE FROM earlier_documents WHERE {_THIS} AND version <= ?", *this, oldest)
            for place in (META, COPIES) if (scope, collection) == (STORE, META) else (collection,):
                row = (place, key, to_json(value), version + 1)
                self._db.run(_WRITE, this[0], *row, checksum(scope, *row))
            return version + 1

    def erase_documents(self, scope: Scope, collection: str, keys: Collection[str]) -> int:
        with self.transaction():
            if (scope, collection) == (STORE, META):
                self.erase_documents(STORE, COPIES, keys)
            chosen = (self._key(scope), collection, to_json(list(keys)))
            for table in ("earlier_documents", "documents"):
                self._db.run(f"DELETE FROM {table} WHERE scope = ? AND collection = ? AND key IN {IDS}", *chosen)
            return self._db.get().changes()


def _document(row: Row, scope: Scope) -> Document:
    """Return the document of a row. Raises ``Corrupt``."""
    collection, key, value, version, stored = row
    if checksum(scope, *row[:-1]) != stored:
        raise corrupt(Damaged(DOCUMENTS, f"{collection}/{key}"))
    return Document(key, from_json(value), version)
