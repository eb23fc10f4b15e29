"""Entries in an SQLite file, with their passages in its indexes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace as replaced
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tidal_plugins.errors import InvalidScope, NotFound
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import (
    HEAD,
    TAIL,
    Adjacent,
    Corpus,
    Entries,
    EntrySummary,
    Record,
    Statistics,
    Volume,
    Where,
    WhereLinks,
)
from tidal_plugins.storage.damage import ENTRIES, SCOPES, VOLUMES, intact, note, noticed
from tidal_plugins.storage.rows import COLUMNS, FIXED, SUMMARY, TIER, Row, from_row, to_row, to_summary
from tidal_plugins.storage.sqlite.base import SQLiteBase, figures
from tidal_plugins.storage.sqlite.conditions import EACH_ID, IDS, condition, link_condition
from tidal_plugins.storage.sqlite.gone import note_gone
from tidal_plugins.storage.sqlite.passages import Indexed, index, unindex
from tidal_plugins.storage.sqlite.schema import OF_SCOPES
from tidal_plugins.storage.sqlite.scopes import MAX_SCOPES, scope_of
from tidal_plugins.storage.sqlite.search import check_size
from tidal_plugins.storage.sqlite.translation import translated
from tidal_plugins.storage.values import from_json, to_json, unit_vector

if TYPE_CHECKING:
    from tidal_plugins.storage.sqlite.passages import Unit


T = TypeVar("T")

_VALUES = f"(scope, changed, {', '.join(COLUMNS)}) VALUES (?, ?{', ?' * len(COLUMNS)})"
_INSERT = f"INSERT INTO entries {_VALUES} ON CONFLICT (scope, id) DO NOTHING RETURNING id, key"
_SELECT = f"SELECT {', '.join('e.' + column for column in COLUMNS)}"
_SELECT_SUMMARY = f"""
    SELECT {", ".join("e." + column for column in SUMMARY)},
        (SELECT count(*) FROM passages p WHERE p.entry = e.key),
        (SELECT total(p.words) FROM passages p WHERE p.entry = e.key),
        substr(e.text, 1, {HEAD}), substr(e.text, -{TAIL})
    FROM {EACH_ID}
"""
_SET = f"UPDATE entries SET changed = ?, {', '.join(column + ' = ?' for column in COLUMNS)} WHERE key = ?"
_OF_TIER = (*TIER, "summary_checksum")
_SET_TIER = f"""
    UPDATE entries SET changed = ?, {", ".join(column + " = ?" for column in _OF_TIER)} WHERE key = ? AND checksum = ?
    RETURNING key
"""
_CHANGE = "UPDATE scopes SET changes = ifnull(changes, 0) + 1 WHERE key = ? RETURNING changes"
_ALL = "SELECT id, key FROM entries WHERE scope = ?"
_SPEAKERS = """
    WITH RECURSIVE names (name) AS (
        SELECT min(speaker) FROM entries WHERE scope = ?1 AND speaker IS NOT NULL
        UNION ALL
        SELECT (SELECT min(speaker) FROM entries WHERE scope = ?1 AND speaker > names.name)
        FROM names WHERE names.name IS NOT NULL
    ) SELECT name FROM names WHERE name IS NOT NULL LIMIT 1000
"""
_VOLUMES = """
    SELECT kind, channel, CAST(entries AS INTEGER), CAST(ifnull(characters, 0) AS INTEGER) FROM volumes
    WHERE scope = ? AND entries > 0
"""


class _Prepared(NamedTuple):
    """A record that was checked, with its row and the unit vectors of its passages."""

    record: Record
    row: Row
    units: Sequence[Unit]


class EntryStore(SQLiteBase, Entries):
    """Stores entries as rows, and their passages in the indexes of keywords and vectors."""

    _figures: dict[int, tuple[tuple[int | None, int | None], Statistics]]
    """The figures of scopes as they were read last, with the numbers of erasures and changes at that time."""

    def put(self, scope: Scope, records: Iterable[Record], *, replace: bool = False) -> list[str]:
        prepared = [_Prepared(record, to_row(record.entry), _units(scope, record)) for record in records]
        with self.transaction(), translated(self._db.path):
            check_size(self._db, (unit for item in prepared for unit in item.units))
            return self._replaced(scope, prepared) if replace else self._added(scope, prepared)

    def get(self, scope: Scope, ids: Collection[str]) -> dict[str, Entry]:
        with self.snapshot():
            found = self._by_id(scope, f"{_SELECT} FROM {EACH_ID}", ids, lambda row: from_row(row, scope))
            return {entry.id: entry for entry in found}

    def summaries(self, scope: Scope, ids: Collection[str], where: Where | None = None) -> dict[str, EntrySummary]:
        with self.snapshot():
            filter_ = condition(None, where or Where())
            sql = f"{_SELECT_SUMMARY} WHERE {filter_.sql}"
            found = self._by_id(scope, sql, ids, to_summary, *filter_.parameters)
            return {summary.id: summary for summary in found}

    def adjacent(self, scope: Scope, ids: Collection[str], reach: int, where: Where) -> list[Adjacent]:
        with self.snapshot():
            key = self._key(scope)
            filter_ = condition(key, where)
            sides = ", ".join(_side(filter_.sql, *order) for order in (("<", "DESC"), (">", "ASC")))
            sql = f"""
                SELECT a.id, {sides} FROM json_each(?) j CROSS JOIN entries a ON a.scope = ? AND a.id = j.value
                WHERE a.thread IS NOT NULL
            """
            side = (*filter_.parameters, reach)
            rows = self._readable(ENTRIES, sql, *side, *side, to_json(list(ids)), key)
        return [
            Adjacent(id_, other, sign * place)
            for id_, before, after in rows
            for sign, others in ((-1, before), (1, after))
            for place, other in enumerate(from_json(others), 1)
        ]

    def find(
        self, scope: Scope, where: Where, *, limit: int | None = None, after: int = 0, newest_first: bool = False
    ) -> list[Entry]:
        order = "DESC" if newest_first else "ASC"
        with self.snapshot():
            filter_ = condition(self._key(scope), where)
            sequence = f"ORDER BY e.occurred_at {order}, e.key {order} LIMIT ? OFFSET ?"
            sql = f"{_SELECT} FROM entries e WHERE {filter_.sql} {sequence}"
            bindings = (*filter_.parameters, -1 if limit is None else limit, after)
            return list(intact(self._readable(ENTRIES, sql, *bindings), lambda row: from_row(row, scope)))

    def scopes(self, prefix: Scope, where: Where) -> list[Scope]:
        path, filter_ = to_json(list(prefix)), condition(None, where)
        sql = f"""
            SELECT EXISTS (SELECT 1 FROM entries e WHERE e.scope = s.key AND {filter_.sql}),
            s.key, s.path, s.checksum, s.key_checksum FROM scopes s WHERE s.path = ? OR s.path BETWEEN ? AND ?
        """
        # In a longer path a comma follows and the quote of the next segment; in any path after the empty one, a quote.
        longer = path.removesuffix("]") + ("," if prefix else "")
        with self.snapshot():
            rows = self._readable(SCOPES, sql, *filter_.parameters, path, f'{longer}"', f"{longer}#")
            known = list(intact(rows, lambda row: (*row[:2], scope_of(*row[1:]))))
            return sorted(scope for found, key, scope in known if found or self._has_elsewhere(key, scope, where))

    def erase(self, scope: Scope, ids: Collection[str] | None) -> int:
        with self.transaction():
            key = self._key(scope)
            found = dict(self._db.rows(_ALL, key)) if ids is None else self._keys(key, ids)
            entries = list(found.values())
            if found:
                unindex(self._db, key, entries)
                self._db.run(f"DELETE FROM entries WHERE key IN {IDS}", to_json(entries))
                ends = link_condition(key, WhereLinks(ends=found))
                self._db.run(f"DELETE FROM links AS l WHERE {ends.sql}", *ends.parameters)
                self._db.run(f"DELETE FROM log WHERE scope = ? AND key IN {IDS}", key, to_json(list(found)))
            for table in OF_SCOPES if ids is None else ():
                self._db.run(f"DELETE FROM {table} WHERE scope = ?", key)
            return len(found)

    def statistics(self, scope: Scope) -> Statistics:
        with self.snapshot():
            key = self._key(scope)
            passages, words, erasures, changes = figures(self._db, key)
            corpus, known = Corpus(passages, words / passages if passages else 0.0), self._figures.get(key)
            if known is not None and known[0] == (erasures, changes) and not self._db.writing:
                return replaced(known[1], corpus=corpus)
            with noticed() as damaged:
                found_speakers = self._readable(ENTRIES, _SPEAKERS, key)
                speakers = [name for (name,) in found_speakers if isinstance(name, str)]  # else it is damaged
                volumes = self._readable(VOLUMES, _VOLUMES, key)
            by_sort = {(kind, channel): Volume(*volume) for kind, channel, *volume in volumes}
            found = Statistics(corpus, speakers, by_sort, erasures or 0)
            if not damaged and not self._db.writing:
                if len(self._figures) >= MAX_SCOPES:
                    self._figures.clear()
                self._figures[key] = (erasures, changes), found
            return found

    def _has_elsewhere(self, stored: int, scope: Scope, where: Where) -> bool:
        """Return whether a scope has entries under another number than the one in its row, which is damaged then."""
        filter_ = condition(key := self._key(scope), where)
        sql = f"SELECT EXISTS (SELECT 1 FROM entries e WHERE {filter_.sql})"
        return key != stored and bool(self._db.one(sql, *filter_.parameters))

    def _by_id(
        self, scope: Scope, sql: str, ids: Collection[str], read: Callable[[Row], T], *parameters: object
    ) -> list[T]:
        """Return what ``read`` makes of rows by id. A damaged row whose bytes are no text is noted by its id too."""
        key = self._key(scope)
        with noticed() as damaged:
            rows = self._readable(ENTRIES, sql, to_json(list(ids)), key, *parameters)
        if damaged:
            for id_ in set(ids) - {row[0] for row in rows}:
                with noticed() as alone:
                    self._readable(ENTRIES, sql, to_json([id_]), key, *parameters)
                if alone:
                    note(ENTRIES, id_)
        asked = frozenset(ids)
        for id_ in {row[0] for row in rows} - asked:  # the index that led there is damaged
            note(ENTRIES, id_)
        return list(intact((row for row in rows if row[0] in asked), read))

    def _added(self, scope: Scope, prepared: Sequence[_Prepared]) -> list[str]:
        key = self._writable_scope(scope)
        change = self._change(key)
        stored = dict(self._db.rows_of_each(_INSERT, [(key, change, *item.row) for item in prepared]))
        first = {item.record.entry.id: item for item in reversed(prepared)}
        index(self._db, key, [_indexed(first[id_], entry) for id_, entry in stored.items()])
        self._stored(key, len(stored))
        return list(stored)

    def _replaced(self, scope: Scope, prepared: Sequence[_Prepared]) -> list[str]:
        ids = [item.record.entry.id for item in prepared]
        scope_key, keys = self._existing(scope, ids)
        keyed = list(zip(prepared, keys, strict=True))
        anew = [(item, key) for item, key in keyed if item.record.passages is not None]
        change = self._change(scope_key)
        if anew:
            unindex(self._db, scope_key, [key for _, key in anew])
            self._db.run_each(_SET, [(change, *item.row, key) for item, key in anew])
            index(self._db, scope_key, [_indexed(item, key) for item, key in anew])
        self._set_rows(scope_key, change, [(item.row, key) for item, key in keyed if item.record.passages is None])
        return ids

    def _set_rows(self, scope: int, change: int, rows: Sequence[tuple[Row, int]]) -> None:
        """Change rows and no index. Usually only the tier is new, which an equal checksum shows."""
        same = self._db.rows_of_each(
            _SET_TIER, [(change, *row[len(FIXED) + 1 :], key, row[len(FIXED)]) for row, key in rows]
        )
        left = {key for _, key in rows}.difference(key for (key,) in same)
        if left:
            self._db.run_each(_SET, [(change, *row, key) for row, key in rows if key in left])
            note_gone(self._db, scope, sorted(left))

    def _change(self, scope: int) -> int:
        """Return the number of a new change; 1 for a scope whose row is damaged and could not be mended."""
        return int(self._db.one(_CHANGE, scope) or 1)

    def _keys(self, scope: int, ids: Collection[str]) -> dict[str, int]:
        return dict(self._readable(ENTRIES, f"SELECT e.id, e.key FROM {EACH_ID}", to_json(list(ids)), scope))

    def _existing(self, scope: Scope, ids: Sequence[str]) -> tuple[int, list[int]]:
        """Return the keys of a scope and of entries that must be there."""
        key = self._key(scope)
        keys = self._keys(key, ids)
        if missing := [id_ for id_ in ids if id_ not in keys]:
            raise NotFound(f"no entry {shown(missing[0])} in scope {shown_scope(scope)}")
        return key, [keys[id_] for id_ in ids]


def _indexed(item: _Prepared, key: int) -> Indexed:
    return Indexed(item.record.entry.id, key, item.record.passages or (), item.units)


def _units(scope: Scope, record: Record) -> list[Unit]:
    if record.entry.scope != scope:
        raise InvalidScope(
            f"entry {shown(record.entry.id)} is of scope {shown(record.entry.scope)}, not {shown(scope)}"
        )
    return [None if passage.vector is None else unit_vector(passage.vector) for passage in record.passages or ()]


def _side(filter_: str, comparison: str, order: str) -> str:
    """Return SQL for the ids next to an entry ``a`` in its thread on one side, the nearest first, as a JSON array."""
    return f"""(
        SELECT json_group_array(id) FROM (
            SELECT e.id AS id FROM entries e WHERE e.thread = a.thread AND e.kind = a.kind
            AND (e.occurred_at, e.key) {comparison} (a.occurred_at, a.key) AND {filter_}
            ORDER BY e.occurred_at {order}, e.key {order} LIMIT ?
        )
    )"""
