import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins import InvalidInput, InvalidText
from tidal_plugins.validation import MAX_DEPTH, clean, clean_json

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize("text", ["plain", " kept \r\n\tas it is ", "東京 😀 e\u0301", "\u200b"])
def test_text_stays_verbatim(text: str) -> None:
    assert clean(text, max_chars=100) == text


def test_nul_and_surrogates_become_replacement_characters() -> None:
    assert clean("a\0b\ud800c\udfff", max_chars=100) == "a\ufffdb\ufffdc\ufffd"


@pytest.mark.parametrize("text", [None, 5, b"bytes", ["a"], "", " \n\t\u3000"])
def test_what_is_no_text_is_refused(text: object) -> None:
    with pytest.raises(InvalidText):
        clean(text, max_chars=100)


def test_a_text_that_is_too_long_is_refused_with_the_ways_out() -> None:
    assert clean("x" * 2000, max_chars=2000)
    with pytest.raises(InvalidText, match=r"2,001 .* 2,000: split it, or raise Settings\.ingestion\.max_chars"):
        clean("x" * 2001, max_chars=2000)


def test_messages_name_what_was_refused() -> None:
    with pytest.raises(InvalidText, match="a speaker has 11 characters, and the limit is 10: shorten it"):
        clean("x" * 11, max_chars=10, name="a speaker")


@given(st.text(alphabet=st.characters(), min_size=1))
def test_cleaned_text_can_be_stored(text: str) -> None:
    if text.strip():
        cleaned = clean(text, max_chars=10_000)
        cleaned.encode()
        assert "\0" not in cleaned
        assert len(cleaned) == len(text)


def test_json_is_compact_sorted_and_readable() -> None:
    value = {"b": [1, 2.5, None, True], "a": {"ü": "東京"}}
    assert clean_json(value, "metadata", max_bytes=100) == '{"a":{"ü":"東京"},"b":[1,2.5,null,true]}'


def test_tuples_and_other_mappings_are_json_too() -> None:
    assert clean_json(MappingProxyType({"a": (1, 2)}), "metadata", max_bytes=100) == '{"a":[1,2]}'


def test_nul_and_surrogates_are_replaced_in_json_keys_and_values() -> None:
    assert json.loads(clean_json({"k\ud800": "\0v"}, "metadata", max_bytes=100)) == {"k\ufffd": "\ufffdv"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"user": {"tags": ["a", "b", {1}]}}, r"metadata\.user\.tags\[2\] must be JSON, got set"),
        ({"score": float("nan")}, r"metadata\.score is nan"),
        ({"score": [float("-inf")]}, r"metadata\.score\[0\] is -inf"),
        ({"user": {7: "x"}}, r"metadata\.user has a key of type int"),
        ({"n": 1 << 2000}, r"metadata\.n is an integer of 2,001 bits"),
        ({"raw": b"x"}, r"metadata\.raw must be JSON, got bytes"),
        (object(), r"metadata must be JSON, got object"),
    ],
)
def test_the_place_of_a_bad_value_is_named(value: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        clean_json(value, "metadata", max_bytes=1000)


def test_depth_is_bounded_even_for_a_value_that_contains_itself() -> None:
    deepest: object = 1
    for _ in range(MAX_DEPTH):
        deepest = [deepest]
    assert clean_json(deepest, "metadata", max_bytes=1000)
    endless: list[object] = []
    endless.append(endless)
    for value in ([deepest], endless):
        with pytest.raises(InvalidInput, match="nested deeper than 32 levels"):
            clean_json(value, "metadata", max_bytes=1000)


def test_size_is_bounded_in_bytes() -> None:
    assert clean_json("é" * 49, "arguments", max_bytes=100)
    with pytest.raises(InvalidInput, match="arguments has more than 100 bytes"):
        clean_json("é" * 50, "arguments", max_bytes=100)


def test_shared_parts_cannot_explode() -> None:
    value: object = "x"
    for _ in range(30):
        value = [value, value, value]
    with pytest.raises(InvalidInput, match="more than 1,000 bytes"):
        clean_json(value, "metadata", max_bytes=1000)


@given(json_values)
def test_json_reads_back_equal_and_canonical(value: object) -> None:
    text = clean_json(value, "metadata", max_bytes=100_000)
    again = json.loads(text)
    assert clean_json(again, "metadata", max_bytes=100_000) == text
    if "\\u0000" not in json.dumps(value):
        assert again == value
