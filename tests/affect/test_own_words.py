"""A person's own words move the mood: not what they paste, and complaints of repetition even in calm words."""

from __future__ import annotations

import pytest

from tests.conftest import OpenMemory
from tidal_plugins import LexiconEmotion

PASTED = [
    "Translate into Danish: I hate this horrible, disgusting town and I am furious!",
    'Translate: "You terrible idiots, I hate every one of you!"',
    "Proofread this: My wonderful darling, I love you so much, the best and happiest day of my life!!!",
    "She wrote: «I am furious, it is a horrible disgrace and I hate it!»",
    "Make this mail friendlier:\n\nFrom: Olaf\nTo: Greta\nSubject: the hall\n\nI am furious. The hall is a disgrace.",
    "What should I answer?\n\nOn Tue, 3 Mar 2026 Olaf wrote:\n> I am furious, the hall is a horrible disgrace.",
    "What is this?\n\n2026-03-01 12:00:01 ERROR horrible terrible disaster\n2026-03-01 12:00:02 FATAL awful death",
    'What is this?\n```\nraise Horrible("terrible awful disaster, hate!")\n```',
    'Traceback (most recent call last):\n  File "hall.py", line 3, in <module>\nHallError: horrible awful disaster',
    "Summarise this review:\n\nA horrible hotel, disgusting and rude. We hated every awful minute!",
]
REPEATED = [
    "THIS IS THE SECOND TIME",
    "This is the fourth time I have to tell you!",
    "I already told you that!",
    "How many times do I have to say it?",
    "You keep ignoring what I write.",
    "STILL BROKEN!!",
    "Once again you forgot the units!",
]
CALM = [
    "This is the second time we visit the lighthouse.",
    "For the third time this year the pond froze.",
    "I fed the hens again.",
    "The pump stopped twice.",
    "raise the limit to 0.9 then, I agreed it with Olaf",
    'We read "The Old Man and the Sea" aloud.',
]


@pytest.fixture
def memory(open_memory: OpenMemory) -> object:
    return open_memory(emotion=LexiconEmotion())


@pytest.mark.parametrize("text", PASTED)
def test_what_is_pasted_leaves_the_mood_alone(memory, text):
    memory.record(text, None)
    assert abs(memory.affect.state().valence) < 0.1


@pytest.mark.parametrize("text", REPEATED)
def test_a_complaint_of_repetition_is_negative(memory, text):
    memory.record(text, None)
    assert memory.affect.state().valence <= -0.14


@pytest.mark.parametrize("text", CALM)
def test_calm_words_stay_calm(memory, text):
    memory.record(text, None)
    assert abs(memory.affect.state().valence) < 0.12


@pytest.mark.parametrize(
    "text",
    [
        "I am furious, what a disgrace! Here is the log:\n\n2026-03-01 12:00:01 INFO wonderful great happy success",
        'Translate: "good morning". And I am really furious that you forgot it, a horrible disgrace!',
        "Horrible, I hate it!\n```\nls\n```",
    ],
)
def test_what_a_person_says_beside_it_counts(memory, text):
    memory.record(text, None)
    assert memory.affect.state().valence < -0.1


def test_a_curse_in_the_middle_of_a_turn_is_heard(memory):
    memory.record("It is noon. The pump is on. D***! The hose is here. It is green. Olaf comes.", None)
    assert memory.affect.state().valence < -0.1


@pytest.mark.parametrize("said", ["I'm not angry at all.", "I am no longer upset with you.", "We weren't worried."])
def test_a_denied_feeling_is_not_felt(open_memory: OpenMemory, said: str) -> None:
    memory = open_memory()
    for _ in range(5):
        memory.record(said, "Good.")
    assert memory.affect.state().valence >= -0.05


@pytest.mark.parametrize("said", ["I am angry.", "I am not happy with this rubbish."])
def test_a_feeling_that_is_not_denied_is_felt(open_memory: OpenMemory, said: str) -> None:
    memory = open_memory()
    for _ in range(5):
        memory.record(said, "Good.")
    assert memory.affect.state().valence < -0.1
