"""The detector of secrets: forms, told passwords, check digits, and what only looks like them."""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tests.tables import tables, wrong
from tidal_plugins.secrets.finding import LONG as MOST_LOOKED_AT
from tidal_plugins.secrets.finding import blanked, masked, masked_value, secrets
from tidal_plugins.secrets.screening import FORMS

TABLE = tables("secrets/secrets.jsonl")
HEX, MIXED = "8f14e45fceea167a5a36dedd4bea2543", "a8F3kd92LmQ0xZ71bcT5wY6uHs04PqRn8e3v"  # drawn for this test
LONG = 300_000
"""Length in characters of a hostile text."""


def test_a_secret_is_masked_and_the_rest_stays() -> None:
    assert wrong(masked, TABLE["masked"]) == []


def test_a_mask_is_no_secret() -> None:
    assert [shown for _, shown in TABLE["masked"] if masked(shown) != shown] == []


def test_secrets_have_their_places_and_kinds_in_order() -> None:
    text = "pay DE89370400440532013000, the pin is 1234"
    found = [(text[start:end], kind) for start, end, kind in secrets(text)]
    assert found == [("DE89370400440532013000", "IBAN"), ("1234", "code")]


def test_letters_that_change_their_length_in_small_do_not_shift_a_mask() -> None:
    assert masked("İİİİ the password is hunter2.") == "İİİİ the password is [password]."


def test_a_blanked_text_keeps_every_place() -> None:
    assert blanked("the pin is 1234, and Ann has it") == "the pin is     , and Ann has it"


def test_values_are_read_with_their_names() -> None:
    value = {"user": "bob", "password": "hunter2", "tries": 3, "headers": [f"Bearer {MIXED}"]}
    assert masked_value(value) == {"user": "bob", "password": "[password]", "tries": 3, "headers": ["Bearer [token]"]}


UNUSUAL = ["credentİals bob / A12-34x9", "<dB:ſecret>kA9Xx2</x>", "one time paſscode: ١٢٣٤"]
"""Texts with letters that are others in small, and stand for them in patterns."""


def test_no_secret_is_passed_over_by_the_quick_look_that_most_texts_get() -> None:
    def beyond(text: str) -> set[tuple[int, int, str]]:
        padded = secrets("\n" * MOST_LOOKED_AT + text)  # a long text is read without that look
        return {(start - MOST_LOOKED_AT, end - MOST_LOOKED_AT, kind) for start, end, kind in padded}

    texts = [*(text for text, _ in TABLE["masked"]), *UNUSUAL]
    assert sum(map(bool, map(beyond, texts))) > len(texts) / 2
    assert [text for text in texts if not beyond(text) <= set(secrets(text))] == []


PIECES = "password| is |: |hunter2|[|]|pin |1234|4242424242424242|://u:p1x@h|token |\n|\"|'s |log in | / |İ| the |code"
LONGER = ["-----BEGIN PRIVATE KEY-----", "DE89370400440532013000", HEX]


@given(st.lists(st.sampled_from(PIECES.split("|") + LONGER), max_size=12).map("".join))
def test_secrets_are_apart_and_within_the_text(text: str) -> None:
    found = secrets(text)
    ends = [0, *(end for _, end, _ in found)]
    assert all(end <= start < stop for end, (start, stop, _) in zip(ends, found, strict=False))
    assert ends[-1] <= len(text)
    assert len(blanked(text)) == len(text)


@pytest.mark.slow
@pytest.mark.parametrize("piece", [piece for [piece] in TABLE["hostile"]])
def test_a_long_hostile_text_is_read_in_linear_time(piece: str) -> None:
    end = "-----END PRIVATE KEY-----" if piece.startswith("-----BEGIN") else ""
    for last in {"", end}:
        assert grows_linearly(secrets, lambda chars, last=last: piece * (chars // len(piece)) + last, LONG)


LABELLED = Path(__file__).parents[2] / "benchmarks" / "data" / "secrets.jsonl"


@pytest.mark.parametrize("apart", [False, True])
def test_labelled_texts_lose_their_secrets_and_look_alikes_nothing(apart: bool) -> None:
    lines = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
    half = [line for line in lines if line["apart"] is apart]
    told = [line for line in half if line["secret"]]
    found = [line for line in told if line["secret"] not in masked(line["text"])]
    alarms = [line["text"] for line in half if not line["secret"] and secrets(line["text"])]
    assert len(told) == len(half) - len(told) == 50
    assert len(found) >= 0.97 * len(told)
    assert len(alarms) <= 0.01 * len(told)


def test_the_forms_of_secrets_have_another_version_when_others_are_found() -> None:
    lines = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
    found = [secrets(text) for text in [*(line["text"] for line in lines), *(text for text, _ in TABLE["masked"])]]
    digest = blake2b(json.dumps(found).encode(), digest_size=4).hexdigest()
    assert (FORMS, digest) == (2, "4d2882fe"), "write the new digest; raise FORMS if known texts have other secrets now"


@pytest.mark.parametrize(
    "text",
    [
        "Server=db;Password=Gir4ffe22;Encrypt=True",
        "Pwd=Gir4ffe22;Max Pool Size=20",
        "url: Server=db;password=Gir4ffe22;",
        "Password=Gir4ffe22; Encrypt=True",
    ],
)
def test_a_value_of_a_connection_string_ends_at_the_next_field(text: str) -> None:
    assert masked(text) == text.replace("Gir4ffe22", "[password]")
