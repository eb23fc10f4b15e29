"""Times: exact, in UTC, with a zone."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tidal_plugins import InvalidInput, TidalMemory


@pytest.mark.parametrize(
    "time",
    [
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC),
        datetime(2, 1, 1, tzinfo=UTC),
        datetime(9998, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    ],
    ids=str,
)
def test_a_time_is_kept_to_the_microsecond(memory: TidalMemory, time: datetime) -> None:
    memory.record("hello", occurred_at=time)
    assert [episode.occurred_at for episode in memory.episodes.list()] == [time]


def test_times_are_brought_to_utc(memory: TidalMemory) -> None:
    there = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    episode = memory.record("hello", occurred_at=there)
    assert episode.occurred_at == datetime(2025, 12, 31, 20, 30, tzinfo=UTC)
    assert episode.occurred_at.tzinfo is UTC


@pytest.mark.parametrize("time", [datetime(2026, 1, 1), "2026-01-01"], ids=repr)
def test_a_time_without_a_zone_is_refused_by_name(memory: TidalMemory, time: Any) -> None:
    with pytest.raises(InvalidInput, match="since must be a datetime with a time zone"):
        memory.episodes.list(since=time)
