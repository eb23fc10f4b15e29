"""What lays down a rule, what only sounds like one, and what lifts one."""

import pytest

from tidal_plugins.english.rules import lays_down, lifts

RULES = [
    "From now on answer in Greek.",
    "Answer in Greek from now on.",
    "Never block the slipway.",
    "Please never deploy the shop on a Friday.",
    "And always cc Martha.",
    "Use tabs, not spaces.",
    "No deploys after four o'clock.",
    "No merging without a review.",
    "Don't restart the crane on Sundays.",
    "Wake Ruth only for a flood.",
    "New rule: the gate stays shut at night.",
    "Releases must be announced a day before.",
    "Force pushes are banned here.",
    "Can you be briefer in your answers?",
]
NONE = [
    "It must have been special.",
    "It must be late.",
    "She must be thrilled.",
    "I'm always here for you.",
    "My aunt never misses a match.",
    "He always takes the tram.",
    "I never use Windows.",
    "You must always have wanted a boat.",
    "Make sure to take some time for yourself.",
    "If I were rich I'd always tip double from now on.",
    "My cousin said: from now on never eat sugar.",
    "Translate: «From now on you must never lock the gate.»",
    "Never mind.",
    "Never tried it.",
    "Always a pleasure.",
    "No news after the storm.",
    "Thanks for always checking.",
    "The harbour rule is off.",
]


@pytest.mark.parametrize("said", RULES)
def test_a_rule_is_laid_on_the_agent_or_on_the_work(said: str) -> None:
    assert lays_down(said)


@pytest.mark.parametrize("said", NONE)
def test_what_only_sounds_like_a_rule_is_none(said: str) -> None:
    assert not lays_down(said)


@pytest.mark.parametrize(
    ("said", "about"),
    [
        ("Deploying on Saturdays is fine again.", {"deploy", "saturday"}),
        ("Forget the Greek rule, please.", {"greek"}),
        ("The curfew rule is off.", {"curfew"}),
        ("You can print labels again.", {"print", "label"}),
        ("The weather is fine.", set()),
        ("I forgot the milk.", set()),
    ],
)
def test_what_lifts_a_rule_says_which(said: str, about: set[str]) -> None:
    assert lifts(said) == about
