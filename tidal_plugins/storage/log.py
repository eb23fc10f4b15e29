"""The log of an SQLite file."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Line
from tidal_plugins.storage.shelf import IDS, Shelf
from tidal_plugins.storage.sql import from_json, read_time, to_json

_APPEND = "INSERT INTO log (scope, name, key, at, value) VALUES (?, ?, ?, ?, ?) RETURNING seq"


class LogShelf(Shelf):
    """Lines as rows whose key is their place in the order of all."""

    def append_log(self, scope: Scope, log: str, lines: Iterable[Line]) -> list[int]:
        rows = [(log, line.key, to_micros(line.at), to_json(line.value)) for line in lines]
        with self.transaction():
            key = self._writable_scope(scope)
            return [int(self._db.one(_APPEND, key, *row)) for row in rows]

    def read_log(
        self,
        scope: Scope,
        log: str,
        *,
        keys: Collection[str] | None = None,
        since: datetime | None = None,
        after: int = 0,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Line]:
        parts: list[tuple[str, Any]] = [("name = ?", log), ("seq > ?", after)]
        if keys is not None:  # the unary plus: look the keys up, do not walk the log for the sake of its order
            parts = [("+name = ?", log), ("+seq > ?", after), (f"key IN {IDS}", to_json(list(keys)))]
        if since is not None:
            parts.append(("at >= ?", to_micros(since)))
        sql = f"""
            SELECT key, at, value, seq FROM log WHERE scope = ? AND {" AND ".join(part for part, _ in parts)}
            ORDER BY seq {"DESC" if newest_first else "ASC"} LIMIT ?
        """
        with self.snapshot():
            bindings = [self._key(scope), *(value for _, value in parts), -1 if limit is None else max(limit, 0)]
            rows = self._db.rows(sql, *bindings)
            return [Line(key, read_time(at), from_json(value), seq) for key, at, value, seq in rows]

    def trim_log(self, scope: Scope, log: str, keep: int) -> int:
        sql = """
            DELETE FROM log WHERE scope = ?1 AND name = ?2 AND seq <= (
                SELECT seq FROM log WHERE scope = ?1 AND name = ?2 ORDER BY seq DESC LIMIT 1 OFFSET ?3
            )
        """
        with self.transaction():
            self._db.run(sql, self._key(scope), log, max(keep, 0))
            return self._db.get().changes()

    def thin_log(self, scope: Scope, log: str, before: datetime) -> int:
        sql = """
            DELETE FROM log WHERE scope = ?1 AND name = ?2 AND at < ?3 AND EXISTS (
                SELECT 1 FROM log AS later
                WHERE later.scope = ?1 AND later.key = log.key AND later.name = ?2 AND later.seq > log.seq
            )
        """
        with self.transaction():
            self._db.run(sql, self._key(scope), log, to_micros(before))
            return self._db.get().changes()

    def erase_log(self, scope: Scope, log: str, keys: Collection[str]) -> int:
        with self.transaction():
            sql = f"DELETE FROM log WHERE scope = ? AND name = ? AND key IN {IDS}"
            self._db.run(sql, self._key(scope), log, to_json(list(keys)))
            return self._db.get().changes()
