"""Times: timezone-aware UTC at the API, integer microseconds in storage."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo

from tidal_plugins.errors import InvalidInput
from tidal_plugins.shown import shown

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MIN_YEAR, MAX_YEAR = 1, 9999


def utc_now() -> datetime:
    return datetime.now(UTC)


def aware(time: datetime, name: str = "time") -> datetime:
    """Return ``time`` in UTC, or raise :class:`InvalidInput` if it has no time zone."""
    if not isinstance(time, datetime) or time.tzinfo is None:
        raise InvalidInput(
            f"{name} must be a datetime with a time zone, got {shown(time)}; use datetime.now(timezone.utc)"
        )
    if not MIN_YEAR < time.year < MAX_YEAR:  # leaves room for time zones and for what is added
        raise InvalidInput(f"{name} is {shown(time)}; it must lie between the years {MIN_YEAR} and {MAX_YEAR}")
    return time.astimezone(UTC)


def local(time: datetime, zone: tzinfo) -> datetime:
    """Return a time by the clocks of a zone.

    It has the offset of that moment and not the zone, so that times compare exactly in the hour that comes twice.
    """
    there = time.astimezone(zone)
    return there.replace(tzinfo=timezone(there.utcoffset() or timedelta()), fold=0)


def to_micros(time: datetime) -> int:
    """Return the microseconds since 1970-01-01 UTC, exact."""
    return (time - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def hours_between(earlier: datetime, later: datetime) -> float:
    """Return the hours from ``earlier`` to ``later``; negative when the clock went back."""
    return (later - earlier).total_seconds() / 3600
