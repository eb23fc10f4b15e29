"""Entries and links as rows of plain values, JSON values, and vectors, as every engine stores them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from math import isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.encoding import COMPACT, json_encoder
from tidal_plugins.errors import Corrupt, InvalidInput
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import from_micros, to_micros
from tidal_plugins.model.entry import Admission, Entry, Link, Scope, Screened, Tier
from tidal_plugins.secrets.screening import stored_screening
from tidal_plugins.storage.damage import ENTRIES, LINKS, Damaged, checksum, corrupt, is_intact
from tidal_plugins.storage.entries import EntrySummary

ROUNDING = 1e-6
"""How far the square of a unit vector's length is from 1 at most: float32 rounds each value by 6e-8 of it."""

_encode = json_encoder(ascii=False, nan=False, sort_keys=True, separators=COMPACT)

_SMALL = 1e-200  # squares between this and its inverse have neither vanished nor overflowed


def to_json(value: Any) -> str:
    """Return compact JSON, or raise ``InvalidInput`` for what JSON cannot hold (NaN, bytes, objects)."""
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        pass_interrupt(error)
        raise InvalidInput(f"only JSON values can be stored: {error}") from error


def from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        pass_interrupt(error)
        raise Corrupt("a stored JSON value cannot be read: the file was damaged; restore it from a backup") from error


def unit_vector(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``vector`` as float32 of length 1, or raise ``InvalidInput``. One that has it stays the same bytes."""
    try:
        given = np.asarray(vector)
    except (TypeError, ValueError) as error:
        pass_interrupt(error)
        raise InvalidInput(f"a vector must be a flat array of numbers, got {type(vector).__name__}") from error
    if given.ndim != 1 or not given.size or given.dtype.kind not in "fiu":
        raise InvalidInput(f"a vector must be a flat array of numbers, got shape {given.shape} of {given.dtype}")
    if given.dtype == np.float32 and abs(float(np.dot(given, given)) - 1) < ROUNDING / 2:
        return np.ascontiguousarray(given)
    values = given.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        squared = float(values @ values)
    if given.dtype == np.float32 and abs(squared - 1) < ROUNDING:
        return np.ascontiguousarray(given)
    if _SMALL < squared < 1 / _SMALL:
        return np.asarray(values / sqrt(squared), np.float32)
    peak = float(np.abs(values).max())
    if not np.isfinite(peak):
        raise InvalidInput("a vector holds NaN or infinite values; check the embedder")
    if not peak:
        raise InvalidInput("a vector of length zero has no direction; check the embedder")
    values /= peak  # so that squares neither overflow nor vanish
    return (values / np.linalg.norm(values)).astype(np.float32)


def unit_vectors(vectors: Sequence[NDArray[np.float32] | None]) -> list[NDArray[np.float32] | None]:
    """Return vectors as :func:`unit_vector` does, and ``None`` for none. Those of a batch that have length 1, as nearly
    always, are seen together."""
    shapes = {each.shape if isinstance(each, np.ndarray) and each.dtype == np.float32 else () for each in vectors}
    if len(shapes) == 1 and len(shapes.pop()) == 1:
        rows = np.array(vectors)
        ok = np.abs(np.einsum("ij,ij->i", rows, rows) - 1) < ROUNDING / 2
        return [row if fits else unit_vector(row) for row, fits in zip(rows, ok.tolist(), strict=True)]
    return [None if vector is None else unit_vector(vector) for vector in vectors]


@lru_cache(maxsize=1 << 14)
def number_of(scope: Scope) -> int:
    """Return the number of a scope, which its rows bear: nothing has to be looked up to know it."""
    return hashed(path_of(scope))


@lru_cache(maxsize=1 << 14)
def path_of(scope: Scope) -> str:
    """Return the path of a scope: a JSON array of its segments. The row of a scope has it beside the number."""
    return to_json(list(scope))


def hashed(text: str) -> int:
    """Return 63 bits of a hash of a text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1


FIXED = (
    "id", "kind", "text", "thread", "episode", "position", "speaker", "role", "source", "channel", "trust",
    "importance", "occurred_at", "recorded_at", "valid_from", "valid_until", "valence", "arousal", "emotions", "tags",
    "metadata", "admission", "secrets",
)  # fmt: skip
TIER = ("weight", "anchored_at", "half_life", "cold_at", "archived_at", "expires_at")
COLUMNS = (*FIXED, "checksum", *TIER, "summary_checksum")
"""The columns of an entry. Two checksums cover them, so that a change of the tier does not read the text."""
LINK = (
    "id", "kind", "source", "target", "weight", "anchored_at", "expires_at", "valid_from", "valid_until",
    "recorded_at", "superseded_at", "metadata",
)  # fmt: skip
LINK_COLUMNS = (*LINK, "checksum")
SUMMARY = ("id", "thread", *TIER)

NEVER = 2**63 - 1
"""Stands for no expiry: greater than any time, so that one comparison and one order serve all links."""

Row = Sequence[Any]

_moment = lru_cache(maxsize=4096)(from_micros)  # an entry's times are often equal, and read again and again


def to_row(entry: Entry) -> tuple[Any, ...]:
    """Return the values of ``COLUMNS``."""
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
        micros_or_none(entry.valid_from),
        micros_or_none(entry.valid_until),
        affect and _real(affect.valence),
        affect and _real(affect.arousal),
        None if emotions is None else to_json(dict(emotions)),
        to_json(list(entry.tags)),
        to_json(dict(entry.metadata)),
        _admission_row(entry.admission),
        stored_screening(entry),
    )
    tier = tier_row(entry.tier)
    return (*fixed, _checksum(entry.scope, fixed), *tier, checksum(entry.scope, entry.id, *tier))


def tier_row(tier: Tier | None) -> tuple[Any, ...]:
    """Return the values of ``TIER``."""
    if tier is None:
        return (None,) * len(TIER)
    times = (micros_or_none(tier.cold_at), micros_or_none(tier.archived_at), micros_or_none(tier.expires_at))
    return (_real(tier.weight), to_micros(tier.anchored_at), _real(tier.half_life), *times)


def from_row(row: Row, scope: Scope) -> Entry:
    """Return the entry whose ``COLUMNS`` are ``row``. Raises ``Corrupt`` when they are not as they were written."""
    fixed, stored, tier, short = row[: len(FIXED)], row[len(FIXED)], row[len(FIXED) + 1 : -1], row[-1]
    if _checksum(scope, fixed) != stored or checksum(scope, row[0], *tier) != short:
        raise _corrupt(row[0])
    (id_, kind, text, thread, episode, position, speaker, role, source, channel, trust, importance) = fixed[:12]
    (occurred, recorded, valid_from, valid_until, valence, arousal, emotions, tags) = fixed[12:20]
    metadata, admission, found = json.loads(fixed[20]), *fixed[21:]
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
        metadata=metadata,
        admission=_admission(admission),
        screened=Screened(found, text, source, metadata),
    )


def _checksum(scope: Scope, fixed: Row) -> bytes:
    """Return the checksum of the values of ``FIXED``. An entry that was never searched for secrets has that which it
    had before there was a column for them."""
    return checksum(scope, *(fixed if fixed[-1] is not None else fixed[:-1]))


def to_summary(row: Row) -> EntrySummary:
    """Return a summary from the columns ``SUMMARY`` and the number of passages.

    Its checksum is verified when the entry is read, as every hit is.
    """
    id_, thread, *tier, passages = row
    return EntrySummary(id_, thread, _tier(id_, tier), passages)


def _affect(valence: float | None, arousal: float | None, emotions: str | None) -> Affect | None:
    if valence is None or arousal is None:
        return None
    return Affect(valence, arousal, json.loads(emotions) if emotions else None)


def _admission_row(admission: Admission | None) -> str | None:
    if admission is None:
        return None
    *weighed, why, expires_at = astuple(admission)
    return to_json([*weighed, why, micros_or_none(expires_at)])


def _admission(row: str | None) -> Admission | None:
    if row is None:
        return None
    importance, intensity, surprise, salience, why, expires_at = json.loads(row)
    return Admission(importance, intensity, surprise, salience, why, _time(expires_at))


def _tier(id_: str, row: Row) -> Tier | None:
    weight, anchored_at, half_life, *times = row
    if weight is None:
        return None
    try:
        return Tier(weight, _moment(anchored_at), half_life, *map(_time, times))
    except (TypeError, OverflowError) as error:
        raise _corrupt(id_) from error


def _corrupt(id_: Any) -> Corrupt:
    return corrupt(Damaged(ENTRIES, str(id_)))


def to_link_row(link: Link, scope: Scope) -> tuple[Any, ...]:
    """Return the values of ``LINK_COLUMNS``."""
    expires_at = NEVER if link.expires_at is None else to_micros(link.expires_at)
    times = (expires_at, micros_or_none(link.valid_from), micros_or_none(link.valid_until), to_micros(link.recorded_at))
    ends = (link.id, link.kind, link.source, link.target, _real(link.weight), micros_or_none(link.anchored_at))
    row = (*ends, *times, micros_or_none(link.superseded_at), to_json(dict(link.metadata)))
    return (*row, checksum(scope, *row))


def from_link_row(row: Row, scope: Scope) -> Link:
    """Return the link whose ``LINK_COLUMNS`` are ``row``. Raises ``Corrupt`` when they are not as they were written."""
    check_link_row(row, scope)
    id_, kind, source, target, weight, anchored_at, expires_at, valid_from, valid_until, recorded_at = row[:10]
    superseded_at, metadata = row[10:12]
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


def check_link_row(row: Row, scope: Scope) -> None:
    """Raise ``Corrupt`` when a link's ``LINK_COLUMNS`` are not as they were written."""
    if not is_intact(scope, tuple(row)):
        raise corrupt(Damaged(LINKS, str(row[0])))


def check_storable(row: Iterable[Any]) -> None:
    """Raise ``InvalidInput`` for a text that is not valid Unicode and for an integer of more than 64 bits."""
    for value in row:
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise InvalidInput(
                    f"a text holds a lone surrogate ({error.reason}); replace it before storing"
                ) from error
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise InvalidInput(f"stored integers have at most 64 bits, got {value}")


def micros_or_none(time: datetime | None) -> int | None:
    return None if time is None else to_micros(time)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else _moment(micros)


def read_time(micros: int) -> datetime:
    """Return a stored time. Raises ``Corrupt`` if the value is none."""
    try:
        return _moment(micros)
    except (TypeError, OverflowError) as error:
        raise Corrupt("a stored time cannot be read: the file was damaged; restore it from a backup") from error


def time_or_none(micros: int | None) -> datetime | None:
    return None if micros is None else read_time(micros)


def _real(number: float) -> float:
    """Return a number that SQL gives back as it was: it stores NaN as NULL and −0.0 as 0."""
    if not isfinite(number):
        raise InvalidInput(f"stored numbers must be finite, got {number}")
    return float(number) + 0.0
