from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tests.tables import tables
from tidal_plugins.errors import InvalidInput
from tidal_plugins.ingestion.split import Span, count_words, split

TABLE = tables("ingestion/split.jsonl")

GUIDE = TABLE["guide"][0][0]


def pieces(text: str, max_words: int) -> list[str]:
    return [text[span.start : span.end] for span in split(text, max_words=max_words)]


def test_words_are_counted_in_every_script() -> None:
    for text, words in (
        *(
            ("", 0),
            ("three plain words", 3),
            ("爵士音楽", 2),
            ("爵士\u3000音楽", 2),
            ("爵士音楽 and rock", 4),
            ("สวัสดี", 3),
        ),
        *(("한국어를 배워요", 2), ("x" * 20, 1), ("x" * 21, 2), ("x" * 1000, 50)),
    ):
        assert count_words(text) == words, text


def test_a_short_text_is_one_span_and_nothing_none() -> None:
    assert split(" # Title\n\nTwo words \n", max_words=20) == [Span(1, 19)]
    assert split("", max_words=5) == split(" \n\t ", max_words=5) == []
    with pytest.raises(InvalidInput, match="max_words"):
        split("text", max_words=0)


def test_sections_carry_the_path_of_their_headings() -> None:
    spans = split(GUIDE, max_words=40)
    headings = ["", "Install > macOS", "Install > Linux", "Usage", "Usage > Options"]
    assert [span.heading for span in spans] == headings
    assert GUIDE[spans[1].start :].startswith("# Install")
    assert GUIDE[spans[3].start :].startswith("Usage\n=====")


def test_a_hash_inside_a_code_block_is_no_heading_even_when_the_block_is_cut() -> None:
    text = "# Real\n\n~~~\n" + "# not one\nrun it\n" * 30 + "~~~\n\nafter"
    assert {span.heading for span in split(text, max_words=20)} == {"Real"}


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = "We paid 3.50 for it, e.g. at the fair. " * 20
    assert all(piece.endswith("fair.") for piece in pieces(text, 25))


PARTS = (
    *("# A", "## B ##", "Title\n===", "```", "~~~", "- item one", "1. first", "---", "| a | b |", "> quote", "x" * 50),
    *("\n", "\n\n", " ", "\t", "\r\n", "\u3000", "\x85", "word", "Some text. ", "漢字。", "e.g. ", "...", "สวัสดี"),
)
markdown = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)


@given(markdown | st.text(max_size=200), st.integers(1, 30))
@example("0㐀", 1)
def test_spans_are_ordered_trimmed_bounded_and_cover_everything(text: str, max_words: int) -> None:
    spans = split(text, max_words=max_words)
    assert all(text[span.start : span.end] == text[span.start : span.end].strip() != "" for span in spans)
    assert all(before.end <= after.start for before, after in pairwise(spans))
    assert "".join("".join(text[span.start : span.end] for span in spans).split()) == "".join(text.split())
    assert all(count_words(text[span.start : span.end]) <= max_words * 1.25 for span in spans)


@pytest.mark.slow
def test_hostile_text_and_prose_are_split_in_linear_time() -> None:
    assert len(split("x" * 1_000_000, max_words=120)) == 417
    prose = "We walked to the harbour on Sunday. It was warm, and the boats were out! " * 5 + "\n\n"
    units = (
        "x",
        "漢",
        "漢a",
        "\n",
        ". ",
        "- a\n",
        "# a\n",
        "```\nx\n",
        "`",
        "ab\n---\n\n",
        '."',
        " \n",
        "1. ",
        "\t```x`\n",
    )
    for unit in (prose, *units):

        def text(chars: int, unit: str = unit) -> str:
            return unit * (chars // len(unit)) + "a b " * 200

        assert grows_linearly(lambda text: split(text, max_words=120), text, 100_000), unit
