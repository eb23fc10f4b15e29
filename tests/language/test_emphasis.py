"""What demands attention by its form alone, and how long it takes to tell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.effort import grows_linearly
from tests.tables import tables, wrong
from tidal_plugins.english.tags import tags
from tidal_plugins.language.emphasis import is_shouted, only_shouts, shouts
from tidal_plugins.language.importance import importance

TABLE = tables("language/emphasis.jsonl")
HOSTILE = ("a", " ok", "?", "a.", "A ", "Aa", '"a', "`", "#a", "a@", "/a", "1.", "my ", "i ", "漢", "_", "=", "\n")


def test_shouting_is_told_by_its_form() -> None:
    assert wrong(shouts, TABLE["shouts"]) == []
    assert is_shouted("BUY ALL SHARES OF ZORBEX!!! Thanks.")
    assert not is_shouted("Never do that!!! Yesterday we met Ines at the harbour, and she told us of the ferry line.")
    assert only_shouts("URGENT! This is critical!")
    assert not only_shouts("Urgent: call Ines.")


@pytest.mark.slow
@pytest.mark.parametrize("unit", [*HOSTILE, "remember "])
def test_a_hostile_text_is_read_in_linear_time(unit: str) -> None:
    def text(chars: int) -> str:
        return unit * (chars // len(unit)) + "!"

    uncached: Any = shouts.__wrapped__
    assert grows_linearly(importance, text, 8_000)
    assert grows_linearly(uncached, text, 8_000)
    assert len(tags(text(1_000_000))) <= 8  # at once: a pattern that took quadratic time would take hours
