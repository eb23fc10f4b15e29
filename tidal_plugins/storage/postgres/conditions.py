"""Translate filters into SQL conditions. Every value is a parameter; lists are arrays."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Where, WhereLinks
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.values import to_json

TEXTS, NUMBERS = "ANY (%s::text[])", "ANY (%s::bigint[])"


@dataclass(frozen=True, slots=True)
class Condition:
    """The SQL that follows ``WHERE``, and its parameters in order."""

    sql: str
    parameters: tuple[Any, ...]


def facets(metadata: Mapping[str, Any]) -> list[str]:
    """Return the items of metadata as texts that are equal if the items are.

    As in JSON, 1 is 1.0, but neither true nor "1". Lists and objects are equal if they are written alike.
    """
    return [to_json([name, _plain(value)]) for name, value in metadata.items()]


def facets_of(stored: str) -> list[str]:
    """Return the facets of metadata that are stored as JSON."""
    found = {} if stored == "{}" else json.loads(stored)
    return facets(found) if isinstance(found, dict) else []


def condition(scope: Scope | None, where: Where) -> Condition:
    """Translate a filter of entries, in one scope or in any."""
    parts: list[tuple[str, Any]] = [] if scope is None else [("e.scope = %s", number_of(scope))]
    parts += _members(where)
    if where.tags is not None:
        parts.append(("e.tagged && %s::text[]", sorted(where.tags)))
    if where.exclude:
        excluded = sorted(where.exclude)
        parts.append((f"NOT e.id = {TEXTS}", excluded))
        parts.append((f"NOT coalesce(e.episode, '') = {TEXTS}", excluded))
    if where.not_channels:
        parts.append((f"NOT e.channel = {TEXTS}", sorted(where.not_channels)))
    times = {
        "e.occurred_at >= %s": where.since,
        "e.occurred_at < %s": where.until,
        "e.recorded_at <= %s": where.known_at,
        "e.anchored_at < e.cold_at AND e.cold_at <= %s": where.due_by,
    }
    parts += [(sql, to_micros(at)) for sql, at in times.items() if at is not None]
    if where.least_importance is not None:
        parts.append(("e.importance >= %s::float8", where.least_importance))
    if where.metadata:
        parts.append(("e.facets @> %s::text[]", facets(where.metadata)))
    sql, parameters = [part for part, _ in parts], [value for _, value in parts]
    if where.active_at is not None:
        now = to_micros(where.active_at)
        sql.append("(e.valid_from IS NULL OR e.valid_from <= %s) AND (e.valid_until IS NULL OR e.valid_until > %s)")
        parameters += [now, now]
        if not where.include_archived:
            sql.append("(e.archived_at IS NULL OR e.archived_at > %s) AND (e.expires_at IS NULL OR e.expires_at > %s)")
            parameters += [now, now]
    return Condition(" AND ".join(sql) or "TRUE", tuple(parameters))


def link_condition(scope: Scope, where: WhereLinks) -> Condition:
    """Translate a filter of links in one scope, over a table ``l`` of links."""
    parts: list[tuple[str, tuple[Any, ...]]] = [("l.scope = %s", (number_of(scope),))]
    columns = {"id": where.ids, "kind": where.kinds, "source": where.sources, "target": where.targets}
    for column, values in columns.items():
        if values is not None and len(values) == 1:  # an index then gives the order too
            parts.append((f"l.{column} = %s", tuple(values)))
        elif values is not None:
            parts.append((f"l.{column} = {TEXTS}", (sorted(values),)))
    if where.ends is not None:
        parts.append((f"(l.source = {TEXTS} OR l.target = {TEXTS})", (sorted(where.ends),) * 2))
    if where.metadata:
        parts.append(("l.facets @> %s::text[]", (facets(where.metadata),)))
    times = {
        "coalesce(l.valid_from <= %s, TRUE) AND coalesce(l.valid_until > %s, TRUE)": where.valid_at,
        "l.recorded_at <= %s AND coalesce(l.superseded_at > %s, TRUE)": where.known_at,
        "l.expires_at > %s": where.lasting_at,
        "l.expires_at <= %s": where.expired_at,
    }
    parts += [(sql, (to_micros(at),) * sql.count("%s")) for sql, at in times.items() if at is not None]
    return Condition(" AND ".join(sql for sql, _ in parts), tuple(value for _, values in parts for value in values))


def _members(where: Where) -> Iterable[tuple[str, list[Any]]]:
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
            yield f"e.{column} = {TEXTS}", sorted(values)
    if where.positions is not None:
        yield f"e.position = {NUMBERS}", sorted(where.positions)


def _plain(value: Any) -> Any:
    """Return a value as it compares. SQL has integers of 64 bits; longer ones are compared as real numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else int(float(value))
    return int(value) if value == value and abs(value) != float("inf") and value.is_integer() else value
