"""Entries in an SQLite file: what only it has to do for them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.damage import ENTRIES, SCOPES, intact, note, noticed
from tidal_plugins.storage.rows import Row
from tidal_plugins.storage.sql.conditions import condition
from tidal_plugins.storage.sql.entries import EntryStore, Figures, Indexed, Known, Place, Prepared
from tidal_plugins.storage.sqlite.base import SQLiteBase, figures
from tidal_plugins.storage.sqlite.gone import note_gone
from tidal_plugins.storage.sqlite.passages import index, unindex
from tidal_plugins.storage.sqlite.schema import OF_SCOPES
from tidal_plugins.storage.sqlite.scopes import scope_of
from tidal_plugins.storage.sqlite.search import check_size
from tidal_plugins.storage.values import to_json

_LAST = """
    SELECT max(coalesce(max(key), 0), coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'entries'), 0))
    FROM entries
"""
_CHANGE = f"UPDATE scopes SET changes = ifnull(changes, 0) + 1 WHERE key = ? RETURNING changes, ({_LAST})"
_EXISTING = "SELECT e.id, e.key, e.checksum FROM $by_id"
_SCOPES = """
    SELECT EXISTS (SELECT 1 FROM entries e WHERE e.scope = s.key AND {}),
    s.key, s.path, s.checksum, s.key_checksum FROM scopes s WHERE s.path = ? OR s.path BETWEEN ? AND ?
"""


class SQLiteEntries(SQLiteBase, EntryStore):
    """Entries in a file. Triggers keep the volumes, and a row whose bytes are no text is noted by its id."""

    of_scopes = OF_SCOPES

    def scopes(self, prefix: Scope, where: Where) -> list[Scope]:
        path, filter_ = to_json(list(prefix)), condition(self.dialect, None, where)
        # In a longer path a comma follows and the quote of the next segment; in any path after the empty one, a quote.
        longer = path.removesuffix("]") + ("," if prefix else "")
        with self.snapshot():
            sql, between = _SCOPES.format(filter_.sql), (f'{longer}"', f"{longer}#")
            rows = self._query(SCOPES, prefix, sql, *filter_.parameters, path, *between)
            known = list(intact(rows, lambda row: (*row[:2], scope_of(*row[1:]))))
            return sorted(scope for found, key, scope in known if found or self._has_elsewhere(key, scope, where))

    def _has_elsewhere(self, stored: int, scope: Scope, where: Where) -> bool:
        """Return whether a scope has entries under another number than the one in its row, which is damaged then."""
        filter_ = condition(self.dialect, key := self._key(scope), where)
        sql = f"SELECT EXISTS (SELECT 1 FROM entries e WHERE {filter_.sql})"
        return key != stored and bool(self._query(ENTRIES, scope, sql, *filter_.parameters)[0][0])

    def _by_id(self, scope: Scope, sql: str, ids: Collection[str], *values: Any) -> list[Row]:
        with noticed() as damaged:
            rows = super()._by_id(scope, sql, ids, *values)
        if damaged:
            for id_ in set(ids) - {row[0] for row in rows}:
                with noticed() as alone:
                    super()._by_id(scope, sql, [id_], *values)
                if alone:
                    note(ENTRIES, id_)
        asked = frozenset(ids)
        for id_ in {row[0] for row in rows} - asked:  # the index that led there is damaged
            note(ENTRIES, id_)
        return [row for row in rows if row[0] in asked]

    def _place(self, scope: Scope, prepared: Sequence[Prepared], *, new: bool) -> Place:
        check_size(self._db, (unit for item in prepared for unit in item.units))
        key, ids = self._writable_scope(scope) if new else self._key(scope), [item.id for item in prepared]
        rows = self._query(ENTRIES, scope, _EXISTING, self.dialect.array(ids), key)
        known = {id_: Known(*row) for id_, *row in rows}
        # A scope whose row is damaged and could not be mended has the change 1.
        [(change, last)] = self._db.rows(_CHANGE, key) or [(1, self._db.one(_LAST))]
        return Place(known, int(change), range(int(last) + 1, int(last) + 1 + len(ids)))

    def _add_passages(self, scope: Scope, entries: Sequence[Indexed], place: Place) -> None:
        index(self._db, self._key(scope), entries)

    def _drop_passages(self, scope: Scope, entries: Sequence[int]) -> None:
        unindex(self._db, self._key(scope), entries)

    def _note_gone(self, scope: Scope, entries: Sequence[int]) -> None:
        note_gone(self._db, self._key(scope), entries)

    def _delete(self, scope: Scope, entries: Sequence[int]) -> None:
        self._later(scope, "DELETE FROM entries WHERE key IN ?numbers", self.dialect.array(entries))

    def _figures_of(self, scope: Scope) -> Figures:
        passages, words, erasures, changes = figures(self._db, self._key(scope))
        return Figures(passages, words, (erasures, changes), erasures or 0)
