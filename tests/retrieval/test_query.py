import time

import pytest

from tidal_plugins.retrieval.query import MAX_CHARS, understand


def test_a_turn_without_names_is_its_own_meaning() -> None:
    query = understand("What did I say about jazz pianos?", [])
    assert query.meaning == query.text == "What did I say about jazz pianos?"
    assert query.terms == query.content == ("say", "jazz", "pianos")
    assert query.names == frozenset()


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("When did Ann go hiking?", "When did go hiking?"),
        ("Ann's hiking trip", "hiking trip"),
        ("ANN’S hiking, ann!", "hiking, !"),
        ("Annabel went hiking", "Annabel went hiking"),
        ("What would Ann cook?", "What would cook?"),
    ],
)
def test_names_of_speakers_are_taken_out_of_what_is_embedded(text: str, meaning: str) -> None:
    query = understand(text, ["Ann", "Bob"])
    assert query.meaning == meaning
    assert query.names == (frozenset() if "Annabel" in text else {"Ann"})
    assert "ann" not in query.content


def test_the_keyword_channel_still_looks_for_the_name() -> None:
    assert understand("Ann hiking", ["Ann"]).terms == ("ann", "hiking")


def test_a_turn_that_is_only_a_name_keeps_it() -> None:
    query = understand("Who is Ann?", ["Ann"])
    assert (query.meaning, query.content, query.terms, query.names) == ("Who is Ann?", (), ("ann",), {"Ann"})


@pytest.mark.parametrize("role", ["user", "Assistant", "AI", "tool"])
def test_roles_are_no_names(role: str) -> None:
    query = understand("which tool did the user and the assistant call, an AI?", [role])
    assert query.names == frozenset()
    assert query.meaning == query.text


@pytest.mark.parametrize("name", ["a.b(c*", "[", "\\", "^$", "C++", "李雷", "O'Brien", "Ann Lee"])
def test_a_name_is_no_pattern(name: str) -> None:
    assert understand(f"hiking with {name}", [name]).names == {name}
    assert understand("hiking with nobody", [name]).names == frozenset()


@pytest.mark.parametrize("text", ["the of and", "?!", "🎹", ""])
def test_without_words_there_are_no_terms(text: str) -> None:
    query = understand(text, ["Ann"])
    assert query.terms == ()
    assert query.meaning == text


def test_terms_are_distinct_and_the_beginning_of_a_long_turn_counts() -> None:
    assert understand("jazz Jazz JAZZ piano", []).terms == ("jazz", "piano")
    assert len(understand("x" * 10 * MAX_CHARS, []).meaning) == MAX_CHARS


def test_a_thousand_speakers_take_no_time() -> None:
    speakers = [f"Speaker {n}" for n in range(1000)]
    start = time.perf_counter()
    assert understand("what did speaker 7 say? " * 10, speakers).names == {"Speaker 7"}
    assert time.perf_counter() - start < 2
