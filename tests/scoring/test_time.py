"""How far a moment lies back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins.scoring.time import recency
from tidal_plugins.testing import NOON


def test_recency_falls_with_a_power_of_the_age() -> None:
    ages = [timedelta(0), timedelta(days=1), timedelta(days=3), timedelta(days=8)]
    assert [recency(NOON - age, NOON, 1.0) for age in ages] == [1.0, 1 / 2, 1 / 4, 1 / 9]
    assert recency(NOON - timedelta(days=8), NOON, 0.5) == pytest.approx(1 / 3)


def test_a_moment_to_come_is_as_recent_as_now() -> None:
    assert recency(NOON + timedelta(days=5), NOON, 1.0) == 1.0


@given(st.floats(0, 10_000), st.floats(0, 10_000), st.floats(0, 3))
def test_recency_never_rises_with_age(one: float, other: float, power: float) -> None:
    near, far = (recency(NOON - timedelta(days=age), NOON, power) for age in sorted((one, other)))
    assert 0 <= far <= near <= 1
