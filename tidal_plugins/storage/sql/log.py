"""Logs in an SQL store: rows whose number is their place in the order of all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Claim, Line, Log
from tidal_plugins.storage.checksums import checksum
from tidal_plugins.storage.damage import LOG, Damaged, corrupt, intact
from tidal_plugins.storage.log import check_one_given, latest_claim
from tidal_plugins.storage.rows import Row, read_time
from tidal_plugins.storage.sql.dialect import BYTES, MOST, NUMBER, TEXT, Insert, SQLStore
from tidal_plugins.storage.values import from_json, to_json

_APPEND = Insert("log", ("scope", "name"), {"seq": NUMBER, "key": TEXT, "at": NUMBER, "value": TEXT, "checksum": BYTES})
_DELETE = "DELETE FROM @log AS line WHERE scope = ? AND name = ? AND"
_BEYOND = f"{_DELETE} seq <= (SELECT seq FROM @log WHERE scope = ? AND name = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)"
_BEFORE = f"""{_DELETE} at < ? AND EXISTS (
    SELECT 1 FROM @log AS later
    WHERE later.scope = ? AND later.key = line.key AND later.name = ? AND later.seq > line.seq
)"""
_UNDER = f"{_DELETE} key IN ?texts"

# The index by key is read in its order, and no line.
_COUNT_KEYS = "SELECT count(DISTINCT key) FROM @log INDEXED BY log_by_key WHERE scope = ? AND name IN ?texts"

# The lines are chosen once, and those that another transaction changes are passed over.
_CLAIM = """
    WITH free (number) AS MATERIALIZED (
        SELECT seq FROM @log WHERE scope = ? AND name = ? AND seq IN ?numbers AND (
            held_by IS NULL OR held_by IN ?texts OR held_until <= ? OR held_until > ?
        ) ORDER BY seq LIMIT ? FOR UPDATE SKIP LOCKED
    )
    UPDATE @log AS line SET held_by = ?, held_until = ? FROM free
    WHERE line.scope = ? AND line.name = ? AND line.seq = free.number RETURNING seq
"""


class LogStore(SQLStore, Log):
    """Stores lines as rows."""

    def append_log(self, scope: Scope, log: str, lines: Iterable[Line]) -> list[int]:
        rows = [(log, line.key, to_micros(line.at), to_json(line.value)) for line in lines]
        for row in rows:
            self.dialect.check(row)
        with self.transaction():
            if not rows:
                return []
            key = self._writable_scope(scope)
            seqs = self._new_lines(scope, len(rows))
            numbered = [(seq, *row[1:], checksum(scope, seq, *row)) for seq, row in zip(seqs, rows, strict=True)]
            self._insert(scope, _APPEND, (key, log), numbered)
            return list(seqs)

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
        if keys is not None:  # SQLite is to look the keys up, and not to walk the log for the sake of its order
            parts = [("^name = ?", log), ("^seq > ?", after), ("key IN ?texts", self.dialect.array(list(keys)))]
        if since is not None:
            parts.append(("at >= ?", to_micros(since)))
        sql = f"""
            SELECT seq, name, key, at, value, checksum, held_by, held_until FROM @log
            WHERE scope = ? AND {" AND ".join(part for part, _ in parts)}
            ORDER BY seq {"DESC" if newest_first else "ASC"} LIMIT ?
        """
        with self.question():
            values = [self._key(scope), *(value for _, value in parts), MOST if limit is None else max(limit, 0)]
            rows = self._query(LOG, scope, sql, *values)
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
        with self.transaction():
            key = self._key(scope)
            if keep is not None:
                return self._run(scope, _BEYOND, key, log, key, log, max(keep, 0))
            if before is not None:
                return self._run(scope, _BEFORE, key, log, to_micros(before), key, log)
            return self._run(scope, _UNDER, key, log, self.dialect.array(list(keys or ())))

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
        self.dialect.check([log, by])
        array, most = self.dialect.array, MOST if limit is None else max(limit, 0)
        lines, workers, ends = array(list(seqs)), array([by, *ended]), to_micros(until)
        with self._claiming(scope) as place:
            key = self._key(scope)
            times = (to_micros(now), to_micros(latest_claim(now, until)))
            held = self._query(LOG, place, _CLAIM, key, log, lines, workers, *times, most, by, ends, key, log)
        return sorted(seq for (seq,) in held)

    def count_keys(self, scope: Scope, logs: Collection[str]) -> int:
        with self.question():
            return int(self._query(LOG, scope, _COUNT_KEYS, self._key(scope), self.dialect.array(list(logs)))[0][0])

    @abstractmethod
    def _new_lines(self, scope: Scope, count: int) -> Sequence[int]:
        """Return numbers for lines, each above all that were given before."""

    @abstractmethod
    def _claiming(self, scope: Scope) -> AbstractContextManager[Scope | str]:
        """Run a claim in a transaction that waits for no disk, unless one is open. Yields where it is run."""


def _line(row: Row, scope: Scope) -> Line:
    """Return the line of a row. Raises ``Corrupt``."""
    seq, name, key, at, value, stored, held_by, held_until = row
    if checksum(scope, seq, name, key, at, value) != stored:
        raise corrupt(Damaged(LOG, f"{name} {seq}"))
    claim = None if held_by is None or held_until is None else Claim(held_by, read_time(held_until))
    return Line(key, read_time(at), from_json(value), seq, claim)
