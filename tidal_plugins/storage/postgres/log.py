"""Logs in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Claim, Line, Log
from tidal_plugins.storage.checksums import checksum
from tidal_plugins.storage.damage import LOG, Damaged, corrupt, intact
from tidal_plugins.storage.log import check_one_given, latest_claim
from tidal_plugins.storage.postgres.base import PostgresBase
from tidal_plugins.storage.postgres.conditions import NUMBERS, TEXTS
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

# The lines are chosen once, and those that another transaction changes are passed over.
_CLAIM = f"""
    WITH free AS MATERIALIZED (
        SELECT seq FROM tidal_log WHERE scope = %s AND name = %s AND seq = {NUMBERS} AND (
            held_by IS NULL OR held_by = {TEXTS} OR held_until <= %s OR held_until > %s
        ) ORDER BY seq LIMIT %s::bigint FOR UPDATE SKIP LOCKED
    )
    UPDATE tidal_log l SET held_by = %s, held_until = %s FROM free
    WHERE l.scope = %s AND l.name = %s AND l.seq = free.seq RETURNING l.seq
"""
_IN_NO_HURRY = "SELECT set_config('synchronous_commit', 'off', true)"


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
            SELECT seq, name, key, at, value, checksum, held_by, held_until FROM tidal_log
            WHERE {" AND ".join(part for part, _ in parts)}
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

    def claim_log(
        self,
        scope: Scope,
        log: str,
        seqs: Collection[int],
        *,
        by: str,
        now: datetime,
        until: datetime,
        limit: int | None = None,
        ended: Collection[str] = (),
    ) -> list[int]:
        number, most = number_of(scope), None if limit is None else max(limit, 0)
        check_storable([log, by])
        times = (to_micros(now), to_micros(latest_claim(now, until)))
        where = (number, log, list(seqs), [by, *ended], *times, most)
        claim = (_CLAIM, [*where, by, to_micros(until), number, log])
        if self._db.writing:
            held = self._db.each(scope, claim)[-1]
        else:
            with self.transaction():  # of its own: it does not lock the scope, and waits for no disk
                held = self._db.each(str(number), (_IN_NO_HURRY, ()), claim)[-1]
        return sorted(seq for (seq,) in held)

    def count_keys(self, scope: Scope, logs: Collection[str]) -> int:
        with self.question():
            return int(self._db.one(scope, _COUNT_KEYS, number_of(scope), list(logs)))

    def _delete(self, condition: str, scope: Scope, log: str, *values: Any) -> int:
        sql = f"DELETE FROM tidal_log AS line WHERE scope = %s AND name = %s AND {condition}"
        with self.transaction():
            return self._db.run(scope, (sql, [number_of(scope), log, *values]))


def _line(row: Row, scope: Scope) -> Line:
    """Return the line of a row. Raises ``Corrupt``."""
    seq, name, key, at, value, stored, held_by, held_until = row
    if checksum(scope, seq, name, key, at, value) != stored:
        raise corrupt(Damaged(LOG, f"{name} {seq}"))
    claim = None if held_by is None or held_until is None else Claim(held_by, read_time(held_until))
    return Line(key, read_time(at), from_json(value), seq, claim)
