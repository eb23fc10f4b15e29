"""What the rules read from texts, what they leave alone, and that no text holds them up."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.extraction import evaluate, held_out, load, stated
from tests.effort import grows_linearly
from tidal_plugins import RuleExtractor
from tidal_plugins.graph.reading.vocabulary import CATEGORIES
from tidal_plugins.model.graph import PREDICATES, Extraction


def read(text: str) -> Extraction:
    return RuleExtractor().extract_graph([text])[0]


def said(text: str) -> list[str]:
    return [
        f"{one.subject.name} {'not ' if one.negated else ''}{one.predicate} {one.object.name}"
        for one in read(text).assertions
    ]


def names(text: str) -> set[str]:
    return {f"{one.type} {one.name}" for one in read(text).mentions}


# The labelled sentences


def test_nine_of_ten_entities_and_relations_that_are_read_are_right() -> None:
    rows = load()
    assert len(rows) >= 150
    assert sum(row["kind"] == "trap" for row in rows) >= 50
    for part in (rows, held_out(rows)):
        entities, relations = evaluate(part)
        assert entities.precision() >= 0.9
        assert relations.precision() >= 0.9
        assert entities.recall() >= 0.8
        assert relations.recall() >= 0.8


@pytest.mark.parametrize("text", [row["text"] for row in load() if not row["assertions"]])
def test_questions_doubts_hearsay_and_everyday_talk_state_nothing(text: str) -> None:
    assert stated(read(text)) == set()


def test_every_text_has_its_extraction_in_order() -> None:
    one, none, two = RuleExtractor().extract_graph(["I live in Graz.", "", "Maria lives in Linz."])
    assert (one.assertions[0].object.name, two.assertions[0].object.name) == ("Graz", "Linz")
    assert none == Extraction()
    assert RuleExtractor().extract_graph([]) == []


# Spans


@pytest.mark.parametrize("row", load(), ids=range(len(load())))
def test_every_span_supports_what_was_read(row: dict[str, str]) -> None:
    text = row["text"]
    extraction = read(text)
    sides = [side for one in extraction.assertions for side in (one.subject, one.object)]
    for one in [*extraction.mentions, *sides]:
        assert text[one.start : one.end] == one.name != ""
        assert one.category == CATEGORIES[one.type]
    for one in extraction.assertions:
        assert 0 <= one.start < one.end <= len(text)
        assert one.predicate in PREDICATES
        assert 0 < one.confidence <= 1
    assert {(side.name, side.type) for side in sides} <= {(one.name, one.type) for one in extraction.mentions}


@given(st.text(max_size=300))
def test_any_text_is_read_and_its_spans_are_its_own(text: str) -> None:
    for one in read(text).mentions:
        assert text[one.start : one.end] == one.name


WORDS = (
    "I we the `a_b` `C()` src/x.py uses likes prefer must never is a calls on depends raises ValueError if not and , . "
    "? ! \n ``` ```python def class import : ( ) x = 1 since 2024-01-01 \" ' « » \ue000 é 中文 \\ \r\n"
).split(" ")


@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_any_mix_of_words_is_read_and_its_spans_are_its_own(words: list[str]) -> None:
    text = " ".join(words)
    extraction = read(text)
    sides = [side for one in extraction.assertions for side in (one.subject, one.object)]
    for one in [*extraction.mentions, *sides]:
        assert text[one.start : one.end].replace("\ue000", " ") == one.name


# Statements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I prefer tea.", ["I prefers tea"]),
        ("I'm a big fan of pottery.", ["I likes pottery"]),
        ("i prefer tea", ["i prefers tea"]),
        ("I no longer live in Rome.", ["I not lives_in Rome"]),
        ("Maria does not like tea.", ["Maria not likes tea"]),
        ("`a_b` isn't defined in `x.py`.", ["a_b not defined_in x.py"]),
        ("I like tea, coffee and cake.", ["I likes tea", "I likes coffee", "I likes cake"]),
        ("I love walks with friends and family.", ["I likes walks with friends"]),
        ("We chose Redis and Docker.", ["We chose Redis"]),
        ("We use Django 4.2 in the shop.", ["We uses Django", "Django has_version 4.2"]),
    ],
)
def test_statements_are_read(text: str, expected: list[str]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Dogs like bones.",
        "Everyone likes cake.",
        "The editor I use is slow.",
        "I like games that make me think.",
        "I love the arts and crafts fair.",
        "That must be amazing.",
        "The kids must be excited!",
        "Max must be having so much fun.",
        "We should never have met.",
        "I never knew.",
        "Love is a battlefield.",
        "The door is open to everyone.",
        "“We decided to use Redis”, wrote Tom.",
        "As a child I lived in Rome.",
        "Coffee is a lifesaver.",
        "The bug must be in `load_all`.",
        "Only fools like opera.",
        "It is not true that I like opera.",
        "Neither Tom nor I like opera.",
        "They decided to use Redis.",
        "We chose to leave.",
        "The shop is open on Sundays.",
    ],
)
def test_what_only_looks_like_a_statement_is_none(text: str) -> None:
    assert said(text) == []


def test_dates_say_when_a_statement_is_true() -> None:
    since, until = read("I live in Graz since 2024-05-01. The library is closed until 3 June 2025.").assertions
    assert (since.valid_from, since.valid_until) == (datetime(2024, 5, 1, tzinfo=UTC), None)
    assert (until.valid_from, until.valid_until) == (None, datetime(2025, 6, 3, tzinfo=UTC))
    assert read("On March 4, 2025 we decided to wait for Ann.").assertions[0].valid_from == datetime(
        2025, 3, 4, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("I have lived in Kyoto since 2019.", datetime(2019, 1, 1), None),
        ("I've lived in Kyoto since March 2019, and I like it.", datetime(2019, 3, 1), None),
        ("Since 2019, I have lived in Kyoto.", datetime(2019, 1, 1), None),
        ("I have worked at Acme since 2020.", datetime(2020, 1, 1), None),
        ("I have been working for Acme since Sept 2020.", datetime(2020, 9, 1), None),
        ("Ada has worked at Acme since 2020-03-04.", datetime(2020, 3, 4), None),
        ("I work at Acme since 2020 until 2031.", datetime(2020, 1, 1), datetime(2031, 1, 1)),
        ("The library is closed until March 2031.", None, datetime(2031, 3, 1)),
        ("I work at Acme, where Ada has been since 2018.", None, None),
        ("We use Redis since 2000 requests came in.", None, None),
        ("We use Redis since version 2021.4.", None, None),
        ("I have lived in Kyoto since the summer of 2019.", None, None),
    ],
)
def test_a_year_or_a_month_of_one_counts_from_where_it_begins(
    text: str, since: datetime | None, until: datetime | None
) -> None:
    said = read(text).assertions[0]
    stated = tuple(time and time.replace(tzinfo=UTC) for time in (since, until))
    assert (said.valid_from, said.valid_until) == stated


def test_each_statement_has_its_own_time() -> None:
    work, home = read("I work at Acme until June 2031, and since 2019 I live in Graz.").assertions
    assert (work.valid_from, work.valid_until) == (None, datetime(2031, 6, 1, tzinfo=UTC))
    assert (home.valid_from, home.valid_until) == (datetime(2019, 1, 1, tzinfo=UTC), None)


@pytest.mark.parametrize("text", ["I have lived in Paris and Rome.", "I have worked at Acme."])
def test_what_somebody_has_once_done_says_nothing_of_today(text: str) -> None:
    assert said(text) == []


def test_a_day_that_is_none_dates_nothing() -> None:
    assert read("I live in Graz since 2024-02-31.").assertions[0].valid_from is None


def test_a_condition_does_not_take_back_what_a_function_may_raise() -> None:
    assert said("`load_x` raises KeyError if the name is unknown.") == ["load_x raises KeyError"]
    assert said("If it is late, `load_x` raises KeyError.") == []


def test_names_in_other_scripts_are_read() -> None:
    assert said("Søren lives in Århus.") == ["Søren lives_in Århus"]
    assert said("`größe_lesen` calls `値_読む()`.") == ["größe_lesen calls 値_読む"]


# Code


def test_a_symbol_takes_the_kind_that_the_same_text_tells() -> None:
    text = "`add_item` is deprecated.\n```python\ndef add_item(x):\n    pass\n```"
    assert "function add_item" in names(text)
    assert "symbol add_item" not in names(text)


def test_a_block_belongs_to_the_file_that_stands_before_it() -> None:
    for text in (
        "In `shop/a.py`:\n```python\ndef go():\n    pass\n```",
        "**shop/a.py**\n```python\ndef go():\n    pass\n```",
        "```python shop/a.py\ndef go():\n    pass\n```",
        "```python\n# shop/a.py\ndef go():\n    pass\n```",
    ):
        assert said(text) == ["go defined_in shop/a.py"], text


def test_columns_of_code_are_counted_in_characters() -> None:
    text = "```python\ndef f():\n    größe = 'äöü'; return helper(größe)\n```"
    call = read(text).assertions[0]
    assert text[call.object.start : call.object.end] == "helper"


def test_code_with_escapes_warns_of_nothing_and_keeps_its_offsets() -> None:
    assert said("```python\r\ndef f():\r\n    return run('\\d\\'', \"\\\"\")\r\n```") == ["f calls run"]


def test_arguments_and_local_functions_are_no_names_of_the_project() -> None:
    code = "def f(callback):\n    def inner():\n        pass\n    callback()\n    inner()\n    print(1)\n"
    assert said(f"```python\n{code}```") == []


def test_what_code_says_in_strings_and_comments_is_no_statement() -> None:
    assert said('```python\n# We must never call it.\nX = "I live in Rome."\n```') == []


def test_code_that_does_not_parse_still_declares() -> None:
    assert names("```python\ndef broken(:\n```") == {"function broken"}


# Hostile texts

PIECES = [
    *["a", " ", "\n", "`", "(", "[", ")", '"', "'", "“", "«", "_", ".", "/", "a/", "a.", "A_", "$", "-", "=", "://"],
    *["I like a, ", "the a ", "and ", "`a` ", "is a ", "must ", "\\", "> ", "# ", "\ue000", "\x00", "é", "中", "1."],
    *["```python\n", "```\n", "~~~\n```\n", "def f():\n", "import a\n", "a: b\n", '"a": ', "pip install a "],
    *[
        "a" + "_" * 1990 + " ",
        "A." * 900 + " ",
        "```" + "a" * 1900 + "\n",
        "the a" + " " * 300 + ". ",
        "`" + "a." * 90 + "` ",
    ],
    *["```python\nx\n```\n", "```python\nimport a\n```\n", 'Traceback (most recent call last):\n  File "a", line 1\n'],
]


@pytest.mark.parametrize("start", ["", "```python\n", "```ts\n"])
@pytest.mark.parametrize("piece", PIECES)
def test_time_grows_with_the_length_of_a_text_and_not_faster(piece: str, start: str) -> None:
    assert grows_linearly(read, lambda chars: start + piece * (chars // len(piece)), 32_000)


@pytest.mark.parametrize("piece", ["a", "(", "`", "\n", "I like a, "])
def test_a_megabyte_is_read(piece: str) -> None:
    assert len(read(piece * (1_000_000 // len(piece))).assertions) <= 2000


@pytest.mark.parametrize("line", ["1+\n", "-\n", "not\n", "lambda:\n", "a if b else\n", "a**\n"])
def test_deep_code_in_a_thread_ends_without_a_crash(line: str) -> None:
    text = f"```python\ndef f():\n    pass\nx = (\n{line * 15_000}1)\n```"
    found = []
    thread = threading.Thread(target=lambda: found.append(read(text)))
    thread.start()
    thread.join()
    assert "f" in {mention.name for mention in found[0].mentions}


def test_a_listing_of_names_is_cut() -> None:
    extraction = read("".join(f"`name_{number}` " for number in range(5000)))
    assert len(extraction.mentions) == 2000
