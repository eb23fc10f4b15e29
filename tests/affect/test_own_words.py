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


BESIDE = [
    "I am furious, what a disgrace! Here is the log:\n\n2026-03-01 12:00:01 INFO wonderful great happy success",
    'Translate: "good morning". And I am really furious that you forgot it, a horrible disgrace!',
    "Horrible, I hate it!\n```\nls\n```",
    "It is noon. The pump is on. D***! The hose is here. It is green. Olaf comes.",
]


@pytest.mark.parametrize(
    ("texts", "least", "most"),
    [(PASTED, -0.1, 0.1), (REPEATED, -1, -0.14), (CALM, -0.12, 0.12), (BESIDE, -1, -0.1)],
    ids=["pasted", "a complaint of repetition", "calm", "what a person says beside what is pasted"],
)
def test_the_mood_follows_a_persons_own_words(open_memory, texts, least, most):
    memory = open_memory(emotion=LexiconEmotion())
    for number, text in enumerate(texts):
        scope = memory.scoped(str(number))
        scope.record(text, None)
        assert least <= scope.affect.state().valence <= most, text


DENIED = ["I'm not angry at all.", "I am no longer upset with you.", "We weren't worried."]
FELT = ["I am angry.", "I am not happy with this rubbish."]


@pytest.mark.parametrize("said", [*DENIED, *FELT])
def test_a_denied_feeling_is_not_felt(open_memory: OpenMemory, said: str) -> None:
    memory = open_memory()
    for _ in range(5):
        memory.record(said, "Good.")
    valence = memory.affect.state().valence
    assert valence >= -0.05 if said in DENIED else valence < -0.1
