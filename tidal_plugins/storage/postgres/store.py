"""Documents, links, logs and the listing of a PostgreSQL database: what only it has to do for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import blake2b
from typing import Any, NamedTuple

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import META, STORE
from tidal_plugins.storage.capabilities import Listing, Listings, Names
from tidal_plugins.storage.postgres.connections import ALL, ANY, Connections, Statement
from tidal_plugins.storage.postgres.dialect import POSTGRES, array_of, facets_of
from tidal_plugins.storage.rows import Row, from_json, number_of, path_of
from tidal_plugins.storage.sql.dialect import Insert, SQLStore, Update
from tidal_plugins.storage.sql.store import (
    COPIES,
    CURRENT,
    OF_KEYS,
    OF_LINK,
    STRONGEST,
    THESE,
    DocumentStore,
    LinkStore,
    LogStore,
)

_TO_WRITE = "SELECT pg_advisory_xact_lock(k) FROM unnest(%s::bigint[]) k"
_TO_READ = """
    SELECT CASE WHEN EXISTS (SELECT 1 FROM tidal_documents WHERE scope = %s AND collection = %s AND key = d.key)
        THEN pg_advisory_xact_lock_shared(d.lock) ELSE pg_advisory_xact_lock(d.lock) END
    FROM unnest(%s::text[], %s::bigint[]) d (key, lock)
"""
_KEPT = "documents to be read"
_ADD = "INSERT INTO tidal_scopes (scope, path) VALUES (%s, %s) ON CONFLICT (scope) DO NOTHING"


def reading(db: Connections, collection: str, keys: Collection[str]) -> list[Statement]:
    """Return a statement after which nobody else writes these documents before the transaction ends.

    Values of ``META`` that are there may be read by others meanwhile. All else is locked as if it were to be written,
    since two transactions that read first and write then would wait for each other.
    """
    if not db.writing or not keys:
        return []
    locks = _locks(collection, keys)
    if collection != META:
        return [(_TO_WRITE, [list(locks.values())])]
    db.current.kept.setdefault(_KEPT, set()).update(locks.values())
    return [(_TO_READ, [number_of(STORE), collection, list(locks), list(locks.values())])]


def writing(db: Connections, collection: str, keys: Collection[str]) -> list[Statement]:
    """Return statements after which nobody else reads these documents in a transaction, or writes them, before the
    open one ends."""
    locks = [(_TO_WRITE, [list(_locks(collection, keys).values())])] if keys else []
    return [*locks, (_ADD, [number_of(STORE), path_of(STORE)])]


def lock_read(db: Connections) -> None:
    """Lock for writing the values of the store that the transaction has read."""
    if locks := db.current.kept.get(_KEPT):
        db.later(ANY, (_TO_WRITE, [sorted(locks)]))


def _locks(collection: str, keys: Collection[str]) -> dict[str, int]:
    """Return the numbers of the locks of documents, in the order in which every transaction takes them."""
    found = {key: _number(collection, key) for key in keys}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _number(collection: str, key: str) -> int:
    data = f"{len(collection)} {collection} {key}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8, person=b"tidal").digest(), "big", signed=True)


_FIGURES = """
    SELECT c.passages, c.words, t.generation, coalesce(s.erasures, 0), coalesce(s.changes, 0)
    FROM (SELECT sum(passages)::bigint AS passages, sum(words)::bigint AS words FROM tidal_corpus) c
    CROSS JOIN tidal_state t LEFT JOIN tidal_scopes s ON s.scope = %s
"""


_FILED: dict[str, tuple[str, Callable[[str], list[str]]]] = {
    "tagged": ("tags", from_json),
    "facets": ("metadata", facets_of),
}
"""The columns that filters read, each with the column that it is made of."""


class Figures(NamedTuple):
    """The passages of the whole store and their words, the generation of its vectors, and a scope's numbers."""

    passages: int
    words: int
    generation: int
    erasures: int
    changes: int


class PostgresBase(SQLStore):
    """Base of a part of the engine."""

    dialect = POSTGRES
    _db: Connections

    def question(self) -> AbstractContextManager[None]:
        return self._db.question()

    def _key(self, scope: Scope) -> int:
        return number_of(scope)

    def _query(self, table: str, place: Scope | str, sql: str, *values: Any) -> list[Any]:
        return self._db.rows(place, POSTGRES.sql(sql), *values)

    def _kept(self, table: str, place: Scope | str, sql: str, *values: Any) -> list[Any]:
        return self._db.kept(place, POSTGRES.sql(sql), *values)

    def _run(self, place: Scope | str, sql: str, *values: Any) -> int:
        return self._db.run(place, (POSTGRES.sql(sql), values))

    def _later(self, place: Scope | str, sql: str, *values: Any) -> None:
        self._db.later(place, (POSTGRES.sql(sql), values))

    def _insert(self, place: Scope | str, insert: Insert, shared: Row, rows: Iterable[Row]) -> None:
        self._db.later(place, (POSTGRES.insert(insert), [*shared, *_columns(insert, rows)]))

    def _update(self, scope: Scope, update: Update, shared: Row, rows: Iterable[Row]) -> None:
        values = [*shared, *_columns(update, rows), number_of(scope)]
        self._db.later(scope, (POSTGRES.update(update), values))


def _columns(statement: Insert | Update, rows: Iterable[Row]) -> list[list[Any]]:
    """Return the columns of rows, with those that filters read."""
    names = tuple(statement.columns)
    for column in statement.filed:
        source, read = _FILED[column]
        place = names.index(source)
        rows = [(*row, array_of(read(row[place]))) for row in rows]
    return [list(column) for column in zip(*rows, strict=True)]


def figures(db: Connections, scope: Scope) -> Figures:
    """Return the figures of the store and of a scope, with what the open transaction adds to them."""
    found = Figures(*db.kept(scope, _FIGURES, number_of(scope))[0])
    counts = db.current.counts.values()
    added = [sum(count[place] for count in counts) for place in (0, 1)]
    return found._replace(passages=found.passages + added[0], words=found.words + added[1])


__all__ = ["ALL", "Figures", "PostgresBase", "figures"]


_VERSIONS = f"SELECT key, version FROM @documents WHERE {THESE}"
_IN_NO_HURRY = "SELECT set_config('synchronous_commit', 'off', true)"
_SCOPES = f"""
    SELECT path, ARRAY (
            SELECT DISTINCT d.collection FROM tidal_documents d WHERE d.scope = s.scope AND d.collection <> '{COPIES}'
        ),
        ARRAY (SELECT DISTINCT l.name FROM tidal_log l WHERE l.scope = s.scope),
        EXISTS (SELECT 1 FROM tidal_entries e WHERE e.scope = s.scope)
        OR EXISTS (SELECT 1 FROM tidal_links l WHERE l.scope = s.scope)
    FROM tidal_scopes s
"""
_LAST_SEQ = "SELECT coalesce(pg_sequence_last_value('tidal_lines'), 0)"


class PostgresDocuments(PostgresBase, DocumentStore):
    """Documents in a database. Those of a scope are locked with it, those about the whole store one by one.

    A transaction knows the versions that it has read or written, and asks for none of them again.
    """

    def _of_keys(
        self, table: str, scope: Scope, collection: str, keys: Collection[str], page: bool, values: Row
    ) -> list[Row]:
        sql = self.dialect.sql(OF_KEYS[table])
        if not self._db.writing:
            return self._db.kept(ANY if scope == STORE else scope, sql, *values)
        if scope == STORE:  # a copy goes with what it is a copy of
            locks = reading(self._db, collection, keys) if collection != COPIES else []
            rows: list[Row] = self._db.each(ANY, *locks, (sql, values))[-1]
        else:
            rows = self._db.rows(scope, sql, *values)
        if table == CURRENT:  # a page says nothing of the others
            absent = dict.fromkeys(() if page else keys, 0)
            self._now_at(scope, collection, {**absent, **{row[1]: row[3] for row in rows}})
        return rows

    def _versions(self, scope: Scope, collection: str, keys: Sequence[str]) -> tuple[dict[str, int], bool]:
        known, values = self._db.current.versions, [number_of(scope), collection, list(keys)]
        if scope == STORE:
            self._hold(scope, collection, keys)
        elif all((scope, collection, key) in known for key in keys):
            found = {key: version for key in keys if (version := known[scope, collection, key])}
            return found, bool(found)
        found = dict(self._db.rows(self._written_at(scope), self.dialect.sql(_VERSIONS), *values))
        return found, bool(found)

    def _hold(self, scope: Scope, collection: str, keys: Collection[str]) -> None:
        if scope == STORE:
            self._db.later(ANY, *writing(self._db, collection, keys))

    def _now_at(self, scope: Scope, collection: str, versions: Mapping[str, int]) -> None:
        self._db.current.versions.update({(scope, collection, key): versions[key] for key in versions})

    def _written_at(self, scope: Scope) -> Scope | str:
        return ANY if scope == STORE else scope


class PostgresLog(PostgresBase, LogStore):
    """Logs in a database."""

    def _new_lines(self, scope: Scope, count: int) -> Sequence[int]:
        return self._db.lines(scope, count)

    @contextmanager
    def _claiming(self, scope: Scope) -> Iterator[Scope | str]:
        if self._db.writing:
            yield scope
            return
        with self.transaction():  # of its own: it does not lock the scope
            place = str(number_of(scope))
            self._db.later(place, (_IN_NO_HURRY, ()))
            yield place


class PostgresLinks(PostgresBase, LinkStore):
    """Links in a database."""

    def _frontier(self, condition: str) -> str:
        def end(where: str) -> str:
            chosen = f"SELECT {OF_LINK}, l.key FROM @links l WHERE {where} AND l.kind = k.kind AND {condition}"
            return f"({chosen} ORDER BY {STRONGEST}, l.key LIMIT ?)"

        return f"""
            SELECT n.node, {OF_LINK} FROM unnest(%s::text[]) WITH ORDINALITY n (node, place)
            CROSS JOIN unnest(%s::text[]) k (kind) CROSS JOIN LATERAL (
                SELECT * FROM (
                    {end("l.source = n.node")} UNION ALL {end("l.target = n.node AND l.source <> n.node")}
                ) l ORDER BY {STRONGEST}, l.key LIMIT ?
            ) l ORDER BY n.place, {STRONGEST}, l.key
        """


class PostgresListing(PostgresBase, Listings):
    """Lists a database, scope by scope."""

    def listing(self) -> Listing:
        with self.snapshot():
            rows, last = self._db.rows(ALL, _SCOPES), int(self._db.one(ALL, _LAST_SEQ) or 0)
        found: dict[Scope, Names] = {}
        for path, collections, logs, bears in rows:
            if bears or collections or logs:
                found[tuple(from_json(path))] = Names(tuple(sorted(collections)), tuple(sorted(logs)))
        return Listing(dict(sorted(found.items())), last)
