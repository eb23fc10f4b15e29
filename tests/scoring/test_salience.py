"""Hand-computed values stand beside their arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins.scoring import salience
from tidal_plugins.tuning import GateTuning

WEIGHTS = {"by_importance": 0.5, "by_intensity": 0.2, "by_surprise": 0.3}


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (0.0, 0.0),
        (0.1, 0.0951626),  # 1 − e^(−0.1) = 1 − 0.9048374
        (0.5, 0.3934693),  # 1 − 0.6065307
        (1.0, 0.6321206),  # 1 − 0.3678794
        (2.0, 0.8646647),  # 1 − 0.1353353: the opposite of what is known
        (None, 1.0),  # nothing is known
        (-1e-7, 0.0),  # rounding
    ],
)
def test_surprise_grows_with_the_distance_to_what_is_known(distance: float | None, expected: float) -> None:
    assert salience.surprise(distance) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    ("importance", "intensity", "surprise", "expected"),
    [
        (10, 1, 1, 1.0),
        (5, 0, 0, 0.25),  # 0.5·0.5
        (5, 0.5, 0, 0.35),  # + 0.2·0.5
        (5, 0, 1 / 3, 0.35),  # + 0.3/3
        (4.5, 0, 0.3934693, 0.3430408),  # 0.225 + 0.1180408
        (1, 0, 0, 0.05),
        (7, 0.9, 0.6, 0.71),  # 0.35 + 0.18 + 0.18
    ],
)
def test_salience_weighs_importance_feeling_and_surprise(
    importance: float, intensity: float, surprise: float, expected: float
) -> None:
    assert salience.salience(importance, intensity, surprise, **WEIGHTS) == pytest.approx(expected)


@given(st.floats(1, 10), st.floats(0, 1), st.floats(0, 2))
def test_salience_stays_in_its_range(importance: float, intensity: float, distance: float) -> None:
    assert 0 <= salience.salience(importance, intensity, salience.surprise(distance), **WEIGHTS) <= 1 + 1e-12


@pytest.mark.parametrize(
    ("importance", "worth", "expected"),
    [
        (8, 0.0, True),
        (7.9, 0.34, False),
        (1, 0.35, True),
        (1, 0.5 * 0.1 + 0.2 * 0.9 + 0.3 * 0.4, True),  # 0.35 but for rounding
        (5, 0.25, False),
    ],
)
def test_what_is_important_or_salient_is_kept_for_good(importance: float, worth: float, expected: bool) -> None:
    assert salience.consolidates(importance, worth, important=8, threshold=0.35) is expected


def test_the_defaults_are_the_formulas_of_the_source() -> None:
    settings = GateTuning()
    assert {name: getattr(settings, name) for name in WEIGHTS} == WEIGHTS
    assert (settings.important, settings.threshold, settings.days, settings.enabled) == (8, 0.35, 14, False)
