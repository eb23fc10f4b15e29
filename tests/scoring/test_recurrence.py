"""When uses recur: hand-made rows of uses, by hour and turn."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tidal_plugins.scoring.recurrence import recurrence
from tidal_plugins.testing import NOON


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        ([], ""),
        ([(0, "a"), (1, "b")], ""),
        ([(0, "a"), (1, "b"), (2, "c")], "abc"),
        ([(0, "a"), (1, "b"), (24, "c")], "abc"),
        ([(0, "a"), (1, "b"), (24.01, "c")], ""),
        ([(0, "a"), (0, "a"), (1, "a"), (2, "b")], ""),
        ([(0, "a"), (20, "b"), (25, "c"), (40, "d")], "bcd"),
        ([(2, "c"), (0, "a"), (1, "b"), (3, "d")], "abcd"),
        ([(-40, "a"), (-39, "b"), (0, "c"), (5, "d"), (6, "e")], "cde"),
    ],
)
def test_enough_distinct_turns_within_the_span_recur(uses: list[tuple[float, str]], expected: str) -> None:
    told = [(NOON + timedelta(hours=hour), turn) for hour, turn in uses]
    assert recurrence(told, turns=3, hours=24) == set(expected)


def test_how_many_and_how_long_are_asked_for() -> None:
    told = [(NOON, "a"), (NOON + timedelta(hours=30), "b")]
    assert recurrence(told, turns=2, hours=24) == set()
    assert recurrence(told, turns=2, hours=30) == {"a", "b"}
    assert recurrence(told, turns=1, hours=24) == {"a"}
