"""What a sentence claims of a fact, and what it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tidal_plugins import (
    Claim,
    FactConflict,
    HashingEmbedder,
    InvalidInput,
    InvalidText,
    Message,
    Settings,
    TidalMemory,
)

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
        return sorted(memory.facts.conflicts(), key=lambda conflict: list(facts).index(conflict.key))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store(tmp_path_factory.mktemp("claims"))
    yield store
    store.rules.close()
    store.extractor.close()


@pytest.fixture
def contradicted(store: Store) -> Callable[[str], list[str]]:
    """Returns the keys of the facts that a text contradicts."""
    return lambda text: [conflict.key for conflict in store.flagged(store.rules, FACTS, text)]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("the bridge is down", "bridge"),
        ("The bridge is down!", "bridge"),
        ("Note: the bridge is down.", "bridge"),
        ("I checked and the bridge is down", "bridge"),
        ("The bridge is down and we are stuck", "bridge"),
        ("The bridge is down, so we can't cross.", "bridge"),
        ("The bridge is down and will stay so", "bridge"),
        ("The bridge is down, what a mess", "bridge"),
        ("The bridge's down again.", "bridge"),
        ("The bridge is now down, sorry.", "bridge"),
        ("The bridge is, well, old. The bridge is down.", "bridge"),
        ("Our bridge is currently down for maintenance.", "bridge"),
        ("The bridge has been down since Monday.", "bridge"),
        ("The bridge went down.", "bridge"),
        ("The bridge is not up.", "bridge"),
        ("The bridge isn't up anymore.", "bridge"),
        ("The bridge is no longer up", "bridge"),
        ("bridge: down", "bridge"),
        ("- bridge = down", "bridge"),
        ("bridge -> down", "bridge"),
        ("The port is 9090.", "port"),
        ("The port is now 9,090", "port"),
        ("port=9090", "port"),
        ("Dark mode is off.", "dark_mode"),
        ("darkMode: false", "dark_mode"),
        ("dark mode is disabled now", "dark_mode"),
        ("dark_mode is not on", "dark_mode"),
        ("The meeting time is 11:00.", "meeting time"),
        ("The meeting time changed to half past ten.", "meeting time"),
        ("The capital is Lyon.", "capital"),
        ("The door is closed until May.", "door"),
        ("Ann's phone is 0172 66", "Ann's phone"),
        ("The project deadline is Monday.", "project deadline"),
        ("The deadline of the project is Monday.", "project deadline"),
        ("The project's deadline moved to Thursday", "project deadline"),
        ("status: blocked", "status"),
        ("The build is failed", "build"),
    ],
)
def test_a_plain_statement_contradicts(contradicted: Callable[[str], list[str]], text: str, key: str) -> None:
    assert contradicted(text) == [key]


@pytest.mark.parametrize(
    "text",
    [
        # it agrees
        "The bridge is up.", "The bridge is up and running", "The bridge is not down.", "The port is 8,080.",
        "port: 8080.0", "Dark mode is on.", "The project deadline is Friday at noon", "status: active",
        # questions, conditions, guesses, wishes, plans
        "Is the bridge down?", "The bridge is down?", "If the bridge is down, take the ferry.",
        "What if the bridge is down", "When the bridge is down we wait.", "Let me know when the bridge is down",
        "I think the bridge is down.", "Maybe the bridge is down", "The bridge could be down.",
        "The bridge will be down tomorrow.", "I wish the bridge was down", "Suppose the bridge is down.",
        "The bridge is either up or down", "I hope the bridge is down by now",
        # the past
        "The bridge was down yesterday.", "The bridge used to be down.", "The bridge has been down twice.",
        # other people's words, and words that are not meant
        "She said the bridge is down.", "According to Bob, the bridge is down", '"The bridge is down" is a song.',
        "Say 'the bridge is down' aloud", "“The bridge is down.”", "> the bridge is down",
        "```\nbridge = down\n```", "`bridge = down`", "In the story the bridge is down.",
        # other things
        "The road to the bridge is down.", "The old bridge is down.", "London Bridge is down",
        "The drawbridge is down", "The bridges are down", "bridge:8080", "https://bridge:down/",
        "It is down.", "The bridge, which is down", "port authority is 9090",
        # other properties
        "The bridge is beautiful.", "The bridge is up to date", "The bridge is down the road.",
        "The bridge is 200 m long", "The port is open.", "Dark mode is great", "The capital is beautiful.",
        "The capital is French", "The team is tired", "The team is Carl", "the bridge is neither up nor down",
        # code and logs
        "bridge = int(bridge)", "port = self.port", "status = re.match(x).group", "bridge = cross[0]",
        "status: the file was not found at all", "Their bridge is down", "No bridge is down.", "That bridge is down.",
        "The bridge is almost down.", "Her status: blocked",
        "", "   ", "bridge", "bridge:", "bridge is", "bridge = ", "the bridge is is is is",
    ],
)  # fmt: skip
def test_anything_less_than_a_plain_statement_does_not(contradicted: Callable[[str], list[str]], text: str) -> None:
    assert contradicted(text) == []


def test_a_claim_quotes_its_sentence(store: Store) -> None:
    [found] = store.flagged(store.rules, {"bridge": "up"}, "Hello there. The bridge is down for repairs. Bye.")
    assert (found.claim, found.quote, found.negated) == ("down for repairs", "The bridge is down for repairs.", False)


def test_a_key_of_stop_words_only_is_never_claimed_about(store: Store) -> None:
    facts = dict.fromkeys(["it", "the who", "-", "is"], "up")
    assert store.flagged(store.rules, facts, "It is down. The who is down.") == []


def test_a_sentence_may_claim_of_several_facts(contradicted: Callable[[str], list[str]]) -> None:
    assert contradicted("The bridge is down and the door is closed.") == ["bridge", "door"]


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
    except (InvalidInput, InvalidText):  # a key or a text that cannot be stored
        return
    stored = said.replace("\0", "\ufffd")
    assert all(conflict.quote in stored for conflict in found)


@pytest.mark.parametrize(
    ("head", "unit", "tail"),
    [
        ("", "the bridge is ", ""),
        ("", "bridge ", ""),
        ("bridge = ", "x", ""),
        ("", "and bridge is now ", ""),
        ("bridge", "\n", "end"),
        ("bridge ```\n\n```x", "\n \n", "x"),
    ],
)
def test_hostile_texts_take_no_more_than_their_length(
    contradicted: Callable[[str], list[str]], head: str, unit: str, tail: str
) -> None:
    assert contradicted(head + unit * 1_000 + tail) == []
    assert grows_linearly(contradicted, lambda chars: head + unit * (chars // len(unit)) + tail, 200_000)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("online", "The server is down in the basement."),
        ("up", "The bridge is down from my hotel."),
        ("open", "The bridge is closed at night."),
        ("open", "The bridge is closed in August."),
        ("open", "On Sundays, the bridge is closed."),
        ("open", "Tomorrow, the bridge is closed."),
        ("up", "Sometimes, the bridge is down."),
        ("up", "Once the storm begins, the bridge is down."),
        ("up", "After the upgrade, the bridge is down for an hour."),
        ("up", "Translate to French: the bridge is down."),
        (True, "bridge: staging only"),
    ],
)
def test_what_is_so_elsewhere_or_at_times_or_as_an_example_is_no_conflict(store: Store, value: Any, text: str) -> None:
    key = "server" if "server" in text else "bridge"
    assert store.flagged(store.rules, {key: value}, text) == []


@pytest.mark.parametrize(
    "text",
    [
        "In Minecraft, the server is down.",
        "At my last job, the server is down every week.",
        "Bob: the server is down.",
        "Error message: server is down",
    ],
)
def test_other_worlds_and_other_voices_claim_nothing(store: Store, text: str) -> None:
    assert store.flagged(store.rules, {"server": "up"}, text) == []


@pytest.mark.parametrize(
    "text", ["In fact, the server is down.", "At the moment, the server is down.", "FYI: the server is down."]
)
def test_what_only_leads_in_is_read_over(store: Store, text: str) -> None:
    assert [found.claim for found in store.flagged(store.rules, {"server": "up"}, text)] == ["down"]


@pytest.mark.parametrize(
    ("role", "text", "claimed"),
    [
        ("assistant", "My name is Claude.", []),
        ("user", "Your name is Claude.", []),
        ("user", "My name is Anna.", ["Anna"]),
        ("assistant", "Your name is Anna.", ["Anna"]),
    ],
)
def test_a_fact_is_the_users_whoever_speaks(store: Store, role: str, text: str, claimed: list[str]) -> None:
    assert [found.claim for found in store.flagged(store.rules, {"name": "Bert"}, text, role)] == claimed
