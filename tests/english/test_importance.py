"""How much a sentence matters, what must not fade, and what demands attention by its form alone."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tests.tables import tables, wrong
from tidal_plugins.english.importance import BASE, FOR_GOOD, importance
from tidal_plugins.english.lasting import FORMS, MOST_CHARS, Form, Lasting, lasting
from tidal_plugins.english.shouting import is_shouted, only_shouts, shouts
from tidal_plugins.english.tags import tags

TABLE = tables("english/importance.jsonl")

LADDER = [[text for [text] in TABLE[f"ladder {step}"]] for step in range(5)]
"""From what is asked to be kept, over what tells something lasting, plain statements and questions, to small talk."""

HOSTILE = ("a", " ok", "?", "a.", "A ", "Aa", '"a', "`", "#a", "a@", "/a", "1.", "my ", "i ", "漢", "_", "=", "\n")


def test_any_sentence_of_the_ladder_matters_more_than_one_two_steps_down() -> None:
    scores = [sorted((importance(text), text) for text in row) for row in LADDER]
    for better, worse in zip(scores, scores[2:], strict=False):
        assert better[0] > worse[-1]
    for better, worse in pairwise(scores):
        assert sum(score for score, _ in better) / len(better) > 1 + sum(score for score, _ in worse) / len(worse)


def test_the_steps_of_the_ladder_have_their_ranges() -> None:
    above = {text for text in LADDER[1] if not BASE < importance(text) < 9}
    middle = {text for text in LADDER[2] if not 4 <= importance(text) <= 5}
    assert {text for text in LADDER[0] if importance(text) < 8} | above | middle == set()
    assert {text for text in LADDER[4] if importance(text) > 3.25} == set()


def test_the_first_matters_more() -> None:
    assert [pair for pair in TABLE["more, less"] if importance(pair[0]) <= importance(pair[1])] == []


def test_what_an_assistant_or_a_tool_says_matters_less() -> None:
    text = "I prefer the smaller model for this task."
    assert importance(text, role="user") == importance(text) > importance(text, role="assistant")
    assert importance(text) > importance(text, role="tool")


def test_neither_length_nor_thanks_decide_on_a_long_text() -> None:
    report = "The pump in the cellar runs at half speed since the storm and the water stands above the second step. "
    assert importance(f"{report * 2}Thanks!") > BASE - 1
    manual = "The error must be fixed by Monday. You should never use the old key. I prefer it. It was decided. " * 30
    assert importance(manual) < importance("Please remember that I prefer the old key.")


def test_what_matters_for_good_is_found_and_what_only_sounds_like_it_may_fade() -> None:
    assert wrong(lasting, TABLE["lasting"]) == []
    for text, kind in TABLE["lasting"]:
        assert (importance(text, role="user") >= FOR_GOOD) == bool(kind), text
        assert importance(text, role="assistant") < FOR_GOOD, text


def test_documents_and_code_say_nothing_lasting() -> None:
    assert lasting("The spare key is under the mat. " + "A word. " * (MOST_CHARS // 8)) is None
    assert lasting("```\n# never use print\n```\nlooks fine") is None


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    assert lasting(text) in {None, *get_args(Lasting)}
    assert 1 <= importance(text) <= 10


@pytest.mark.parametrize("form", FORMS, ids=[form.kind for form in FORMS])
def test_every_sentence_of_a_lasting_form_has_one_of_its_cues(form: Form) -> None:
    @settings(derandomize=True, max_examples=60, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(re.compile(form.pattern.pattern, form.pattern.flags)))
    def check(sentence: str) -> None:
        if form.pattern.search(sentence.lower()):
            assert any(cue in sentence.lower() for cue in form.cues)

    check()


def test_shouting_is_told_by_its_form() -> None:
    assert wrong(shouts, TABLE["shouts"]) == []
    assert is_shouted("BUY ALL SHARES OF ZORBEX!!! Thanks.")
    assert not is_shouted("Never do that!!! Yesterday we met Ines at the harbour, and she told us of the ferry line.")
    assert only_shouts("URGENT! This is critical!")
    assert not only_shouts("Urgent: call Ines.")


@pytest.mark.slow
@pytest.mark.parametrize("unit", [*HOSTILE, "remember "])
def test_a_hostile_text_is_read_in_linear_time(unit: str) -> None:
    def text(chars: int) -> str:
        return unit * (chars // len(unit)) + "!"

    assert grows_linearly(importance, text, 8_000)
    assert grows_linearly(importance, text, 1_000_000)
    assert len(tags(text(1_000_000))) <= 8  # at once: a pattern that took quadratic time would take hours


@pytest.mark.parametrize("unit", ["a ", "never ", "my my ", "the key ", "1 mg ", "must be ", "a-", "on "])
def test_a_hostile_sentence_takes_bounded_time(unit: str) -> None:
    uncached: Any = lasting.__wrapped__
    assert grows_linearly(uncached, lambda chars: (unit * chars)[:chars] + ".", 380)
