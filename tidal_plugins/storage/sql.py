"""What relational engines share: entries and links as rows, filters as conditions."""

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
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import Sketch, Where, WhereLinks

FIXED = (
    "id", "kind", "text", "thread", "episode", "position", "speaker", "role", "source", "channel", "trust",
    "importance", "occurred_at", "recorded_at", "valid_from", "valid_until", "valence", "arousal", "emotions", "tags",
    "metadata",
)  # fmt: skip
TIER = ("weight", "anchored_at", "half_life", "cold_at", "archived_at", "expires_at")
COLUMNS = (*FIXED, "checksum", *TIER)
LINK = (
    "id", "kind", "source", "target", "weight", "anchored_at", "expires_at", "valid_from", "valid_until",
    "recorded_at", "superseded_at", "metadata",
)  # fmt: skip
SKETCH = ("id", "importance", "speaker", "role", "thread", "occurred_at", "valence", "arousal", "emotions", *TIER)
HEAD, TAIL = 400, 8
"""Characters of a text's beginning and end that a sketch has."""

EACH_ID = "json_each(?) j CROSS JOIN entries e ON e.scope = ? AND e.id = j.value"
"""Entries by id. CROSS JOIN keeps the order of the loops: look each id up, never walk the scope."""

NEVER = 2**63 - 1
"""Stands for no expiry: greater than any time, so that one comparison and one order serve all links."""

Row = Sequence[Any]

_moment = lru_cache(maxsize=4096)(from_micros)  # an entry's times are often equal, and read again and again

# ``json.dumps`` makes an encoder for every call that differs from its defaults, at half the cost of the call.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode
_encode_any = json.JSONEncoder(default=repr).encode


def to_json(value: Any) -> str:
    """Return compact JSON, or raise ``InvalidInput`` for what JSON cannot hold (NaN, bytes, objects)."""
    try:
        return _encode(value)
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
        entry.thread,
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
    times = (_micros(tier.cold_at), _micros(tier.archived_at), _micros(tier.expires_at))
    return (_real(tier.weight), to_micros(tier.anchored_at), _real(tier.half_life), *times)


def from_row(row: Row, scope: Scope) -> Entry:
    """The entry whose ``COLUMNS`` are ``row``; ``Corrupt`` when they are not what was written."""
    fixed, stored, tier = row[: len(FIXED)], row[len(FIXED)], row[len(FIXED) + 1 :]
    if checksum(fixed, scope) != stored:
        raise _corrupt(row[0])
    (id_, kind, text, thread, episode, position, speaker, role, source, channel, trust, importance) = fixed[:12]
    (occurred, recorded, valid_from, valid_until, valence, arousal, emotions, tags, metadata) = fixed[12:]
    return Entry(
        id=id_,
        kind=kind,
        text=text,
        scope=scope,
        occurred_at=_moment(occurred),
        recorded_at=_moment(recorded),
        tier=_tier(id_, tier),
        thread=thread,
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
    """What ``SKETCH`` selects, how many passages and words there are, and the text's beginning and end."""
    id_, importance, speaker, role, thread, occurred = row[:6]
    passages, words, head, tail = row[-4:]
    try:
        affect, occurred_at = _affect(*row[6:9]), _moment(occurred)
    except (TypeError, ValueError, OverflowError) as error:
        raise _corrupt(id_) from error
    tier = _tier(id_, row[9:-4])
    return Sketch(id_, importance, speaker, role, affect, tier, passages, thread, int(words), head, tail, occurred_at)


def _affect(valence: float | None, arousal: float | None, emotions: str | None) -> Affect | None:
    if valence is None or arousal is None:
        return None
    return Affect(valence, arousal, json.loads(emotions) if emotions else None)


def _tier(id_: str, row: Row) -> Tier | None:
    weight, anchored_at, half_life, *times = row
    if weight is None:
        return None
    try:
        return Tier(weight, _moment(anchored_at), half_life, *map(_time, times))
    except (TypeError, OverflowError) as error:
        raise _corrupt(id_) from error


def checksum(fixed: Row, scope: Scope) -> bytes:
    """Eight bytes over a row's fixed columns and its scope; damaged values of any type have one too."""
    return blake2b(_encode_any([*scope, *fixed]).encode(), digest_size=8).digest()


def _corrupt(id_: Any) -> Corrupt:
    return Corrupt(f"entry {id_!r} fails its checksum: the file was damaged; restore it from a backup", id_)


def to_link_row(link: Link) -> tuple[Any, ...]:
    """The values of ``LINK``."""
    expires_at = NEVER if link.expires_at is None else to_micros(link.expires_at)
    times = (expires_at, _micros(link.valid_from), _micros(link.valid_until), to_micros(link.recorded_at))
    ends = (link.id, link.kind, link.source, link.target, _real(link.weight), _micros(link.anchored_at))
    return (*ends, *times, _micros(link.superseded_at), to_json(dict(link.metadata)))


def from_link_row(row: Row) -> Link:
    """The link whose ``LINK`` are ``row``."""
    id_, kind, source, target, weight, anchored_at, expires_at, valid_from, valid_until, recorded_at = row[:10]
    superseded_at, metadata = row[10:]
    return Link(
        id=id_,
        kind=kind,
        source=source,
        target=target,
        weight=weight,
        anchored_at=time_or_none(anchored_at),
        expires_at=None if expires_at == NEVER else read_time(expires_at),
        valid_from=time_or_none(valid_from),
        valid_until=time_or_none(valid_until),
        recorded_at=read_time(recorded_at),
        superseded_at=time_or_none(superseded_at),
        metadata={} if metadata == "{}" else from_json(metadata),  # as nearly always, and links are read by the hundred
    )


@dataclass(frozen=True, slots=True)
class Condition:
    """SQL after ``WHERE``, over a table ``e`` of entries, with its parameters in order."""

    sql: str
    parameters: tuple[Any, ...]


_IN = "IN (SELECT value FROM json_each(?))"

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
    """Translate a filter, in one scope or any. Every value is a bound parameter: lists travel as JSON arrays."""
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
    if where.cooled_by is not None:
        parts.append(("e.anchored_at < e.cold_at AND e.cold_at <= ?", to_micros(where.cooled_by)))
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
    """Translate a filter in one scope, over a table ``l`` of links."""
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


def _micros(time: datetime | None) -> int | None:
    return None if time is None else to_micros(time)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else _moment(micros)


def read_time(micros: int) -> datetime:
    """A stored time, or ``Corrupt`` where it is none."""
    try:
        return _moment(micros)
    except (TypeError, OverflowError) as error:
        raise Corrupt("a stored time cannot be read: the file was damaged; restore it from a backup") from error


def time_or_none(micros: int | None) -> datetime | None:
    return None if micros is None else read_time(micros)


def _real(number: float) -> float:
    """A number that SQL gives back as it was: it stores NaN as NULL and −0.0 as 0."""
    if not isfinite(number):
        raise InvalidInput(f"stored numbers must be finite, got {number}")
    return float(number) + 0.0
