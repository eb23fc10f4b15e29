"""How far a moment lies back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins.scoring.time import recency


def test_recency_falls_with_a_power_of_the_age() -> None:
    assert recency(np.array([0.0, 1.0, 3.0, 8.0]), 1.0) == pytest.approx([1.0, 1 / 2, 1 / 4, 1 / 9])
    assert recency(8.0, 0.5) == pytest.approx(1 / 3)


def test_a_moment_to_come_is_as_recent_as_now() -> None:
    assert recency(-5.0, 1.0) == 1.0


@given(st.floats(0, 10_000), st.floats(0, 10_000), st.floats(0, 3))
def test_recency_never_rises_with_age(one: float, other: float, power: float) -> None:
    near, far = (recency(age, power) for age in sorted((one, other)))
    assert 0 <= far <= near <= 1
