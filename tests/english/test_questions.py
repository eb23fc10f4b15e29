"""Who asks, and who requests: in the words of people who type fast."""

import pytest

from tidal_plugins.english.questions import asks, stated
from tidal_plugins.english.requests import requests
from tidal_plugins.scoring.context import only_tells


@pytest.mark.parametrize(
    "said",
    ["may I park in the yard", "who signs the lease", "the gate was open, wasn't it", "Is it “ready?”", "是谁？"],
)
def test_a_question_needs_no_mark(said: str) -> None:
    assert asks(said)


@pytest.mark.parametrize("said", ["The gate was open.", "When it rains, the gate stays shut.", "May is a good month."])
def test_a_statement_asks_nothing(said: str) -> None:
    assert not asks(said)


@pytest.mark.parametrize(
    ("said", "left"),
    [("The kiln is ready on Sunday, isn't it?", "The kiln is ready on Sunday"), ("Is it red, or blue?", "")],
)
def test_of_a_question_at_the_end_the_statement_stays(said: str, left: str) -> None:
    assert stated(said) == left


@pytest.mark.parametrize("said", ["Raise the roof beam.", "then close the ticket", "Could you water the fern"])
def test_an_order_requests(said: str) -> None:
    assert requests(said)
    assert not only_tells(said)


@pytest.mark.parametrize(
    "said", ["Never close the ticket yourself.", "Post-dated cheques bounce.", "Note for Ines: the kiln is hot."]
)
def test_a_rule_and_a_note_state_something(said: str) -> None:
    assert not requests(said)


def test_a_wish_tells() -> None:
    assert only_tells("The kiln is hot. Have a nice evening!")


@pytest.mark.parametrize(
    "said",
    [
        "I don't remember where the spare sails of the old boat are kept.",
        "Ines asks when the ferry to the islands leaves on Sunday morning.",
        "Not sure which of the three kilns we were given last year.",
        "I forgot how much the new rudder of the boat was.",
    ],
)
def test_who_has_forgotten_asks(said: str) -> None:
    assert not only_tells(said)


def test_who_remembers_tells() -> None:
    assert only_tells("I remember the summer at the lake with all of you very well.")
