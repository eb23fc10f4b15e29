"""What contradicts a fact or an earlier statement, what does not, and how a conflict is settled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import InvalidInput, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

OPEN, CLOSED = "The cellar door is open.", "The cellar door is closed."
SECRET = "Tr0ub4dor&3x"
FLOORS = {"contradictions.jsonl": (0.85, 0.9), "in_other_words.jsonl": (0.38, 0.7)}
"""The least recall and precision."""

Pair = dict[str, Any]


def pairs(name: str) -> list[Pair]:
    return [json.loads(line) for line in Path(__file__).with_name(name).read_text("utf-8").splitlines()]


def conflicts(memory: TidalMemory, clock: FrozenClock, pair: Pair, back: bool = False) -> list[Any]:
    """Say both parts of a pair, the second one first if asked, and return the conflicts that are found."""
    if "key" in pair:
        steps: list[Callable[[], object]] = [lambda: memory.facts.set(pair["key"], pair["value"])]
        steps.append(lambda: memory.record(pair["said"]))
    else:
        texts = [pair["first"], pair["second"]]
        steps = [lambda text=text: memory.record(text, thread=text) for text in texts]
    for step in steps[::-1] if back else steps:
        step()
        clock.advance(minutes=1)
    memory.supersessions.find()
    return memory.facts.conflicts()


@pytest.mark.parametrize("name", FLOORS)
@pytest.mark.parametrize("back", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["forwards", "backwards"])
def test_what_contradicts_is_found_and_little_else(
    memory: TidalMemory, clock: FrozenClock, name: str, back: bool
) -> None:
    right = wrong = missed = 0
    for number, pair in enumerate(pairs(name)):
        if back and "first" in pair:
            continue
        found = conflicts(memory.scoped(str(number)), clock, pair, back)
        right += bool(found) and pair["conflict"]
        wrong += bool(found) and not pair["conflict"]
        missed += pair["conflict"] and not found
    recall, precision = FLOORS[name]
    assert right >= recall * (right + missed)
    assert right >= precision * (right + wrong)


def test_a_conflict_of_two_texts_quotes_both(memory: TidalMemory, clock: FrozenClock) -> None:
    [found] = conflicts(memory, clock, {"first": OPEN, "second": CLOSED})
    assert (memory.get(found.against).text, found.fact) == (OPEN, OPEN)
    assert (memory.get(found.entry).text, found.quote) == (CLOSED, CLOSED)


def test_the_last_statement_counts_against_a_new_fact(memory: TidalMemory, clock: FrozenClock) -> None:
    assert [one.key for one in conflicts(memory, clock, {"first": CLOSED, "second": OPEN})] == ["cellar door"]
    memory.facts["cellar door"] = "open"
    assert not memory.facts.conflicts(), "the fact settles what two texts say of its key"
    memory.facts["cellar door"] = "closed"
    assert not memory.facts.conflicts(), "an update contradicts nothing that was said before"


def test_two_statements_are_resolved_by_closing(memory: TidalMemory, clock: FrozenClock) -> None:
    [conflict] = conflicts(memory, clock, {"first": OPEN, "second": CLOSED})
    assert (conflict.key, conflict.fact, conflict.claim) == ("cellar door", OPEN, CLOSED)
    with pytest.raises(InvalidInput):
        memory.facts.resolve(conflict.id, value="ajar")
    assert memory.facts.resolve(conflict.id, keep="fact") == OPEN
    assert not memory.facts.conflicts()


def test_forgetting_either_statement_forgets_the_conflict(memory: TidalMemory, clock: FrozenClock) -> None:
    [conflict] = conflicts(memory, clock, {"first": OPEN, "second": CLOSED})
    memory.forget(conflict.against)
    assert not memory.facts.conflicts()
    clock.advance(hours=1)
    memory.record("The cellar door is open, come in.", thread="c")
    memory.supersessions.find()
    assert OPEN not in str(memory.facts.conflicts())


def test_other_people_and_later_days_contradict_nothing(memory: TidalMemory, clock: FrozenClock) -> None:
    memory.remember("I eat fish.", kind="conversation", speaker="Ada")
    clock.advance(hours=1)
    memory.remember("I don't eat fish.", kind="conversation", speaker="Bo")
    news = (
        (3, OPEN, CLOSED),
        (1, "The spare key is under the flowerpot.", "The spare key is now in the drawer."),
        (1, "My bike is blue.", "My bike is red now."),
    )
    for days, first, second in news:
        memory.record(first, thread="a")
        clock.advance(days=days)
        memory.record(second, thread="b")
        memory.supersessions.find()
    assert memory.facts.conflicts() == []


def test_no_secret_is_quoted(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=Settings(recording={"secrets": "keep"}))
    said = f"The wifi password has changed to {SECRET}."
    [conflict] = conflicts(memory, clock, {"key": "wifi password", "value": "correct-horse-7Battery", "said": said})
    assert SECRET not in str(conflict)
    assert "correct-horse" not in str(conflict)
    assert memory.facts.resolve(conflict.id, keep="claim") == SECRET


@pytest.mark.parametrize(
    ("key", "value", "said", "claim"),
    [
        ("upload limit", "40 MB", "Raise the limit to 60 MB then, the scans are huge.", "60 MB"),
        ("upload limit", "40 MB", "Well, so it's 25 MB now instead of 40 MB.", "25 MB"),
        ("owner of the parser", "Marta Vidal", "Jonas is the maintainer of the parser.", "Jonas"),
        ("spare key", "under the doormat", "The spare key is in the drawer of the hall.", "in the drawer of the hall"),
    ],
)
def test_the_claim_is_the_value_alone(
    memory: TidalMemory, clock: FrozenClock, key: str, value: str, said: str, claim: str
) -> None:
    [conflict] = conflicts(memory, clock, {"key": key, "value": value, "said": said})
    assert memory.facts.resolve(conflict.id, keep="claim") == claim


# keeping a fact against a text: recall takes it to hold, whenever the text was read


@pytest.fixture
def asked(memory: TidalMemory, clock: FrozenClock) -> TidalMemory:
    said = "Caroline's city is Berlin. Melanie's kids are 3."
    assert conflicts(memory, clock, {"key": "caroline.city", "value": "Stockholm", "said": said})
    memory.graph.index_pending()
    return memory


def superseded(memory: TidalMemory) -> list[str]:
    return [str(link) for hit in memory.recall("What is Caroline's city?") for link in hit.why.superseded_by]


@pytest.mark.parametrize("read_before", [True, False])
def test_a_fact_that_was_kept_is_superseded_by_nothing(asked: TidalMemory, read_before: bool) -> None:
    if read_before:
        asked.supersessions.find()
        assert superseded(asked)
    [found] = asked.facts.conflicts()
    assert asked.facts.resolve(found.id, "fact") == "Stockholm"
    asked.supersessions.find()
    assert asked.supersessions.list() == []
    assert superseded(asked) == []
    [entry] = [hit for hit in asked.recall("What is Caroline's city?") if "Stockholm" in hit.text]
    assert entry.why.superseded_by == ()


def test_a_claim_that_was_taken_stays(asked: TidalMemory) -> None:
    asked.supersessions.find()
    [found] = asked.facts.conflicts()
    assert asked.facts.resolve(found.id, "claim") == "Berlin"
    assert asked.recall("What is Caroline's city?")[0].text != "caroline.city: Stockholm"


def test_the_earlier_of_two_texts_can_be_kept(memory: TidalMemory, clock: FrozenClock) -> None:
    memory.record("The meeting is at 10:00.", thread="a")
    clock.advance(hours=1)
    memory.record("The meeting is at 11:00.", thread="a")
    memory.supersessions.find()
    [found] = memory.facts.conflicts()
    assert "10:00" in memory.facts.resolve(found.id, "fact")
    memory.supersessions.find()
    assert memory.supersessions.list() == []
