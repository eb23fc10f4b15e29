"""The examination of a PostgreSQL database: the checksum of every row, and whether the tables agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from tidal_plugins.errors import Corrupt
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.reports import Fault
from tidal_plugins.storage.capabilities import Examined
from tidal_plugins.storage.postgres.dialect import facets_of
from tidal_plugins.storage.postgres.schema import GONE_SUM
from tidal_plugins.storage.postgres.search import Saved
from tidal_plugins.storage.postgres.store import ALL, PostgresBase
from tidal_plugins.storage.rows import from_json, number_of
from tidal_plugins.storage.sql.checks import BROKEN, CHECKED, TABLES, SQLChecks, Unindexed, row_faults

BATCH = 2000
"""Rows that are read at a time."""

_OF_OWNERS = """
    SELECT e.scope, e.id FROM tidal_entries e WHERE e.scope = %s AND (
        NOT EXISTS (SELECT 1 FROM tidal_passages p WHERE p.scope = e.scope AND p.entry = e.key)
        OR e.key IN (SELECT p.entry FROM tidal_passages p WHERE p.scope = e.scope AND p.key IN (%s - 1, %s + 1))
    )
"""  # an entry may have no other passage, and the passages of one mostly follow each other
_OF_PASSAGES = """
    SELECT p.scope, p.key, e.id, p.start, p."end", p.words, p.checksum FROM tidal_passages p
    LEFT JOIN tidal_entries e ON e.scope = p.scope AND e.key = p.entry
"""
_OF_VECTORS = """
    SELECT p.scope, e.id, p.start, p."end", p.key, v.scope, v.vector, v.checksum FROM tidal_passages p
    CROSS JOIN tidal_state t JOIN tidal_entries e ON e.scope = p.scope AND e.key = p.entry
    LEFT JOIN tidal_vectors v ON v.scope = p.scope AND v.generation = t.generation AND v.passage = p.key
"""
_OF_WORDLESS = """
    SELECT p.scope, e.id, p.start, p."end" FROM tidal_passages p
    JOIN tidal_entries e ON e.scope = p.scope AND e.key = p.entry
    LEFT JOIN LATERAL (
        SELECT count(*) AS found, coalesce(sum(w.times), 0) AS times FROM unnest(p.tokens) k
        JOIN tidal_words w ON w.scope = p.scope AND w.token = k AND w.passage = p.key
    ) n ON TRUE WHERE n.found <> cardinality(p.tokens) OR n.times <> p.words
"""
_COUNTED = """
    SELECT (SELECT count(*) FROM tidal_passages WHERE words > 0),
        (SELECT coalesce(sum(words), 0)::bigint FROM tidal_passages),
        (SELECT count(*) FROM tidal_vectors v, tidal_state t WHERE v.generation = t.generation),
        (SELECT count(*) FROM tidal_vectors v, tidal_state t WHERE v.generation = t.generation + 1)
"""
_KEPT = "SELECT sum(passages)::bigint, sum(words)::bigint, sum(vectors)::bigint, sum(renewed)::bigint FROM tidal_corpus"
_CHARACTERS = "char_length(replace(replace(text, E'\\x01\\x01', ' '), E'\\x01\\x02', ' '))"
_VOLUMES = f"""
    SELECT scope, kind, channel, count(*) AS entries, sum({_CHARACTERS})::bigint AS characters
    FROM tidal_entries GROUP BY scope, kind, channel
"""
_VOLUMES_DIFFER = f"""
    SELECT count(*) FROM ({_VOLUMES}) c FULL JOIN (SELECT * FROM tidal_volumes WHERE entries <> 0) v
    USING (scope, kind, channel) WHERE (c.entries, c.characters) IS DISTINCT FROM (v.entries, v.characters)
"""
_SAVED = "SELECT scope, first, last, changes, centre, checksum, columns FROM tidal_columns"
_GONE = f"SELECT scope, erasure FROM tidal_gone WHERE checksum <> {GONE_SUM}"
_FILTERED = {
    "entries": "SELECT scope, id, tags, metadata, tagged, facets FROM tidal_entries",
    "links": "SELECT scope, id, '[]'::text, metadata, '{}'::text[], facets FROM tidal_links",
}
_REFILE = {
    "entries": "UPDATE tidal_entries SET tagged = %s::text[], facets = %s::text[] WHERE scope = %s AND id = %s",
    "links": "UPDATE tidal_links SET facets = %s::text[] || %s::text[] WHERE scope = %s AND id = %s",
}
_OF_ORPHANS = {
    "passages": """
        SELECT count(*) FROM tidal_passages p
        WHERE NOT EXISTS (SELECT 1 FROM tidal_entries e WHERE e.scope = p.scope AND e.key = p.entry)
    """,
    "vectors": """
        SELECT count(*) FROM tidal_vectors v, tidal_state t WHERE v.generation >= t.generation
        AND NOT EXISTS (SELECT 1 FROM tidal_passages p WHERE p.scope = v.scope AND p.key = v.passage)
    """,
    "keywords": """
        SELECT count(*) FROM tidal_words w
        WHERE NOT EXISTS (SELECT 1 FROM tidal_passages p WHERE p.scope = w.scope AND p.key = w.passage)
    """,
}
_CHANGES = """
    SELECT count(*) FROM tidal_entries e JOIN tidal_scopes s ON s.scope = e.scope
    WHERE e.changed NOT BETWEEN 1 AND s.changes
"""
_REBUILD = (
    """
    DELETE FROM tidal_passages p
    WHERE NOT EXISTS (SELECT 1 FROM tidal_entries e WHERE e.scope = p.scope AND e.key = p.entry)
    """,
    """
    DELETE FROM tidal_vectors v
    WHERE NOT EXISTS (SELECT 1 FROM tidal_passages p WHERE p.scope = v.scope AND p.key = v.passage)
    """,
    """
    DELETE FROM tidal_words w
    WHERE NOT EXISTS (SELECT 1 FROM tidal_passages p WHERE p.scope = w.scope AND p.key = w.passage)
    """,
    "DELETE FROM tidal_volumes",
    f"INSERT INTO tidal_volumes (scope, kind, channel, entries, characters) {_VOLUMES}",
    "UPDATE tidal_corpus SET passages = 0, words = 0, vectors = 0, renewed = 0",
    f"""
    UPDATE tidal_corpus c SET passages = n.passages, words = n.words, vectors = n.vectors, renewed = n.renewed
    FROM ({_COUNTED}) n (passages, words, vectors, renewed) WHERE c.shard = 0
    """,
    "DELETE FROM tidal_gone",
    "DELETE FROM tidal_columns",
    "UPDATE tidal_scopes SET erasures = erasures + 1, changes = greatest(changes, 0) + 1",
    """
    UPDATE tidal_entries e SET changed = s.changes FROM tidal_scopes s
    WHERE s.scope = e.scope AND e.changed NOT BETWEEN 1 AND s.changes
    """,
)


class CheckStore(PostgresBase, SQLChecks):
    """Examines a database. Pages and indexes are the server's matter: its ``amcheck`` looks at them."""

    of_passages, of_owners, of_vectors = _OF_PASSAGES, _OF_OWNERS, _OF_VECTORS
    of_wordless, of_orphans = _OF_WORDLESS, _OF_ORPHANS

    def examine(self) -> Examined:
        unindexed: Unindexed = {}
        with self.snapshot():
            paths = self._db.rows(ALL, "SELECT scope, path FROM tidal_scopes")
            scopes = dict(_known(paths))
            faults = [*self._rows_of(scopes), *self._index_faults(scopes, unindexed), *self._counts()]
            rows = {table: int(self._db.one(ALL, f"SELECT count(*) FROM tidal_{table}")) for table in TABLES}
        return Examined(rows, faults, unindexed)

    def rebuild(self) -> None:
        with self.transaction():
            self._db.flush()
            self._db.run(ALL, ("LOCK TABLE tidal_scopes IN EXCLUSIVE MODE", ()))
            self._db.run(ALL, *((sql, ()) for sql in _REBUILD))
            for table, setting in _REFILE.items():
                for scope, id_, tags, facets in list(self._misfiled(table)):
                    self._db.run(ALL, (setting, [tags, facets, scope, id_]))

    def _misfiled(self, table: str) -> Iterator[tuple[int, str, list[str], list[str]]]:
        """Yield the scope and the id of each row whose columns for filters are wrong, and what they should be."""
        for scope, id_, tags, metadata, tagged, facets in self._all(_FILTERED[table]):
            with suppress(Corrupt, ValueError, TypeError, AttributeError):  # the checksum tells of these
                right = [from_json(tags), facets_of(metadata)]
                if [tagged, facets] != right:
                    yield scope, id_, *right

    def _rows_of(self, scopes: dict[int, Scope]) -> Iterator[Fault]:
        """Yield the rows whose checksums fail."""
        for table, checked in CHECKED.items():
            yield from row_faults(table, self._all(f"SELECT scope, {checked.columns} FROM tidal_{table}"), scopes)
        for scope, path in self._db.rows(ALL, "SELECT scope, path FROM tidal_scopes"):
            if scopes.get(scope) is None:
                yield Fault("scopes", path, "it is not the path of its number")
        for scope, first, last, changes, centre, stored, columns in self._all(_SAVED, 1):
            if not Saved(first, last, changes, centre, stored).holds(scope, columns):
                yield Fault("saved_columns", f"{scope} {first}", BROKEN, True)

    def _each(self, table: str, sql: str) -> Iterator[Any]:
        return self._all(sql)

    def _owners(self, scope: int, key: int) -> Iterable[tuple[int, str]]:
        return self._db.rows(ALL, self.of_owners, scope, key, key)

    def _count(self, sql: str) -> int:
        return int(self._db.one(ALL, sql))

    def _counts(self) -> Iterator[Fault]:
        if self._db.rows(ALL, _COUNTED) != self._db.rows(ALL, _KEPT):
            yield Fault("counts", "corpus", "the number of passages, words or vectors is wrong", True)
        if self._db.one(ALL, _VOLUMES_DIFFER):
            yield Fault("counts", "volumes", "the number of entries or characters is wrong", True)
        for scope, erasure in self._db.rows(ALL, _GONE):
            yield Fault("gone", f"{scope} {erasure}", BROKEN, True)
        for place, id_ in ((table, row[1]) for table in _FILTERED for row in self._misfiled(table)):
            yield Fault(place, id_, "filters find it by other metadata than it has", True)
        if number := self._db.one(ALL, _CHANGES):
            yield Fault("counts", "changes", f"{number} entries have the number of a change that never was", True)

    def _all(self, sql: str, batch: int = BATCH) -> Iterator[Any]:
        """Yield the rows of a query, some at a time."""
        self._db.run(ALL, (f"DECLARE tidal_check NO SCROLL CURSOR FOR {sql}", ()))
        try:
            while rows := self._db.rows(ALL, f"FETCH {batch} FROM tidal_check"):
                yield from rows
        finally:
            self._db.run(ALL, ("CLOSE tidal_check", ()))


def _known(rows: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Scope]]:
    """Yield the scopes whose paths are as they were written, by number."""
    for number, path in rows:
        with suppress(Corrupt, TypeError):
            scope: Scope = tuple(from_json(path))
            if number_of(scope) == number:
                yield number, scope
