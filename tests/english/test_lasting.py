"""What must not fade, and what only sounds like it."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tidal_plugins.english.importance import FOR_GOOD, importance
from tidal_plugins.english.lasting import MOST_CHARS, Lasting, lasting

KEPT = {
    "Before you order: Ravi is allergic to shellfish.": "health",
    "My niece has an egg allergy, mind that.": "health",
    "Grandpa mustn't have grapefruit.": "health",
    "I can't eat lentils, they make me ill.": "health",
    "Dr Osei put me on bisoprolol, one in the morning.": "health",
    "She takes 20 mg of it twice a day.": "health",
    "Half a peanut put him in hospital.": "health",
    "We have six guests, one (Ines) has coeliac disease.": "health",
    "I can't have shellfish.": "health",
    "My uncle has a heart condition.": "health",
    "Walnuts make my throat swell up.": "health",
    "The safe combination is in the blue folder.": "place",
    "No calls before nine, please.": "rule",
    "The spare key is under the third flowerpot.": "place",
    "I left my passport with Aunt Dora.": "place",
    "From now on, answer me in Portuguese.": "rule",
    "Two house rules: shoes off, and knock first.": "rule",
    "Never deploy on a Friday afternoon.": "rule",
    "And please always cc Martha.": "rule",
    "Server names are fine. Releases must be announced a day before.": "rule",
    "Force pushes are banned in this repo.": "rule",
    "I promised Lena a swing before the summer.": "promise",
    "Otto lent me 250 euros for the deposit.": "promise",
    "Please remember that my sister moves in May.": "request",
    "Don't forget that the gate closes at nine.": "request",
}
GOES = (
    "Is Ravi allergic to shellfish?",
    "A nut allergy is common these days.",
    "If you are allergic to cats, stay outside.",
    "In the film she is allergic to the sun.",
    "I can't eat that fast.",
    "I can't have visitors today.",
    "We have diabetes awareness week.",
    "No rain before nine, they say.",
    "He must not have known.",
    "The key is to stay calm.",
    "The key point is in the second chapter.",
    "Never give up!",
    "I'll never forget that evening.",
    "I'll be doing this from now on.",
    "Always be yourself, and remember to breathe.",
    "You always need to talk to people and never put yourself first.",
    "She must be really impressed.",
    "I promise, it was great.",
    "That looks promising.",
    "I promised myself to run more.",
    "Remember, I'm always here for you.",
    "Remember that chat about the boats?",
    "I'll keep that in mind.",
    "The recipe needs 300 ml of milk.",
)


@pytest.mark.parametrize(("text", "kind"), KEPT.items())
def test_what_matters_for_good_is_found(text: str, kind: str) -> None:
    assert lasting(text) == kind
    assert importance(text) >= FOR_GOOD
    assert importance(text, role="user") >= FOR_GOOD > importance(text, role="assistant")


@pytest.mark.parametrize("text", GOES)
def test_what_only_sounds_like_it_may_fade(text: str) -> None:
    assert lasting(text) is None
    assert importance(text) < FOR_GOOD


def test_a_long_text_is_a_document() -> None:
    assert lasting("The spare key is under the mat. " + "A word. " * (MOST_CHARS // 8)) is None


def test_code_says_nothing() -> None:
    assert lasting("```\n# never use print\n```\nlooks fine") is None


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    assert lasting(text) in {None, *get_args(Lasting)}


@pytest.mark.parametrize("unit", ["a ", "never ", "my my ", "the key ", "1 mg ", "must be ", "a-", "on "])
def test_a_hostile_sentence_takes_bounded_time(unit: str) -> None:
    grows = grows_linearly(lambda text: lasting.__wrapped__(text), lambda chars: (unit * chars)[:chars] + ".", 380)
    assert grows
