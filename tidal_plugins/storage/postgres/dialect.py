"""The SQL of PostgreSQL. Lists are arrays, and rows have columns of their own for filters by tags and metadata."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from tidal_plugins.storage.base import HEAD, TAIL, WhereLinks
from tidal_plugins.storage.rows import check_storable
from tidal_plugins.storage.sql.dialect import ARRAY, BYTES, Dialect, Insert, Part, Update
from tidal_plugins.storage.values import to_json

TEXTS, NUMBERS = "ANY (%s::text[])", "ANY (%s::bigint[])"


class Postgres(Dialect):
    """The SQL of PostgreSQL."""

    tokens: ClassVar = {
        "?": "%s",
        "IN ?texts": f"= {TEXTS}",
        "IN ?numbers": f"= {NUMBERS}",
        "@": "tidal_",
        "^": "",
        "INDEXED BY log_by_key": "",
    }
    by_id = f"tidal_entries {{0}} WHERE {{0}}.id = {TEXTS} AND {{0}}.scope = %s"
    by_key = f"tidal_entries {{0}} WHERE {{0}}.key = {NUMBERS} AND {{0}}.scope = %s"
    indexed = """
        (SELECT count(*) FROM tidal_passages p WHERE p.scope = e.scope AND p.entry = e.key),
        (SELECT coalesce(sum(p.words), 0)::bigint FROM tidal_passages p WHERE p.scope = e.scope AND p.entry = e.key)
    """
    # All of a text where some characters are written as two.
    ends = f"""
        CASE WHEN strpos(e.text, chr(1)) > 0 THEN e.text ELSE left(e.text, {HEAD}) END,
        CASE WHEN strpos(e.text, chr(1)) > 0 THEN e.text ELSE right(e.text, {TAIL}) END
    """
    tagged = "e.tagged && %s::text[]"

    def array(self, values: Collection[Any]) -> list[Any]:
        return list(values)

    def check(self, values: Iterable[Any]) -> None:
        check_storable(values)

    def metadata(self, table: str, items: Mapping[str, Any]) -> Sequence[Part]:
        return [(f"{table}.facets @> %s::text[]", (facets(items),))]

    def link_ends(self, scope: int, where: WhereLinks) -> Sequence[Part]:
        parts = list[Part]()
        if where.ids is not None:
            parts.append(("l.id IN ?texts", (sorted(where.ids),)))
        if where.ends is not None:
            parts.append(("(l.source IN ?texts OR l.target IN ?texts)", (sorted(where.ends),) * 2))
        return parts

    def gathered(self, rows: str) -> str:
        return f"ARRAY ({rows})"

    def list_of(self, gathered: Sequence[Any]) -> Sequence[Any]:
        return gathered

    def _insert(self, insert: Insert) -> str:
        columns, rows, values = _unnested(insert)
        return f"""
            INSERT INTO tidal_{insert.table} ({", ".join([*insert.shared, *columns])})
            SELECT {"%s, " * len(insert.shared)}{", ".join(values.values())} FROM {rows}
            {insert.on_conflict(columns)}
        """

    def _update(self, update: Update) -> str:
        columns, rows, values = _unnested(update)
        key = list(update.columns)[-1]
        shared = [f"{column} = %s" for column in update.shared]
        own = [f"{column} = {values[column]}" for column in columns if column != key]
        return f"""
            UPDATE tidal_{update.table} e SET {", ".join(shared + own)}
            FROM {rows} WHERE e.{key} = u.{key} AND e.scope = %s
        """


POSTGRES = Postgres()


def facets(metadata: Mapping[str, Any]) -> list[str]:
    """Return the items of metadata as texts that are equal if the items are.

    As in JSON, 1 is 1.0, but neither true nor "1". Lists and objects are equal if they are written alike.
    """
    return [to_json([name, _plain(value)]) for name, value in metadata.items()]


def facets_of(stored: str) -> list[str]:
    """Return the facets of metadata that are stored as JSON."""
    found = {} if stored == "{}" else json.loads(stored)
    return facets(found) if isinstance(found, dict) else []


def _unnested(statement: Insert | Update) -> tuple[list[str], str, dict[str, str]]:
    """Return the columns of rows, the rows as a table ``u`` that arrays make, and the value of each column."""
    types = {**statement.columns, **dict.fromkeys(statement.filed, ARRAY)}
    given = {BYTES: "%b::bytea[]", ARRAY: "%s::text[]"}
    arrays = ", ".join(given.get(type_, f"%s::{type_}[]") for type_ in types.values())
    values = {column: f"u.{column}{'::text[]' if type_ == ARRAY else ''}" for column, type_ in types.items()}
    return list(types), f"unnest({arrays}) u ({', '.join(types)})", values


def _plain(value: Any) -> Any:
    """Return a value as it compares. SQL has integers of 64 bits; longer ones are compared as real numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else int(float(value))
    return int(value) if value == value and abs(value) != float("inf") and value.is_integer() else value
