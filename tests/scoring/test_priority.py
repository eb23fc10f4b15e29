import pytest

from tidal_plugins.english.importance import BASE, importance
from tidal_plugins.scoring.priority import (
    MIN_PRIORITY,
    information,
    rarity,
    restated,
    sentence_priority,
    specificity,
    states,
    tool_priority,
)


def priority(text: str, role: str | None = None) -> float:
    return sentence_priority(importance(text), base=BASE, role=role)


@pytest.mark.parametrize(
    "text",
    [
        "We decided to ship the parser on Monday.",
        "I prefer tabs in Makefiles and spaces elsewhere.",
        "The report must be shorter than two pages.",
        "The build failed with a MemoryError.",
        "The fix was to close the file before renaming it.",
    ],
)
def test_the_four_priorities_stand_above_a_plain_sentence(text: str) -> None:
    assert priority(text) > priority("The harbour lies behind the second hill.") > MIN_PRIORITY


@pytest.mark.parametrize("text", ["Hi there!", "Thanks so much!", "Talk to you soon!", "Ok, great.", "How are you?"])
def test_chatter_stands_below_the_least(text: str) -> None:
    assert priority(text) < MIN_PRIORITY


@pytest.mark.parametrize(("importance", "expected"), [(4.5, 1.0), (9.5, 2.718), (2.0, 0.368), (1.0, 0.247)])
def test_sentences_below_the_base_fall_faster_than_others_rise(importance: float, expected: float) -> None:
    assert sentence_priority(importance, base=4.5) == pytest.approx(expected, abs=0.001)


def test_what_an_assistant_says_counts_less() -> None:
    assert priority("The index has 40 pages.", "assistant") < priority("The index has 40 pages.", "user")


def test_tools_that_changed_or_failed_stand_above_those_that_looked() -> None:
    worth = [tool_priority(kind) for kind in ("changed", "failed", "ran", "looked")]
    assert worth == sorted(worth, reverse=True)
    assert tool_priority("failed") > 1 > tool_priority("ran")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it went rather well", 1.0),
        ("it went well in Lisbon", 1.2),
        ("it took 14 days from Lisbon to Porto", 1.4),
        ("see src/report.py", 1.2),
        ("call parseConfig first", 1.2),
        ("", 1.0),
    ],
)
def test_names_numbers_and_paths_are_specific(text: str, expected: float) -> None:
    assert specificity(text) == pytest.approx(expected)


def test_a_rare_word_tells_more() -> None:
    assert rarity(1, 100) > rarity(50, 100) > 0


def test_a_word_told_again_tells_less() -> None:
    weights = {"kiln": 2.0, "clay": 1.0}
    first = information(weights.values())
    assert first == pytest.approx(3.0**0.8)
    assert information([restated(weights["kiln"], 1), weights["clay"]]) < first
    assert information([]) == 0


def test_half_of_the_words_state_a_message() -> None:
    assert states({"kiln", "clay"}, {"kiln", "clay", "oven", "glaze"})
    assert not states({"kiln"}, {"kiln", "clay", "oven"})
    assert not states({"kiln"}, set())
