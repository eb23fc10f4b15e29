"""A turn as words to look for, a text to embed, and the people that it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from tests.retrieval.directions import say
from tidal_plugins import HashingEmbedder, Message, Settings, TidalMemory
from tidal_plugins.tuning import Tuning

EMBEDDED = 4_000
"""Characters of a query that are embedded."""


class Listening(HashingEmbedder):
    """Keeps the last texts that it embedded."""

    def embed(self, texts: Sequence[str]) -> Any:
        self.last = list(texts)
        return super().embed(texts)


class Understood(NamedTuple):
    words: tuple[str, ...]
    meaning: str
    names: set[str]


@pytest.fixture
def understand(open_memory: Any) -> Any:
    """Returns how a memory in which some people speak understands a text."""

    def read(text: str, speakers: Sequence[str] = ()) -> Understood:
        embedder = Listening()
        settings = Tuning(recall={"time": 0.0}, graph={"enabled": False}, storage={"durability": "fast"})
        memory: TidalMemory = open_memory(embedder=embedder, settings=settings)
        texts = {f"{number} words to find": name for number, name in enumerate(speakers)}
        for said, name in texts.items():
            memory.record(messages=[Message("user", said, speaker=name or None)])
        recall = memory.recall(text, limit=1000)
        meaning = embedder.last[0]
        named = {hit.entry.speaker for hit in recall if "speaker" in hit.why.factors}
        return Understood(recall.words, meaning, {name for name in named if name})

    return read


def test_a_turn_without_names_is_its_own_meaning(understand: Any) -> None:
    text = "What did I say about jazz pianos?"
    assert understand(text) == (("say", "jazz", "pianos"), text, set())


@pytest.mark.parametrize(
    ("text", "meaning", "words"),
    [
        ("When did Ann go hiking?", "When did go hiking?", ("go", "hiking")),
        ("Ann's hiking trip", "hiking trip", ("hiking", "trip")),
        ("ANN’S hiking, ann!", "hiking, !", ("hiking",)),
        ("Annabel went hiking", "Annabel went hiking", ("annabel", "went", "hiking")),
    ],
)
def test_names_of_speakers_are_taken_out_of_words_and_meaning(
    understand: Any, text: str, meaning: str, words: tuple[str, ...]
) -> None:
    assert understand(text, ["Ann", "Bob"]) == (words, meaning, set() if "Annabel" in text else {"Ann"})


def test_a_name_of_nobody_who_speaks_here_stays_a_word(understand: Any) -> None:
    assert understand("Ann hiking with Carol", ["Ann"]) == (("hiking", "carol"), "hiking with Carol", {"Ann"})


@pytest.mark.parametrize(
    ("text", "words", "names"), [("Who is Ann?", ("ann",), {"Ann"}), ("Ann and Bob?", ("ann", "bob"), {"Ann", "Bob"})]
)
def test_a_turn_that_is_only_names_keeps_them(
    understand: Any, text: str, words: tuple[str, ...], names: set[str]
) -> None:
    assert understand(text, ["Ann", "Bob"]) == (words, text, names)


@pytest.mark.parametrize("role", ["user", "Assistant", "AI", "tool"])
def test_roles_are_no_names(understand: Any, role: str) -> None:
    text = "which tool did the user and the assistant call, an AI?"
    assert understand(text, [role])[1:] == (text, set())


@pytest.mark.parametrize("name", ["a.b(c*", "C++", "李雷", "O'Brien", "Ann Lee"])
def test_a_name_is_no_pattern(understand: Any, name: str) -> None:
    assert understand(f"hiking with {name}", [name]) == (("hiking",), "hiking with", {name})


@pytest.mark.parametrize("name", ["[", "\\", "^$", "?!", "🎹", "the", "You"])
def test_what_has_no_word_is_no_name(understand: Any, name: str) -> None:
    text = f"hiking with {name}, you see"
    assert understand(text, [name]) == (("hiking", "see"), text, set())


@pytest.mark.parametrize("text", ["the of and", "?!", "🎹"])
def test_without_words_nothing_is_looked_for(understand: Any, text: str) -> None:
    assert understand(text, ["Ann"])[:2] == ((), text)


def test_words_are_distinct_and_the_beginning_of_a_long_turn_counts(understand: Any) -> None:
    assert understand("jazz Jazz JAZZ piano").words == ("jazz", "piano")
    assert len(understand("x" * 10 * EMBEDDED).meaning) == EMBEDDED


def test_a_whisper_is_asked_for_the_beginning_of_a_long_turn(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(whisper={"threshold": 0.0}))
    say(memory, ("user", "jazz piano"))
    recall = memory.whisper("jazz piano lessons " + "x" * 10 * EMBEDDED).recall
    assert len(recall.query) == EMBEDDED
