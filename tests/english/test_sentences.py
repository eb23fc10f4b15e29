"""What is read from single sentences: questions, relative days, tags and values."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import tables, wrong
from tidal_plugins.english.dates import named_days, with_dates
from tidal_plugins.english.moods import asks, stated
from tidal_plugins.english.numbers import agree, differ, values
from tidal_plugins.english.tags import tags

TABLE = tables("english/sentences.jsonl")
MONDAY = datetime(2026, 3, 16, 12, tzinfo=UTC)
READERS: dict[str, Any] = {
    "asks": lambda said: bool(asks(said)),
    "stated": stated,
    "with_dates": lambda said: with_dates(said, MONDAY),
    "values": lambda said: [[value.kind, value.text] for value in values(said)],
    "differ, agree": lambda one, other: [read(*values(one), *values(other)) for read in (differ, agree)],
}


@pytest.mark.parametrize("name", READERS)
def test_sentences_are_read_as_labelled(name: str) -> None:
    assert wrong(READERS[name], TABLE[name]) == []


def test_a_capsule_has_the_newer_rule_alone(memory: Any, clock: Any) -> None:
    memory.record("Always send the digest on Mondays.", "OK.")
    clock.advance(days=1)
    memory.record("From now on always send the digest on Fridays.", "OK.")
    rules = memory.capsule.read()["operational_rules"]
    assert "Fridays" in rules
    assert "Mondays" not in rules


def test_a_year_is_named_where_it_is_another_one() -> None:
    assert with_dates("Due tomorrow.", datetime(2026, 12, 31, tzinfo=UTC)) == "Due tomorrow (1 January 2027)."


def test_the_days_that_a_text_names_are_read_with_the_nearest_year() -> None:
    named = named_days("From 2 January, or tomorrow, to 2027-03-01.", datetime(2026, 12, 30, tzinfo=UTC))
    assert named == [date(2027, 1, 2), date(2026, 12, 31), date(2027, 3, 1)]
    assert named_days("On 31 February.", MONDAY) == []
    assert named_days("We row this weekend.", MONDAY) == [date(2026, 3, 21), date(2026, 3, 22)]


@pytest.mark.parametrize("edge", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)], ids=str)
def test_a_day_beyond_the_calendar_gets_no_date(edge: datetime) -> None:
    for days in ("The day after tomorrow", "The day before yesterday", "In 99 weeks", "99 weeks ago", "Next month"):
        with_dates(f"{days}.", edge)
        named_days(f"{days}.", edge)
    beyond = "It rained yesterday." if edge.year == 1 else "Call me tomorrow."
    assert with_dates(beyond, edge) == beyond


def test_tags_hold_terms_and_entities() -> None:
    assert [text for text, expected in TABLE["tags"] if not set(expected) <= set(tags(text))] == []
    assert [text for [text] in TABLE["no tags"] if tags(text)] == []


def test_names_are_told_from_first_words_and_capitals() -> None:
    assert tags("Yesterday Bruno went home. Later Bruno came back.") == ("bruno", "home")
    assert "quarterly report" not in tags("Quarterly Report numbers rose")
    assert "wet paint" not in tags("MIND THE WET PAINT")
    assert tags("we met Priya Raman") == ("priya raman", "met"), "parts of a name are not repeated"


def test_tags_are_limited_and_words_that_repeat_come_first() -> None:
    text = "copper iron nickel cobalt silver tungsten titanium chromium zinc lead"
    assert len(tags(text)) == 8
    assert tags(text, limit=3) == tags(text)[:3]
    assert tags(text, limit=0) == ()
    assert tags("a harp, a harp, a trombone and a flute")[0] == "harp"


@given(st.text(alphabet="aA bZ.é#\"`/_@=1'-漢カ\n", max_size=80) | st.text(max_size=80))
def test_tags_are_lower_case_distinct_short_and_stable(text: str) -> None:
    found = tags(text)
    assert found == tags(text)
    assert len(found) == len(set(found)) <= 8
    assert all(0 < len(tag) <= 40 and tag == tag.strip() == tag.lower() for tag in found)
