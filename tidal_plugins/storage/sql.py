"""What relational engines share: entries as rows, filters as conditions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from math import isfinite
from typing import Any

from tidal_plugins.errors import Corrupt, InvalidInput
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import from_micros, to_micros
from tidal_plugins.model.entry import Entry, Scope, Tier
from tidal_plugins.storage.base import Sketch, Where

FIXED = (
    "id", "kind", "text", "session", "episode", "position", "speaker", "role", "source", "channel", "trust",
    "importance", "occurred_at", "recorded_at", "valid_from", "valid_until", "valence", "arousal", "emotions", "tags",
    "metadata",
)  # fmt: skip
TIER = ("weight", "anchored_at", "half_life", "cold_at", "archived_at")
COLUMNS = (*FIXED, "checksum", *TIER)
SKETCH = ("id", "importance", "speaker", "role", "valence", "arousal", "emotions", *TIER)

EACH_ID = "json_each(?) j CROSS JOIN entries e ON e.scope = ? AND e.id = j.value"
"""Entries by id. CROSS JOIN keeps the order of the loops: look each id up, never walk the scope."""

Row = Sequence[Any]

_moment = lru_cache(maxsize=4096)(from_micros)  # an entry's times are often equal, and read again and again


def to_json(value: Any) -> str:
    """Return compact JSON, or raise ``InvalidInput`` for what JSON cannot hold (NaN, bytes, objects)."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"only JSON values can be stored: {error}") from error


def from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise Corrupt("a stored JSON value cannot be read: the file was damaged; restore it from a backup") from error


def to_row(entry: Entry) -> tuple[Any, ...]:
    """The values of ``COLUMNS``."""
    affect = entry.affect
    emotions = affect.emotions if affect else None
    fixed = (
        entry.id,
        entry.kind,
        entry.text,
        entry.session,
        entry.episode,
        entry.position,
        entry.speaker,
        entry.role,
        entry.source,
        entry.channel,
        _real(entry.trust),
        _real(entry.importance),
        to_micros(entry.occurred_at),
        to_micros(entry.recorded_at),
        _micros(entry.valid_from),
        _micros(entry.valid_until),
        affect and _real(affect.valence),
        affect and _real(affect.arousal),
        None if emotions is None else to_json(dict(emotions)),
        to_json(list(entry.tags)),
        to_json(dict(entry.metadata)),
    )
    return (*fixed, checksum(fixed, entry.scope), *tier_row(entry.tier))


def tier_row(tier: Tier | None) -> tuple[Any, ...]:
    """The values of ``TIER``."""
    if tier is None:
        return (None,) * len(TIER)
    times = (_micros(tier.cold_at), _micros(tier.archived_at))
    return (_real(tier.weight), to_micros(tier.anchored_at), _real(tier.half_life), *times)


def from_row(row: Row, scope: Scope) -> Entry:
    """The entry whose ``COLUMNS`` are ``row``; ``Corrupt`` when they are not what was written."""
    fixed, stored, tier = row[: len(FIXED)], row[len(FIXED)], row[len(FIXED) + 1 :]
    if checksum(fixed, scope) != stored:
        raise _corrupt(row[0])
    (id_, kind, text, session, episode, position, speaker, role, source, channel, trust, importance) = fixed[:12]
    (occurred, recorded, valid_from, valid_until, valence, arousal, emotions, tags, metadata) = fixed[12:]
    return Entry(
        id=id_,
        kind=kind,
        text=text,
        scope=scope,
        occurred_at=_moment(occurred),
        recorded_at=_moment(recorded),
        tier=_tier(id_, tier),
        session=session,
        episode=episode,
        position=position,
        speaker=speaker,
        role=role,
        source=source,
        channel=channel,
        trust=trust,
        importance=importance,
        affect=_affect(valence, arousal, emotions),
        tags=tuple(json.loads(tags)),
        valid_from=_time(valid_from),
        valid_until=_time(valid_until),
        metadata=json.loads(metadata),
    )


def sketch(row: Row) -> Sketch:
    """What ``SKETCH`` selects, and how many passages there are."""
    id_, importance, speaker, role = row[:4]
    try:
        affect = _affect(*row[4:7])
    except (TypeError, ValueError) as error:
        raise _corrupt(id_) from error
    return Sketch(id_, importance, speaker, role, affect, _tier(id_, row[7:-1]), row[-1])


def _affect(valence: float | None, arousal: float | None, emotions: str | None) -> Affect | None:
    if valence is None or arousal is None:
        return None
    return Affect(valence, arousal, json.loads(emotions) if emotions else None)


def _tier(id_: str, row: Row) -> Tier | None:
    weight, anchored_at, half_life, cold_at, archived_at = row
    if weight is None:
        return None
    try:
        return Tier(weight, _moment(anchored_at), half_life, _time(cold_at), _time(archived_at))
    except (TypeError, OverflowError) as error:
        raise _corrupt(id_) from error


def checksum(fixed: Row, scope: Scope) -> bytes:
    """Eight bytes over a row's fixed columns and its scope; damaged values of any type have one too."""
    return blake2b(json.dumps([*scope, *fixed], default=repr).encode(), digest_size=8).digest()


def _corrupt(id_: Any) -> Corrupt:
    return Corrupt(f"entry {id_!r} fails its checksum: the file was damaged; restore it from a backup", id_)


@dataclass(frozen=True, slots=True)
class Condition:
    """SQL after ``WHERE``, over a table ``e`` of entries, with its parameters in order."""

    sql: str
    parameters: tuple[Any, ...]


# Every wanted item has its equal among the entry's, as in JSON: 1 is 1.0, but neither true nor "1".
_HOLDS = """NOT EXISTS (
    SELECT 1 FROM json_each(?) q WHERE NOT EXISTS (
        SELECT 1 FROM json_each(e.metadata) m WHERE m.key = q.key AND m.value IS q.value
        AND replace(m.type, 'real', 'integer') = replace(q.type, 'real', 'integer')
    )
)"""


def condition(scope_key: int | None, where: Where) -> Condition:
    """Translate a filter, in one scope or any. Every value is a bound parameter: lists travel as JSON arrays."""
    parts: list[tuple[str, Any]] = [] if scope_key is None else [("e.scope = ?", scope_key)]
    parts += _members(where)
    if where.tags is not None:
        parts.append(
            ("EXISTS (SELECT 1 FROM json_each(e.tags) t JOIN json_each(?) q ON t.value = q.value)", _list(where.tags))
        )
    if where.exclude:
        excluded = _list(where.exclude)
        parts.append(("e.id NOT IN (SELECT value FROM json_each(?))", excluded))
        parts.append(("ifnull(e.episode, '') NOT IN (SELECT value FROM json_each(?))", excluded))
    if where.since is not None:
        parts.append(("e.occurred_at >= ?", to_micros(where.since)))
    if where.until is not None:
        parts.append(("e.occurred_at < ?", to_micros(where.until)))
    if where.metadata:
        parts.append((_HOLDS, to_json(dict(where.metadata))))
    sql, parameters = [part for part, _ in parts], [value for _, value in parts]
    if where.active_at is not None:
        now = to_micros(where.active_at)
        sql.append("(e.valid_from IS NULL OR e.valid_from <= ?) AND (e.valid_until IS NULL OR e.valid_until > ?)")
        parameters += [now, now]
        if not where.include_archived:
            sql.append("(e.archived_at IS NULL OR e.archived_at > ?)")
            parameters.append(now)
    return Condition(" AND ".join(sql) or "TRUE", tuple(parameters))


def _members(where: Where) -> Iterable[tuple[str, str]]:
    columns: dict[str, Collection[str] | Collection[int] | None] = {
        "kind": where.kinds,
        "session": where.sessions,
        "episode": where.episodes,
        "position": where.positions,
        "speaker": where.speakers,
        "source": where.sources,
    }
    for column, values in columns.items():
        if values is not None:
            yield f"e.{column} IN (SELECT value FROM json_each(?))", _list(values)


def _list(values: Collection[str] | Collection[int]) -> str:
    return to_json(sorted(values))


def _micros(time: datetime | None) -> int | None:
    return None if time is None else to_micros(time)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else _moment(micros)


def _real(number: float) -> float:
    """A number that SQL gives back as it was: it stores NaN as NULL and −0.0 as 0."""
    if not isfinite(number):
        raise InvalidInput(f"an entry's numbers must be finite, got {number}")
    return float(number) + 0.0
