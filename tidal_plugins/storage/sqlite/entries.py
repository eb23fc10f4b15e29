"""Entries in an SQLite file, with their passages in the indexes of keywords and vectors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.columns.binary import HALF
from tidal_plugins.storage.damage import ENTRIES, SCOPES, note, noticed, passage_checksum
from tidal_plugins.storage.rows import Row, from_json, to_json
from tidal_plugins.storage.sql.dialect import condition
from tidal_plugins.storage.sql.entries import EntryStore, Figures, Indexed, Known, Place, Prepared
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.dialect import IDS
from tidal_plugins.storage.sqlite.schema import OF_SCOPES
from tidal_plugins.storage.sqlite.search import check_size, note_gone, store_vectors
from tidal_plugins.storage.sqlite.store import LAST_SEQ, ScopeRow, SQLiteBase, figures, mark, scope_of

_INSERT_PASSAGE = 'INSERT INTO passages (key, entry, start, "end", words, checksum) VALUES (?, ?, ?, ?, ?, ?)'
_LAST_PASSAGE = """
    SELECT max(coalesce(max(key), 0), coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'passages'), 0))
    FROM passages
"""
"""SQL for the last number that a passage had. Damage to SQLite's own note of it stops no write."""
_COUNT_IN = "UPDATE corpus SET passages = passages + ?, words = words + ?"
_COUNT_OUT = f"""
    UPDATE corpus SET (passages, words) = (
        SELECT corpus.passages - count(*) FILTER (WHERE p.words > 0), corpus.words - coalesce(sum(p.words), 0)
        FROM passages p WHERE p.entry IN {IDS}
    )
"""


def index(db: Connections, scope: int, entries: Sequence[Indexed]) -> None:
    """Add the passages of entries to the indexes of keywords and vectors."""
    found = [(one, passage, unit) for one in entries for passage, unit in zip(one.passages, one.units, strict=True)]
    if not found:
        return
    rows, units, keywords, total = list[Row](), dict[int, NDArray[np.float32]](), list[Row](), 0
    prefix = mark(scope)
    numbers = db.next_numbers("passages", _LAST_PASSAGE, len(found))
    for key, (entry, passage, unit) in zip(numbers, found, strict=True):
        words = passage.terms.split()
        place = (passage.start, passage.end, len(words))
        rows.append((key, entry.key, *place, passage_checksum(scope, key, entry.id, *place)))
        if unit is not None:
            units[key] = unit
        if words:
            keywords.append((key, prefix + f" {prefix}".join(words)))
            total += len(words)
    db.run_each(_INSERT_PASSAGE, rows)
    store_vectors(db, "vectors", [(key, scope) for key in units], list(units.values()))
    db.run_each("INSERT INTO keywords (rowid, terms) VALUES (?, ?)", keywords)
    if keywords:
        db.run(_COUNT_IN, len(keywords), total)


def unindex(db: Connections, scope: int, entries: Sequence[int]) -> None:
    """Remove the passages of entries from all indexes."""
    keys = to_json(list(entries))
    db.run(_COUNT_OUT, keys)
    note_gone(db, scope, entries)
    db.run(f"DELETE FROM keywords WHERE rowid IN (SELECT key FROM passages WHERE entry IN {IDS})", keys)
    db.run(f"DELETE FROM passages WHERE entry IN {IDS}", keys)


_LAST = """
    SELECT max(coalesce(max(key), 0), coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'entries'), 0))
    FROM entries
"""
_CHANGE = f"""
    UPDATE scopes SET changes = ifnull(changes, 0) + 1 WHERE key = ?
    RETURNING changes, ({_LAST}), (SELECT length(vector) FROM vectors LIMIT 1), (
        SELECT json_group_array(json_array(e.id, e.key, hex(e.checksum)))
        FROM json_each(?) j CROSS JOIN entries e WHERE e.id = j.value AND e.scope = ?
    ), ({_LAST_PASSAGE}), ({LAST_SEQ})
"""
_EXISTING = "SELECT e.id, e.key, hex(e.checksum) FROM $by_id"
_SCOPES = """
    SELECT EXISTS (SELECT 1 FROM entries e WHERE e.scope = s.key AND {}),
    s.key, s.path FROM scopes s WHERE s.path = ? OR s.path BETWEEN ? AND ?
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
            found = list[Scope]()
            for bears, key, stored in rows:
                row = ScopeRow(key, stored)
                if (scope := scope_of(self._db, row)) is None:
                    note(SCOPES, stored)
                elif bears or self._is_borne(row, where):
                    found.append(scope)
            return sorted(found)

    def _is_borne(self, row: ScopeRow, where: Where) -> bool:
        """Return whether a scope has entries under another number than the one in its row, which is damaged then."""
        filter_ = condition(self.dialect, row.number, where)
        sql = f"SELECT EXISTS (SELECT 1 FROM entries e WHERE {filter_.sql})"
        return row.number != row.key and bool(self._query(ENTRIES, (), sql, *filter_.parameters)[0][0])

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
        key, ids = self._writable_scope(scope) if new else self._key(scope), [item.id for item in prepared]
        asked = self.dialect.array(ids)
        if changed := self._db.rows(_CHANGE, key, asked, key):
            change, last, size, found, *others = changed[0]
            rows = from_json(found)
        else:  # a scope whose row is damaged and could not be mended has the change 1
            change, last, size, others = 1, self._db.one(_LAST), None, []
            rows = self._query(ENTRIES, scope, _EXISTING, asked, key)
        known = {id_: Known(number, bytes.fromhex(stored)) for id_, number, stored in rows}
        self._db.given(dict(zip(("passages", "log"), map(int, others), strict=False)))
        units = [unit for item in prepared for unit in item.units if unit is not None]
        if any(unit.size * HALF != size for unit in units):
            check_size(self._db, units)
        return Place(known, int(change), range(int(last) + 1, int(last) + 1 + len(ids)))

    def _add_passages(self, scope: Scope, entries: Sequence[Indexed], place: Place) -> None:
        index(self._db, self._key(scope), entries)

    def _drop_passages(self, scope: Scope, entries: Sequence[int]) -> None:
        unindex(self._db, self._key(scope), entries)

    def erase(self, scope: Scope, ids: Collection[str] | None) -> int:
        self._db.ahead.clear()  # a whole scope goes with its documents
        return super().erase(scope, ids)

    def _note_gone(self, scope: Scope, entries: Sequence[int]) -> None:
        note_gone(self._db, self._key(scope), entries)

    def _delete(self, scope: Scope, entries: Sequence[int]) -> None:
        self._later(scope, "DELETE FROM entries WHERE key IN ?numbers", self.dialect.array(entries))

    def _figures_of(self, scope: Scope) -> Figures:
        passages, words, erasures, changes = figures(self._db, self._key(scope))
        return Figures(passages, words, (erasures, changes), erasures or 0)
