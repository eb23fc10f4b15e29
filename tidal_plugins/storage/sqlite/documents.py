"""Documents in an SQLite file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
_THESE = f"scope = ? AND collection = ? AND key IN {IDS}"
_VERSIONS = f"""
    SELECT key, version, EXISTS (
        SELECT 1 FROM earlier_documents e WHERE e.scope = d.scope AND e.collection = d.collection AND e.key = d.key
    ) FROM documents d WHERE {_THESE}
"""
_KEEP = f"""
    INSERT INTO earlier_documents SELECT scope, collection, key, version, value, checksum FROM documents WHERE {_THESE}
"""
_DROP = "DELETE FROM earlier_documents WHERE scope = ? AND collection = ? AND key = ? AND version <= ?"


class DocumentStore(SQLiteBase, Documents):
    """Stores current documents as rows of one table, their earlier versions of another."""

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
        with self.snapshot():
            if (scope, collection) == (STORE, META):
                return self._about_store(keys)[after : None if limit is None else after + limit]
            found = self._read("documents", scope, collection, keys, limit, after)
            if not versions:
                return found
            earlier: dict[str, list[Document]] = {document.key: [] for document in found}
            these = keys if limit is None and not after else list(earlier)
            for document in self._read("earlier_documents", scope, collection, these):
                if document.key in earlier:  # else what stands now is damaged, and no earlier one may stand for it
                    earlier[document.key].append(document)
            return [version for document in found for version in (document, *earlier[document.key])]

    def _read(
        self,
        table: str,
        scope: Scope,
        collection: str,
        keys: Collection[str] | None,
        limit: int | None = None,
        after: int = 0,
    ) -> list[Document]:
        sql = f"SELECT collection, key, value, version, checksum FROM {table} WHERE scope = ? AND collection = ?"
        chosen: list[str | int] = [] if keys is None else [to_json(list(keys))]
        sql += f"{'' if keys is None else f' AND key IN {IDS}'} ORDER BY key, version DESC"
        if limit is not None or after:
            sql += " LIMIT ? OFFSET ?"
            chosen += [-1 if limit is None else limit, after]
        read = self._readable if keys is None else self._kept
        rows = read(DOCUMENTS, sql, self._key(scope), collection, *chosen)
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
        with self.transaction():
            these = (number := self._writable_scope(scope), collection, to_json(list(texts)))
            rows = self._db.rows(_VERSIONS, *these)
            known = {key: int(version or 0) for key, version, _ in rows}
            for key in texts if expected is not None else ():
                version = known.get(key, 0)
                if expected != version and (expected or self._read("documents", scope, collection, [key])):
                    reason = f"is at version {version}, not {expected}; read it again and retry"
                    raise Conflict(f"{collection}/{key} {reason}")
            if keep > 0:
                self._db.run(_KEEP, *these)
            kept = [key for key, _, earlier in rows if known[key] and (earlier or keep > 0)]
            self._db.run_each(_DROP, [(number, collection, key, known[key] - max(keep, 0)) for key in kept])
            versions = {key: known.get(key, 0) + 1 for key in texts}
            places = (META, COPIES) if (scope, collection) == (STORE, META) else (collection,)
            new = [(place, key, text, versions[key]) for place in places for key, text in texts.items()]
            self._db.run_each(_WRITE, [(number, *row, checksum(scope, *row)) for row in new])
            return versions

    def erase_documents(self, scope: Scope, collection: str, keys: Collection[str]) -> int:
        with self.transaction():
            if (scope, collection) == (STORE, META):
                self.erase_documents(STORE, COPIES, keys)
            chosen = (self._key(scope), collection, to_json(list(keys)))
            for table in ("earlier_documents", "documents"):
                self._db.run(f"DELETE FROM {table} WHERE {_THESE}", *chosen)
            return self._db.get().changes()


def _document(row: Row, scope: Scope) -> Document:
    """Return the document of a row. Raises ``Corrupt``."""
    collection, key, value, version, stored = row
    if checksum(scope, *row[:-1]) != stored:
        raise corrupt(Damaged(DOCUMENTS, f"{collection}/{key}"))
    return Document(key, from_json(value), version)
