"""The documents of an SQLite file, and what it says of itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tidal_plugins.errors import Conflict
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Document
from tidal_plugins.storage.shelf import IDS, Shelf
from tidal_plugins.storage.sql import from_json, to_json

_THIS = "scope = ? AND collection = ? AND key = ?"


class DocumentShelf(Shelf):
    """Current documents as rows of one table, their earlier versions of another."""

    def read_document(self, scope: Scope, collection: str, key: str) -> Document | None:
        return next(iter(self.documents(scope, collection, [key])), None)

    def documents(self, scope: Scope, collection: str, keys: Collection[str] | None = None) -> list[Document]:
        chosen, bindings = ("", ()) if keys is None else (f" AND key IN {IDS}", (to_json(list(keys)),))
        sql = f"SELECT key, value, version FROM documents WHERE scope = ? AND collection = ?{chosen} ORDER BY key"
        with self.snapshot():
            return self._documents(sql, self._key(scope), collection, *bindings)

    def versions(self, scope: Scope, collection: str, key: str) -> list[Document]:
        sql = f"""
            SELECT key, value, version FROM documents WHERE {_THIS}
            UNION ALL SELECT key, value, version FROM earlier_documents WHERE {_THIS} ORDER BY version DESC
        """
        with self.snapshot():
            this = (self._key(scope), collection, key)
            return self._documents(sql, *this, *this)

    def write_document(
        self, scope: Scope, collection: str, key: str, value: Any, *, expected: int | None = None, keep: int = 0
    ) -> int:
        with self.transaction():
            this = (self._writable_scope(scope), collection, key)
            version = int(self._db.one(f"SELECT version FROM documents WHERE {_THIS}", *this) or 0)
            if expected is not None and expected != version:
                raise Conflict(f"{collection}/{key} is at version {version}, not {expected}; read it again and retry")
            if keep > 0:
                columns = "scope, collection, key, version, value"
                self._db.run(f"INSERT INTO earlier_documents SELECT {columns} FROM documents WHERE {_THIS}", *this)
            if version > 0:
                oldest = version - max(keep, 0)
                self._db.run(f"DELETE FROM earlier_documents WHERE {_THIS} AND version <= ?", *this, oldest)
            sql = "INSERT INTO documents VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = ?4, version = ?5"
            self._db.run(sql, *this, to_json(value), version + 1)
            return version + 1

    def erase_documents(self, scope: Scope, collection: str, keys: Collection[str]) -> int:
        with self.transaction():
            chosen = (self._key(scope), collection, to_json(list(keys)))
            for table in ("earlier_documents", "documents"):
                self._db.run(f"DELETE FROM {table} WHERE scope = ? AND collection = ? AND key IN {IDS}", *chosen)
            return self._db.get().changes()

    # the store itself

    def read_meta(self, name: str) -> Any:
        with self.snapshot():
            value = self._db.one("SELECT value FROM meta WHERE name = ?", name)
            return None if value is None else from_json(value)

    def write_meta(self, name: str, value: Any) -> None:
        with self.transaction():
            self._db.run("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = ?2", name, to_json(value))

    def _documents(self, sql: str, *bindings: Any) -> list[Document]:
        return [Document(key, from_json(value), version) for key, value, version in self._db.rows(sql, *bindings)]
