from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tidal_plugins.english.importance import BASE, importance

# From what must be kept to what may go. Any sentence of a row matters more than any sentence two rows down.
LADDER = (
    (  # asked to be kept
        "Please remember that I'm allergic to walnuts.",
        "Don't forget: the parking permit runs out in March.",
        "Keep in mind that the client wants invoices in Swiss francs.",
        "From now on always reply in formal German.",
        "For future reference, the spare key is with Mrs. Okafor next door.",
        "Remember my anniversary is on 14 June.",
        "Note that the staging server must never be rebooted on a Monday.",
    ),
    (  # decisions, preferences, requirements, errors and their resolution, facts of a life
        "We decided to move the launch from April to June.",
        "After the review the team agreed on PostgreSQL instead of MySQL.",
        "I prefer window seats on long flights.",
        "She really enjoys cold-water swimming.",
        "My favourite composer is Clara Schumann.",
        "I can't stand coriander in anything.",
        "The export must finish in under ten minutes.",
        "Our budget is 4,000 euros at most.",
        "The nightly import failed with a TimeoutError.",
        "The root cause was an expired certificate.",
        "It turned out that two jobs wrote to the same file, and the lock fixed it.",
        "I work as a paramedic in Leeds.",
        "My daughter was born on 3 May 2019.",
        "I'm vegetarian and my husband is diabetic.",
        "My account number is 77213.",
        "I have an appointment with the dentist next Tuesday.",
        "I promised to send Ravi the contract by Friday.",
    ),
    (  # plain statements
        "The lake was covered in mist when the boat came in.",
        "There is a small shop behind the station that sells maps.",
        "The second half of the film was slower than the first.",
        "A heron was standing in the reeds the whole time.",
        "The recipe uses coconut milk and lime.",
    ),
    (  # questions and reactions
        "Could you tell me what that means?",
        "What is the difference between the two?",
        "Oh, that sounds like a lot of work.",
        "Wow, that is really something!",
        "Sounds great, looking forward to it!",
        "Congratulations, well deserved!",
    ),
    (  # greetings, thanks and acknowledgements
        "Hi there!",
        "Hey, how are you?",
        "Good morning, nice to see you!",
        "Thanks so much!",
        "You're welcome, have a great day!",
        "Ok, got it.",
        "Sure, go ahead.",
        "Bye, talk to you later!",
        "Haha, nice.",
        "Yes please.",
        "lol",
    ),
)


def test_the_ladder_holds() -> None:
    scores = [sorted((importance(text), text) for text in row) for row in LADDER]
    for better, worse in zip(scores, scores[2:], strict=False):
        assert better[0] > worse[-1]
    for better, worse in pairwise(scores):
        assert sum(score for score, _ in better) / len(better) > 1 + sum(score for score, _ in worse) / len(worse)


@pytest.mark.parametrize("text", LADDER[0])
def test_what_is_asked_to_be_kept_is_in_the_top_quarter(text: str) -> None:
    assert importance(text) >= 8


@pytest.mark.parametrize("text", LADDER[1])
def test_what_tells_something_lasting_is_above_a_plain_statement(text: str) -> None:
    assert BASE < importance(text) < 9


@pytest.mark.parametrize("text", LADDER[2])
def test_a_plain_statement_is_in_the_middle(text: str) -> None:
    assert 4 <= importance(text) <= 5


@pytest.mark.parametrize("text", LADDER[4])
def test_small_talk_is_in_the_bottom_quarter(text: str) -> None:
    assert importance(text) <= 3.25


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("Remember that I hate mushrooms.", "I hate mushrooms."),
        ("Remember that we meet at noon.", "Do you remember that we met at noon?"),
        ("I don't like crowded trains.", "The trains are crowded."),
        ("Thanks! The fix was to raise the file limit.", "Thanks! That was quick."),
        ("Hello! I live in Porto and teach chemistry.", "Hello! Lovely to meet you."),
        ("It is important that the door stays shut.", "The door stays shut."),
        ("The meeting is tomorrow at 9 am.", "The meeting was pleasant."),
        ("The library opens at ten.", "Does the library open at ten?"),
        ("KeyError in load_settings", "Everything went through"),
        ("We chose the blue one.", "The blue one is over there."),
        ("I’m allergic to penicillin", "I’m here"),
        ("REMEMBER THAT THE GATE CODE IS 4410", "the gate is open"),
        ("The mirror must be fixed.", "The mirror is a terror to clean."),
    ],
)
def test_the_first_matters_more(more: str, less: str) -> None:
    assert importance(more) > importance(less)


def test_what_an_assistant_or_a_tool_says_matters_less() -> None:
    text = "I prefer the smaller model for this task."
    assert importance(text, role="user") == importance(text) > importance(text, role="assistant")
    assert importance(text) > importance(text, role="tool")


def test_thanks_within_a_report_are_no_small_talk() -> None:
    report = (
        "The pump in the cellar runs at half speed since the storm and the water stands above the second step. " * 2
    )
    assert importance(f"{report}Thanks!") > BASE - 1


def test_a_long_text_is_not_important_because_it_is_long() -> None:
    manual = "The error must be fixed by Monday. You should never use the old key. I prefer it. It was decided. " * 30
    assert importance(manual) < importance("Please remember that I prefer the old key.")


@given(st.text(max_size=120))
def test_importance_is_in_range(text: str) -> None:
    assert 1 <= importance(text) <= 10


HOSTILE = (
    "a",
    " ok",
    "?",
    "a.",
    "A ",
    "Aa",
    '"a',
    "`",
    "#a",
    "a@",
    "/a",
    "1.",
    "my ",
    "i ",
    "漢",
    "_",
    "=",
    "remember ",
    "\n",
)


@pytest.mark.parametrize("chars", [8_000, 1_000_000], ids=["what is read of a long text", "a megabyte"])
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_text_takes_linear_time(unit: str, chars: int) -> None:
    assert grows_linearly(importance, lambda chars: unit * (chars // len(unit)) + "!", chars)
