"""Hand-computed values, and what must hold for any others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins.scoring.dossier import is_due, salience

DEFAULTS = {"half_life": 30.0, "floor": 0.2, "base": 0.3}


@pytest.mark.parametrize(
    ("days", "importance", "relevance", "expected"),
    [
        (0, 10, 1.0, 1.0),  # new, as important as can be, about nothing else
        (30, 10, 1.0, 0.5),  # one half-life
        (60, 10, 1.0, 0.25),  # two
        (0, 5, 1.0, 0.5),  # half as important
        (0, 10, 0.0, 0.3),  # hardly about the topic
        (0, 10, 0.5, 0.65),  # 0.3 + 0.7 · 0.5
        (30, 8, 0.5, 0.26),  # 0.5 · 0.8 · 0.65
        (15, 6, 0.2, 0.1866762),  # 0.7071068 · 0.6 · 0.44
        (90, 10, 1.0, 0.2),  # 0.125, on the floor
        (3650, 9, 1.0, 0.18),  # 0.2 · 0.9
        (0, 15, 1.0, 1.0),  # importance counts up to 10
        (0, 0, 1.0, 0.0),
        (-7, 10, 1.0, 1.0),  # the clock went back
    ],
)
def test_salience_by_hand(days, importance, relevance, expected):
    assert salience(days, importance, relevance, **DEFAULTS) == pytest.approx(expected, abs=1e-6)


@given(st.floats(-1e4, 1e5), st.floats(0, 10), st.floats(0, 1))
def test_salience_lies_between_nought_and_one_and_grows_with_each_part(days, importance, relevance):
    value = salience(days, importance, relevance, **DEFAULTS)
    assert 0 <= value <= 1
    assert salience(days - 1, importance, relevance, **DEFAULTS) >= value
    assert salience(days, importance + 1, relevance, **DEFAULTS) >= value
    assert salience(days, importance, 1.0, **DEFAULTS) >= value


@pytest.mark.parametrize(
    ("hours", "interval", "due"),
    [
        (None, 2, True),
        (0, 2, False),
        (1.99, 2, False),
        (2, 2, True),
        (5, 4, True),
        (-1, 2, False),
        (-3, 2, True),
        (0, 0, True),
    ],
)
def test_a_refresh_is_due_after_the_interval_and_when_there_was_none(hours, interval, due):
    assert is_due(hours, interval) is due
