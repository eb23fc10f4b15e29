"""The base of the parts of the PostgreSQL engine: its connections, and the figures of a scope."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.postgres.connections import Connections
from tidal_plugins.storage.postgres.dialect import POSTGRES, facets_of
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.postgres.texts import array_of
from tidal_plugins.storage.postgres.work import ALL
from tidal_plugins.storage.rows import Row
from tidal_plugins.storage.sql.dialect import Insert, SQLStore

_FIGURES = """
    SELECT c.passages, c.words, t.generation, coalesce(s.erasures, 0), coalesce(s.changes, 0)
    FROM (SELECT sum(passages)::bigint AS passages, sum(words)::bigint AS words FROM tidal_corpus) c
    CROSS JOIN tidal_state t LEFT JOIN tidal_scopes s ON s.scope = %s
"""


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

    def transaction(self) -> AbstractContextManager[None]:
        return self._db.transaction()

    def snapshot(self) -> AbstractContextManager[None]:
        return self._db.snapshot()

    def question(self) -> AbstractContextManager[None]:
        return self._db.question()

    @abstractmethod
    def _stored(self, scope: Scope, entries: int) -> None:
        """Note that so many entries were stored in a scope."""

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
        filed = insert.filed and tuple(insert.columns).index("metadata")
        given = [(*row, array_of(facets_of(row[filed]))) for row in rows] if insert.filed else rows
        columns = map(list, zip(*given, strict=True))
        self._db.later(place, (POSTGRES.insert(insert), [*shared, *columns]))


def figures(db: Connections, scope: Scope) -> Figures:
    """Return the figures of the store and of a scope, with what the open transaction adds to them."""
    found = Figures(*db.kept(scope, _FIGURES, number_of(scope))[0])
    counts = db.current.counts.values()
    added = [sum(count[place] for count in counts) for place in (0, 1)]
    return found._replace(passages=found.passages + added[0], words=found.words + added[1])


__all__ = ["ALL", "Figures", "PostgresBase", "figures"]
