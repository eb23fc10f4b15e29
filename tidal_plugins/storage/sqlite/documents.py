"""Documents in an SQLite file."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tidal_plugins.errors import Conflict
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Document, Documents
from tidal_plugins.storage.sqlite.base import SQLiteBase
from tidal_plugins.storage.sqlite.conditions import IDS
from tidal_plugins.storage.values import from_json, to_json

_THIS = "scope = ? AND collection = ? AND key = ?"


class DocumentStore(SQLiteBase, Documents):
    """Stores current documents as rows of one table, their earlier versions of another."""

    def documents(
        self, scope: Scope, collection: str, keys: Collection[str] | None = None, *, versions: bool = False
    ) -> list[Document]:
        where, bindings = "scope = ?1 AND collection = ?2", list[str]()
        if keys is not None:
            where, bindings = f"{where} AND key IN (SELECT value FROM json_each(?3))", [to_json(list(keys))]
        earlier = f"UNION ALL SELECT key, value, version FROM earlier_documents WHERE {where}" if versions else ""
        order = "key, version DESC" if versions else "key"
        sql = f"SELECT key, value, version FROM documents WHERE {where} {earlier} ORDER BY {order}"
        with self.snapshot():
            rows = self._db.rows(sql, self._key(scope), collection, *bindings)
            return [Document(key, from_json(value), version) for key, value, version in rows]

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
