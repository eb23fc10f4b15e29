"""How much sentences matter later, by their tags."""

from __future__ import annotations

from statistics import mean

from tests.tables import tables
from tidal_plugins.language.importance import FOR_GOOD, importance

TABLE = tables("language/importance.jsonl")
LADDER = [[text for [text] in TABLE[f"ladder {step}"]] for step in range(5)]
"""From what is asked to be kept, over what tells something lasting, plain statements and questions, to small talk."""


def test_what_tells_something_lasting_matters_more_than_plain_statements_and_these_more_than_talk() -> None:
    asked, lasting, plain, questions, talk = (mean(map(importance, row)) for row in LADDER)
    assert asked > lasting + 0.5 > plain + 1 > max(questions, talk) + 3


def test_the_first_matters_more_in_most_pairs() -> None:
    right = [importance(more) > importance(less) for more, less in TABLE["more, less"]]
    assert sum(right) >= 0.65 * len(right)


def test_what_an_assistant_or_a_tool_says_matters_less() -> None:
    text = "I prefer the smaller model for this task."
    assert importance(text, role="user") == importance(text) > importance(text, role="assistant")
    assert importance(text, role="tool") < importance(text)
    assert importance("I'm allergic to walnuts.", role="assistant") < FOR_GOOD <= importance("I'm allergic to walnuts.")
