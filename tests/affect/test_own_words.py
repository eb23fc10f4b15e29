"""A person's own words move the mood: not what they paste, and complaints of repetition even in calm words."""

from __future__ import annotations

import pytest

from tests.conftest import OpenMemory
from tests.sentences import sentences
from tidal_plugins import LexiconEmotion

SENTENCES = sentences(__file__)

PASTED = SENTENCES["pasted"]
REPEATED = SENTENCES["repeated"]
CALM = SENTENCES["calm"]


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
