"""Pairs of our own that contradict each other and that do not: a fact and a statement, and two statements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tidal_plugins import InvalidInput, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

PAIRS = [json.loads(line) for line in Path(__file__).with_name("contradictions.jsonl").read_text("utf-8").splitlines()]
OF_FACTS = [pair for pair in PAIRS if "key" in pair]
OF_TEXTS = [pair for pair in PAIRS if "first" in pair]

OPEN, CLOSED = "The cellar door is open.", "The cellar door is closed."
SECRET = "Tr0ub4dor&3x"


def said(pair: dict[str, Any]) -> str:
    return pair["said"] if "said" in pair else f"{pair['first']} {pair['second']}"


@pytest.fixture
def memory(open_memory: OpenMemory) -> TidalMemory:
    return open_memory()


@pytest.mark.parametrize("pair", OF_FACTS, ids=said)
def test_a_statement_against_a_fact(memory: TidalMemory, clock: FrozenClock, pair: dict[str, Any]) -> None:
    memory.facts.set(pair["key"], pair["value"])
    clock.advance(minutes=1)
    memory.record(pair["said"])
    assert [conflict.key for conflict in memory.facts.conflicts()] == ([pair["key"]] if pair["conflict"] else [])


@pytest.mark.parametrize("pair", OF_FACTS, ids=said)
def test_a_fact_against_what_was_said_before(memory: TidalMemory, clock: FrozenClock, pair: dict[str, Any]) -> None:
    memory.record(pair["said"])
    clock.advance(minutes=1)
    memory.facts.set(pair["key"], pair["value"])
    assert [conflict.key for conflict in memory.facts.conflicts()] == ([pair["key"]] if pair["conflict"] else [])


@pytest.mark.parametrize("pair", OF_TEXTS, ids=said)
def test_two_statements(memory: TidalMemory, clock: FrozenClock, pair: dict[str, Any]) -> None:
    first = memory.record(pair["first"], thread="a").entries[0]
    clock.advance(hours=1)
    second = memory.record(pair["second"], thread="b").entries[0]
    found = [(conflict.against, conflict.entry) for conflict in memory.facts.conflicts()]
    assert found == ([(first, second)] if pair["conflict"] else [])


def test_the_last_statement_counts_against_a_new_fact(memory: TidalMemory, clock: FrozenClock) -> None:
    for text in (CLOSED, OPEN):
        memory.record(text, thread=text)
        clock.advance(hours=1)
    assert [conflict.key for conflict in memory.facts.conflicts()] == ["cellar door"]
    memory.facts["cellar door"] = "open"
    assert not memory.facts.conflicts(), "the fact settles what two texts say of its key"
    memory.facts["cellar door"] = "closed"
    assert not memory.facts.conflicts(), "an update contradicts nothing that was said before"


def test_two_statements_are_resolved_by_closing(memory: TidalMemory, clock: FrozenClock) -> None:
    memory.record(OPEN, thread="a")
    clock.advance(hours=1)
    memory.record(CLOSED, thread="b")
    [conflict] = memory.facts.conflicts()
    assert (conflict.key, conflict.fact, conflict.claim) == ("cellar door", OPEN, CLOSED)
    with pytest.raises(InvalidInput):
        memory.facts.resolve(conflict.id, value="ajar")
    assert memory.facts.resolve(conflict.id, keep="fact") == OPEN
    assert not memory.facts.conflicts()


def test_forgetting_either_statement_forgets_the_conflict(memory: TidalMemory, clock: FrozenClock) -> None:
    first = memory.record(OPEN, thread="a").entries[0]
    clock.advance(hours=1)
    memory.record(CLOSED, thread="b")
    memory.forget(first)
    assert not memory.facts.conflicts()
    clock.advance(hours=1)
    memory.record("The cellar door is open, come in.", thread="c")
    assert OPEN not in str(memory.facts.conflicts())


def test_what_one_person_says_of_herself_is_not_held_against_another(memory: TidalMemory, clock: FrozenClock) -> None:
    memory.remember("I eat fish.", kind="conversation", speaker="Ada")
    clock.advance(hours=1)
    memory.remember("I don't eat fish.", kind="conversation", speaker="Bo")
    assert not memory.facts.conflicts()


def test_no_secret_is_quoted(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=Settings(secrets={"stored": "keep"}))
    memory.facts["wifi password"] = "correct-horse-7Battery"
    clock.advance(minutes=1)
    memory.record(f"The wifi password has changed to {SECRET}.")
    [conflict] = memory.facts.conflicts()
    assert SECRET not in str(conflict)
    assert "correct-horse" not in str(conflict)
    assert memory.facts.resolve(conflict.id, keep="claim") == SECRET


@pytest.mark.parametrize(
    ("key", "text", "claim"),
    [
        ("upload limit", "Raise the limit to 60 MB then, the scans are huge.", "60 MB"),
        ("upload limit", "Well, so it's 25 MB now instead of 40 MB.", "25 MB"),
    ],
)
def test_the_claim_is_the_value_alone(memory: TidalMemory, clock: FrozenClock, key: str, text: str, claim: str) -> None:
    memory.facts[key] = "40 MB"
    clock.advance(minutes=1)
    memory.record(text)
    [conflict] = memory.facts.conflicts()
    assert memory.facts.resolve(conflict.id, keep="claim") == claim


def test_a_state_may_have_changed_by_the_next_day(memory: TidalMemory, clock: FrozenClock) -> None:
    memory.record(OPEN, thread="a")
    clock.advance(days=3)
    memory.record(CLOSED, thread="b")
    assert memory.facts.conflicts() == []
