from __future__ import annotations

import pytest

from tidal_plugins.english.values import agree, differ, values


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("On Tuesday 24 March at 17:15.", [("date", "Tuesday 24 March"), ("time", "17:15")]),
        ("Keys on the 26th.", [("date", "the 26th")]),
        ("It was on 2026-03-24.", [("date", "2026-03-24")]),
        ("It starts at 7 pm, bring 3 friends.", [("time", "7 pm"), ("number", "3")]),
        ("Version 4.11.1 costs 1,150 euros.", [("version", "4.11.1"), ("number", "1,150")]),
        ("You may come in May.", [("date", "May")]),
        ("Take `limit=50` from src/api_50.py.", []),
        ("We met last Tuesday, and stay below 75 %.", []),
        ("Ticket m-118 and issue #7.", []),
    ],
)
def test_values_are_found(sentence: str, expected: list[tuple[str, str]]) -> None:
    assert [(value.kind, value.text) for value in values(sentence)] == expected


@pytest.mark.parametrize(
    ("one", "other", "apart", "same"),
    [
        ("Friday 20 March", "24 March", True, False),
        ("Friday 20 March", "Friday", False, True),
        ("Friday", "24 March", False, False),  # they name nothing in common
        ("page size 50", "page size 25", True, False),
        ("page size 50", "12 cats", False, False),
        ("trades take 20 %", "trades take 3,600", False, False),  # a share is no sum
        ("at 5 pm", "at 17:00", False, True),
    ],
)
def test_values_differ_or_agree(one: str, other: str, apart: bool, same: bool) -> None:
    [a], [b] = values(one), values(other)
    assert (differ(a, b), agree(a, b)) == (apart, same)
