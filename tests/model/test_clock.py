from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins import InvalidInput
from tidal_plugins.model.clock import aware, from_micros, hours_between, to_micros, utc_now


@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_are_exact(time: datetime) -> None:
    assert from_micros(to_micros(time)) == time


def test_microseconds_count_from_1970() -> None:
    assert to_micros(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)) == 1_000_005
    assert to_micros(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1


def test_times_are_brought_to_utc() -> None:
    time = aware(datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=5, minutes=30))))
    assert time == datetime(2025, 12, 31, 20, 30, tzinfo=UTC)
    assert time.tzinfo is UTC
    assert utc_now().tzinfo is UTC


@pytest.mark.parametrize("time", [datetime(2026, 1, 1), "2026-01-01", 0, None], ids=repr)
def test_a_time_without_a_zone_is_refused_by_name(time: Any) -> None:
    with pytest.raises(InvalidInput, match="since must be a datetime with a time zone"):
        aware(time, "since")


def test_hours_may_be_negative() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert hours_between(noon, noon + timedelta(minutes=90)) == 1.5
    assert hours_between(noon, noon - timedelta(hours=2)) == -2
