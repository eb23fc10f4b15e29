"""What a sentence claims of a fact, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tests.tables import tables, wrong
from tidal_plugins import Claim, HashingEmbedder, InvalidInput, Message, Settings, TidalMemory
from tidal_plugins.model.fact import FactConflict

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
