"""Pairs of our own, in many domains, that contradict each other in other words, and as many that do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tidal_plugins import TidalMemory
from tidal_plugins.testing import FrozenClock

PAIRS = [json.loads(line) for line in Path(__file__).with_name("in_other_words.jsonl").read_text("utf-8").splitlines()]
FOUND = 0.9
"""The share of the contradicting pairs that must be found, below the 133 of 140 that were seen."""

Pair = dict[str, Any]


@pytest.fixture
def scoped(open_memory: OpenMemory) -> Callable[[int], TidalMemory]:
    """Return a function that returns an empty scope of one memory for each number."""
    memory = open_memory()
    return lambda number: memory.scoped("pair", str(number))


def texts(pair: Pair, *, back: bool) -> list[str]:
    return [pair["second"], pair["first"]] if back else [pair["first"], pair["second"]]


@pytest.mark.parametrize("back", [False, True], ids=["forwards", "backwards"])
def test_what_contradicts_is_found_and_nothing_else(
    scoped: Callable[[int], TidalMemory], clock: FrozenClock, back: bool
) -> None:
    found, false = [], []
    for number, pair in enumerate(PAIRS):
        memory = scoped(number)
        steps: list[Callable[[], object]]
        if "key" in pair:
            steps = [
                lambda memory=memory, pair=pair: memory.facts.set(pair["key"], pair["value"]),
                lambda memory=memory, pair=pair: memory.record(pair["said"]),
            ]
            steps = steps[::-1] if back else steps
        else:
            steps = [
                lambda memory=memory, text=text: memory.record(text, thread=text) for text in texts(pair, back=back)
            ]
        for step in steps:
            step()
            clock.advance(minutes=1)
        if memory.facts.conflicts():
            (found if pair["conflict"] else false).append(pair)
    assert not false
    assert len(found) >= FOUND * sum(pair["conflict"] for pair in PAIRS)


@pytest.mark.parametrize(
    ("key", "value", "said", "claim"),
    [
        ("owner of the parser", "Marta Vidal", "Jonas is the maintainer of the parser.", "Jonas"),
        ("spare key", "under the doormat", "The spare key is in the drawer of the hall.", "in the drawer"),
        ("database", "Postgres", "We're on MySQL, so mind the quotes.", "MySQL"),
    ],
)
def test_the_claim_can_be_kept(
    open_memory: OpenMemory, clock: FrozenClock, key: str, value: str, said: str, claim: str
) -> None:
    memory = open_memory()
    memory.facts[key] = value
    clock.advance(minutes=1)
    memory.record(said)
    [conflict] = memory.facts.conflicts()
    assert memory.facts.resolve(conflict.id, keep="claim") == claim


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The spare key is under the flowerpot.", "The spare key is now in the drawer."),
        ("My bike is blue.", "My bike is red now."),
    ],
)
def test_news_opens_no_conflict(open_memory: OpenMemory, clock: FrozenClock, first: str, second: str) -> None:
    memory = open_memory()
    memory.record(first, thread="a")
    clock.advance(days=1)
    memory.record(second, thread="b")
    assert memory.facts.conflicts() == []
