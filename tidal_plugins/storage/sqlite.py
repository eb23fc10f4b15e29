"""The SQLite engine: one file with FTS5 for keywords, sqlite-vec and a matrix in memory for vectors."""

from __future__ import annotations

import os
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from tidal_plugins.errors import InvalidScope, NotFound
from tidal_plugins.model.entry import Entry, Scope, Tier
from tidal_plugins.storage.base import Beside, Corpus, Match, Passage, Record, Sketch, Where, WhereLinks
from tidal_plugins.storage.connections import Connections
from tidal_plugins.storage.documents import DocumentShelf
from tidal_plugins.storage.links import LinkShelf
from tidal_plugins.storage.log import LogShelf
from tidal_plugins.storage.neighbours import Neighbours
from tidal_plugins.storage.opening import translated
from tidal_plugins.storage.shelf import IDS, Scopes
from tidal_plugins.storage.sql import (
    COLUMNS,
    EACH_ID,
    HEAD,
    SKETCH,
    TAIL,
    TIER,
    condition,
    from_json,
    from_row,
    sketch,
    tier_row,
    to_json,
    to_row,
)
from tidal_plugins.storage.vectors import unit_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Unit = NDArray[np.float32] | None

MAX_TERMS = 64
"""Words that one keyword search looks for; a query has rarely ten."""

SCRUB_SECONDS = 1.0
"""How long emptying the log waits for readers; it holds up writers meanwhile."""

_VALUES = f"(scope, {', '.join(COLUMNS)}) VALUES (?{', ?' * len(COLUMNS)})"
_INSERT = f"INSERT INTO entries {_VALUES} ON CONFLICT (scope, id) DO NOTHING"
_SELECT = f"SELECT {', '.join('e.' + column for column in COLUMNS)}"
_SELECT_SKETCH = f"""
    SELECT {", ".join("e." + column for column in SKETCH)},
        (SELECT count(*) FROM passages p WHERE p.entry = e.key),
        (SELECT total(p.words) FROM passages p WHERE p.entry = e.key),
        substr(e.text, 1, {HEAD}), substr(e.text, -{TAIL})
    FROM {EACH_ID}
"""
_REPLACE = f"UPDATE entries SET {', '.join(column + ' = ?' for column in COLUMNS)} WHERE key = ?"
_SET_TIER = f"UPDATE entries SET {', '.join(column + ' = ?' for column in TIER)} WHERE key = ?"
_INSERT_PASSAGE = 'INSERT INTO passages (entry, start, "end", words) VALUES (?, ?, ?, ?)'
_COUNT_IN = "UPDATE scopes SET passages = passages + ?, words = words + ? WHERE key = ?"
_COUNT_OUT = f"""
    UPDATE scopes SET erasures = erasures + 1, (passages, words) = (
        SELECT scopes.passages - count(*) FILTER (WHERE p.words > 0), scopes.words - coalesce(sum(p.words), 0)
        FROM passages p WHERE p.entry IN {IDS}
    ) WHERE key = ?
"""


class SQLiteStorage(LinkShelf, LogShelf, DocumentShelf):
    """One SQLite file.

    ``durability="full"`` syncs every commit to disk: what was acknowledged survives a power cut. ``"fast"`` leaves
    the sync to checkpoints: nothing tears, but a power cut may take the last commits (a killed process does not).
    ``vector_cache_bytes`` bounds the vectors held in memory; larger scopes are scanned in the file.
    """

    _connections: type[Connections] = Connections

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        durability: Literal["full", "fast"] = "full",
        busy_timeout: float = 30.0,
        query_deadline: float = 2.0,
        vector_cache_bytes: int = 256 * 1024 * 1024,
    ) -> None:
        synchronous = {"full": "FULL", "fast": "NORMAL"}[durability]
        self._db = self._connections(path, synchronous=synchronous, busy_timeout=busy_timeout)
        self.path = self._db.path
        self._scopes = Scopes()
        self._deadline = query_deadline
        self._neighbours = Neighbours(self._db, vector_cache_bytes)
        _open_stores.add(self)

    # entries

    def put(self, scope: Scope, records: Iterable[Record]) -> list[str]:
        prepared = [(record, to_row(record.entry), _units(scope, record)) for record in records]
        stored = []
        with self.transaction(), translated(self._db.path):
            self._neighbours.check_size(unit for _, _, units in prepared for unit in units)
            connection, key = self._db.get(), self._writable_scope(scope)
            for record, row, units in prepared:
                connection.execute(_INSERT, (key, *row))
                if connection.changes():
                    self._index(key, connection.last_insert_rowid(), record.passages, units)
                    stored.append(record.entry.id)
        return stored

    def replace(self, scope: Scope, record: Record) -> None:
        row, units = to_row(record.entry), _units(scope, record)
        with self.transaction():
            self._neighbours.check_size(units)
            scope_key, keys = self._existing(scope, [record.entry.id])
            self._unindex(scope_key, keys)
            self._db.run(_REPLACE, *row, *keys)
            self._index(scope_key, keys[0], record.passages, units)

    def retier(self, scope: Scope, tiers: Mapping[str, Tier]) -> None:
        rows = [tier_row(tier) for tier in tiers.values()]
        with self.transaction():
            _, keys = self._existing(scope, list(tiers))
            for row, key in zip(rows, keys, strict=True):
                self._db.run(_SET_TIER, *row, key)

    def get(self, scope: Scope, ids: Collection[str]) -> dict[str, Entry]:
        with self.snapshot():
            rows = self._db.rows(f"{_SELECT} FROM {EACH_ID}", to_json(list(ids)), self._key(scope))
            return {row[0]: from_row(row, scope) for row in rows}

    def sketch(self, scope: Scope, ids: Collection[str], where: Where | None = None) -> dict[str, Sketch]:
        with self.snapshot():
            filter_ = condition(None, where or Where())
            sql = f"{_SELECT_SKETCH} WHERE {filter_.sql}"
            rows = self._db.rows(sql, to_json(list(ids)), self._key(scope), *filter_.parameters)
            return {row[0]: sketch(row) for row in rows}

    def beside(self, scope: Scope, ids: Collection[str], reach: int, where: Where) -> list[Beside]:
        with self.snapshot():
            key = self._key(scope)
            filter_ = condition(key, where)
            sides = ", ".join(_side(filter_.sql, *order) for order in (("<", "DESC"), (">", "ASC")))
            sql = f"""
                SELECT a.id, {sides} FROM json_each(?) j CROSS JOIN entries a ON a.scope = ? AND a.id = j.value
                WHERE a.thread IS NOT NULL
            """
            side = (*filter_.parameters, reach)
            rows = self._db.rows(sql, *side, *side, to_json(list(ids)), key)
        return [
            Beside(id_, other, sign * place)
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
            return [from_row(row, scope) for row in self._db.rows(sql, *bindings)]

    def count(self, scope: Scope, where: Where) -> int:
        with self.snapshot():
            filter_ = condition(self._key(scope), where)
            return int(self._db.one(f"SELECT count(*) FROM entries e WHERE {filter_.sql}", *filter_.parameters))

    def volume(self, scope: Scope, where: Where) -> int:
        with self.snapshot():
            filter_ = condition(self._key(scope), where)
            sql = f"SELECT total(length(e.text)) FROM entries e WHERE {filter_.sql}"
            return int(self._db.one(sql, *filter_.parameters))

    def scopes(self, prefix: Scope, where: Where) -> list[Scope]:
        path, filter_ = to_json(list(prefix)), condition(None, where)
        sql = f"""
            SELECT s.path FROM scopes s WHERE (s.path = ? OR s.path BETWEEN ? AND ?)
            AND EXISTS (SELECT 1 FROM entries e WHERE e.scope = s.key AND {filter_.sql})
        """
        longer = path.removesuffix("]")  # of a longer path, the next segment's quote or the end follows a comma
        with self.snapshot():
            rows = self._db.rows(sql, path, f'{longer},"', f"{longer},#", *filter_.parameters)
            return sorted(tuple(from_json(row[0])) for row in rows)

    def erase(self, scope: Scope, ids: Collection[str]) -> int:
        with self.transaction():
            key = self._key(scope)
            found = self._keys(key, ids)
            entries = list(found.values())
            if found:
                self._unindex(key, entries)
                self._db.run(f"DELETE FROM entries WHERE key IN {IDS}", to_json(entries))
                self.erase_links(scope, WhereLinks(ends=found))
                self._db.run(f"DELETE FROM log WHERE scope = ? AND key IN {IDS}", key, to_json(list(found)))
            return len(found)

    def erasures(self, scope: Scope) -> int:
        with self.snapshot():
            return int(self._db.one("SELECT erasures FROM scopes WHERE key = ?", self._key(scope)) or 0)

    def scrub(self) -> bool:
        with self.transaction():
            self._db.run("INSERT INTO keywords (keywords) VALUES ('optimize')")
        self._db.run("VACUUM")  # secure_delete leaves copies behind where pages were rebalanced
        with self._db.patience(SCRUB_SECONDS):
            busy = self._db.one("PRAGMA wal_checkpoint(TRUNCATE)")
        self._neighbours.forget()
        return not busy

    def speakers(self, scope: Scope) -> list[str]:
        sql = """
            WITH RECURSIVE names (name) AS (
                SELECT min(speaker) FROM entries WHERE scope = ?1 AND speaker IS NOT NULL
                UNION ALL
                SELECT (SELECT min(speaker) FROM entries WHERE scope = ?1 AND speaker > names.name)
                FROM names WHERE names.name IS NOT NULL
            ) SELECT name FROM names WHERE name IS NOT NULL LIMIT 1000
        """
        with self.snapshot():
            return [row[0] for row in self._db.rows(sql, self._key(scope))]

    # channels

    def nearest(self, scope: Scope, vector: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        unit = unit_vector(vector)
        with self.snapshot():
            return self._neighbours.nearest(self._key(scope), unit, k, where)

    def nearest_each(
        self, scope: Scope, vectors: Sequence[NDArray[np.float32]], k: int, where: Where
    ) -> list[list[Match]]:
        units = [unit_vector(vector) for vector in vectors]
        with self.snapshot():
            return self._neighbours.nearest_each(self._key(scope), units, k, where)

    def cosines(self, scope: Scope, ids: Collection[str], vector: NDArray[np.float32]) -> dict[str, Match]:
        unit = unit_vector(vector)
        with self.snapshot():
            return self._neighbours.cosines(self._key(scope), ids, unit)

    def vectors(self, scope: Scope, passages: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        with self.snapshot():
            return self._neighbours.vectors(self._key(scope), passages)

    def matching(self, scope: Scope, terms: Sequence[str], k: int, where: Where) -> list[Match]:
        with self.snapshot(), self._db.deadline(self._deadline):
            key = self._key(scope)
            filter_ = condition(key, where)
            sql = f"""
                SELECT e.id, -w.rank, p.start, p."end", p.words FROM keywords w
                CROSS JOIN passages p ON p.key = w.rowid CROSS JOIN entries e ON e.key = p.entry
                WHERE keywords MATCH ? AND {filter_.sql} ORDER BY w.rank
            """
            return _best(self._db.stream(sql, self._expression(key, terms), *filter_.parameters), k)

    def corpus(self) -> Corpus:
        with self.snapshot():
            passages, words = self._db.rows("SELECT total(passages), total(words) FROM scopes")[0]
            return Corpus(int(passages), words / passages if passages else 0.0)

    # the store itself

    def close(self) -> None:
        self._db.close()
        self._neighbours.forget()

    def forked(self) -> None:
        """Start anew in a child process: locks may be held by threads that are not here."""
        self._db.forked()
        self._neighbours.forget()

    # rows

    def _keys(self, scope: int, ids: Collection[str]) -> dict[str, int]:
        return dict(self._db.rows(f"SELECT e.id, e.key FROM {EACH_ID}", to_json(list(ids)), scope))

    def _existing(self, scope: Scope, ids: Sequence[str]) -> tuple[int, list[int]]:
        """The keys of a scope and of entries that must be there."""
        key = self._key(scope)
        keys = self._keys(key, ids)
        if missing := [id_ for id_ in ids if id_ not in keys]:
            raise NotFound(f"no entry {missing[0]!r} in scope {scope}")
        return key, [keys[id_] for id_ in ids]

    def _index(self, scope: int, entry: int, passages: Sequence[Passage], units: Sequence[_Unit]) -> None:
        connection = self._db.get()
        count = total = 0
        with translated(self._db.path):
            for passage, unit in zip(passages, units, strict=True):
                words = len(passage.terms.split())
                connection.execute(_INSERT_PASSAGE, (entry, passage.start, passage.end, words))
                key = connection.last_insert_rowid()
                if unit is not None:
                    connection.execute("INSERT INTO vectors VALUES (?, ?, ?)", (key, scope, unit.tobytes()))
                if words:
                    terms = " ".join(_mark(scope) + word for word in passage.terms.split())
                    connection.execute("INSERT INTO keywords (rowid, terms) VALUES (?, ?)", (key, terms))
                    count, total = count + 1, total + words
            connection.execute(_COUNT_IN, (count, total, scope))

    def _unindex(self, scope: int, entries: Sequence[int]) -> None:
        keys = to_json(list(entries))
        self._db.run(_COUNT_OUT, keys, scope)
        self._db.run(f"DELETE FROM keywords WHERE rowid IN (SELECT key FROM passages WHERE entry IN {IDS})", keys)
        self._db.run(f"DELETE FROM passages WHERE entry IN {IDS}", keys)

    # keywords

    def _expression(self, scope: int, words: Sequence[str]) -> str:
        """An FTS5 query: any of the words, each quoted and marked as this scope's."""
        chosen = [_mark(scope) + word for word in list(dict.fromkeys(words))[:MAX_TERMS]]
        return " OR ".join('"' + word.replace('"', '""').replace("\0", " ") + '"' for word in chosen) or '""'


def _units(scope: Scope, record: Record) -> list[_Unit]:
    if record.entry.scope != scope:
        raise InvalidScope(f"entry {record.entry.id!r} is of scope {record.entry.scope}, not {scope}")
    return [None if passage.vector is None else unit_vector(passage.vector) for passage in record.passages]


def _side(filter_: str, comparison: str, order: str) -> str:
    """The ids next to an entry ``a`` in its thread on one side, the nearest first, as a JSON array."""
    return f"""(
        SELECT json_group_array(id) FROM (
            SELECT e.id AS id FROM entries e WHERE e.thread = a.thread AND e.kind = a.kind
            AND (e.occurred_at, e.key) {comparison} (a.occurred_at, a.key) AND {filter_}
            ORDER BY e.occurred_at {order}, e.key {order} LIMIT ?
        )
    )"""


def _best(rows: Iterable[Any], k: int) -> list[Match]:
    """The first match of each entry, until there are ``k``."""
    found: dict[str, Match] = {}
    for row in rows if k > 0 else ():
        found.setdefault(row[0], Match(*row))
        if len(found) == k:
            break
    return list(found.values())


def _mark(scope: int) -> str:
    return f"s{scope}x"


_open_stores: weakref.WeakSet[SQLiteStorage] = weakref.WeakSet()


def _forked() -> None:
    for store in _open_stores:
        store.forked()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forked)
