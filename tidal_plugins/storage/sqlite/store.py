"""Scopes, documents, links, logs and the listing of an SQLite file: what only it has to do for them.

The number of a scope, by which rows of other tables belong to it, is a hash of its path. So a reader needs no row of
the table of scopes. If number and path of a row disagree, the number that other tables refer to is right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from tidal_plugins.errors import Corrupt, StorageError
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.reports import Fault
from tidal_plugins.storage.capabilities import Listing, Listings, Names
from tidal_plugins.storage.damage import DOCUMENTS, LINKS, SCOPES, UNKNOWN, VOLUMES, noticed
from tidal_plugins.storage.rows import Row, from_json, hashed, number_of, path_of
from tidal_plugins.storage.sql.dialect import Insert, SQLStore, Update
from tidal_plugins.storage.sql.store import COPIES, OF_LINK, STRONGEST, THESE, DocumentStore, LinkStore, LogStore
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.dialect import SQLITE
from tidal_plugins.storage.sqlite.schema import OF_SCOPES

_NUMBERED = ("entries", *OF_SCOPES)

_IS_BORNE = f"SELECT {' OR '.join(f'EXISTS (SELECT 1 FROM {table} WHERE scope = ?1)' for table in _NUMBERED)}"
_SCOPES = "SELECT key, CAST(path AS BLOB) FROM scopes"
_ADD = """
    INSERT INTO scopes (key, path) VALUES (?, ?)
    ON CONFLICT (path) DO UPDATE SET key = excluded.key WHERE key <> excluded.key
"""
_MEND_PATH = "UPDATE scopes SET path = ? WHERE key = ?"
_SET_KEY = "UPDATE OR IGNORE scopes SET key = ?1 WHERE key = ?2 AND key <> ?1"


class ScopeRow(NamedTuple):
    """The row of a scope as it was found."""

    key: int
    path: str

    @property
    def number(self) -> int:
        """Return the number that the path has. It is ``key``, unless one of the two is damaged."""
        return hashed(self.path)


def scope_rows(db: Connections) -> Iterator[tuple[ScopeRow, Scope | None]]:
    """Yield the rows of scopes, each with its scope; ``None`` if that cannot be told."""
    for key, path in db.rows(_SCOPES):
        row = ScopeRow(key, (path or b"").decode(errors="replace"))
        yield row, scope_of(db, row)


def scope_of(db: Connections, row: ScopeRow) -> Scope | None:
    """Return the scope of a row, ``None`` if its path is damaged: rows of other tables bear its number, and not that
    of its path."""
    if row.number != row.key and not db.one(_IS_BORNE, row.number) and db.one(_IS_BORNE, row.key):
        return None
    with suppress(Corrupt, TypeError):  # it may be a value of another table
        return tuple(from_json(row.path))
    return None


def known_scopes(db: Connections) -> dict[int, Scope]:
    """Return the scopes that can be told, by their numbers."""
    return {row.number: scope for row, scope in scope_rows(db) if scope is not None}


def mend_rows(db: Connections) -> None:
    """Give every scope that can be told its number again. Call it inside a transaction."""
    db.run_each(_SET_KEY, [(row.number, row.key) for row, scope in scope_rows(db) if scope is not None])


def scope_faults(db: Connections) -> Iterator[Fault]:
    """Yield the faulty rows. A path that is damaged is written anew with what is next written to its scope."""
    for row, scope in scope_rows(db):
        if row.number != row.key or scope is None:
            name = row.path if scope is not None or (row.path and row.path.isascii()) else UNKNOWN
            yield Fault(SCOPES, name, "it is not the path of its number", scope is not None)


_FIGURES = """
    SELECT CAST(ifnull(c.passages, 0) AS INTEGER), CAST(ifnull(c.words, 0) AS INTEGER), s.erasures, s.changes
    FROM (SELECT 1) LEFT JOIN corpus c LEFT JOIN scopes s ON s.key = ? LIMIT 1
"""  # damage may have taken the row of the corpus away


class SQLiteBase(SQLStore):
    """Base of a part of the engine."""

    dialect = SQLITE
    _db: Connections
    _scopes: set[Scope]
    """The scopes that are known to have a row."""

    def _key(self, scope: Scope) -> int:
        return number_of(scope)

    def _writable_scope(self, scope: Scope) -> int:
        number, path = number_of(scope), path_of(scope)
        if scope in self._scopes:
            return number
        found, created = self._db.one("SELECT path FROM scopes WHERE key = ?", number), self._db.created
        if found == path and scope not in created:
            self._scopes.add(scope)
        elif found != path:
            if found is not None and hashed(found) == number:
                raise StorageError("two scopes have the same number, which happens once in 2^63: name this one anew")
            created.add(scope)  # it may yet be rolled back
            self._db.run(_MEND_PATH, path, number)
            self._db.run(_ADD, number, path)
        return number

    def _readable(self, table: str, sql: str, *bindings: Any) -> list[Any]:
        return self._db.all_readable(table, sql, *bindings)

    def _query(self, table: str, place: Scope | str, sql: str, *values: Any) -> list[Any]:
        return self._db.all_readable(table, SQLITE.sql(sql), *values)

    def _kept(self, table: str, place: Scope | str, sql: str, *values: Any) -> list[Any]:
        kept = self._db.kept()
        if kept is not None and (known := kept.get((sql, values))) is not None:
            return list(known)
        with noticed() as damaged:
            rows = self._query(table, place, sql, *values)
        kept = self._db.kept()  # the first reading of a snapshot tells which state it sees
        if kept is not None and not damaged:
            kept[sql, values] = rows
        return rows

    def _run(self, place: Scope | str, sql: str, *values: Any) -> int:
        self._db.run(SQLITE.sql(sql), *values)
        return self._db.get().changes()

    def _later(self, place: Scope | str, sql: str, *values: Any) -> None:
        self._db.run(SQLITE.sql(sql), *values)

    def _insert(self, place: Scope | str, insert: Insert, shared: Row, rows: Iterable[Row]) -> None:
        self._db.run_each(SQLITE.insert(insert), [(*shared, *row) for row in rows])

    def _update(self, scope: Scope, update: Update, shared: Row, rows: Iterable[Row]) -> None:
        key = self._key(scope)
        self._db.run_each(SQLITE.update(update), [(*shared, *row, key) for row in rows])


def figures(db: Connections, scope: int) -> tuple[int, int, int | None, int | None]:
    """Return the numbers of passages and words of the whole store, and those of erasures and changes of a scope."""
    kept = db.kept()
    row = None if kept is None else kept.get((_FIGURES, scope))
    if row is None:
        with noticed() as damaged:
            row = db.all_readable(VOLUMES, _FIGURES, scope)[0]
        kept = db.kept()
        if kept is not None and not damaged:
            kept[_FIGURES, scope] = row
    found: tuple[int, int, int | None, int | None] = row
    return found


def mark(scope: int) -> str:
    """Return the beginning of every word of a scope in the keyword index."""
    return f"s{scope:019d}x"


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
