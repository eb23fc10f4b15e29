"""Hand-computed values stand beside their arithmetic."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins.scoring import hebbian

weights = st.floats(0, 10)
days = st.floats(-100, 10_000)
daily = st.floats(0.01, 1)


@pytest.mark.parametrize(
    ("w0", "days", "expected"),
    [
        (1, 0, 1),
        (1, 1, 0.95),
        (1, 2, 0.9025),  # 0.95²
        (4, 1, 3.8),
        (1, 0.5, 0.9746794),  # √0.95
        (10, 30, 2.1463876),  # 10 · 0.95³⁰ = 10 · 0.21463876
        (1, 90, 0.0098884),  # 0.95⁹⁰: three months unused fall below the floor
        (1, -3, 1),  # the clock went back
        (1, 1e300, 0),
        (0, 5, 0),
    ],
)
def test_an_edge_keeps_95_percent_a_day(w0: float, days: float, expected: float) -> None:
    assert hebbian.weight(w0, days, 0.95) == pytest.approx(expected, abs=1e-7)


def test_without_decay_an_edge_stays() -> None:
    assert hebbian.weight(3, 1e6, 1.0) == 3


@given(weights, days, days, daily)
def test_decay_in_two_parts_is_decay_in_one(w0: float, a: float, b: float, daily: float) -> None:
    a, b = abs(a), abs(b)
    parts = hebbian.weight(hebbian.weight(w0, a, daily), b, daily)
    assert parts == pytest.approx(hebbian.weight(w0, a + b, daily), abs=1e-9)


@pytest.mark.parametrize(
    ("weight", "expected"),
    [(0, 1), (1, 2), (0.95, 1.95), (8.5, 9.5), (9, 10), (9.5, 10), (10, 10)],
)
def test_every_coactivation_adds_one_up_to_the_cap(weight: float, expected: float) -> None:
    assert hebbian.coactivate(weight, 1, 10) == pytest.approx(expected)


def test_an_edge_fades_before_it_grows() -> None:
    faded = hebbian.weight(10, 2, 0.95)
    assert hebbian.coactivate(faded, 1, 10) == 10  # 9.025 + 1 is cut; growing first would have given 9.025
    faded = hebbian.weight(2, 10, 0.95)
    assert hebbian.coactivate(faded, 1, 10) == pytest.approx(2.1974739)  # 2 · 0.5987369 + 1


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (1, 0.5),
        (2, 2 / 3),
        (10, 0.9090909),  # 10/11
        (0.25, 0.2),
        (0.1764706, 0.15),  # 0.15/0.85: what just passes the threshold
        (0, 0),
    ],
)
def test_an_edge_passes_its_share(weight: float, expected: float) -> None:
    assert hebbian.transmission(weight) == pytest.approx(expected, abs=1e-7)


@given(weights, weights)
def test_two_hops_never_outrank_their_first(a: float, b: float) -> None:
    first = hebbian.transmission(a)
    assert 0 <= first * hebbian.transmission(b) <= first < 1


@pytest.mark.parametrize(
    ("w0", "floor", "daily", "expected"),
    [
        (1, 0.01, 0.95, 89.7811),  # ln 100 / −ln 0.95 = 4.6051702 / 0.0512933
        (10, 0.01, 0.95, 134.6717),  # ln 1000 / −ln 0.95 = 6.9077553 / 0.0512933
        (1, 0.5, 0.5, 1),
        (0.01, 0.01, 0.95, 0),
        (0.005, 0.01, 0.95, 0),  # below the floor already
        (0, 0.01, 0.95, 0),
        (1, 0.01, 1.0, math.inf),
        (1, 0.0, 0.95, math.inf),
    ],
)
def test_the_time_of_pruning_is_known_beforehand(w0: float, floor: float, daily: float, expected: float) -> None:
    assert hebbian.days_until(w0, floor, daily) == pytest.approx(expected, abs=1e-4)


@given(st.floats(0.02, 10), st.floats(0.01, 0.99))
def test_an_edge_is_at_the_floor_when_its_time_has_come(w0: float, daily: float) -> None:
    assert hebbian.weight(w0, hebbian.days_until(w0, 0.01, daily), daily) == pytest.approx(0.01)
