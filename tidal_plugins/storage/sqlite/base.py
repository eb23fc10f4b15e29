"""The base of the parts of the SQLite engine: its connections, and scopes by their keys."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Any

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.damage import SCOPES, UNKNOWN, note
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.translation import translated
from tidal_plugins.storage.values import to_json

NO_SCOPE = -1
"""Stands for a scope that nothing was written to yet: it matches no row."""

MAX_SCOPES = 4096
"""Scopes whose keys are kept in memory."""


class Scopes:
    """Holds the keys of scopes. A scope keeps its key as long as the file lives."""

    def __init__(self) -> None:
        self.keys: dict[Scope, int] = {}
        self.created: set[Scope] = set()
        """The scopes that this store has added, in a transaction that may not have ended."""

    def keep(self, scope: Scope, key: int) -> None:
        if len(self.keys) >= MAX_SCOPES:
            self.keys.clear()
        self.keys[scope] = key
        self.created.discard(scope)


class SQLiteBase:
    """Base of a part of the engine."""

    _db: Connections
    _scopes: Scopes

    def transaction(self) -> AbstractContextManager[None]:
        return self._db.transaction()

    def snapshot(self) -> AbstractContextManager[None]:
        return self._db.snapshot()

    def _key(self, scope: Scope) -> int:
        known = self._scopes.keys.get(scope)
        if known is not None:
            return known
        path = to_json(list(scope))
        key = self._of_checksum(path)
        if key is None:
            key = self._db.one("SELECT key FROM scopes WHERE path = ?", path)
            if key is None:
                return NO_SCOPE
            note(SCOPES, path)  # its checksum is damaged, or another scope's path: rows tell whose they are
        if not self._db.writing or scope not in self._scopes.created:  # else it may yet be rolled back
            self._scopes.keep(scope, int(key))
        return int(key)

    def _writable_scope(self, scope: Scope) -> int:
        key = self._key(scope)
        if key == NO_SCOPE:
            self._scopes.created.add(scope)
            path = to_json(list(scope))
            self._db.run("INSERT INTO scopes (path, checksum) VALUES (?, ?)", path, path_checksum(path))
            key = self._key(scope)
        return key

    def _of_checksum(self, path: str) -> int | None:
        """Return the key of the scope whose checksum is that of a path, also if its own path is damaged."""
        sql = "SELECT key, path = ? FROM scopes WHERE checksum = ?"
        for key, same in self._db.rows(sql, path, path_checksum(path)):
            if not same:
                note(SCOPES, path)
            return int(key)
        return None

    def _readable(self, table: str, sql: str, *bindings: Any) -> list[Any]:
        return all_readable(self._db, table, sql, *bindings)


def all_readable(db: Connections, table: str, sql: str, *bindings: Any) -> list[Any]:
    """Return the rows of a query, as :func:`readable` yields them."""
    with translated(db.path):
        try:
            return db.get().execute(sql, bindings).fetchall()
        except UnicodeDecodeError:
            return list(readable(db, table, sql, *bindings))


def readable(db: Connections, table: str, sql: str, *bindings: Any) -> Generator[Any, None, None]:
    """Yield the rows of a query as SQLite finds them. One that holds a text that is not UTF-8 is left out and noted.

    Whoever does not read to the end closes it.
    """
    with translated(db.path):
        rows = db.get().execute(sql, bindings)
        while True:
            try:
                row = next(rows, None)
            except UnicodeDecodeError:
                note(table, UNKNOWN)
                continue
            if row is None:
                return
            yield row


def path_checksum(path: str) -> bytes:
    """Return the checksum of a scope's row, by which it is looked up: 16 bytes, so that no two scopes share one."""
    return blake2b(path.encode(), digest_size=16).digest()


def mark(scope: int) -> str:
    """Return the beginning of every word of a scope in the keyword index."""
    return f"s{scope}x"
