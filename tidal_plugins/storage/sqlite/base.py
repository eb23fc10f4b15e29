"""The base of the parts of the SQLite engine: statements on its connections, and scopes by their keys."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.damage import SCOPES, VOLUMES, note, noticed
from tidal_plugins.storage.rows import Row
from tidal_plugins.storage.sql.dialect import Insert, SQLStore, Update
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.dialect import SQLITE
from tidal_plugins.storage.sqlite.scopes import Scopes, add_row, find_row
from tidal_plugins.storage.values import to_json

NO_SCOPE = -1
"""Stands for a scope that nothing was written to yet: it matches no row."""

_FIGURES = """
    SELECT CAST(ifnull(c.passages, 0) AS INTEGER), CAST(ifnull(c.words, 0) AS INTEGER), s.erasures, s.changes
    FROM (SELECT 1) LEFT JOIN corpus c LEFT JOIN scopes s ON s.key = ? LIMIT 1
"""  # damage may have taken the row of the corpus away

logger = logging.getLogger(__name__)


class SQLiteBase(SQLStore):
    """Base of a part of the engine."""

    dialect = SQLITE
    _db: Connections
    _scopes: Scopes

    def _key(self, scope: Scope) -> int:
        known = self._scopes.keys.get(scope)
        if known is not None:
            return known
        row = find_row(self._db, to_json(list(scope)))
        if row is None:
            return NO_SCOPE
        if row.key is None:
            note(SCOPES, row.path)  # the rows tell whose they are
            return row.stored
        if not row.intact:
            logger.error("a row of scopes is damaged: its scope is read by its checksum, and its next write mends it")
            if self._db.writing:
                row.mend(self._db)
                self._scopes.created.add(scope)
        elif not self._db.writing or scope not in self._scopes.created:  # else it may yet be rolled back
            self._scopes.keep(scope, row.key)
        return row.key

    def _writable_scope(self, scope: Scope) -> int:
        key = self._key(scope)
        if key == NO_SCOPE:
            self._scopes.created.add(scope)
            add_row(self._db, to_json(list(scope)))
            key = self._key(scope)
        return key

    def _readable(self, table: str, sql: str, *bindings: Any) -> list[Any]:
        return self._db.all_readable(table, sql, *bindings)

    def _query(self, table: str, place: Scope | str, sql: str, *values: Any) -> list[Any]:
        return self._db.all_readable(table, SQLITE.sql(sql), *values)

    def _kept(self, table: str, place: Scope | str, sql: str, *values: Any) -> list[Any]:
        kept = self._db.kept()
        if kept is not None and (known := kept.get((sql, values))) is not None:
            return list(known)
        with noticed() as damaged:
            rows = self._query(table, place, sql, *values)
        kept = self._db.kept()  # the first reading of a snapshot tells which state it sees
        if kept is not None and not damaged:
            kept[sql, values] = rows
        return rows

    def _run(self, place: Scope | str, sql: str, *values: Any) -> int:
        self._db.run(SQLITE.sql(sql), *values)
        return self._db.get().changes()

    def _later(self, place: Scope | str, sql: str, *values: Any) -> None:
        self._db.run(SQLITE.sql(sql), *values)

    def _insert(self, place: Scope | str, insert: Insert, shared: Row, rows: Iterable[Row]) -> None:
        self._db.run_each(SQLITE.insert(insert), [(*shared, *row) for row in rows])

    def _update(self, scope: Scope, update: Update, shared: Row, rows: Iterable[Row]) -> None:
        key = self._key(scope)
        self._db.run_each(SQLITE.update(update), [(*shared, *row, key) for row in rows])


def figures(db: Connections, scope: int) -> tuple[int, int, int | None, int | None]:
    """Return the numbers of passages and words of the whole store, and those of erasures and changes of a scope."""
    kept = db.kept()
    row = None if kept is None else kept.get((_FIGURES, scope))
    if row is None:
        with noticed() as damaged:
            row = db.all_readable(VOLUMES, _FIGURES, scope)[0]
        kept = db.kept()
        if kept is not None and not damaged:
            kept[_FIGURES, scope] = row
    found: tuple[int, int, int | None, int | None] = row
    return found


def mark(scope: int) -> str:
    """Return the beginning of every word of a scope in the keyword index."""
    return f"s{scope}x"
