"""Hand-computed values stand beside their arithmetic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins.scoring.confidence import combined, faded

shares = st.floats(0, 1)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ([], 0),
        ([("a", 0.5)], 0.5),
        ([("a", 0.5), ("b", 0.5)], 0.75),  # 1 − 0.5 · 0.5
        ([("a", 0.8), ("b", 0.5), ("c", 0.2)], 0.92),  # 1 − 0.2 · 0.5 · 0.8
        ([("a", 0.5), ("a", 0.6)], 0.6),  # one origin
        ([("a", 1.0), ("b", 0.1)], 1),
    ],
)
def test_independent_evidence_adds_up(evidence: list[tuple[str, float]], expected: float) -> None:
    assert combined(evidence) == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 5), shares)), st.tuples(st.integers(0, 5), shares))
def test_more_evidence_never_makes_less_sure_in_whatever_order(
    evidence: list[tuple[int, float]], more: tuple[int, float]
) -> None:
    assert 0 <= combined(evidence) <= combined([*evidence, more]) + 1e-12 <= 1 + 1e-12
    assert combined(reversed(evidence)) == combined(evidence)


@pytest.mark.parametrize(
    ("confidence", "days", "expected"),
    [
        (0.8, 0, 0.8),
        (0.8, 180, 0.4),
        (0.8, 90, 0.565685),  # 0.8 · 2^(−1/2)
        (0.8, 3600, 0.3),
        (0.2, 3600, 0.2),  # below the floor it was from the beginning
        (0.8, -10, 0.8),  # the clock went back
    ],
)
def test_confidence_falls_by_half_with_every_half_life(confidence: float, days: float, expected: float) -> None:
    assert faded(confidence, days, half_life=180, floor=0.3) == pytest.approx(expected)


@given(shares, st.floats(0, 1e6), shares)
def test_fading_stays_between_the_floor_and_the_confidence(confidence: float, days: float, floor: float) -> None:
    assert min(confidence, floor) <= faded(confidence, days, half_life=180, floor=floor) <= confidence
