"""The listing of an SQLite file: its scopes, with the names of their documents and logs."""

from __future__ import annotations

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.checks import Listing, Listings, Names
from tidal_plugins.storage.sqlite.base import SQLiteBase
from tidal_plugins.storage.sqlite.documents import COPIES
from tidal_plugins.storage.sqlite.log import LAST_SEQ
from tidal_plugins.storage.sqlite.scopes import known_scopes


class ListingStore(SQLiteBase, Listings):
    """Lists a file from its indexes."""

    def listing(self) -> Listing:
        with self.snapshot():
            scopes = known_scopes(self._db)
            there = {key for table in ("entries", "links") for (key,) in self._db.rows(_BEARERS.format(table))}
            named = {
                table: [(scopes[key], str(name)) for key, name in self._db.rows(sql, *given) if key in scopes]
                for table, sql, given in (("documents", _COLLECTIONS, (COPIES,)), ("log", _LOGS, ()))
            }
            last = int(self._db.one(LAST_SEQ) or 0)
        bearers = {scopes[key] for key in there if key in scopes} | {one for rows in named.values() for one, _ in rows}

        def names(scope: Scope, table: str) -> tuple[str, ...]:
            return tuple(sorted(name for one, name in named[table] if one == scope))

        return Listing({one: Names(names(one, "documents"), names(one, "log")) for one in sorted(bearers)}, last)


_BEARERS = "SELECT DISTINCT scope FROM {}"
_COLLECTIONS = "SELECT DISTINCT scope, collection FROM documents WHERE collection <> ?"
_LOGS = "SELECT DISTINCT scope, name FROM log"
