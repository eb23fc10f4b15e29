"""Logs in an SQLite file."""

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
from tidal_plugins.storage.rows import Row, read_time
from tidal_plugins.storage.sqlite.base import SQLiteBase
from tidal_plugins.storage.sqlite.conditions import IDS
from tidal_plugins.storage.values import from_json, to_json

_APPEND = "INSERT INTO log (seq, scope, name, key, at, value, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)"
LAST_SEQ = """
    SELECT max(coalesce(max(seq), 0), coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'log'), 0)) FROM log
"""


# Conditions on the lines that go, each with its value as ``?3``.
_BEYOND = "seq <= (SELECT seq FROM log WHERE scope = ?1 AND name = ?2 ORDER BY seq DESC LIMIT 1 OFFSET ?3)"
_BEFORE = """at < ?3 AND EXISTS (
    SELECT 1 FROM log AS later
    WHERE later.scope = ?1 AND later.key = log.key AND later.name = ?2 AND later.seq > log.seq
)"""
_UNDER = "key IN (SELECT value FROM json_each(?3))"


# The index by key is read in its order, and no line.
_COUNT_KEYS = """
    SELECT count(DISTINCT key) FROM log INDEXED BY log_by_key
    WHERE scope = ? AND name IN (SELECT value FROM json_each(?))
"""

_CLAIM = """
    UPDATE log SET held_by = ?4, held_until = ?6 WHERE seq IN (
        SELECT seq FROM log WHERE scope = ?1 AND name = ?2 AND seq IN (SELECT value FROM json_each(?3)) AND (
            held_by IS NULL OR held_by = ?4 OR held_until <= ?5 OR held_until > ?7
            OR held_by IN (SELECT value FROM json_each(?8))
        ) ORDER BY seq LIMIT ?9
    ) RETURNING seq
"""


class LogStore(SQLiteBase, Log):
    """Stores lines as rows whose key is their place in the order of all."""

    def append_log(self, scope: Scope, log: str, lines: Iterable[Line]) -> list[int]:
        rows = [(log, line.key, to_micros(line.at), to_json(line.value)) for line in lines]
        with self.transaction():
            key = self._writable_scope(scope)
            seqs = list(self._db.next_numbers("log", LAST_SEQ, len(rows)))
            numbered = zip(seqs, rows, strict=True)
            self._db.run_each(_APPEND, [(seq, key, *row, checksum(scope, seq, *row)) for seq, row in numbered])
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
        parts: list[tuple[str, Any]] = [("name = ?", log), ("seq > ?", after)]
        if keys is not None:  # the unary plus: look the keys up, do not walk the log for the sake of its order
            parts = [("+name = ?", log), ("+seq > ?", after), (f"key IN {IDS}", to_json(list(keys)))]
        if since is not None:
            parts.append(("at >= ?", to_micros(since)))
        sql = f"""
            SELECT seq, name, key, at, value, checksum, held_by, held_until FROM log
            WHERE scope = ? AND {" AND ".join(part for part, _ in parts)}
            ORDER BY seq {"DESC" if newest_first else "ASC"} LIMIT ?
        """
        with self.snapshot():
            bindings = [self._key(scope), *(value for _, value in parts), -1 if limit is None else max(limit, 0)]
            rows = self._readable(LOG, sql, *bindings)
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
        if keep is not None:
            return self._delete(_BEYOND, scope, log, max(keep, 0))
        if before is not None:
            return self._delete(_BEFORE, scope, log, to_micros(before))
        return self._delete(_UNDER, scope, log, to_json(list(keys or ())))

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
        latest = latest_claim(now, until)
        times = (to_micros(now), to_micros(until), to_micros(latest), to_json(list(ended)))
        most = -1 if limit is None else max(limit, 0)
        with self._db.unsynced(), self.transaction():
            held = self._db.rows(_CLAIM, self._key(scope), log, to_json(list(seqs)), by, *times, most)
        return sorted(seq for (seq,) in held)

    def count_keys(self, scope: Scope, logs: Collection[str]) -> int:
        with self.snapshot():
            return int(self._db.one(_COUNT_KEYS, self._key(scope), to_json(list(logs))))

    def _delete(self, condition: str, scope: Scope, log: str, value: int | str) -> int:
        sql = f"DELETE FROM log WHERE scope = ?1 AND name = ?2 AND {condition}"
        with self.transaction():
            self._db.run(sql, self._key(scope), log, value)
            return self._db.get().changes()


def _line(row: Row, scope: Scope) -> Line:
    """Return the line of a row. Raises ``Corrupt``."""
    seq, name, key, at, value, stored, held_by, held_until = row
    if checksum(scope, seq, name, key, at, value) != stored:
        raise corrupt(Damaged(LOG, f"{name} {seq}"))
    claim = None if held_by is None or held_until is None else Claim(held_by, read_time(held_until))
    return Line(key, read_time(at), from_json(value), seq, claim)
