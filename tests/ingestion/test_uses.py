"""What a turn does to the memories that it used or was shown: weights by hand after each kind of use, and links."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.inside import dying, raw
from tidal_plugins import Exchange, HashingEmbedder, Message, Settings, TidalMemory, Tier
from tidal_plugins.testing import NOON, FrozenClock

DAY = timedelta(days=1)
WARM, ACCESSED = 72.0, 168.0
JAZZ, BRIDGE = "I play jazz piano", "The bridge is green"
ASKED, ANSWERED = "What should I practise?", "Practise jazz piano scales slowly."


def told(memory: TidalMemory, text: str = JAZZ) -> str:
    return memory.record(text).entries[0]


def tier(memory: TidalMemory, id_: str) -> Tier:
    found = memory.get(id_).tier
    assert found
    return found


def weights(memory: TidalMemory, *ids: str) -> list[float]:
    return [pytest.approx(tier(memory, id_).weight) for id_ in ids]


def used(memory: TidalMemory, id_: str) -> bool:
    """Whether an entry was ever used: use lengthens its half-life for good."""
    return tier(memory, id_).half_life == ACCESSED


def edges(memory: TidalMemory) -> dict[frozenset[str], float]:
    memory.associations.link_pending()
    said = [id_ for episode in memory.episodes.list() for id_ in episode.entries]
    found = [item for id_ in said for item in memory.associations.links(id_, limit=1000)]
    return {frozenset((item.source, item.target)): round(item.weight, 6) for item in found}


def pairs(*ids: str) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in combinations(ids, 2)}


# weights


def test_what_an_answer_echoes_is_used(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    clock.advance(hours=72)
    memory.record(ASKED, ANSWERED, thread="s", surfaced=[id_])
    after = tier(memory, id_)
    assert after.weight == pytest.approx(1.5)  # 2^(−72/72) + 1
    assert (after.half_life, after.anchored_at) == (ACCESSED, clock())
    assert after.cold_at
    cold = timedelta(hours=1214.436)  # 168·log2(150)
    assert after.cold_at - clock() == pytest.approx(cold, abs=timedelta(minutes=1))


def test_what_only_surfaced_counts_half_and_what_is_beside_it_a_quarter_once(
    memory: TidalMemory, clock: FrozenClock
) -> None:
    shown, beside = memory.record(JAZZ, "Since when, if I may ask?").entries
    other = told(memory, "The harbour is closed.")
    clock.advance(hours=72)
    for _ in range(2):
        memory.record(ASKED, "No idea, sorry.", id="again", surfaced=[shown])
    assert weights(memory, shown, beside) == [1.0, 0.75]  # 0.5 + 0.5 and 0.5 + 0.25
    assert {tier(memory, id_).half_life for id_ in (shown, beside)} == {WARM}
    assert tier(memory, other).weight == 1  # as it was stored, three days ago


def test_worth_nothing_what_is_beside_stays_as_it_was(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=Settings(tuning={"use.same_turn": 0}))
    shown, beside = memory.record(JAZZ, "The lily blooms").entries
    before = tier(memory, beside)
    clock.advance(days=30)
    memory.record("hello there", "general", surfaced=[shown])
    assert tier(memory, beside) == before


def test_our_own_text_and_reading_strengthen_and_link_nothing(memory: TidalMemory) -> None:
    id_ = told(memory)
    memory.recall("jazz piano")
    whisper = memory.whisper("jazz piano lessons")
    assert whisper.ids == (id_,)
    assert (tier(memory, id_).weight, edges(memory)) == (1, {})
    memory.record(f"{whisper}\n\n{ASKED}", f"{whisper}\n\nNo idea.", surfaced=whisper.ids)
    assert (tier(memory, id_).weight, used(memory, id_)) == (1.5, False)


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


# weights and links


def test_a_turn_recorded_again_counts_and_links_once(memory: TidalMemory) -> None:
    id_ = told(memory)
    for _ in range(3):
        memory.record(ASKED, ANSWERED, id="t", surfaced=[id_])
    assert tier(memory, id_).weight == 2
    assert set(edges(memory).values()) == {1.0}


def test_a_turn_that_goes_on_counts_and_links_only_what_is_new(memory: TidalMemory) -> None:
    first, second = told(memory), told(memory, BRIDGE)
    said = [Message("user", ASKED, id="u")]
    memory.record(messages=said, surfaced=[first])
    assert tier(memory, first).weight == 1.5
    said.append(Message("assistant", ANSWERED, id="a"))
    turn = memory.record(messages=said, surfaced=[first, second])
    assert tier(memory, first).weight == 2, "surfaced turns into used, and never counts twice"
    assert edges(memory) == dict.fromkeys(pairs(first, second, *turn.entries), 1.0)
    memory.record(messages=[*said, Message("assistant", "jazz piano again", id="b")])
    assert tier(memory, first).weight == 2
    assert set(edges(memory).values()) == {1.0}


# repetition


def test_an_exact_repetition_strengthens_the_first_once_and_is_found_once(
    memory: TidalMemory, clock: FrozenClock
) -> None:
    first = memory.record(JAZZ, thread="a")
    clock.advance(hours=72)
    for _ in range(3):
        again = memory.record("i  play JAZZ piano", thread="b", id="again")
    assert weights(memory, *first.entries) == [1.5]
    assert memory.recall("jazz piano").ids == first.entries
    assert memory.episodes[again.id].query == "i  play JAZZ piano"
    assert memory.get(again.entries[0]).text == "i  play JAZZ piano"
    memory.record("?", f"Indeed [{again.citation}].", surfaced=[again.id])
    assert used(memory, first.entries[0]), "a use of the repetition is one of the first"
    assert tier(memory, again.entries[0]).weight == 1


def test_repetitions_of_one_batch_each_strengthen_what_stands_already(memory: TidalMemory, clock: FrozenClock) -> None:
    first = memory.record(JAZZ, thread="a")
    clock.advance(hours=72)
    memory.record_many([Exchange((Message("user", JAZZ),), thread) for thread in "bc"])
    assert weights(memory, *first.entries) == [2.5]
    assert memory.recall("jazz piano").ids == first.entries


def test_other_voices_and_other_words_repeat_nothing(memory: TidalMemory) -> None:
    first = told(memory)
    others: list[dict[str, Any]] = [
        {"messages": [Message("assistant", JAZZ, id="x")]},
        {"messages": [Message("user", JAZZ, id="y", speaker="Bob")]},
        {"user": JAZZ, "metadata": {"lang": "en"}},
        {"user": f"{JAZZ}s"},
    ]
    for count, fields in enumerate(others, 2):
        memory.record(**fields)
        assert tier(memory, first).weight == 1
        assert len(memory.recall("jazz piano")) == count
    texts = [f"the weekly planning meeting with the design team takes place at {n}:00" for n in (10, 11)]
    notes = {memory.remember(text).id for text in texts}
    assert set(memory.recall("planning meeting", kinds={"kb"}).ids) == notes


def test_when_the_first_is_forgotten_the_next_is_found_and_the_others_repeat_it(memory: TidalMemory) -> None:
    first, second, third = (memory.record(JAZZ, thread=name) for name in "abc")
    for forgotten, found in ((first, second), (second, third)):
        memory.forget(forgotten.id)
        assert memory.recall("jazz piano").ids == found.entries
    memory.forget(third.id)
    assert not memory.recall("jazz piano")


# links


def test_what_was_shown_and_what_was_said_are_one_context_which_adds_up(memory: TidalMemory) -> None:
    shown = told(memory), told(memory, BRIDGE)
    assert edges(memory) == {}
    turn = memory.record(ASKED, ANSWERED, surfaced=shown)
    assert edges(memory) == dict.fromkeys(pairs(*shown, *turn.entries), 1.0)
    for n in range(2):
        memory.record(f"{ASKED} {n}", surfaced=shown)
    assert edges(memory)[frozenset(shown)] == 3.0
    memory.forget(shown[0])
    assert not [pair for pair in edges(memory) if shown[0] in pair]


def test_a_damaged_link_does_not_keep_an_exchange_from_being_stored(
    memory: TidalMemory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shown = memory.record(BRIDGE, "Noted, green.").id
    memory.associations.link_pending()
    connection = raw(tmp_path / "agent.db")
    connection.execute("UPDATE links SET metadata = '{' WHERE kind = 'association'")
    connection.close()
    turn = memory.record(ASKED, ANSWERED, surfaced=[shown])
    assert memory.episodes[turn.id].answer == ANSWERED
    memory.associations.link_pending()
    assert "a row of links is damaged" in caplog.text


@pytest.mark.slow
def test_the_turns_of_a_killed_process_are_linked_by_the_next_one(tmp_path: Path) -> None:
    path, settings = tmp_path / "agent.db", Settings(tuning={"jobs.quiet": 0.0})
    code = (
        "import os, sys; from tidal_plugins import HashingEmbedder, Settings, TidalMemory;"
        "settings = Settings(tuning={'jobs.quiet': 60.0});"
        "memory = TidalMemory(sys.argv[1], embedder=HashingEmbedder(), settings=settings);"
        "turn = memory.record('Which bridge?', 'The green one.'); print(*turn.entries, flush=True); os._exit(9)"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert killed.returncode == 9
    question, answer = killed.stdout.split()
    with TidalMemory(path, embedder=HashingEmbedder(), settings=settings) as memory:
        memory.close(timeout=60)
    with TidalMemory(path, embedder=HashingEmbedder(), settings=settings) as memory:
        [link] = memory.associations.links(question)
        assert (link.target, link.weight) == (answer, pytest.approx(1.0, abs=1e-3))


def test_linking_that_is_cut_off_is_done_anew_and_counts_once(memory: TidalMemory) -> None:
    turns = [memory.record(f"Which bridge number {n}?", f"The green one, {n}.") for n in range(3)]
    with dying(memory, 0):
        memory.associations.link_pending()
    assert memory.associations.links(turns[0].entries[0]) == []
    assert memory.associations.link_pending() == 3
    assert memory.associations.link_pending() == 0
    assert edges(memory) == {frozenset(turn.entries): 1.0 for turn in turns}


def test_many_turns_become_what_they_become_one_by_one(open_memory: Any, tmp_path: Path) -> None:
    """Turns of one batch see each other: repetitions, numbers, moods, what was shown and what excludes it."""
    ferry, sorry = Message("user", "The ferry is closed."), "I am sorry, and the ferry is closed."
    several = [
        Exchange((ferry, Message("assistant", "Noted.")), "a", "1"),
        Exchange((Message("user", "I am furious, the ferry is open!!!"), Message("assistant", "Noted.")), "a", "2"),
        Exchange((ferry,), "b", "3"),
        Exchange((Message("user", "I am so sad."), Message("assistant", sorry)), "a", "4"),
    ]
    found = []
    for name in ("together.db", "alone.db"):
        memory = open_memory(tmp_path / name)
        shown = memory.record("The harbour office opens at nine.", id="0").entries
        turns = [replace(one, surfaced=shown) if one.key == "4" else one for one in several]
        for exchanges in [turns] if name == "together.db" else [[one] for one in turns]:
            memory.record_many(exchanges)
        episodes = [memory.episodes[memory.episodes.id_of(str(one.key), thread=one.thread)] for one in turns]
        memory.associations.link_pending()
        said = [memory.get(id_) for episode in episodes for id_ in episode.entries]
        weights = [sorted(link.weight for link in memory.associations.links(entry.id)) for entry in said]
        found.append(
            (
                [episode.turn for episode in episodes],
                [(entry.text, entry.tier, entry.affect, entry.importance) for entry in said],
                (memory.affect.state(), [(one.fact, one.claim) for one in memory.facts.conflicts()], weights),
                [hit.text for hit in memory.recall("Is the ferry closed?")],
            )
        )
    assert found[0] == found[1]


def test_an_archived_entry_comes_back_when_it_is_said_again(memory: TidalMemory, clock: FrozenClock) -> None:
    first = told(memory)
    clock.advance(days=400)
    assert not memory.recall("jazz piano")
    memory.record(JAZZ)
    assert memory.recall("jazz piano").ids == (first,)
