"""What PostgreSQL adds to the parts of the contract that every SQL engine shares, and the listing of a database."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import STORE
from tidal_plugins.storage.checks import Listing, Listings, Names
from tidal_plugins.storage.postgres.base import PostgresBase
from tidal_plugins.storage.postgres.locks import reading, writing
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.postgres.work import ALL, ANY
from tidal_plugins.storage.rows import Row
from tidal_plugins.storage.sql.documents import COPIES, CURRENT, OF_KEYS, THESE, DocumentStore
from tidal_plugins.storage.sql.links import OF_LINK, STRONGEST, LinkStore
from tidal_plugins.storage.sql.log import LogStore
from tidal_plugins.storage.values import from_json

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
            return self._db.kept(scope, sql, *values)
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
