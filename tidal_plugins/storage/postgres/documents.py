"""Documents in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tidal_plugins.errors import Conflict
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import META, STORE, Document, Documents
from tidal_plugins.storage.checksums import checksum
from tidal_plugins.storage.damage import DOCUMENTS, Damaged, corrupt, intact, note, noticed
from tidal_plugins.storage.postgres.base import PostgresBase
from tidal_plugins.storage.postgres.conditions import TEXTS
from tidal_plugins.storage.postgres.locks import reading, writing
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.postgres.work import ANY, Statement
from tidal_plugins.storage.rows import Row, check_storable
from tidal_plugins.storage.values import from_json, to_json

COPIES = "copies of meta"
"""Collection of the copies of the values about the whole store."""

_THESE = f"scope = %s AND collection = %s AND key = {TEXTS}"
_VERSIONS = f"SELECT key, version FROM tidal_documents WHERE {_THESE}"
_KEEP = f"""
    INSERT INTO tidal_earlier_documents (scope, collection, key, version, value, checksum)
    SELECT scope, collection, key, version, value, checksum FROM tidal_documents WHERE {_THESE}
"""
_DROP = """
    DELETE FROM tidal_earlier_documents d USING unnest(%s::text[], %s::bigint[]) u (key, version)
    WHERE d.scope = %s AND d.collection = %s AND d.key = u.key AND d.version <= u.version
"""
_WRITE = """
    INSERT INTO tidal_documents (scope, collection, key, value, version, checksum)
    SELECT %s, %s, * FROM unnest(%s::text[], %s::text[], %s::bigint[], %b::bytea[])
    ON CONFLICT (scope, collection, key)
    DO UPDATE SET value = excluded.value, version = excluded.version, checksum = excluded.checksum
"""


class DocumentStore(PostgresBase, Documents):
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
        with self.snapshot() if versions else self.question():
            if (scope, collection) == (STORE, META):
                return self._about_store(keys)[after : None if limit is None else after + limit]
            found = self._read("tidal_documents", scope, (collection,), keys, limit, after)
            if not versions:
                return found
            earlier: dict[str, list[Document]] = {document.key: [] for document in found}
            these = keys if limit is None and not after else list(earlier)
            for document in self._read("tidal_earlier_documents", scope, (collection,), these):
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
        check_storable((collection, *texts, *texts.values()))
        with self.transaction():
            if not texts:
                return {}
            these, place = [number_of(scope), collection, list(texts)], ANY if scope == STORE else scope
            known = self._versions(scope, collection, list(texts))
            for key in texts if expected is not None else ():
                if expected != (version := known.get(key, 0)):
                    reason = f"is at version {version}, not {expected}; read it again and retry"
                    raise Conflict(f"{collection}/{key} {reason}")
            versions = {key: known.get(key, 0) + 1 for key in texts}
            statements: list[Statement] = [(_KEEP, these)] if keep > 0 else []
            if known:
                last = [version - max(keep, 0) for version in known.values()]
                statements.append((_DROP, [list(known), last, *these[:2]]))
            sums = [checksum(scope, collection, key, text, versions[key]) for key, text in texts.items()]
            columns = (list(texts), list(texts.values()), list(versions.values()))
            statements.append((_WRITE, [*these[:2], *columns, sums]))
            if (scope, collection) == (STORE, META):
                sums = [checksum(scope, COPIES, key, text, versions[key]) for key, text in texts.items()]
                statements.append((_WRITE, [these[0], COPIES, *columns, sums]))
            self._db.later(place, *statements)
            self._note_versions(scope, collection, versions)
            return versions

    def erase_documents(self, scope: Scope, collection: str, keys: Collection[str]) -> int:
        chosen = [number_of(scope), collection, list(keys)]
        tables = ("tidal_earlier_documents", "tidal_documents")
        statements = [(f"DELETE FROM {table} WHERE {_THESE}", chosen) for table in tables]
        if (scope, collection) == (STORE, META):
            statements.insert(0, (statements[1][0], [chosen[0], COPIES, chosen[2]]))
        with self.transaction():
            self._note_versions(scope, collection, dict.fromkeys(keys, 0))
            if scope == STORE:
                return self._db.run(ANY, *writing(self._db, collection, keys), *statements)
            return self._db.run(scope, *statements)

    def _about_store(self, keys: Collection[str] | None) -> list[Document]:
        """Return values about the whole store. The copy of one stands in for it where it is damaged.

        Without them nothing of the store can be read as it was meant: ``Corrupt`` is raised where the copy is too.
        """
        found: dict[str, Document] = {}
        rows = self._rows("tidal_documents", STORE, (COPIES, META), keys)
        with noticed() as damaged:
            for place in (COPIES, META):
                of_place = [row for row in rows if row[0] == place]
                found |= {one.key: one for one in intact(of_place, lambda row: _document(row, STORE))}
        lost = [row for row in damaged if row.name.partition("/")[2] not in found]
        if lost:
            raise corrupt(lost[0])
        for row in damaged:
            note(*row)
        return [found[key] for key in sorted(found)]

    def _versions(self, scope: Scope, collection: str, keys: Sequence[str]) -> dict[str, int]:
        """Return the versions of the documents that are there, which nobody else changes any more."""
        known = self._db.current.versions
        if scope == STORE or any((scope, collection, key) not in known for key in keys):
            locks = writing(self._db, collection, keys) if scope == STORE else []
            place = ANY if scope == STORE else scope
            return dict(self._db.each(place, *locks, (_VERSIONS, [number_of(scope), collection, list(keys)]))[-1])
        found = {key: known[scope, collection, key] for key in keys}
        return {key: version for key, version in found.items() if version}

    def _note_versions(self, scope: Scope, collection: str, versions: Mapping[str, int]) -> None:
        self._db.current.versions.update({(scope, collection, key): versions[key] for key in versions})

    def _read(
        self,
        table: str,
        scope: Scope,
        collections: Sequence[str],
        keys: Collection[str] | None,
        limit: int | None = None,
        after: int = 0,
    ) -> list[Document]:
        rows = self._rows(table, scope, collections, keys, limit, after)
        return list(intact(rows, lambda row: _document(row, scope)))

    def _rows(
        self,
        table: str,
        scope: Scope,
        collections: Sequence[str],
        keys: Collection[str] | None,
        limit: int | None = None,
        after: int = 0,
    ) -> list[Row]:
        one = len(collections) == 1  # of one collection the index gives the order, too
        sql = f"SELECT collection, key, value, version, checksum FROM {table} WHERE scope = %s"
        sql += f" AND collection = {'%s' if one else TEXTS}"
        given: list[Any] = [number_of(scope), collections[0] if one else list(collections)]
        given += [] if keys is None else [list(keys)]
        sql += f"{'' if keys is None else f' AND key = {TEXTS}'} ORDER BY key, version DESC"
        if limit is not None or after:
            sql += " LIMIT %s OFFSET %s"
            given += [limit, after]
        if keys is None:
            return self._db.rows(scope, sql, *given)
        if scope == STORE and self._db.writing:
            rows: list[Row] = self._db.each(ANY, *reading(self._db, collections[-1], keys), (sql, given))[-1]
        else:
            rows = self._db.kept(scope, sql, *given)
        if self._db.writing and table == "tidal_documents":
            absent = dict.fromkeys(keys if limit is None and not after else (), 0)  # a page says nothing of the others
            found = {row[1]: row[3] for row in rows if row[0] == collections[-1]}
            self._note_versions(scope, collections[-1], {**absent, **found})
        return rows


def _document(row: Row, scope: Scope) -> Document:
    """Return the document of a row. Raises ``Corrupt``."""
    collection, key, value, version, stored = row
    if checksum(scope, *row[:-1]) != stored:
        raise corrupt(Damaged(DOCUMENTS, f"{collection}/{key}"))
    return Document(key, from_json(value), version)
