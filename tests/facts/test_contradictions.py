"""What contradicts a fact or an earlier statement, what does not, and how a conflict is settled."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tests.tables import tables, wrong
from tidal_plugins import Claim, HashingEmbedder, InvalidInput, Message, Settings, TidalMemory
from tidal_plugins.model.fact import FactConflict
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


TABLE = tables("facts/claims.jsonl")
FACTS: dict[str, Any] = {
    "bridge": "up",
    "port": 8080,
    "dark_mode": True,
    "meeting time": "10:00",
    "capital": "Paris",
    "door": "open",
    "Ann's phone": "0171 55",
    "project deadline": "Friday",
    "status": "active",
    "build": "passed",
    "team": ["Ann", "Bob"],
    "it": "up",
}


class Store:
    """One memory for all tests, in a scope for each. ``claim`` is what an extractor claims, in place of the rules."""

    def __init__(self, folder: Path) -> None:
        options: dict[str, Any] = {"embedder": HashingEmbedder(), "settings": Settings(graph={"enabled": False})}
        self.rules = TidalMemory(folder / "rules.db", **options)
        self.extractor = TidalMemory(folder / "extractor.db", claim_extractor=self, **options)
        self.claim: Claim | None = None
        self.scopes = 0

    def extract(self, texts: Sequence[str], facts: Mapping[str, Any]) -> list[list[Claim]]:
        return [[self.claim] if self.claim else [] for _ in texts]

    def flagged(self, memory: TidalMemory, facts: Mapping[str, Any], text: str, role: str = "") -> list[FactConflict]:
        """The conflicts that a text opens with facts, in the order of the facts."""
        self.scopes += 1
        memory = memory.scoped(str(self.scopes))
        for key, value in facts.items():
            memory.facts[key] = value
        if role:
            memory.record(messages=[Message(role, text)])
        elif text.strip():
            memory.remember(text)
        order = [key.strip() for key in facts]  # as keys are stored
        return sorted(memory.facts.conflicts(), key=lambda conflict: order.index(conflict.key))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store(tmp_path_factory.mktemp("claims"))
    yield store
    store.rules.close()
    store.extractor.close()


def contradicted(store: Store, text: str) -> list[str]:
    """Return the keys of ``FACTS`` that a text contradicts."""
    memory = store.rules.scoped("facts")
    if not memory.facts:
        for key, value in FACTS.items():
            memory.facts[key] = value
    if not text.strip():
        return []
    entry = memory.remember(text).id
    found = [one.key for one in memory.facts.conflicts() if one.entry == entry and one.against is None]
    return sorted(found, key=list(FACTS).index)


def test_a_plain_statement_contradicts_and_anything_less_does_not(store: Store) -> None:
    assert wrong(lambda text: contradicted(store, text), TABLE["contradicted"]) == []


def test_times_places_other_voices_and_who_speaks_decide_what_is_claimed(store: Store) -> None:
    def claimed(key: str, value: Any, text: str, role: str = "") -> list[str]:
        return [found.claim for found in store.flagged(store.rules, {key: value}, text, role)]

    assert wrong(claimed, TABLE["claimed"]) == []


def test_a_claim_quotes_its_sentence(store: Store) -> None:
    [found] = store.flagged(store.rules, {"bridge": "up"}, "Hello there. The bridge is down for repairs. Bye.")
    assert (found.claim, found.quote, found.negated) == ("down for repairs", "The bridge is down for repairs.", False)


def test_a_key_of_stop_words_only_is_never_claimed_about(store: Store) -> None:
    facts = dict.fromkeys(["it", "the who", "-", "is"], "up")
    assert store.flagged(store.rules, facts, "It is down. The who is down.") == []


@pytest.mark.parametrize(
    ("value", "claim", "expected"),
    [
        ("up", Claim("k", "down", "said"), True),
        ("up", Claim("k", "up", "said", negated=True), True),
        ("up", Claim("k", "down", "said", negated=True), False),
        (True, Claim("k", "off", "said"), True),
        (False, Claim("k", "enabled", "said"), True),
        (True, Claim("k", "true", "said"), False),
        (10, Claim("k", "10.0", "said"), False),
        (10, Claim("k", "11", "said"), True),
        ("3.11.2", Claim("k", "3.12.0", "said"), True),
        ("10 km", Claim("k", "12 km", "said"), True),
        ("10 km", Claim("k", "12 miles", "said"), False),
        ("March", Claim("k", "April", "said"), True),
        ("Ann", Claim("k", "Ann Smith", "said"), False),
        ("Ann Smith", Claim("k", "Bob", "said"), True),
        ("anything", Claim("k", "else", "said"), False),
        ("anything", Claim("k", "else", "said", explicit=True), True),
        ("the red car", Claim("k", "red car", "said", explicit=True), False),
        (None, Claim("k", "5", "said"), False),
        ({"a": 1}, Claim("k", "5", "said"), False),
    ],
)
def test_what_cannot_be_true_together_contradicts(store: Store, value: Any, claim: Claim, expected: bool) -> None:
    store.claim = claim
    assert bool(store.flagged(store.extractor, {"k": value}, "said something")) is expected


@settings(max_examples=50)
@given(st.text(max_size=200), st.text(max_size=30))
def test_no_text_and_no_key_breaks_the_rules(store: Store, text: str, key: str) -> None:
    said = f"{text} {key} is {text}. {key}: {text}"
    try:
        found = store.flagged(store.rules, {key: "up"}, said)
    except InvalidInput:  # a key or a text that cannot be stored
        return
    stored = said.replace("\0", "\ufffd")
    assert all(conflict.quote in stored for conflict in found)


@pytest.mark.slow
def test_hostile_texts_take_no_more_than_their_length(store: Store) -> None:
    for head, unit, tail in (
        *(("", "the bridge is ", ""), ("", "bridge ", ""), ("bridge = ", "x", ""), ("", "and bridge is now ", "")),
        *(("bridge", "\n", "end"), ("bridge ```\n\n```x", "\n \n", "x")),
    ):

        def text(chars: int, head: str = head, unit: str = unit, tail: str = tail) -> str:
            return head + unit * (chars // len(unit)) + tail

        assert contradicted(store, text(10_000)) == []
        assert grows_linearly(lambda said: contradicted(store, said), text, 200_000), unit
