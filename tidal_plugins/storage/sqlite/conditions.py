"""Translate filters into SQL conditions. Every value is a bound parameter; lists are bound as JSON arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from tidal_plugins.model.clock import to_micros
from tidal_plugins.storage.base import Where, WhereLinks
from tidal_plugins.storage.values import to_json

IDS = "(SELECT value FROM json_each(?))"
"""A list bound as one JSON array."""

EACH_ID = "json_each(?) j CROSS JOIN entries e ON e.scope = ? AND e.id = j.value"
"""Entries by id. CROSS JOIN keeps the order of the loops: look each id up, never walk the scope."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The SQL that follows ``WHERE``, over a table ``e`` of entries, and its parameters in order."""

    sql: str
    parameters: tuple[Any, ...]


_IN = f"IN {IDS}"

# A damaged row has neither tags nor metadata: it must not end the search for others.
_TAGGED = """EXISTS (
    SELECT 1 FROM json_each(iif(json_valid(e.tags), e.tags, '[]')) t JOIN json_each(?) q ON t.value = q.value
)"""

# Every wanted item has its equal among the row's, as in JSON: 1 is 1.0, but neither true nor "1".
_HOLDS = """NOT EXISTS (
    SELECT 1 FROM json_each(?) q WHERE NOT EXISTS (
        SELECT 1 FROM json_each(iif(json_valid({0}.metadata), {0}.metadata, '[]')) m
        WHERE m.key = q.key AND m.value IS q.value
        AND replace(m.type, 'real', 'integer') = replace(q.type, 'real', 'integer')
    )
)"""


def condition(scope_key: int | None, where: Where) -> Condition:
    """Translate a filter of entries, in one scope or in any."""
    parts: list[tuple[str, Any]] = [] if scope_key is None else [("e.scope = ?", scope_key)]
    parts += _members(where)
    if where.tags is not None:
        parts.append((_TAGGED, _list(where.tags)))
    if where.exclude:
        excluded = _list(where.exclude)
        parts.append((f"e.id NOT {_IN}", excluded))
        parts.append((f"ifnull(e.episode, '') NOT {_IN}", excluded))
    if where.not_channels:
        parts.append((f"e.channel NOT {_IN}", _list(where.not_channels)))
    if where.since is not None:
        parts.append(("e.occurred_at >= ?", to_micros(where.since)))
    if where.until is not None:
        parts.append(("e.occurred_at < ?", to_micros(where.until)))
    if where.known_at is not None:
        parts.append(("e.recorded_at <= ?", to_micros(where.known_at)))
    if where.least_importance is not None:
        parts.append(("e.importance >= ?", where.least_importance))
    if where.due_by is not None:
        parts.append(("e.anchored_at < e.cold_at AND e.cold_at <= ?", to_micros(where.due_by)))
    if where.metadata:
        parts.append((_HOLDS.format("e"), to_json(dict(where.metadata))))
    sql, parameters = [part for part, _ in parts], [value for _, value in parts]
    if where.active_at is not None:
        now = to_micros(where.active_at)
        sql.append("(e.valid_from IS NULL OR e.valid_from <= ?) AND (e.valid_until IS NULL OR e.valid_until > ?)")
        parameters += [now, now]
        if not where.include_archived:
            sql.append("(e.archived_at IS NULL OR e.archived_at > ?) AND (e.expires_at IS NULL OR e.expires_at > ?)")
            parameters += [now, now]
    return Condition(" AND ".join(sql) or "TRUE", tuple(parameters))


def link_condition(scope_key: int, where: WhereLinks) -> Condition:
    """Translate a filter of links in one scope, over a table ``l`` of links."""
    among = "SELECT key FROM links WHERE scope = ? AND {}"
    parts: list[tuple[str, tuple[Any, ...]]] = []
    if where.ids is not None:
        parts.append((f"l.key IN ({among.format(f'id {_IN}')})", (scope_key, _list(where.ids))))
    if where.ends is not None:
        either = f"{among.format(f'source {_IN}')} UNION {among.format(f'target {_IN}')}"
        parts.append((f"l.key IN ({either})", (scope_key, _list(where.ends)) * 2))
    # SQLite has no statistics: the unary plus keeps it from walking a whole kind where it could look keys up.
    link = "+l" if parts else "l"
    parts.append((f"{link}.scope = ?", (scope_key,)))
    for column, values in {"kind": where.kinds, "source": where.sources, "target": where.targets}.items():
        if values is not None and len(values) == 1:  # an index then gives the order too
            parts.append((f"{link}.{column} = ?", tuple(values)))
        elif values is not None:
            parts.append((f"{link}.{column} {_IN}", (_list(values),)))
    for name, value in where.metadata.items():
        if isinstance(value, str):  # stands in what is stored as it does here: most are told apart without parsing
            parts.append(("instr(l.metadata, ?)", (to_json({name: value})[1:-1],)))
    if where.metadata:
        parts.append((_HOLDS.format("l"), (to_json(dict(where.metadata)),)))
    times = {
        "ifnull(l.valid_from <= ?, TRUE) AND ifnull(l.valid_until > ?, TRUE)": where.valid_at,
        "l.recorded_at <= ? AND ifnull(l.superseded_at > ?, TRUE)": where.known_at,
        f"{link}.expires_at > ?": where.lasting_at,
        f"{link}.expires_at <= ?": where.expired_at,
    }
    parts += [(sql, (to_micros(at),) * sql.count("?")) for sql, at in times.items() if at is not None]
    return Condition(" AND ".join(sql for sql, _ in parts), tuple(value for _, values in parts for value in values))


def _members(where: Where) -> Iterable[tuple[str, str]]:
    columns: dict[str, Collection[str] | Collection[int] | None] = {
        "id": where.ids,
        "kind": where.kinds,
        "thread": where.threads,
        "episode": where.episodes,
        "position": where.positions,
        "speaker": where.speakers,
        "source": where.sources,
    }
    for column, values in columns.items():
        if values is not None:
            yield f"e.{column} {_IN}", _list(values)


def _list(values: Collection[str] | Collection[int]) -> str:
    return to_json(sorted(values))
