"""What strengthens a memory: hand-computed weights after each kind of use, and what does not count as one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tidal_plugins import Message, TidalMemory, Tier
from tidal_plugins.testing import NOON, FrozenClock
from tidal_plugins.tuning import Tuning

DAY = timedelta(days=1)
WARM, ACCESSED = 72.0, 168.0
ASKED, ANSWERED = "What should I practise?", "Practise jazz piano scales slowly."


def told(memory: TidalMemory, text: str = "I play jazz piano") -> str:
    return memory.record(text).entries[0]


def tier(memory: TidalMemory, id_: str) -> Tier:
    found = memory.get(id_).tier
    assert found
    return found


def used(memory: TidalMemory, id_: str) -> bool:
    """Whether an entry was ever used: use lengthens its half-life for good."""
    return tier(memory, id_).half_life == ACCESSED


def test_what_an_answer_echoes_is_used(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    clock.advance(hours=72)
    memory.record(ASKED, ANSWERED, thread="s", surfaced=[id_])
    after = tier(memory, id_)
    assert after.weight == pytest.approx(1.5)  # 2^(−72/72) + 1
    assert (after.half_life, after.anchored_at) == (ACCESSED, clock())
    assert after.cold_at
    assert after.cold_at - clock() == pytest.approx(
        timedelta(hours=1214.436), abs=timedelta(minutes=1)
    )  # 168·log2(150)


@pytest.mark.parametrize("citation", ["[{}]", "{}", "{}."])
def test_what_an_answer_cites_is_used(memory: TidalMemory, citation: str) -> None:
    id_ = told(memory)
    entry = memory.get(id_)
    memory.record("?", f"Indeed {citation.format(entry.citation)}", surfaced=[entry.citation.removeprefix("ep:")])
    assert tier(memory, id_).weight == 2
    assert used(memory, id_)


def test_what_only_surfaced_counts_half_and_keeps_its_half_life(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    clock.advance(hours=72)
    memory.record(ASKED, "No idea, sorry.", surfaced=[id_])
    assert tier(memory, id_).weight == pytest.approx(1.0)  # 0.5 + 0.5
    assert tier(memory, id_).half_life == WARM


def test_the_rest_of_a_turn_that_was_shown_counts_a_quarter_once(memory: TidalMemory, clock: FrozenClock) -> None:
    shown, beside = memory.record("I play jazz piano", "Since when, if I may ask?").entries
    other = told(memory, "The harbour is closed.")
    clock.advance(hours=72)
    for _ in range(2):
        memory.record(ASKED, "No idea, sorry.", id="again", surfaced=[shown])
    assert tier(memory, shown).weight == pytest.approx(1.0)
    assert tier(memory, beside).weight == pytest.approx(0.75)  # 0.5 + 0.25
    assert tier(memory, beside).half_life == WARM
    assert tier(memory, other).weight == 1  # as it was stored, three days ago


def test_weights_are_capped(memory: TidalMemory) -> None:
    id_ = told(memory)
    for n in range(12):
        memory.record(ASKED, ANSWERED, id=str(n), surfaced=[id_])
    assert tier(memory, id_).weight == 10


def test_a_turn_recorded_again_strengthens_once(memory: TidalMemory) -> None:
    id_ = told(memory)
    for _ in range(3):
        memory.record(ASKED, ANSWERED, id="t", surfaced=[id_])
    assert tier(memory, id_).weight == 2


def test_a_turn_that_goes_on_may_turn_surfaced_into_used_and_never_counts_twice(memory: TidalMemory) -> None:
    id_ = told(memory)
    said = [Message("user", ASKED, id="u")]
    memory.record(messages=said, surfaced=[id_])
    assert tier(memory, id_).weight == 1.5
    said.append(Message("assistant", ANSWERED, id="a"))
    memory.record(messages=said, surfaced=[id_])
    assert tier(memory, id_).weight == 2
    memory.record(messages=[*said, Message("assistant", "jazz piano again", id="b")])
    assert tier(memory, id_).weight == 2


def test_our_own_text_strengthens_nothing(memory: TidalMemory) -> None:
    id_ = told(memory)
    whisper = memory.whisper("jazz piano lessons")
    assert whisper.ids == (id_,)
    memory.record(f"{whisper}\n\n{ASKED}", f"{whisper}\n\nNo idea.", surfaced=whisper.ids)
    assert tier(memory, id_).weight == 1.5
    assert not used(memory, id_)


def test_recall_writes_nothing(memory: TidalMemory) -> None:
    id_ = told(memory)
    memory.recall("jazz piano")
    memory.whisper("jazz piano lessons")
    assert tier(memory, id_).weight == 1


@pytest.mark.parametrize(("days", "cold"), [(30, 0.5), (400, 0.0)])
def test_a_cold_or_archived_entry_that_is_used_is_warm_again(
    memory: TidalMemory, clock: FrozenClock, days: int, cold: float
) -> None:
    id_ = told(memory)
    before = tier(memory, id_)
    assert before.cold_at
    at = before.cold_at + timedelta(hours=720) if cold else NOON + 400 * DAY
    clock.set(at)
    assert bool(memory.recall("jazz piano")) is bool(cold)
    found = memory.recall("jazz piano", include_archived=True)
    memory.record(ASKED, ANSWERED, surfaced=found.ids)
    after = tier(memory, id_)
    assert after.weight == pytest.approx(1 + cold, abs=0.02)
    assert after.cold_at
    assert after.cold_at > at + 45 * DAY
    assert memory.recall("jazz piano")[0].id == id_


def test_an_episode_stands_for_its_entries(memory: TidalMemory) -> None:
    turn = memory.record("I play jazz piano", "Noted: jazz piano it is.")
    memory.record(ASKED, f"As you said [{turn.citation}].", surfaced=[turn.id])
    assert [tier(memory, id_).weight for id_ in turn.entries] == [2, 2]


def test_a_citation_of_a_repetition_is_one_of_the_first(memory: TidalMemory) -> None:
    first = told(memory)
    again = memory.record("I play jazz piano")
    memory.record("?", f"Indeed [{again.citation}].", surfaced=[again.id])
    assert used(memory, first)


def test_unknown_and_foreign_ids_are_passed_over(memory: TidalMemory) -> None:
    other = told(memory.scoped("b"))
    memory.record(ASKED, ANSWERED, surfaced=["nobody", "[ep:nothing]", other])
    assert tier(memory.scoped("b"), other).weight == 1


def test_what_does_not_decay_has_no_tier_when_it_is_used(memory: TidalMemory) -> None:
    note = memory.remember("I play jazz piano")
    memory.record(ASKED, ANSWERED, surfaced=[note.id])
    assert memory.get(note.id).tier is None


def test_a_clock_that_goes_back_ages_nothing(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    clock.advance(days=-365)
    memory.record(ASKED, ANSWERED, surfaced=[id_])
    assert (tier(memory, id_).weight, tier(memory, id_).anchored_at) == (2, NOON)


# repetition


def test_an_exact_repetition_strengthens_the_first_and_is_found_once(memory: TidalMemory, clock: FrozenClock) -> None:
    first = memory.record("I play jazz piano", thread="a")
    clock.advance(hours=72)
    again = memory.record("i  play JAZZ piano", thread="b")
    assert tier(memory, first.entries[0]).weight == pytest.approx(1.5)
    assert memory.recall("jazz piano").ids == first.entries
    assert memory.episodes[again.id].query == "i  play JAZZ piano"
    assert memory.get(again.entries[0]).text == "i  play JAZZ piano"


def test_a_repetition_recorded_again_strengthens_once(memory: TidalMemory) -> None:
    first = told(memory)
    for _ in range(3):
        memory.record("I play jazz piano", id="again")
    assert tier(memory, first).weight == 2


def test_repetitions_within_one_bulk_and_one_turn_are_seen(memory: TidalMemory) -> None:
    memory.record(messages=[Message("user", "I play jazz", id="1"), Message("user", "I play jazz", id="2")])
    assert len(memory.recall("jazz")) == 1
    assert tier(memory, memory.recall("jazz")[0].id).weight == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [Message("assistant", "I play jazz piano", id="x")]},
        {"messages": [Message("user", "I play jazz piano", id="x", speaker="Bob")]},
        {"user": "I play jazz piano", "metadata": {"lang": "en"}},
        {"user": "I play jazz pianos"},
    ],
)
def test_other_voices_and_other_words_repeat_nothing(memory: TidalMemory, fields: dict[str, Any]) -> None:
    first = told(memory)
    memory.record(**fields)
    assert tier(memory, first).weight == 1
    assert len(memory.recall("jazz piano")) == 2


def test_an_archived_entry_comes_back_when_it_is_said_again(memory: TidalMemory, clock: FrozenClock) -> None:
    first = told(memory)
    clock.advance(days=400)
    assert not memory.recall("jazz piano")
    memory.record("I play jazz piano")
    assert memory.recall("jazz piano").ids == (first,)


def test_when_the_first_is_forgotten_the_next_is_found_and_the_others_repeat_it(memory: TidalMemory) -> None:
    first, second, third = (memory.record("I play jazz piano", thread=name) for name in "abc")
    memory.forget(first.id)
    assert memory.recall("jazz piano").ids == second.entries
    memory.forget(thread="b")
    assert memory.recall("jazz piano").ids == third.entries
    memory.forget(third.id)
    assert not memory.recall("jazz piano")


def test_a_use_of_a_repetition_is_one_of_the_first(memory: TidalMemory) -> None:
    first = told(memory)
    again = memory.record("I play jazz piano")
    memory.record(ASKED, ANSWERED, surfaced=again.entries)
    assert tier(memory, first).weight == 3
    assert tier(memory, again.entries[0]).weight == 1


def test_a_near_duplicate_is_an_entry_of_its_own(memory: TidalMemory) -> None:
    texts = [f"the weekly planning meeting with the design team takes place at {n}:00" for n in (10, 11)]
    first, second = memory.remember(texts[0]), memory.remember(texts[1])
    assert set(memory.recall("planning meeting").ids) == {first.id, second.id}


def test_worth_nothing_what_is_beside_stays_as_it_was(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=Tuning(use={"beside": 0}))
    shown, beside = memory.record("I play jazz piano", "The lily blooms").entries
    before = tier(memory, beside)
    clock.advance(days=30)
    memory.record("hello there", "general", surfaced=[shown])
    assert tier(memory, beside) == before


def test_beside_a_repetition_what_it_repeats_grows(memory: TidalMemory) -> None:
    [first] = memory.record("The lily is my favourite flower").entries
    again, other = memory.record("The lily is my favourite flower", "A tuba weighs ten kilos").entries
    before = tier(memory, first).weight, tier(memory, again).weight
    memory.record("How heavy?", "I cannot say", surfaced=[other])
    assert (tier(memory, first).weight, tier(memory, again).weight) == (before[0] + 0.25, before[1])


def test_a_turn_that_goes_on_stirs_what_is_beside_once(memory: TidalMemory) -> None:
    said = [Message("user", "alpha one"), Message("assistant", "beta two"), Message("user", "gamma three")]
    a, b, beside = memory.record(messages=said).entries
    asked, answered = Message("user", "q", id="q"), Message("assistant", "r", id="r")
    memory.record(messages=[asked], id="turn", surfaced=[a])
    memory.record(messages=[asked, answered], id="turn", surfaced=[a, b])
    assert tier(memory, beside).weight == 1.25
