"""What stands around a turn, by hand-computed values."""

from __future__ import annotations

import pytest

from tidal_plugins.english.questions import ends_asking
from tidal_plugins.scoring.context import brief, dated, goes_on, leaning, lent, margin, raised


@pytest.mark.parametrize(("words", "expected"), [(0, 1.0), (5, 1.0), (20, 1.0), (40, 0.5), (200, 0.1)])
def test_the_longer_a_text_the_less_it_leans_on_others(words: int, expected: float) -> None:
    assert brief(words, 20.0) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("own", "other", "expected"), [(5, 20, 1.0), (5, 80, 0.5), (80, 5, 0.25), (80, 80, 0.125), (0, 0, 1.0)]
)
def test_a_short_turn_leans_on_a_long_one_by_the_root_and_a_long_one_hardly_on_any(
    own: int, other: int, expected: float
) -> None:
    assert leaning(own, other, 20.0) == pytest.approx(expected)


@pytest.mark.parametrize(("own", "best", "expected"), [(0.2, 0.6, 0.1), (0.6, 0.6, 0.0), (-0.2, 0.2, 0.1)])
def test_a_thread_raises_its_entries_part_of_the_way(own: float, best: float, expected: float) -> None:
    assert raised(own, best, 0.25) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("nearness", "places", "answer", "expected"),
    [
        (0.5, 1, 1.0, 0.06),
        (0.5, -1, 1.0, 0.06),
        (0.5, -2, 1.0, 0.03),
        (0.5, 1, 3.0, 0.18),
        (0.5, -1, 3.0, 0.06),
        (0.5, 2, 3.0, 0.03),
        (0.1, 1, 3.0, 0.0),
    ],
)
def test_a_neighbour_lends_by_distance_and_a_question_to_its_answer(
    nearness: float, places: int, answer: float, expected: float
) -> None:
    assert lent(nearness, 0.1, places, share=0.15, answer=answer) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We went hiking last weekend", True),
        ("Born on TUESDAY, they say", True),
        ("in 2019", True),
        ("two years ago", True),
        ("room 20191", False),
        ("It may rain", False),
        ("That sounds great!", False),
        ("", False),
        ("昨日", False),
    ],
)
def test_a_turn_that_says_when_something_was_is_told_apart(text: str, expected: bool) -> None:
    assert dated(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Really?", True),
        ('He said "why?" ', True),
        ("(is it?)", True),
        ("本当？", True),
        ("Why? Because.", False),
        ("", False),
    ],
)
def test_a_turn_that_ends_with_a_question_asks(text: str, expected: bool) -> None:
    assert ends_asking(text) is expected


def test_nothing_found_is_nothing_to_be_sure_of() -> None:
    assert margin([], [], 0.0, rivals=4, topic=0.25) == 0.0


def test_rivals_that_are_not_there_count_as_unrelated() -> None:
    assert margin([0.6, 0.4], [0.5, 0.3], 0.1, rivals=4, topic=0.25) == pytest.approx(0.5 + 0.1 + 0.25 * 0.16)


@pytest.mark.parametrize(
    "text",
    [
        "We decided on the classic loop. What's next?",
        "Hi, I’m back. Where were we?",
        "Let's book the ferry.",
        "I am ready for the second part.",
    ],
)
def test_a_turn_goes_on_that_says_so_and_does_more_than_ask(text: str) -> None:
    assert goes_on(text)


@pytest.mark.parametrize(
    "text", ["Which loop did we decide on?", "What's next?", "My aunt bakes bread.", "Nextdoor", ""]
)
def test_a_question_or_a_new_topic_does_not_go_on(text: str) -> None:
    assert not goes_on(text)
