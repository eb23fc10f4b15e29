"""The table of scopes in an SQLite file: their numbers, by which rows of other tables belong to them.

A row has two checksums. One is of the path: by it a row is found whose path was damaged. The other is of number and
path together: by it a damaged number is told, and the true one is found among those that rows bear and no scope has.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

from tidal_plugins.model.check import Fault
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.damage import SCOPES, UNKNOWN, Damaged, corrupt
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.schema import OF_SCOPES
from tidal_plugins.storage.values import from_json

MAX_SCOPES = 4096
"""Scopes whose keys are kept in memory."""

HIGHEST = 1 << 48
"""A key from here on comes from damage: no file has so many scopes. New scopes are numbered below it."""

_NUMBERED = ("entries", *OF_SCOPES)

_BY_PATH = """
    SELECT key, path = ?1, checksum = ?2, key_checksum FROM scopes WHERE checksum = ?2 OR path = ?1
    ORDER BY checksum = ?2 DESC LIMIT 1
"""
_ALL = "SELECT key, CAST(path AS BLOB), checksum, key_checksum FROM scopes"
_LAST = "SELECT coalesce(max(key), 0) FROM scopes WHERE key < ?"
_IS_BORNE = f"SELECT {' OR '.join(f'EXISTS (SELECT 1 FROM {table} WHERE scope = ?1)' for table in _NUMBERED)}"
_STRAY = """
    WITH RECURSIVE numbers (scope) AS (
        SELECT min(scope) FROM {0}
        UNION ALL SELECT (SELECT min(scope) FROM {0} WHERE scope > numbers.scope) FROM numbers
        WHERE numbers.scope IS NOT NULL
    ) SELECT scope FROM numbers WHERE scope IS NOT NULL AND scope NOT IN (SELECT key FROM scopes)
"""  # from number to number through an index, however many rows bear one
_INSERT = "INSERT INTO scopes (key, path, checksum, key_checksum) VALUES (?, ?, ?, ?)"
_MEND = "UPDATE OR IGNORE scopes SET key = ?, path = ?, checksum = ?, key_checksum = ? WHERE key = ?"


class Scopes:
    """Holds the keys of scopes. A scope keeps its key as long as the file lives."""

    def __init__(self) -> None:
        self.keys: dict[Scope, int] = {}
        self.created: set[Scope] = set()
        """The scopes that this store has added or mended, in a transaction that may not have ended."""

    def keep(self, scope: Scope, key: int) -> None:
        if len(self.keys) >= MAX_SCOPES:
            self.keys.clear()
        self.keys[scope] = key
        self.created.discard(scope)


class ScopeRow(NamedTuple):
    """The row of a scope as it was found.

    Attributes:
        stored: the key in the row.
        path: the path of the scope, as it should be.
        key: the true key; ``None`` if it cannot be told.
        intact: whether nothing in the row is damaged.
    """

    stored: int
    path: str
    key: int | None
    intact: bool

    def mend(self, db: Connections) -> None:
        """Write the row as it should be, inside a transaction, unless rows bear the number that it has by damage."""
        if self.key is None or self.intact or (self.key != self.stored and db.one(_IS_BORNE, self.stored)):
            return
        db.run(_MEND, self.key, self.path, path_checksum(self.path), key_checksum(self.key, self.path), self.stored)


def find_row(db: Connections, path: str) -> ScopeRow | None:
    """Return the row of a scope, also if a value in it is damaged, or ``None`` if there is none."""
    for stored, same_path, same_checksum, sum_ in db.all_readable(SCOPES, _BY_PATH, path, path_checksum(path)):
        key = _true_key(db, stored, path, sum_, bool(same_checksum))
        return ScopeRow(stored, path, key, bool(same_path and same_checksum and sum_ == key_checksum(stored, path)))
    return None


def add_row(db: Connections, path: str) -> None:
    """Add a scope, with a number that no row bears: one may be of a scope whose own number was damaged."""
    key = int(db.one(_LAST, HIGHEST)) + 1
    while db.one(_IS_BORNE, key):
        key += 1
    db.run(_INSERT, key, path, path_checksum(path), key_checksum(key, path))


def scope_of(key: int, path: str, of_path: bytes, of_both: int) -> Scope:
    """Return the scope of a row with its two checksums. Raises ``Corrupt`` if neither is of the path."""
    if path_checksum(path) != of_path and key_checksum(key, path) != of_both:
        raise corrupt(Damaged(SCOPES, path))
    return tuple(from_json(path))


def known_scopes(db: Connections) -> dict[int, Scope]:
    """Return the scopes whose path and key can be told, by their true keys."""
    return {row.key: tuple(from_json(row.path)) for row in _all(db) if row and row.key is not None}


def mend_rows(db: Connections) -> None:
    """Write every row anew that can be told in spite of its damage. Call it inside a transaction."""
    for row in list(_all(db)):
        if row:
            row.mend(db)


def scope_faults(db: Connections) -> Iterator[Fault]:
    """Yield the faulty rows."""
    for (_, path, *_), row in zip(db.rows(_ALL), _all(db), strict=True):
        if row is None or not row.intact:
            name = path.decode(errors="replace") if row or (path and path.isascii()) else UNKNOWN
            yield Fault(SCOPES, name, "its checksum fails", row is not None and row.key is not None)


def path_checksum(path: str) -> bytes:
    """Return the checksum of a path, by which its row is looked up: 16 bytes, so that no two scopes share one."""
    return blake2b(path.encode(), digest_size=16).digest()


def key_checksum(key: int, path: str) -> int:
    """Return the checksum of a number and a path. Any single bit that changes in the number changes it."""
    return crc32(b"%d %s" % (key, path.encode()))


def _all(db: Connections) -> Iterator[ScopeRow | None]:
    """Yield the rows, ``None`` for one whose path cannot be told."""
    for stored, blob, sum_of_path, sum_ in db.rows(_ALL):
        path = (blob or b"").decode(errors="replace")
        same, fits = path_checksum(path) == sum_of_path, key_checksum(stored, path) == sum_
        if same or fits:
            yield ScopeRow(stored, path, _true_key(db, stored, path, sum_, same), same and fits)
        else:
            yield None


def _true_key(db: Connections, stored: int, path: str, sum_: int, same_path: bool) -> int | None:
    """Return the number that a checksum is of. If it fits none, it is itself damaged or the number is lost.

    The stored number is then the true one if rows bear it, or if every row is of some scope.
    """
    if key_checksum(stored, path) == sum_:
        return stored
    stray = {int(number) for table in _NUMBERED for (number,) in db.all_readable(SCOPES, _STRAY.format(table))}
    for number in stray:
        if key_checksum(number, path) == sum_:
            return number
    [(borne,)] = db.all_readable(SCOPES, _IS_BORNE, stored)
    return stored if same_path and (borne or not stray) else None
