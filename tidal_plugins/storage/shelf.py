"""What the shelves of an SQLite file share: its connections, and scopes by their keys."""

from __future__ import annotations

from contextlib import AbstractContextManager

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.connections import Connections
from tidal_plugins.storage.sql import to_json

NO_SCOPE = -1
"""Stands for a scope that nothing was written to yet: it matches no row."""

IDS = "(SELECT value FROM json_each(?))"
"""A list bound as one JSON array."""


class Shelf(Storage):
    """A part of the engine. What it does not define, another shelf of the same store does."""

    _db: Connections

    def transaction(self) -> AbstractContextManager[None]:
        return self._db.transaction()

    def snapshot(self) -> AbstractContextManager[None]:
        return self._db.snapshot()

    def _key(self, scope: Scope) -> int:
        key = self._db.one("SELECT key FROM scopes WHERE path = ?", to_json(list(scope)))
        return NO_SCOPE if key is None else int(key)

    def _writable_scope(self, scope: Scope) -> int:
        self._db.run("INSERT INTO scopes (path) VALUES (?) ON CONFLICT DO NOTHING", to_json(list(scope)))
        return self._key(scope)
