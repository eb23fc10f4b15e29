"""Logs in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Line, Log
from tidal_plugins.storage.checksums import checksum
from tidal_plugins.storage.damage import LOG, Damaged, corrupt, intact
from tidal_plugins.storage.log import check_one_given
from tidal_plugins.storage.postgres.base import PostgresBase
from tidal_plugins.storage.postgres.conditions import TEXTS
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.rows import Row, check_storable, read_time
from tidal_plugins.storage.values import from_json, to_json

_APPEND = """
    INSERT INTO tidal_log (scope, name, seq, key, at, value, checksum)
    SELECT %s, %s, * FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::text[], %b::bytea[])
"""

# Conditions on the lines that go, each with its parameters.
_BEYOND = """seq <= (
    SELECT seq FROM tidal_log WHERE scope = %s AND name = %s ORDER BY seq DESC LIMIT 1 OFFSET %s
)"""
_BEFORE = """at < %s AND EXISTS (
    SELECT 1 FROM tidal_log AS later
    WHERE later.scope = %s AND later.key = line.key AND later.name = %s AND later.seq > line.seq
)"""
_UNDER = f"key = {TEXTS}"
_COUNT_KEYS = f"SELECT count(DISTINCT key) FROM tidal_log WHERE scope = %s AND name = {TEXTS}"


class LogStore(PostgresBase, Log):
    """Stores lines as rows, whose number is their place in the order of all."""

    def append_log(self, scope: Scope, log: str, lines: Iterable[Line]) -> list[int]:
        rows = [(log, line.key, to_micros(line.at), to_json(line.value)) for line in lines]
        for row in rows:
            check_storable(row)
        with self.transaction():
            if not rows:
                return []
            seqs = self._db.lines(scope, len(rows))
            numbered = [(seq, *row[1:], checksum(scope, seq, *row)) for seq, row in zip(seqs, rows, strict=True)]
            columns = map(list, zip(*numbered, strict=True))
            self._db.later(scope, (_APPEND, [number_of(scope), log, *columns]))
            return seqs

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
        parts: list[tuple[str, Any]] = [("scope = %s", number_of(scope)), ("name = %s", log), ("seq > %s", after)]
        if keys is not None:
            parts.append((f"key = {TEXTS}", list(keys)))
        if since is not None:
            parts.append(("at >= %s", to_micros(since)))
        sql = f"""
            SELECT seq, name, key, at, value, checksum FROM tidal_log WHERE {" AND ".join(part for part, _ in parts)}
            ORDER BY seq {"DESC" if newest_first else "ASC"} LIMIT %s::bigint
        """
        with self.question():
            most = None if limit is None else max(limit, 0)
            rows = self._db.rows(scope, sql, *(value for _, value in parts), most)
        return list(intact(rows, lambda row: _line(row, scope)))

    def trim_log(
        self,
        scope: Scope,
        log: str,
        *,
        keep: int | None = None,
        before: datetime | None = None,
        keys: Collection[str] | None = None,
    ) -> int:
        check_one_given(keep=keep, before=before, keys=keys)
        number = number_of(scope)
        if keep is not None:
            return self._delete(_BEYOND, scope, log, number, log, max(keep, 0))
        if before is not None:
            return self._delete(_BEFORE, scope, log, to_micros(before), number, log)
        return self._delete(_UNDER, scope, log, list(keys or ()))

    def count_keys(self, scope: Scope, logs: Collection[str]) -> int:
        with self.question():
            return int(self._db.one(scope, _COUNT_KEYS, number_of(scope), list(logs)))

    def _delete(self, condition: str, scope: Scope, log: str, *values: Any) -> int:
        sql = f"DELETE FROM tidal_log AS line WHERE scope = %s AND name = %s AND {condition}"
        with self.transaction():
            return self._db.run(scope, (sql, [number_of(scope), log, *values]))


def _line(row: Row, scope: Scope) -> Line:
    """Return the line of a row. Raises ``Corrupt``."""
    seq, name, key, at, value, stored = row
    if checksum(scope, *row[:-1]) != stored:
        raise corrupt(Damaged(LOG, f"{name} {seq}"))
    return Line(key, read_time(at), from_json(value), seq)
