"""Hand-computed values stand beside their arithmetic."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins.scoring import decay

weights = st.floats(0, 10)
half_lives = st.floats(0.1, 10_000)
hours = st.floats(-1000, 1_000_000)


@pytest.mark.parametrize(
    ("w0", "hours", "half_life", "expected"),
    [
        (1, 0, 72, 1),
        (1, 72, 72, 0.5),
        (1, 144, 72, 0.25),
        (4, 36, 72, 2.8284271),  # 4 · 2^(−1/2)
        (1, 168, 72, 0.1984251),  # 2^(−7/3)
        (1, 720, 72, 0.0009765625),  # 2^(−10)
        (10, 720, 720, 5),
        (1, -24, 72, 1),  # the clock went back
        (1, 1e300, 72, 0),
        (0, 5, 72, 0),
    ],
)
def test_weight_halves_with_every_half_life(w0: float, hours: float, half_life: float, expected: float) -> None:
    assert decay.weight(w0, hours, half_life) == pytest.approx(expected)


@given(weights, hours, hours, half_lives)
def test_weight_never_grows_with_time(w0: float, a: float, b: float, half_life: float) -> None:
    earlier, later = sorted((a, b))
    assert 0 <= decay.weight(w0, later, half_life) <= decay.weight(w0, earlier, half_life) <= w0


@given(weights, hours, half_lives, half_lives)
def test_weight_lasts_longer_with_a_longer_half_life(w0: float, hours: float, a: float, b: float) -> None:
    short, long = sorted((a, b))
    assert decay.weight(w0, hours, short) <= decay.weight(w0, hours, long)


@pytest.mark.parametrize(
    ("used", "intensity", "expected"),
    [
        (False, 0.0, 72),
        (False, 0.5, 72),  # at the threshold is not above it
        (True, 0.5, 168),
        (False, 0.6, 240),
        (True, 0.6, 240),
    ],
)
def test_the_longest_half_life_that_applies_counts(used: bool, intensity: float, expected: float) -> None:
    found = decay.half_life(used=used, intensity=intensity, warm=72, accessed=168, emotional=240, threshold=0.5)
    assert found == expected


def test_a_half_life_set_shorter_than_warm_shortens_nothing() -> None:
    assert decay.half_life(used=True, intensity=1, warm=72, accessed=24, emotional=48, threshold=0.5) == 72


@pytest.mark.parametrize(
    ("w0", "floor", "half_life", "expected"),
    [
        (1, 0.5, 72, 72),
        (1, 0.01, 72, 478.3577),  # 72 · log2(100) = 72 · 6.6438562
        (1, 0.01, 720, 4783.5765),
        (10, 0.01, 240, 2391.7883),  # 240 · log2(1000) = 240 · 9.9657843
        (0.01, 0.01, 72, 0),
        (0.001, 0.01, 72, 0),  # below the floor already
        (0, 0.01, 72, 0),
        (1, 0, 72, math.inf),
        (0, 0, 72, 0),
    ],
)
def test_the_time_of_falling_to_a_floor_is_known_beforehand(
    w0: float, floor: float, half_life: float, expected: float
) -> None:
    assert decay.hours_until(w0, floor, half_life) == pytest.approx(expected)


@given(st.floats(0.02, 10), st.floats(0.001, 0.02), half_lives)
def test_the_weight_is_at_the_floor_when_its_time_has_come(w0: float, floor: float, half_life: float) -> None:
    hours = decay.hours_until(w0, floor, half_life)
    assert hours >= 0
    assert decay.weight(w0, hours, half_life) == pytest.approx(floor)


@pytest.mark.parametrize(
    ("weight", "lam", "expected"),
    [
        (1, 0.1, 1),
        (0.5, 0.1, 0.95),  # 0.9 + 0.1·0.5
        (0, 0.1, 0.9),
        (5, 0.1, 1),  # more than new is no stronger than new
        (0.25, 1, 0.25),  # undamped
        (0.25, 0, 1),  # off
    ],
)
def test_strength_dampens_decay(weight: float, lam: float, expected: float) -> None:
    assert decay.strength(weight, lam) == pytest.approx(expected)


@given(weights, weights, st.floats(0, 1))
def test_strength_grows_with_weight_within_its_bounds(a: float, b: float, lam: float) -> None:
    weaker, stronger = (decay.strength(weight, lam) for weight in sorted((a, b)))
    assert 1 - lam <= weaker <= stronger <= 1 + 1e-12


@pytest.mark.parametrize(
    ("weight", "amount", "expected"),
    [(0.25, 1, 1.25), (0.25, 0.5, 0.75), (9.5, 1, 10), (10, 0.5, 10), (3, 0, 3)],
)
def test_reinforcement_adds_up_to_the_cap(weight: float, amount: float, expected: float) -> None:
    assert decay.reinforce(weight, amount, 10) == pytest.approx(expected)


@given(st.lists(st.tuples(st.floats(0, 500), st.sampled_from([0.5, 1.0])), max_size=50))
def test_no_history_of_use_leaves_the_range(history: list[tuple[float, float]]) -> None:
    w = 1.0
    for hours, amount in history:
        w = decay.reinforce(decay.weight(w, hours, 72), amount, 10)
        assert amount <= w <= 10
