import time

import pytest

from tidal_plugins.retrieval.query import MAX_CHARS, understand


def test_a_turn_without_names_is_its_own_meaning() -> None:
    query = understand("What did I say about jazz pianos?", [])
    assert query.meaning == query.text == "What did I say about jazz pianos?"
    assert query.terms == ("say", "jazz", "pianos")
    assert query.names == frozenset()


@pytest.mark.parametrize(
    ("text", "meaning", "terms"),
    [
        ("When did Ann go hiking?", "When did go hiking?", ("go", "hiking")),
        ("Ann's hiking trip", "hiking trip", ("hiking", "trip")),
        ("ANN’S hiking, ann!", "hiking, !", ("hiking",)),
        ("Annabel went hiking", "Annabel went hiking", ("annabel", "went", "hiking")),
        ("What would Ann cook?", "What would cook?", ("cook",)),
    ],
)
def test_names_of_speakers_are_taken_out_of_words_and_meaning(text: str, meaning: str, terms: tuple[str, ...]) -> None:
    query = understand(text, ["Ann", "Bob"])
    assert query.meaning == meaning
    assert query.names == (frozenset() if "Annabel" in text else {"Ann"})
    assert query.terms == terms
    assert query.text == text


def test_a_name_of_nobody_who_speaks_here_stays_a_word() -> None:
    query = understand("Ann hiking with Carol", ["Ann"])
    assert (query.meaning, query.terms, query.names) == ("hiking with Carol", ("hiking", "carol"), {"Ann"})


@pytest.mark.parametrize(
    ("text", "terms", "names"), [("Who is Ann?", ("ann",), {"Ann"}), ("Ann and Bob?", ("ann", "bob"), {"Ann", "Bob"})]
)
def test_a_turn_that_is_only_names_keeps_them(text: str, terms: tuple[str, ...], names: set[str]) -> None:
    query = understand(text, ["Ann", "Bob"])
    assert (query.meaning, query.terms, query.names) == (text, terms, names)


@pytest.mark.parametrize("role", ["user", "Assistant", "AI", "tool"])
def test_roles_are_no_names(role: str) -> None:
    query = understand("which tool did the user and the assistant call, an AI?", [role])
    assert query.names == frozenset()
    assert query.meaning == query.text


@pytest.mark.parametrize("name", ["a.b(c*", "C++", "李雷", "O'Brien", "Ann Lee"])
def test_a_name_is_no_pattern(name: str) -> None:
    query = understand(f"hiking with {name}", [name])
    assert (query.names, query.meaning, query.terms) == ({name}, "hiking with", ("hiking",))
    assert understand("hiking with nobody", [name]).names == frozenset()


@pytest.mark.parametrize("name", ["[", "\\", "^$", "?!", "🎹", "the", "You", ""])
def test_what_has_no_word_is_no_name(name: str) -> None:
    query = understand(f"hiking with {name}, you see", [name])
    assert (query.names, query.meaning, query.terms) == (frozenset(), query.text, ("hiking", "see"))


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
