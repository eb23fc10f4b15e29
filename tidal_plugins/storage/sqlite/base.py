"""The base of the parts of the SQLite engine: its connections, and scopes by their keys."""

from __future__ import annotations

from contextlib import AbstractContextManager

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.sqlite.connections import Connections
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
        key = self._db.one("SELECT key FROM scopes WHERE path = ?", to_json(list(scope)))
        if key is None:
            return NO_SCOPE
        if not self._db.writing or scope not in self._scopes.created:  # else it may yet be rolled back
            self._scopes.keep(scope, int(key))
        return int(key)

    def _writable_scope(self, scope: Scope) -> int:
        key = self._key(scope)
        if key == NO_SCOPE:
            self._scopes.created.add(scope)
            self._db.run("INSERT INTO scopes (path) VALUES (?)", to_json(list(scope)))
            key = self._key(scope)
        return key


def mark(scope: int) -> str:
    """Return the beginning of every word of a scope in the keyword index."""
    return f"s{scope}x"
