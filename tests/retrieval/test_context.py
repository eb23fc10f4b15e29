"""What threads and neighbours add to a candidate, by hand-computed values and on a real store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from tidal_plugins import Message, TidalMemory
from tidal_plugins.retrieval.surroundings import Surroundings, echoes
from tidal_plugins.storage.base import Beside, Sketch
from tidal_plugins.testing import NOON
from tidal_plugins.tuning import RecallTuning, Tuning


class Stub(NamedTuple):
    sketch: Sketch


def turn(id: str, thread: str | None = "s", words: int = 5, head: str = "text", tail: str = "text") -> Stub:
    return Stub(Sketch(id, 5.0, None, None, None, None, 1, thread, words, head, tail))


def around(
    *turns: Stub, nearness: list[float], beside: Sequence[Beside] = (), floor: float = 0.1
) -> list[tuple[float, ...]]:
    found = Surroundings(beside, floor).around(turns, nearness, RecallTuning())
    return [tuple(round(value, 4) for value in item) for item in found]


def test_the_best_of_a_thread_raises_the_others() -> None:
    turns = [turn("a"), turn("b"), turn("c", "other"), turn("d", None), turn("e", None)]
    found = around(*turns, nearness=[0.5, 0.1, 0.3, 0.2, 0.4])
    assert [item[0] for item in found] == [0.0, 0.1, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("head", "said", "same"),
    [
        ("And  Where?", "and where?", True),
        ("\n and where? ", "and where?", True),
        ("ＡＮＤ where?", "and where?", True),
        ("École?", "école?", True),
        ("E\u0301cole?", "école?", True),
        ("and where", "and where?", False),
        ("but where?", "and where?", False),
        ("", "and where?", False),
        ("and where?", "", False),
    ],
)
def test_what_says_the_same_in_another_form_echoes(head: str, said: str, same: bool) -> None:
    assert echoes(turn("a", head=head).sketch, said) is same


def test_what_says_what_the_turn_says_speaks_for_the_answer_after_it_and_not_for_its_thread() -> None:
    turns = [turn("again", head="And  where?", tail="where?"), turn("after"), turn("far")]
    said = Surroundings([Beside("again", "after", 1)], 0.1, "and where?")
    lifts = said.around(turns, [1.0, 0.1, 0.1], RecallTuning())
    assert [item.thread for item in lifts] == [0.0, 0.0, 0.0]
    assert lifts[1].neighbours == pytest.approx(3 * 0.15 * 0.9)
    assert Surroundings().around(turns, [1.0, 0.1, 0.1], RecallTuning())[2].thread == pytest.approx(0.25 * 0.9)


@pytest.mark.parametrize("known", [("a", "b", 1), ("b", "a", -1)])
def test_neighbours_lend_either_way_however_they_are_known(known: tuple[str, str, int]) -> None:
    found = around(turn("a"), turn("b"), nearness=[0.5, 0.3], beside=[Beside(*known)])
    assert [item[1] for item in found] == [0.15 * 0.2, 0.15 * 0.4]


def test_a_pair_that_is_known_from_both_ends_lends_once() -> None:
    both = [Beside("a", "b", 1), Beside("b", "a", -1)]
    assert around(turn("a"), turn("b"), nearness=[0.5, 0.1], beside=both)[1][1] == 0.06


def test_a_question_lends_most_to_the_turn_after_it() -> None:
    beside = [Beside("q", "after", 1), Beside("q", "before", -1)]
    turns = [turn("before"), turn("q", tail="really?"), turn("after")]
    found = around(*turns, nearness=[0.1, 0.5, 0.1], beside=beside)
    assert [item[1] for item in found] == [0.06, 0.0, 0.18]


def test_long_messages_stand_for_themselves() -> None:
    found = around(turn("a", words=200), turn("b", words=40), nearness=[0.5, 0.3], beside=[Beside("a", "b", 1)])
    assert found[1][1] == pytest.approx(0.15 * 0.4 * 0.1**0.5 * 0.5, abs=1e-4)


def test_what_is_no_candidate_lends_nothing() -> None:
    assert around(turn("a"), nearness=[0.5], beside=[Beside("a", "gone", 1)])[0][1] == 0.0


def test_a_turn_that_tells_counts_more_than_one_that_asks() -> None:
    turns = [turn("t", head="since last week"), turn("q", tail="why?"), turn("l", words=80, tail="why?"), turn("n")]
    assert [item[2] for item in around(*turns, nearness=[0.3] * 4)] == [0.05, -0.05, -0.0125, 0.0]


# on a store


def talk(memory: TidalMemory, *texts: str, thread: str = "s") -> dict[str, str]:
    """Record turns of one thread, a minute apart; return their texts' ids."""
    for number, text in enumerate(texts):
        message = Message("user", text, id=f"{thread}{number}")
        memory.record(messages=[message], thread=thread, occurred_at=NOON + timedelta(minutes=number))
    return {hit.text: hit.id for hit in memory.recall(" ".join(texts), limit=100)}


def test_the_answer_comes_up_though_no_word_of_it_was_asked(open_memory: Any) -> None:
    memory = open_memory(settings=Tuning(recall={"pool": 3, "shortlist": 3}))
    talk(memory, "hello again", "where did the zebra sleep?", "under an old oak", "fine")
    talk(memory, *(f"nothing number {n}" for n in range(9)), thread="t")
    found = memory.recall("zebra sleep", limit=3)
    assert found[0].text == "where did the zebra sleep?"
    answer = next(hit for hit in found if hit.text == "under an old oak")
    assert answer.why.factors["neighbours"] > 0
    assert answer.why.factors["thread"] > 0
    without = open_memory("plain.db", settings=Tuning(recall={"pool": 3, "shortlist": 3, "neighbours": 0.0}))
    talk(without, "hello again", "where did the zebra sleep?", "under an old oak", "fine")
    talk(without, *(f"nothing number {n}" for n in range(9)), thread="t")
    assert all("neighbours" not in hit.why.factors for hit in without.recall("zebra sleep", limit=3))


@pytest.mark.parametrize(("recall", "joins"), [({}, True), ({"neighbours": 0.0}, False)])
def test_what_no_channel_found_joins_from_beside_the_best(open_memory: Any, recall: Any, joins: bool) -> None:
    memory = open_memory(settings=Tuning(recall={"pool": 1, "shortlist": 1, **recall}))
    ids = talk(memory, "where did the zebra sleep?", "under an old oak")
    talk(memory, *(f"zebra sleep {n}" for n in range(9)), thread="t")
    found = memory.recall("where did the zebra sleep?", limit=1)
    assert found[0].text == "where did the zebra sleep?"
    assert (ids["under an old oak"] in {item.id for item in found.dropped}) is joins


def test_neighbours_pass_the_same_filter(memory: TidalMemory) -> None:
    ids = talk(memory, "where did the zebra sleep?", "under an old oak")
    found = memory.recall("zebra", exclude=[ids["under an old oak"]])
    assert [hit.text for hit in found] == ["where did the zebra sleep?"]


@pytest.mark.parametrize("profile", ["tidal", "attention"])
def test_other_profiles_know_no_surroundings(memory: TidalMemory, profile: str) -> None:
    talk(memory, "where did the zebra sleep?", "under an old oak")
    for hit in memory.recall("zebra", profile=profile):
        assert not {"thread", "neighbours", "telling"} & hit.why.factors.keys()
