"""Signals by hand: decay, late events, saturation, hints and windows."""

from __future__ import annotations

import pytest

from tidal_plugins.scoring.signals import added, hinted, saturated
from tidal_plugins.scoring.windows import SECOND, WINDOWS, Buckets, counted, totals

DAY = 86_400 * SECOND


@pytest.mark.parametrize(
    ("score", "hours", "weight", "expected"),
    [
        (0.0, 0, 1.0, 1.0),
        (1.0, 0, 1.0, 2.0),
        (1.0, 24, 1.0, 1.5),  # 1·2^(−1) + 1
        (4.0, 48, 0.5, 1.5),  # 4·2^(−2) + 0.5
        (1.0, -24, 1.0, 1.5),  # a day late: 1 + 1·2^(−1)
        (3.0, -48, 2.0, 3.5),  # two days late: 3 + 2·2^(−2)
        (1.0, -24_000, 1.0, 1.0),
        (5.0, 24_000, 0.0, 0.0),
    ],
)
def test_a_signal_adds_to_what_is_left(score: float, hours: float, weight: float, expected: float) -> None:
    assert added(score, hours, weight, 24.0) == pytest.approx(expected)


def test_the_order_in_which_signals_arrive_does_not_matter() -> None:
    in_time = added(added(0.0, 0, 1.0, 24.0), 12, 2.0, 24.0)
    late = added(added(0.0, 0, 2.0, 24.0), -12, 1.0, 24.0)
    assert in_time == pytest.approx(late)


@pytest.mark.parametrize(("score", "expected"), [(0, 0), (1, 0.5), (3, 0.75), (-1, -0.5), (999, 0.999)])
def test_more_and_more_signals_saturate(score: float, expected: float) -> None:
    assert saturated(score) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ([], 0.0),
        ([set()], 0.0),
        ([{"rust", "language"}], 0.5),
        ([{"rust", "language"}, {"jazz"}], 0.5),
        ([{"rust"}, {"jazz", "rust", "piano", "noon"}], 1.0),
    ],
)
def test_the_note_that_fits_best_counts(notes: list[set[str]], expected: float) -> None:
    assert hinted(map(frozenset, notes), frozenset({"rust", "guide"})) == expected


def test_windows_count_what_lies_in_them() -> None:
    now, buckets = 100 * DAY, Buckets()
    for age in (0, 30 * SECOND, 90 * SECOND, 2 * 3_600 * SECOND, 2 * DAY, 8 * DAY):
        buckets = counted(buckets, now - age, now)
    assert totals(buckets, now) == {"minute": 2, "hour": 3, "day": 4, "week": 5}
    assert totals(buckets, now + 3_600 * SECOND) == {"minute": 0, "hour": 0, "day": 4, "week": 5}
    assert totals(buckets, now + 30 * DAY) == dict.fromkeys(WINDOWS, 0)


def test_windows_never_hold_more_than_their_buckets() -> None:
    buckets = Buckets()
    for number in range(5_000):
        now = number * 977 * SECOND
        buckets = counted(buckets, now, now)
    assert {name: len(found) <= WINDOWS[name][1] for name, found in buckets.items()} == dict.fromkeys(WINDOWS, True)
