"""The base of the parts of the PostgreSQL engine: its connections, and the figures of a scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.postgres.connections import Connections
from tidal_plugins.storage.postgres.dialect import POSTGRES, facets_of
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.postgres.texts import array_of
from tidal_plugins.storage.postgres.work import ALL
from tidal_plugins.storage.rows import Row
from tidal_plugins.storage.sql.dialect import Insert, SQLStore, Update
from tidal_plugins.storage.values import from_json

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
