from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE
from tidal_plugins import (
    Claim,
    Exchange,
    Forgotten,
    HashingEmbedder,
    InvalidInput,
    Message,
    NotFound,
    Settings,
    TidalMemory,
)
from tidal_plugins.facts.mapping import Facts
from tidal_plugins.protocols import ClaimExtractor
from tidal_plugins.testing import NOON, FrozenClock

HOUR = timedelta(hours=1)


@pytest.fixture
def facts(memory: TidalMemory) -> Facts:
    return memory.facts


def left(memory: TidalMemory) -> list[Path]:
    """Close a memory, and return its files in which «xylophone» stands."""
    memory.close()
    folder = Path(str(memory.path)).parent
    return [file for file in folder.iterdir() if b"xylophone" in file.read_bytes().lower()]


# the mapping


def test_facts_are_a_mapping(facts: Facts) -> None:
    facts["bridge"] = "up"
    facts["Dark Mode"] = {"on": True, "hours": [20, 6.5, None]}
    assert facts == {"bridge": "up", "Dark Mode": {"on": True, "hours": [20, 6.5, None]}}
    assert (len(facts), list(facts), "bridge" in facts, 5 in facts) == (2, ["bridge", "Dark Mode"], True, False)
    assert (facts.get("Bridge"), facts.get("door"), facts.get("nothing", "else")) == ("up", None, "else")
    assert facts.pop("bridge") == "up"
    assert "bridge" not in facts
    facts.clear()
    assert not facts


def test_keys_are_found_whatever_their_case_and_spaces_and_shown_as_last_given(facts: Facts) -> None:
    facts["User  Name"] = "Ann"
    facts["user name"] = "Bob"
    assert dict(facts) == {"user name": "Bob"}
    assert facts["USER NAME"] == "Bob"
    assert "user_name" not in facts


def test_what_cannot_be_a_key_or_a_value_is_refused_and_changes_nothing(facts: Facts) -> None:
    facts["bridge"] = "up"
    values: list[Any] = [float("nan"), b"x", object(), {1, 2}, "\ud800", "x" * 20_000]
    keys: list[Any] = ["", "  ", "a\0b", "a\nb", "\ud800", "x" * 201, 5, None]
    for key, value in [*(("bridge", value) for value in values), *((key, "up") for key in keys)]:
        with pytest.raises(InvalidInput):
            facts[key] = value
    assert dict(facts) == {"bridge": "up"}
    assert len(facts.history("bridge")) == 1


# history


def test_history_says_what_was_true_since_when_and_why(facts: Facts, clock: FrozenClock) -> None:
    facts.set("bridge", "up", source="inspection")
    clock.advance(hours=2)
    facts.set("bridge", "down", at=NOON + HOUR)
    clock.advance(hours=2)
    del facts["bridge"]
    clock.advance(hours=2)
    facts["bridge"] = "up"
    told = [(f.value, f.since, f.until, f.recorded_at, f.source) for f in facts.history("BRIDGE")]
    assert told == [
        ("up", NOON, NOON + HOUR, NOON, "inspection"),
        ("down", NOON + HOUR, NOON + 4 * HOUR, NOON + 2 * HOUR, None),
        ("up", NOON + 6 * HOUR, None, NOON + 6 * HOUR, None),
    ]
    times = {-1: {}, 0: {"bridge": "up"}, 1: {"bridge": "down"}, 3: {"bridge": "down"}, 4: {}, 6: {"bridge": "up"}}
    for hours, expected in times.items():
        assert facts.as_of(NOON + hours * HOUR) == expected, hours


def test_the_same_value_again_is_no_change(facts: Facts, clock: FrozenClock) -> None:
    first = facts.set("bridge", "up", source="inspection")
    clock.advance(hours=1)
    assert facts.set("bridge", "up") == first
    facts["n"] = 1
    facts["n"] = True
    assert [fact.value for fact in facts.history("n")] == [1, True]


def test_history_is_not_rewritten_and_does_not_begin_in_the_future(facts: Facts, clock: FrozenClock) -> None:
    facts["bridge"] = "up"
    for at in (NOON - HOUR, NOON + HOUR, datetime(2026, 3, 1, 12)):
        with pytest.raises(InvalidInput):
            facts.set("bridge", "down", at=at)
    assert facts["bridge"] == "up"


def test_a_clock_that_goes_back_leaves_history_in_order(facts: Facts, clock: FrozenClock) -> None:
    facts["bridge"] = "up"
    clock.advance(days=-3)
    facts["bridge"] = "down"
    assert [(fact.value, fact.since) for fact in facts.history("bridge")] == [("up", NOON), ("down", NOON)]
    del facts["bridge"]
    assert not facts


def test_facts_survive_the_process_and_stay_in_their_scope(open_memory: Any) -> None:
    open_memory().facts["bridge"] = "up"
    memory = open_memory()
    assert memory.facts == {"bridge": "up"}
    assert memory.scoped("other").facts == {}


# recall


def test_recall_finds_a_fact_as_it_is_now(memory: TidalMemory, facts: Facts) -> None:
    facts.set("bridge", "up", source="inspection")
    [hit] = memory.recall("bridge", kinds={"fact"})
    assert (hit.text, hit.entry.source, hit.entry.kind) == ("bridge: up", "inspection", "fact")
    facts["bridge"] = {"state": "down"}
    [hit] = memory.recall("bridge", kinds={"fact"})
    assert hit.text == 'bridge: {"state":"down"}'
    del facts["bridge"]
    assert not memory.recall("bridge")


# conflicts


def test_recording_the_opposite_flags_a_conflict_at_once(memory: TidalMemory, facts: Facts) -> None:
    facts["bridge"] = "up"
    turn = memory.record("Hello. The bridge is down.", "Oh no.")
    [conflict] = facts.conflicts()
    assert (conflict.key, conflict.fact, conflict.claim, conflict.negated) == ("bridge", "up", "down", False)
    assert (conflict.quote, conflict.entry, conflict.citation) == (
        "The bridge is down.",
        turn.entries[0],
        turn.citation,
    )
    assert conflict.at == NOON
    assert facts["bridge"] == "up"


def test_a_retried_record_flags_once_also_after_it_was_resolved(memory: TidalMemory, facts: Facts) -> None:
    facts["bridge"] = "up"
    for _ in range(2):
        memory.record("The bridge is down.", id="t")
        memory.remember("The bridge is down.")
    assert len(facts.conflicts()) == 2
    facts.resolve(facts.conflicts()[0].id, "fact")
    memory.record("The bridge is down.", "Is it?", id="t")
    memory.remember("The bridge is down.")
    assert facts.conflicts() == []


def test_what_agrees_or_asks_flags_nothing(memory: TidalMemory, facts: Facts) -> None:
    facts["bridge"] = "up"
    memory.record("Is the bridge down?", "The bridge is up.")
    memory.record("If the bridge is down, call me.")
    memory.record_many([Exchange((Message("user", "The bridge is down."),), occurred_at=NOON - HOUR)])
    assert facts.conflicts() == [], "it was said before the fact held"


def test_keeping_the_fact_closes_all_that_claim_the_same(memory: TidalMemory, facts: Facts) -> None:
    facts["bridge"] = "up"
    for text in ("The bridge is down.", "the bridge is Down!", "bridge: closed"):
        memory.record(text)
    down = next(conflict for conflict in facts.conflicts() if conflict.claim == "down")
    assert facts.resolve(down.id, "fact") == "up"
    assert [conflict.claim for conflict in facts.conflicts()] == ["closed"]
    assert len(facts.history("bridge")) == 1


def test_keeping_the_claim_updates_the_fact_with_its_source(
    memory: TidalMemory, facts: Facts, clock: FrozenClock
) -> None:
    facts["bridge"] = "up"
    clock.advance(hours=1)
    turn = memory.record("The bridge is down.")
    clock.advance(hours=1)
    memory.record("The bridge is not up.")
    assert facts.resolve(facts.conflicts()[0].id, "claim") == "down"
    assert facts.conflicts() == []
    assert [(f.value, f.source) for f in facts.history("bridge")] == [("up", None), ("down", turn.citation)]


def test_another_value_resolves_too(memory: TidalMemory, facts: Facts) -> None:
    facts["bridge"] = "up"
    memory.record("The bridge is not up.")
    [conflict] = facts.conflicts()
    with pytest.raises(InvalidInput, match="value="):
        facts.resolve(conflict.id, "claim")
    assert facts.resolve(conflict.id, value="half open") == "half open"
    assert facts.conflicts() == []
    with pytest.raises(NotFound):
        facts.resolve(conflict.id, "fact")


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        *((8080, "The port is 9,090.", 9090), (True, "The port is off.", False), (1.5, "port: 2.5", 2.5)),
        *((7, f"port = {said}", said) for said in ("nan", "inf", "1e400", "1_0")),
        (7, "port = 12345678901234567891", 12345678901234567891),
    ],
)
def test_a_claim_becomes_a_value_of_the_fact_s_kind_and_what_is_no_number_stays_a_text(
    memory: TidalMemory, facts: Facts, value: Any, text: str, expected: Any
) -> None:
    facts["port"] = value
    memory.record(text)
    found = facts.resolve(facts.conflicts()[0].id, "claim")
    assert (found, type(found)) == (expected, type(expected))


def test_an_unclear_resolution_is_refused(memory: TidalMemory, facts: Facts) -> None:
    facts["bridge"] = "up"
    memory.record("The bridge is down.")
    arguments: list[dict[str, Any]] = [{}, {"keep": "both"}, {"keep": "fact", "value": 1}]
    for unclear in arguments:
        with pytest.raises(InvalidInput):
            facts.resolve(facts.conflicts()[0].id, **unclear)
    assert len(facts.conflicts()) == 1


def test_an_explicit_update_or_end_closes_what_was_open(memory: TidalMemory, facts: Facts) -> None:
    for update in (lambda: facts.set("bridge", "up"), lambda: facts.pop("bridge")):
        facts["bridge"] = "up"
        memory.record("The bridge is down.")
        assert len(facts.conflicts()) == 1
        update()
        assert facts.conflicts() == []


# forgetting


def test_forgetting_the_source_removes_the_conflict_and_its_bytes(memory: TidalMemory, facts: Facts) -> None:
    facts["bridge"] = "open"
    turn = memory.record("The bridge is closed because of xylophone.")
    memory.record("bridge: closed")
    assert len(facts.conflicts()) == 2
    memory.forget(turn.id)
    assert [conflict.quote for conflict in facts.conflicts()] == ["bridge: closed"]
    assert not left(memory)


def test_forgetting_a_fact_s_entry_forgets_the_fact_and_its_history(memory: TidalMemory, facts: Facts) -> None:
    facts["pin"] = "xylophone 1"
    facts["pin"] = "xylophone 2"
    facts.set("bridge", "up", source="notes.md")
    [hit] = memory.recall("pin", kinds={"fact"}, limit=1)
    memory.forget(hit.id)
    assert dict(facts) == {"bridge": "up"}
    assert facts.history("pin") == []
    memory.forget(source="notes.md")
    assert dict(facts) == {}
    with pytest.raises(Forgotten):
        memory.get(hit.id)
    assert not left(memory)


def test_forgetting_takes_back_a_value_that_was_taken_from_a_claim(
    memory: TidalMemory, facts: Facts, clock: FrozenClock
) -> None:
    facts["owner"] = "Ann"
    clock.advance(hours=1)
    turn = memory.record("owner: Xylophone")
    facts.resolve(facts.conflicts()[0].id, "claim")
    memory.forget(turn.id)
    assert "owner" not in facts
    assert [(f.value, f.since, f.until) for f in facts.history("owner")] == [("Ann", NOON, NOON + HOUR)]
    assert not memory.recall("owner")
    assert not left(memory)


def test_forgetting_a_fact_by_key_leaves_nothing_of_it(memory: TidalMemory, facts: Facts) -> None:
    facts["pin"] = "the word xylophone, in small letters"
    facts["pin"] = "the word xylophone, as it is written on the door"
    assert "xylophone" in str(memory.dossiers.refresh("pin"))
    memory.record("pin = 3")
    assert facts.forget("PIN")
    assert not facts.forget("pin")
    assert (facts.history("pin"), facts.conflicts(), memory.recall("xylophone", kinds={"fact"}).hits) == ([], [], ())
    assert "xylophone" not in str(memory.dossiers.list())
    assert not left(memory)


@pytest.mark.parametrize("by_key", [True, False])
def test_a_fact_that_was_ended_can_be_forgotten_and_says_so(memory: TidalMemory, facts: Facts, by_key: bool) -> None:
    facts["pin"] = "the word xylophone, as it is written on the door"
    [hit] = memory.recall("pin", kinds={"fact"})
    assert "xylophone" in str(memory.dossiers.refresh("pin"))
    del facts["pin"]
    with pytest.raises(NotFound) as missing:
        memory.get(hit.id)
    assert not isinstance(missing.value, Forgotten), "it has its history"
    assert facts.forget("pin") if by_key else memory.forget(hit.id)
    with pytest.raises(Forgotten):
        memory.get(hit.id)
    assert facts.history("pin") == []
    assert "xylophone" not in str(memory.dossiers.list())
    facts["pin"] = "another"
    assert memory.get(hit.id).text == "pin: another"
    assert not left(memory)


def test_forgetting_a_source_takes_its_values_out_of_history(
    memory: TidalMemory, facts: Facts, clock: FrozenClock
) -> None:
    for value, source in (("a", None), ("xylophone", "hr.pdf"), ("b", None)):
        facts.set("pin", value, source=source)
        clock.advance(hours=1)
    assert memory.forget(source="hr.pdf").count == 1
    assert facts["pin"] == "b"
    assert [(fact.value, fact.since, fact.until) for fact in facts.history("pin")] == [
        ("a", NOON, NOON + HOUR),
        ("b", NOON + 2 * HOUR, None),
    ]
    assert memory.forget(source="hr.pdf").count == 0
    assert not left(memory)


# an extractor


class Scripted:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[Sequence[str], Mapping[str, Any]]] = []

    def extract(self, texts: Sequence[str], facts: Mapping[str, Any]) -> Any:
        self.asked.append((list(texts), dict(facts)))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def with_extractor(memory: TidalMemory, answer: Any) -> Scripted:
    extractor = Scripted(answer)
    assert isinstance(extractor, ClaimExtractor)
    object.__setattr__(memory._services.writer, "extractor", extractor)
    return extractor


def test_an_extractor_reads_instead_of_the_rules(memory: TidalMemory, facts: Facts) -> None:
    facts["bridge"] = "up"
    claim = Claim("bridge", "down", "collapsed last night", explicit=True)
    extractor = with_extractor(memory, [[claim]])
    memory.record("It collapsed last night, sadly.")
    assert [conflict.claim for conflict in facts.conflicts()] == ["down"]
    assert extractor.asked == [(["It collapsed last night, sadly."], {"bridge": "up"})]


@pytest.mark.parametrize(
    "answer",
    [
        *(ValueError("bridge"), [], [[], []], [["down"]], None, 5),
        [[Claim("bridge", float("nan"), "The bridge is down.")]],
        [[Claim("bridge", "\ud800", "The bridge is down.")]],
        [[Claim("bridge", "up", "The bridge is down.", negated=object())]],
    ],
)
def test_an_extractor_that_fails_is_stood_in_for_by_the_rules(
    memory: TidalMemory, facts: Facts, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    facts["bridge"] = "up"
    with_extractor(memory, answer)
    with caplog.at_level(logging.INFO):
        memory.record("The bridge is down.")
    assert [conflict.claim for conflict in facts.conflicts()] == ["down"]
    assert "Scripted failed" in caplog.text
    assert "bridge" not in caplog.text


@pytest.mark.parametrize("hangs", ["at once", "on the way"])
def test_an_extractor_that_hangs_is_stood_in_for_in_time(open_memory: Any, hangs: str) -> None:
    gate = threading.Event()

    class Hanging:
        def extract(self, texts: Sequence[str], facts: Mapping[str, Any]) -> Any:
            found = (gate.wait(PATIENCE) and [] for _ in texts)
            return list(found) if hangs == "at once" else found

    memory = open_memory(claim_extractor=Hanging(), settings=Settings(models={"timeout": 0.1}))
    memory.facts["bridge"] = "up"
    memory.record("The bridge is down.")
    memory.remember("Nobody may use the tunnel.")
    gate.set()
    assert [conflict.claim for conflict in memory.facts.conflicts()] == ["down"]


@pytest.mark.parametrize(
    "claim",
    [Claim("tunnel", "down", "The bridge is down."), Claim("bridge", "down", "invented"), Claim("bridge", "down", "")],
)
def test_what_an_extractor_invents_is_left_out(memory: TidalMemory, facts: Facts, claim: Claim) -> None:
    facts["bridge"] = "up"
    with_extractor(memory, [[claim]])
    memory.record("The bridge is down.")
    assert facts.conflicts() == []


def test_a_value_has_at_most_32_levels(memory: TidalMemory) -> None:
    for levels in (32, 33, 200, 700, 2_000):
        for kind in (list, dict):
            value: Any = kind()
            for _ in range(levels - 1 + (levels > 32)):
                value = [value] if kind is list else {"a": value}
            if levels > 32:
                with pytest.raises(InvalidInput):
                    memory.facts["deep"] = value
            else:
                memory.facts["deep"] = value
                assert memory.facts.pop("deep") == value
    assert "deep" not in memory.facts


def test_a_claim_that_is_forgotten_while_it_is_kept_stays_forgotten(open_memory: Any) -> None:
    class Pausing(HashingEmbedder):
        act: Any = None

        def embed(self, texts: Any) -> Any:
            act, self.act = self.act, None
            if act:
                act()
            return super().embed(texts)

    embedder = Pausing()
    memory, other = open_memory(embedder=embedder), open_memory()
    memory.facts["owner"] = "Ann"
    turn = memory.record("owner: Xylophone")
    [conflict] = memory.facts.conflicts()
    embedder.act = lambda: other.forget(turn.id)
    with pytest.raises(NotFound):
        memory.facts.resolve(conflict.id, "claim")
    assert [fact.value for fact in memory.facts.history("owner")] == ["Ann"]


def test_a_value_that_somebody_confirmed_outlives_the_claim(memory: TidalMemory, facts: Facts) -> None:
    facts["owner"] = "Ann"
    turn = memory.record("owner: Bob")
    facts.resolve(facts.conflicts()[0].id, "claim")
    facts.set("owner", "Bob", source="register")
    memory.forget(turn.id)
    assert (facts["owner"], facts.fact("owner").source) == ("Bob", "register")


def test_a_fact_is_trusted_as_much_as_the_claim_it_was_taken_from(memory: TidalMemory, facts: Facts) -> None:
    facts["bridge"] = "up"
    memory.remember("The bridge is down.", trust=0.3)
    facts.resolve(facts.conflicts()[0].id, "claim")
    assert [hit.entry.trust for hit in memory.recall("bridge", kinds={"fact"})] == [0.3]
    facts["bridge"] = "down"
    assert [hit.entry.trust for hit in memory.recall("bridge", kinds={"fact"})] == [1.0]
