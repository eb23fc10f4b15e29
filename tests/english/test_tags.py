import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins.english.tags import tags


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I play jazz piano", {"jazz", "piano"}),
        ("On Sunday we saw Priya Raman in New Delhi.", {"priya raman", "new delhi"}),
        ("Marta called. I think Marta is right.", {"marta"}),
        ("We flew over the Bay of Biscay with Conor O'Neill", {"bay of biscay", "conor o'neill"}),
        ("NASA published it", {"nasa"}),
        ("Look at src/report/build.py and config.yaml!", {"build.py", "config.yaml"}),
        ("call calculate_tax_liability() from billing.core.ledger", {"calculate_tax_liability", "billing.core.ledger"}),
        ("the parseConfig step raised KeyError", {"parseconfig", "keyerror"}),
        ("pin numpy==1.26.4 for Python 3.11 here", {"numpy", "numpy 1.26.4"}),
        ("It needs Python 3.11 and also Redis v7.2", {"redis", "redis v7.2"}),
        ('the term "bounded context" and `git rebase`', {"bounded context", "git rebase"}),
        ("my #GardenProject and #books", {"gardenproject", "books"}),
        ("see https://www.example.org/a?b=1 or ask jo.lee@example.com", {"example.org", "jo.lee@example.com"}),
        ("her well-known bakery", {"well-known", "bakery"}),
        ("Überraschung in Zürich mit Élodie", {"zürich", "élodie"}),
        ("東京でジャズを聴く", {"東京", "ジャズ"}),
    ],
)
def test_tags_hold_terms_and_entities(text: str, expected: set[str]) -> None:
    assert expected <= set(tags(text))


@pytest.mark.parametrize(
    "text", ["Thanks so much!", "I really think that we should go there again.", "😀!", "", "12 34"]
)
def test_talk_about_nothing_has_no_tags(text: str) -> None:
    assert tags(text) == ()


def test_the_first_word_of_a_sentence_is_no_name_by_itself() -> None:
    assert tags("Yesterday Bruno went home. Later Bruno came back.") == ("bruno", "home")
    assert "quarterly report" not in tags("Quarterly Report numbers rose")


def test_a_capital_text_has_no_names() -> None:
    assert "wet paint" not in tags("MIND THE WET PAINT")


def test_words_that_repeat_come_first() -> None:
    assert tags("a harp, a harp, a trombone and a flute")[0] == "harp"


def test_parts_of_a_name_are_not_repeated() -> None:
    assert tags("we met Priya Raman") == ("priya raman", "met")


def test_tags_are_limited() -> None:
    text = "copper iron nickel cobalt silver tungsten titanium chromium zinc lead"
    assert len(tags(text)) == 8
    assert tags(text, limit=3) == tags(text)[:3]
    assert tags(text, limit=0) == ()


@given(st.text(alphabet="aA bZ.é#\"`/_@=1'-漢カ\n", max_size=80) | st.text(max_size=80))
def test_tags_are_lower_case_distinct_short_and_stable(text: str) -> None:
    found = tags(text)
    assert found == tags(text)
    assert len(found) == len(set(found)) <= 8
    assert all(0 < len(tag) <= 40 and tag == tag.strip() == tag.lower() for tag in found)


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


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_megabyte_is_read(unit: str) -> None:
    text = unit * (1_000_000 // len(unit)) + "!"
    assert len(tags(text)) <= 8  # at once: a pattern that took quadratic time would take hours
