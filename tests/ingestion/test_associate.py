"""An exchange links the memories that were shown before it and its own entries, once a turn."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.inside import dying
from tidal_plugins import Exchange, HashingEmbedder, Message, TidalMemory
from tidal_plugins.tuning import Tuning

ASKED, ANSWERED = "What should I practise?", "Practise jazz piano scales slowly."


def edges(memory: TidalMemory) -> dict[frozenset[str], float]:
    memory.associations.link_pending()
    said = [id_ for episode in memory.episodes.list() for id_ in episode.entries]
    found = [item for id_ in said for item in memory.associations.links(id_, limit=1000)]
    return {frozenset((item.source, item.target)): round(item.weight, 6) for item in found}


def pairs(*ids: str) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in combinations(ids, 2)}


def told(memory: TidalMemory, text: str = "I play jazz piano") -> str:
    return memory.record(text).entries[0]


def test_what_was_shown_and_what_was_said_are_one_context(memory: TidalMemory) -> None:
    used, surfaced = told(memory), told(memory, "The bridge is green")
    assert edges(memory) == {}
    turn = memory.record(ASKED, ANSWERED, surfaced=[used, surfaced])
    assert edges(memory) == dict.fromkeys(pairs(used, surfaced, *turn.entries), 1.0)


def test_a_turn_without_memories_links_question_and_answer(memory: TidalMemory) -> None:
    turn = memory.record("Which bridge?", "The green one.")
    assert edges(memory) == {frozenset(turn.entries): 1.0}


def test_a_turn_recorded_again_links_once(memory: TidalMemory) -> None:
    used = told(memory)
    for _ in range(3):
        memory.record(ASKED, ANSWERED, id="t", surfaced=[used])
    assert set(edges(memory).values()) == {1.0}


def test_a_turn_that_goes_on_links_only_what_is_new(memory: TidalMemory) -> None:
    first, second = told(memory), told(memory, "The bridge is green")
    said = [Message("user", ASKED, id="u")]
    memory.record(messages=said, surfaced=[first])
    said.append(Message("assistant", ANSWERED, id="a"))
    turn = memory.record(messages=said, surfaced=[first, second])
    assert edges(memory) == dict.fromkeys(pairs(first, second, *turn.entries), 1.0)
    memory.record(messages=[*said, Message("assistant", "More of it.", id="b")])
    assert set(edges(memory).values()) == {1.0}


def test_another_turn_with_the_same_memories_adds_to_their_link(memory: TidalMemory) -> None:
    first, second = told(memory), told(memory, "The bridge is green")
    for n in range(3):
        memory.record(f"{ASKED} {n}", surfaced=[first, second])
    assert edges(memory)[frozenset((first, second))] == 3.0


def test_a_repetition_counts_as_what_it_repeats(memory: TidalMemory) -> None:
    first = told(memory)
    other = told(memory, "The bridge is green")
    again = memory.record("I play jazz piano", surfaced=[other])
    assert again.entries != (first,)
    assert edges(memory) == {frozenset((first, other)): 1.0}


def test_an_episode_stands_for_its_entries(memory: TidalMemory) -> None:
    shown = memory.record("The bridge is green", "Noted, green.")
    turn = memory.record(ASKED, surfaced=[shown.citation])
    assert edges(memory) == {
        **dict.fromkeys(pairs(*shown.entries, *turn.entries), 1.0),
        frozenset(shown.entries): 2.0,
    }


def test_unknown_and_foreign_ids_are_passed_over(memory: TidalMemory) -> None:
    other = told(memory.scoped("b"))
    memory.record(ASKED, surfaced=["nobody", "[ep:nothing]", other])
    assert edges(memory) == edges(memory.scoped("b")) == {}


def test_of_a_large_context_what_was_used_stays_in(open_memory: Any) -> None:
    memory = open_memory(settings=Tuning(associations={"context": 3}))
    shown = [told(memory, f"word{n}") for n in range(4)]
    used = told(memory)
    memory.record(ASKED, ANSWERED, surfaced=[*shown, used])
    assert edges(memory).keys() == pairs(used, *shown[:2])


def test_associations_go_with_a_forgotten_entry(memory: TidalMemory) -> None:
    used = told(memory)
    turn = memory.record(ASKED, ANSWERED, surfaced=[used])
    memory.forget(used)
    assert edges(memory).keys() == pairs(*turn.entries)


def test_a_damaged_link_does_not_keep_an_exchange_from_being_stored(
    memory: TidalMemory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shown = memory.record("The bridge is green", "Noted, green.").id
    memory.associations.link_pending()
    connection = apsw.Connection(str(tmp_path / "agent.db"))
    connection.execute("UPDATE links SET metadata = '{' WHERE kind = 'association'")
    connection.close()
    turn = memory.record(ASKED, ANSWERED, surfaced=[shown])
    assert memory.episodes[turn.id].answer == ANSWERED
    memory.associations.link_pending()
    assert "a row of links is damaged" in caplog.text


def test_the_turns_of_a_killed_process_are_linked_by_the_next_one(tmp_path: Path) -> None:
    path, settings = tmp_path / "agent.db", Tuning(graph={"quiet": 0.0})
    code = (
        "import os, sys; from tidal_plugins import HashingEmbedder, TidalMemory;"
        "from tidal_plugins.tuning import Tuning;"
        "memory = TidalMemory(sys.argv[1], embedder=HashingEmbedder(), settings=Tuning(graph={'quiet': 60.0}));"
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


def test_a_turn_that_goes_on_before_it_is_linked_links_all_of_it(memory: TidalMemory) -> None:
    shown, said = told(memory), [Message("user", ASKED, id="u")]
    memory.record(messages=said, surfaced=[shown])
    turn = memory.record(messages=[*said, Message("assistant", ANSWERED, id="a")], surfaced=[shown])
    assert edges(memory) == dict.fromkeys(pairs(shown, *turn.entries), 1.0)


def test_many_turns_become_what_they_become_one_by_one(open_memory: Any, tmp_path: Path) -> None:
    """Turns of one batch see each other: repetitions, numbers, moods, what was shown and what excludes it."""
    several = [
        Exchange((Message("user", "The ferry is closed."), Message("assistant", "Noted.")), "a", "1"),
        Exchange((Message("user", "I am furious, the ferry is open!!!"), Message("assistant", "Noted.")), "a", "2"),
        Exchange((Message("user", "The ferry is closed."),), "b", "3"),
        Exchange(
            (Message("user", "I am so sad."), Message("assistant", "I am sorry, and the ferry is closed.")), "a", "4"
        ),
    ]
    memories = [open_memory(tmp_path / name) for name in ("together.db", "alone.db")]
    found = []
    for memory, together in zip(memories, (True, False), strict=True):
        shown = memory.record("The harbour office opens at nine.", id="0").entries
        turns = [replace(one, surfaced=shown) if one.key == "4" else one for one in several]
        for exchanges in [turns] if together else [[one] for one in turns]:
            memory.record_many(exchanges)
        episodes = [memory.episodes[memory.episodes.id_of(str(one.key), thread=one.thread)] for one in turns]
        memory.associations.link_pending()
        said = [memory.get(id_) for episode in episodes for id_ in episode.entries]
        state, conflicts = memory.affect.state(), memory.facts.conflicts()
        weights = [sorted(link.weight for link in memory.associations.links(entry.id)) for entry in said]
        found.append(
            (
                [episode.turn for episode in episodes],
                [(entry.text, entry.tier, entry.affect, entry.importance) for entry in said],
                (state, [(one.fact, one.claim) for one in conflicts], weights),
                [hit.text for hit in memory.recall("Is the ferry closed?")],
            )
        )
    assert found[0] == found[1]


def test_recall_and_whisper_link_nothing(memory: TidalMemory) -> None:
    told(memory)
    told(memory, "jazz guitar")
    memory.recall("jazz")
    memory.whisper("jazz piano lessons")
    assert edges(memory) == {}
