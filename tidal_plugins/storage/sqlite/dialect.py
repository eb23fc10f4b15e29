"""The SQL of SQLite. Lists are JSON arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from tidal_plugins.storage.base import HEAD, TAIL, WhereLinks
from tidal_plugins.storage.rows import to_json
from tidal_plugins.storage.sql.dialect import Dialect, Insert, Part, Update

IDS = "(SELECT value FROM json_each(?))"
"""A list bound as one JSON array."""

# Every wanted item has its equal among the row's, as in JSON: 1 is 1.0, but neither true nor "1".
_HOLDS = """NOT EXISTS (
    SELECT 1 FROM json_each(?) q WHERE NOT EXISTS (
        SELECT 1 FROM json_each(iif(json_valid({0}.metadata), {0}.metadata, '[]')) m
        WHERE m.key = q.key AND m.value IS q.value
        AND replace(m.type, 'real', 'integer') = replace(q.type, 'real', 'integer')
    )
)"""


class SQLite(Dialect):
    """The SQL of SQLite."""

    tokens: ClassVar = {
        "IN ?texts": f"IN {IDS}",
        "IN ?numbers": f"IN {IDS}",
        "@": "",
        "^": "+",
        "FOR UPDATE SKIP LOCKED": "",
    }
    # CROSS JOIN keeps the order of the loops: look each one up, never walk the scope.
    by_id = "json_each(?) j CROSS JOIN entries {0} WHERE {0}.id = j.value AND {0}.scope = ?"
    by_key = "json_each(?) j CROSS JOIN entries {0} WHERE {0}.key = j.value AND +{0}.scope = ?"
    indexed = "(SELECT count(*) FROM passages p WHERE p.entry = e.key)"
    ends = f"substr(e.text, 1, {HEAD}), substr(e.text, -{TAIL})"
    # A damaged row has neither tags nor metadata: it must not end the search for others.
    tagged = """EXISTS (
        SELECT 1 FROM json_each(iif(json_valid(e.tags), e.tags, '[]')) t JOIN json_each(?) q ON t.value = q.value
    )"""

    def array(self, values: Collection[Any]) -> str:
        return to_json(list(values))

    def check(self, values: Iterable[Any]) -> None:
        """Raise nothing: a value is refused when it is bound."""

    def metadata(self, table: str, items: Mapping[str, Any]) -> Sequence[Part]:
        # A text stands in what is stored as it does here: most rows are told apart without parsing.
        texts = {name: value for name, value in items.items() if isinstance(value, str)}
        parts = [(f"instr({table}.metadata, ?)", (to_json({name: value})[1:-1],)) for name, value in texts.items()]
        return [*parts, (_HOLDS.format(table), (to_json(dict(items)),))]

    def link_ends(self, scope: int, where: WhereLinks) -> Sequence[Part]:
        among = "SELECT key FROM @links WHERE scope = ? AND {} IN ?texts"
        parts = list[Part]()
        if where.ids is not None:
            parts.append((f"l.key IN ({among.format('id')})", (scope, self.array(sorted(where.ids)))))
        if where.ends is not None:
            either = f"{among.format('source')} UNION {among.format('target')}"
            parts.append((f"l.key IN ({either})", (scope, self.array(sorted(where.ends))) * 2))
        return parts

    def _insert(self, insert: Insert) -> str:
        columns = (*insert.shared, *insert.columns)
        conflict = insert.on_conflict(insert.columns)
        values = ", ".join("?" * len(columns))
        return f"INSERT INTO {insert.table} ({', '.join(columns)}) VALUES ({values}) {conflict}"

    def _update(self, update: Update) -> str:
        *columns, key = (*update.shared, *update.columns)
        return f"UPDATE {update.table} SET {' = ?, '.join(columns)} = ? WHERE {key} = ? AND scope = ?"


SQLITE = SQLite()
