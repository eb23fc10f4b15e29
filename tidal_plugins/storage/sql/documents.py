"""Documents in an SQL store: current ones are rows of one table, their earlier versions of another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tidal_plugins.errors import Conflict
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import META, STORE, Document, Documents
from tidal_plugins.storage.checksums import checksum
from tidal_plugins.storage.damage import A_PAGE, DOCUMENTS, Damaged, corrupt, intact, noticed
from tidal_plugins.storage.rows import Row
from tidal_plugins.storage.sql.dialect import BYTES, MOST, NUMBER, TEXT, Insert, SQLStore
from tidal_plugins.storage.values import from_json, to_json

COPIES = "copies of meta"
"""The collection of copies of the values about the whole store, which every reading of it depends on."""

CURRENT, EARLIER = "documents", "earlier_documents"

THESE = "scope = ? AND collection = ? AND key IN ?texts"
_SELECT = (
    "SELECT collection, key, value, version, checksum FROM @{} WHERE {} ORDER BY key, version DESC LIMIT ? OFFSET ?"
)
OF_KEYS = {table: _SELECT.format(table, THESE) for table in (CURRENT, EARLIER)}
_OF_ALL = {table: _SELECT.format(table, "scope = ? AND collection = ?") for table in (CURRENT, EARLIER)}
_KEEP = f"""
    INSERT INTO @earlier_documents (scope, collection, key, version, value, checksum)
    SELECT scope, collection, key, version, value, checksum FROM @documents WHERE {THESE}
"""
_DROP = """
    DELETE FROM @earlier_documents AS e WHERE e.scope = ? AND e.collection = ? AND e.key IN ?texts AND e.version <= (
        SELECT d.version - ? FROM @documents AS d
        WHERE d.scope = e.scope AND d.collection = e.collection AND d.key = e.key
    )
"""
_WRITE = Insert(
    CURRENT,
    ("scope", "collection"),
    {"key": TEXT, "value": TEXT, "version": NUMBER, "checksum": BYTES},
    key=("scope", "collection", "key"),
)
_ERASE = {table: f"DELETE FROM @{table} WHERE {THESE}" for table in (CURRENT, EARLIER)}


class DocumentStore(SQLStore, Documents):
    """Stores documents as rows."""

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
        with self.snapshot() if versions else self.question():
            if (scope, collection) == (STORE, META):
                return self._about_store(keys)[after : None if limit is None else after + limit]
            found = self._read(CURRENT, scope, collection, keys, limit, after)
            if not versions:
                return found
            earlier: dict[str, list[Document]] = {document.key: [] for document in found}
            these = keys if limit is None and not after else list(earlier)
            for document in self._read(EARLIER, scope, collection, these):
                if document.key in earlier:  # else what stands now is damaged, and no earlier one may stand for it
                    earlier[document.key].append(document)
            return [version for document in found for version in (document, *earlier[document.key])]

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
        self.dialect.check((collection, *texts, *texts.values()))
        with self.transaction():
            if not texts:
                return {}
            known, earlier = self._versions(scope, collection, list(texts))
            for key in texts if expected is not None else ():
                version = known.get(key, 0)
                if expected != version and (expected or self._read(CURRENT, scope, collection, [key])):
                    reason = f"is at version {version}, not {expected}; read it again and retry"
                    raise Conflict(f"{collection}/{key} {reason}")
            number, place, keys = self._writable_scope(scope), self._written_at(scope), self.dialect.array(list(texts))
            if keep > 0:
                self._later(place, _KEEP, number, collection, keys)
            if earlier or (known and keep > 0):
                self._later(place, _DROP, number, collection, keys, max(keep, 0))
            versions = {key: known.get(key, 0) + 1 for key in texts}
            for copy in (collection, COPIES) if (scope, collection) == (STORE, META) else (collection,):
                rows = [
                    (key, text, versions[key], checksum(scope, copy, key, text, versions[key]))
                    for key, text in texts.items()
                ]
                self._insert(place, _WRITE, (number, copy), rows)
            self._now_at(scope, collection, versions)
            return versions

    def erase_documents(self, scope: Scope, collection: str, keys: Collection[str]) -> int:
        with self.transaction():
            self._hold(scope, collection, keys)
            self._now_at(scope, collection, dict.fromkeys(keys, 0))
            number, place, these = self._key(scope), self._written_at(scope), self.dialect.array(list(keys))
            if (scope, collection) == (STORE, META):
                self._later(place, _ERASE[CURRENT], number, COPIES, these)
            self._later(place, _ERASE[EARLIER], number, collection, these)
            return self._run(place, _ERASE[CURRENT], number, collection, these)

    def _about_store(self, keys: Collection[str] | None) -> list[Document]:
        """Return values about the whole store. The copy of one stands in for it where it is damaged.

        Without them nothing of the store can be read as it was meant: ``Corrupt`` is raised where the copy is too.
        """
        with noticed() as damaged:
            found = {document.key: document for document in self._read(CURRENT, STORE, META, keys)}
        if damaged.keys() <= {A_PAGE} and keys is not None and found.keys() >= set(keys):
            return [found[key] for key in sorted(found)]
        with noticed() as copies_damaged:
            copies = {document.key: document for document in self._read(CURRENT, STORE, COPIES, keys)}
        both = copies | found
        lost = [row for row in damaged if row.name.partition("/")[2] not in both]
        if lost and copies_damaged:
            raise corrupt(lost[0])
        return [both[key] for key in sorted(both)]

    def _read(
        self,
        table: str,
        scope: Scope,
        collection: str,
        keys: Collection[str] | None,
        limit: int | None = None,
        after: int = 0,
    ) -> list[Document]:
        bounds, number, array = (MOST if limit is None else limit, after), self._key(scope), self.dialect.array
        if keys is None:
            rows = self._query(DOCUMENTS, scope, _OF_ALL[table], number, collection, *bounds)
        else:
            page = limit is not None or bool(after)
            rows = self._of_keys(table, scope, collection, keys, page, (number, collection, array(list(keys)), *bounds))
        return list(intact(rows, lambda row: _document(row, scope)))

    def _of_keys(
        self, table: str, scope: Scope, collection: str, keys: Collection[str], page: bool, values: Row
    ) -> list[Row]:
        """Return the rows of documents by key, all of them or a page. Nobody else writes them in the transaction."""
        return self._kept(DOCUMENTS, scope, OF_KEYS[table], *values)

    @abstractmethod
    def _versions(self, scope: Scope, collection: str, keys: Sequence[str]) -> tuple[dict[str, int], bool]:
        """Return the versions of the documents that are there, and whether any may have earlier ones that are kept.

        Nobody else changes them before the transaction ends.
        """

    def _hold(self, scope: Scope, collection: str, keys: Collection[str]) -> None:
        """Let nobody else read documents that are to be written, or write them, before the transaction ends."""

    def _now_at(self, scope: Scope, collection: str, versions: Mapping[str, int]) -> None:
        """Take note of the versions that the transaction has written."""

    def _written_at(self, scope: Scope) -> Scope | str:
        """Return where statements run that write documents of a scope."""
        return scope


def _document(row: Row, scope: Scope) -> Document:
    """Return the document of a row. Raises ``Corrupt``."""
    collection, key, value, version, stored = row
    if checksum(scope, *row[:-1]) != stored:
        raise corrupt(Damaged(DOCUMENTS, f"{collection}/{key}"))
    return Document(key, from_json(value), version)
