"""What found texts leave open of a query, and where to go on."""

from __future__ import annotations

import pytest

from tidal_plugins import Coverage, CoverageAssessor
from tidal_plugins.retrieval.coverage import HeuristicAssessor

QUESTION = "What instrument does Ada's sister play?"
FOUND = ["Maria is Ada's sister.", "Ada went to Prague in May.", "Every instrument needs tuning."]


def assess(query: str, *texts: str) -> Coverage:
    return HeuristicAssessor().assess(query, texts)


def test_a_new_name_is_asked_for_with_the_words_that_its_text_leaves_open() -> None:
    coverage = assess(QUESTION, *FOUND)
    assert coverage.queries[0] == "Maria instrument play"
    assert coverage.uncovered == ("play",)
    assert not coverage.covered


def test_one_text_with_all_words_covers_a_query_in_whatever_form_they_are() -> None:
    assert assess(QUESTION, "hm", "Ada has a sister who played three instruments.").covered
    assert assess("Which cities?", "the city").covered


def test_words_of_several_texts_do_not_cover_it_together() -> None:
    coverage = assess("who owns the boat?", "Lena owns a house", "the boat sank")
    assert not coverage.covered
    assert coverage.uncovered == ("owns", "boat")


def test_texts_about_whom_the_query_names_lead_before_others() -> None:
    queries = assess("Where does Ada's sister live?", "Bob has a sister called Zoe.", "Maria is Ada's sister.").queries
    assert queries[0] == "Maria live"
    assert "Zoe live" in queries


def test_who_is_named_beside_somebody_known_leads_on() -> None:
    queries = assess(
        "In which city is the employer of Ada's sister?", "Maria works for Acme Corp.", "Ada's sister is called Maria."
    ).queries
    assert queries[0] == "Maria city employer"
    assert "Acme Corp city employer sister" in queries


def test_identifiers_are_names() -> None:
    queries = assess("Who wrote what caused the outage?", "the outage was caused by retry_budget").queries
    assert queries == ("retry_budget wrote",)


def test_a_short_text_without_a_name_leads_on_by_its_words() -> None:
    assert assess("who owns what checkout depends on?", "checkout depends on billing").queries == ("billing owns",)
    long = "checkout depends on many things that nobody here has ever written down in a document"
    assert assess("who owns what checkout depends on?", long).queries == ()


@pytest.mark.parametrize("text", ["In May and on Monday it was Ada's turn.", "Thanks Ada!", "ada", "I am Ada."])
def test_months_days_courtesies_and_known_names_lead_nowhere(text: str) -> None:
    assert not any(word in " ".join(assess(QUESTION, text).queries) for word in ("May", "Monday", "Thanks", "Ada"))


def test_a_name_in_the_middle_leads_before_a_word_that_begins_a_sentence() -> None:
    assert assess(QUESTION, "Tulips are what Ada's friend Zoe likes.").queries[0].startswith("Zoe ")


def test_a_name_leads_without_its_possessive() -> None:
    assert assess("Who feeds Ada's cat?", "Ada's cat likes Bob's garden.").queries == ("Bob feeds",)


def test_texts_that_share_nothing_with_the_query_lead_nowhere() -> None:
    assert assess(QUESTION, "Zoe walked to Prague.").queries == ()


@pytest.mark.parametrize(("query", "texts"), [("why?", ["because"]), ("...", [])])
def test_what_has_no_words_is_covered(query: str, texts: list[str]) -> None:
    assert assess(query, *texts).covered


def test_without_texts_all_is_open_and_nothing_leads_on() -> None:
    assert assess("Who is Ada?") == Coverage(("ada",), ())


def test_it_is_an_assessor_and_long_texts_take_no_time() -> None:
    assert isinstance(HeuristicAssessor(), CoverageAssessor)
    assert assess(QUESTION, "Ada Bell " * 20_000, "a" * 200_000, "A-" * 100_000) is not None
