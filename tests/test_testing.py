from datetime import UTC, datetime, timedelta, timezone

import pytest

from tidal_plugins import InvalidInput
from tidal_plugins.testing import FrozenClock


def test_a_frozen_clock_stands_still_until_told_otherwise() -> None:
    clock = FrozenClock()
    start = clock()
    assert clock() == start
    clock.advance(hours=3, microseconds=1)
    assert clock() - start == timedelta(hours=3, microseconds=1)


def test_a_frozen_clock_tells_utc_and_asks_for_a_time_zone() -> None:
    clock = FrozenClock(datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9))))
    assert clock() == datetime(2026, 1, 1, tzinfo=UTC)
    assert clock().tzinfo is UTC
    with pytest.raises(InvalidInput):
        clock.set(datetime(2026, 1, 1))
