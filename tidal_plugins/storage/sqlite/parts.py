"""What SQLite adds to the parts of the contract that every SQL engine shares, and the listing of a file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.checks import Listing, Listings, Names
from tidal_plugins.storage.damage import DOCUMENTS, LINKS
from tidal_plugins.storage.sql.documents import COPIES, THESE, DocumentStore
from tidal_plugins.storage.sql.links import OF_LINK, STRONGEST, LinkStore
from tidal_plugins.storage.sql.log import LogStore
from tidal_plugins.storage.sqlite.base import SQLiteBase
from tidal_plugins.storage.sqlite.scopes import known_scopes

_VERSIONS = f"""
    SELECT key, version, EXISTS (
        SELECT 1 FROM earlier_documents e WHERE e.scope = d.scope AND e.collection = d.collection AND e.key = d.key
    ) FROM documents d WHERE {THESE}
"""
_LAST_SEQ = """
    SELECT max(coalesce(max(seq), 0), coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'log'), 0)) FROM log
"""
_ANY = "SELECT EXISTS (SELECT 1 FROM json_each(?2) k CROSS JOIN links l WHERE l.scope = ?1 AND l.kind = k.value)"
_BEARERS = "SELECT DISTINCT scope FROM {}"
_COLLECTIONS = "SELECT DISTINCT scope, collection FROM documents WHERE collection <> ?"
_LOGS = "SELECT DISTINCT scope, name FROM log"


class SQLiteDocuments(SQLiteBase, DocumentStore):
    """Documents in a file, for which the one lock of all writers is enough."""

    def _versions(self, scope: Scope, collection: str, keys: Sequence[str]) -> tuple[dict[str, int], bool]:
        rows = self._query(DOCUMENTS, scope, _VERSIONS, self._key(scope), collection, self.dialect.array(keys))
        return {key: int(version or 0) for key, version, _ in rows}, any(earlier for _, _, earlier in rows)


class SQLiteLog(SQLiteBase, LogStore):
    """Logs in a file."""

    def _new_lines(self, scope: Scope, count: int) -> Sequence[int]:
        return self._db.next_numbers("log", _LAST_SEQ, count)

    @contextmanager
    def _claiming(self, scope: Scope) -> Iterator[Scope]:
        with self._db.unsynced(), self.transaction():
            yield scope


class SQLiteLinks(SQLiteBase, LinkStore):
    """Links in a file."""

    def _has_kinds(self, scope: Scope, kinds: Collection[str]) -> bool:
        """Return whether a scope has links of any kind given: few have those of every kind, and each recall asks."""
        asked = self.dialect.array(list(dict.fromkeys(kinds)))
        return bool(self._kept(LINKS, scope, _ANY, self._key(scope), asked)[0][0])

    def _frontier(self, condition: str) -> str:
        def end(where: str) -> str:
            ranked = f"SELECT l.key, l.expires_at, l.weight FROM links l WHERE {where} AND l.kind = k.value"
            return f"SELECT * FROM ({ranked} AND {condition} ORDER BY {STRONGEST} LIMIT ?)"

        return f"""
            SELECT n.value, {OF_LINK} FROM json_each(?) n CROSS JOIN json_each(?) k CROSS JOIN links l
            WHERE l.key IN (
                SELECT key FROM (
                    {end("l.source = n.value")} UNION ALL {end("l.target = n.value AND l.source <> n.value")}
                ) l ORDER BY {STRONGEST} LIMIT ?
            ) ORDER BY n.key, {STRONGEST}, l.key
        """


class SQLiteListing(SQLiteBase, Listings):
    """Lists a file from its indexes."""

    def listing(self) -> Listing:
        with self.snapshot():
            scopes = known_scopes(self._db)
            there = {key for table in ("entries", "links") for (key,) in self._db.rows(_BEARERS.format(table))}
            named = {
                table: [(scopes[key], str(name)) for key, name in self._db.rows(sql, *given) if key in scopes]
                for table, sql, given in (("documents", _COLLECTIONS, (COPIES,)), ("log", _LOGS, ()))
            }
            last = int(self._db.one(_LAST_SEQ) or 0)
        bearers = {scopes[key] for key in there if key in scopes} | {one for rows in named.values() for one, _ in rows}

        def names(scope: Scope, table: str) -> tuple[str, ...]:
            return tuple(sorted(name for one, name in named[table] if one == scope))

        return Listing({one: Names(names(one, "documents"), names(one, "log")) for one in sorted(bearers)}, last)
