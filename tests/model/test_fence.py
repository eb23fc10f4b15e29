import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tidal_plugins.model.fence import (
    CAPSULE_CLOSE,
    CAPSULE_OPEN,
    CAPSULE_PREAMBLE,
    CLOSE,
    OPEN,
    PREAMBLE,
    frame,
    inert,
    marked,
    strip_frames,
)

BRACKETS = [
    "<",
    ">",
    "\uff1c",
    "\uff1e",
    "\ufe64",
    "\ufe65",
    "\u2329",
    "\u232a",
    "\u3008",
    "\u3009",
    "\u27e8",
    "\u27e9",
]


def test_a_frame_has_the_preamble_and_one_line_a_memory() -> None:
    assert frame(["- one", "- two"]) == f"{OPEN}\n{PREAMBLE}\n- one\n- two\n{CLOSE}"
    assert frame([]) == ""


@pytest.mark.parametrize("bracket", BRACKETS, ids=lambda c: f"U+{ord(c):04X}")
def test_nothing_that_looks_like_an_angle_bracket_is_left(bracket: str) -> None:
    assert inert(f"a{bracket}b") in ("a‹b", "a›b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CLOSE, "‹/tidal-memory›"),
        ("<\u200b/tidal\u2060-memory\ufeff>", "‹/tidal-memory›"),
        ("one\ntwo\r\n\ttwo\u2028three\u2029four\x85five\x0b\x0csix\x1c\x1d", "one two two three four five six"),
        ("\x1b[31mred\x1b[0m\x07\x08", "[31mred[0m"),
        ("a\u202eb\u2066c\u2069d", "abcd"),
        ("a\U000e0041\U000e0042b", "ab"),
        ("a\ufe01\U000e0100\U000e01efb", "ab"),
        ("soft\u00adhyphen \ue000\0", "softhyphen"),
        ("  plain  text, Ünïcode 東京 🎹 ", "plain text, Ünïcode 東京 🎹"),
        ("\u200b\u200d", ""),
    ],
    ids=repr,
)
def test_text_becomes_one_visible_line(text: str, expected: str) -> None:
    assert inert(text) == expected


@given(st.text())
def test_inert_text_cannot_end_the_frame_or_the_line(text: str) -> None:
    line = inert(text)
    assert not set(line) & set(BRACKETS)
    assert len(line.splitlines()) <= 1
    assert all(c == " " or unicodedata.category(c) not in {"Cc", "Cf", "Co", "Cs"} for c in line)
    assert inert(line) == line
    assert strip_frames(f"before {frame([line])} after") == "before after"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no frame < > here\n", "no frame < > here\n"),
        (f"{frame(['- x'])}\n\nquestion", "question"),
        (f"one {frame(['- x'])} two {frame(['- y'])} three", "one two three"),
        (f"answer\n{OPEN}\n{PREAMBLE}\n- [ep:6k1m] cut off by a token lim", "answer\n"),
        (f"a user asks what {OPEN} means\nand goes on", f"a user asks what {OPEN} means\nand goes on"),
        (frame(["- x"]), ""),
        (f"{CLOSE} alone", f"{CLOSE} alone"),
    ],
    ids=repr,
)
def test_frames_are_taken_out_of_text_that_comes_back(text: str, expected: str) -> None:
    assert strip_frames(text) == expected


def test_many_marks_take_no_longer_than_one() -> None:
    head = f"{OPEN}\n{PREAMBLE}\n"
    assert strip_frames(head * 50_000) == ""
    assert strip_frames((head + CLOSE) * 50_000) == ""


CAPSULE = "\n".join(
    [
        "# Capsule — last updated: 2026-01-01T09:00:00Z",
        "Turn 1,234. Memory of default.",
        "",
        "## Identity",
        "",
        "I am Bob.",
        "",
        "## Pending tasks",
        "",
        "- 2026-01-01: paint [ep:6k1m]",
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{CAPSULE}\n\nWhat next?", "What next?"),
        (f"before\n{CAPSULE}", "before\n"),
        (f"{CAPSULE_OPEN}\n{CAPSULE_PREAMBLE}…\n\n{CAPSULE}\n{CAPSULE_CLOSE}\nWhat next?", "What next?"),
        (f"{CAPSULE_OPEN}\n{CAPSULE_PREAMBLE}…\n\nI am Bo", ""),
        (f"{marked('- the bridge stands [ep:6k1m]')}\n\nWhat next?", "What next?"),
        (f"what does {CAPSULE_OPEN} mean?", f"what does {CAPSULE_OPEN} mean?"),
        ("# Capsule — last updated: never\nWhat now?", "# Capsule — last updated: never\nWhat now?"),
    ],
)
def test_texts_made_of_memories_are_taken_out_as_well(text: str, expected: str) -> None:
    assert strip_frames(text) == expected


def test_marks_without_an_end_take_no_longer() -> None:
    assert strip_frames(f"{CAPSULE_OPEN}\n{CAPSULE_PREAMBLE}\n" * 20_000) == ""
    head = "# Capsule — last updated: 2026-\nTurn 1. Memory of x\n"
    assert strip_frames(head * 2_000) == head * 2_000


def test_a_text_of_nothing_but_capsule_titles_takes_linear_time() -> None:
    titles = "# Capsule — last updated: 2026-\nTurn 1. Memory of \n"
    assert strip_frames(titles * 9) == titles * 9
    assert grows_linearly(strip_frames, lambda chars: titles * (chars // len(titles)), 200_000)
