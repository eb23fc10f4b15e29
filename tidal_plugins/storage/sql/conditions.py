"""Filters as SQL conditions. Every value is a parameter."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from tidal_plugins.model.clock import to_micros
from tidal_plugins.storage.base import Where, WhereLinks
from tidal_plugins.storage.sql.dialect import Dialect, Part


@dataclass(frozen=True, slots=True)
class Condition:
    """The SQL that follows ``WHERE``, and its values in order."""

    sql: str
    parameters: tuple[Any, ...]


def condition(dialect: Dialect, scope: int | None, where: Where) -> Condition:
    """Translate a filter of entries, in one scope or in any, over a table ``e`` of entries."""
    parts: list[Part] = [] if scope is None else [("e.scope = ?", (scope,))]
    parts += _members(dialect, where)
    if where.tags is not None:
        parts.append(("$tagged", (dialect.array(sorted(where.tags)),)))
    if where.exclude:
        excluded = (dialect.array(sorted(where.exclude)),)
        parts += [("NOT e.id IN ?texts", excluded), ("NOT coalesce(e.episode, '') IN ?texts", excluded)]
    if where.not_channels:
        parts.append(("NOT e.channel IN ?texts", (dialect.array(sorted(where.not_channels)),)))
    times = {
        "e.occurred_at >= ?": where.since,
        "e.occurred_at < ?": where.until,
        "e.recorded_at <= ?": where.known_at,
        "e.anchored_at < e.cold_at AND e.cold_at <= ?": where.due_by,
        "(e.valid_from IS NULL OR e.valid_from <= ?) AND (e.valid_until IS NULL OR e.valid_until > ?)": where.active_at,
        "(e.archived_at IS NULL OR e.archived_at > ?) AND (e.expires_at IS NULL OR e.expires_at > ?)": (
            None if where.include_archived else where.active_at
        ),
    }
    parts += [(sql, (to_micros(at),) * sql.count("?")) for sql, at in times.items() if at is not None]
    if where.least_importance is not None:
        parts.append(("e.importance >= ?", (where.least_importance,)))
    if where.metadata:
        parts += dialect.metadata("e", where.metadata)
    return _joined(parts)


def link_condition(dialect: Dialect, scope: int, where: WhereLinks) -> Condition:
    """Translate a filter of links in one scope, over a table ``l`` of links."""
    parts = list(dialect.link_ends(scope, where))
    link = "^l" if parts else "l"  # where keys are looked up, SQLite should not walk a whole kind
    parts.append((f"{link}.scope = ?", (scope,)))
    for column, values in {"kind": where.kinds, "source": where.sources, "target": where.targets}.items():
        if values is not None and len(values) == 1:  # an index then gives the order too
            parts.append((f"{link}.{column} = ?", tuple(values)))
        elif values is not None:
            parts.append((f"{link}.{column} IN ?texts", (dialect.array(sorted(values)),)))
    if where.metadata:
        parts += dialect.metadata("l", where.metadata)
    times = {
        "coalesce(l.valid_from <= ?, TRUE) AND coalesce(l.valid_until > ?, TRUE)": where.valid_at,
        "l.recorded_at <= ? AND coalesce(l.superseded_at > ?, TRUE)": where.known_at,
        f"{link}.expires_at > ?": where.lasting_at,
        f"{link}.expires_at <= ?": where.expired_at,
    }
    parts += [(sql, (to_micros(at),) * sql.count("?")) for sql, at in times.items() if at is not None]
    return _joined(parts)


def _members(dialect: Dialect, where: Where) -> Iterable[Part]:
    columns: dict[str, Collection[str] | None] = {
        "id": where.ids,
        "kind": where.kinds,
        "thread": where.threads,
        "episode": where.episodes,
        "speaker": where.speakers,
        "source": where.sources,
    }
    for column, values in columns.items():
        if values is not None:
            yield f"e.{column} IN ?texts", (dialect.array(sorted(values)),)
    if where.positions is not None:
        yield "e.position IN ?numbers", (dialect.array(sorted(where.positions)),)


def _joined(parts: Iterable[Part]) -> Condition:
    sql, values = zip(*parts, strict=True) if parts else ((), ())
    return Condition(" AND ".join(sql) or "TRUE", tuple(value for some in values for value in some))
