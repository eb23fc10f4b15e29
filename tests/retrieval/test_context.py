"""Threads and neighbours in a recall, by hand-computed values and by what they bring up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.retrieval.directions import QUESTION, lying, say
from tidal_plugins import Message, Note, Recall, TidalMemory
from tidal_plugins.testing import NOON
from tidal_plugins.tuning import Tuning


def parts(recall: Recall, name: str) -> dict[str, float]:
    """The part of that name in the score of each hit, 0 where explanations leave it out."""
    return {hit.text: hit.why.factors.get(name, 0.0) for hit in recall}


def close(values: dict[str, float]) -> Any:
    return pytest.approx(values, abs=1e-4)


@pytest.fixture
def talk_at(open_memory: Any) -> Any:
    """Records turns of one thread at cosines with the question, among so many ordinary texts that the floor is 0."""

    def record(turns: dict[str, float], **threads: dict[str, float]) -> TidalMemory:
        cosines = {text: near for thread in (turns, *threads.values()) for text, near in thread.items()}
        memory = lying(open_memory, cosines)
        memory.remember([Note(f"ordinary {n}") for n in range(20)])
        for name, thread in {"s": turns, **threads}.items():
            say(memory, *(("user", text) for text in thread), thread=name)
        return memory

    return record


def test_the_best_of_a_thread_raises_the_others(talk_at: Any) -> None:
    memory = talk_at({"best": 0.5, "weak": 0.1}, t={"alone": 0.3})
    memory.remember("ordinary note")
    lifts = parts(memory.recall(QUESTION, limit=40), "thread")
    assert {name: lifts[name] for name in ("best", "weak", "alone", "ordinary note")} == close(
        {"best": 0.0, "weak": 0.25 * 0.4, "alone": 0.0, "ordinary note": 0.0}
    )


def test_neighbours_lend_either_way_once_for_each_pair(talk_at: Any) -> None:
    memory = talk_at({"first": 0.5, "second": 0.3})
    lifts = parts(memory.recall(QUESTION), "neighbours")
    assert {name: lifts[name] for name in ("first", "second")} == close({"first": 0.15 * 0.3, "second": 0.15 * 0.5})


def test_a_question_lends_most_to_the_turn_after_it(talk_at: Any) -> None:
    memory = talk_at({"earlier": 0.0, "really?": 0.5, "later": 0.0})
    lifts = parts(memory.recall(QUESTION, limit=30), "neighbours")
    assert {name: lifts[name] for name in ("earlier", "later")} == close({"earlier": 0.075, "later": 0.225})


def test_long_messages_stand_for_themselves(talk_at: Any) -> None:
    words = [f"{one}{two}x" for one in "bcdfghjklmnp" for two in "aeiouwyqrt"]
    long, longer = " ".join(words[:40]), " ".join(words[40:])
    memory = talk_at({longer: 0.5, long: 0.3})
    lifts = parts(memory.recall(QUESTION), "neighbours")
    assert 0 < lifts[long] < 0.3 * 0.15 * 0.5, "of two short turns it is all of that"


def test_a_turn_that_tells_counts_more_than_one_that_asks(talk_at: Any) -> None:
    memory = talk_at({"since last week": 0.5, "why?": 0.5, "plain words": 0.5})
    lifts = parts(memory.recall(QUESTION), "time_mention")
    assert {name: lifts[name] for name in ("since last week", "why?", "plain words")} == close(
        {"since last week": 0.05, "why?": -0.05, "plain words": 0.0}
    )


@pytest.mark.parametrize(("said", "echoes"), [("ZEBRA ", True), ("ｚebra", True), ("zebras", False)])
def test_a_question_that_was_asked_before_raises_the_answer_after_it_and_not_its_thread(
    talk_at: Any, said: str, echoes: bool
) -> None:
    memory = talk_at({said: 0.9, "answer": 0.1, "aside": 0.1, "far": 0.1})
    recall = memory.recall(QUESTION)
    assert (parts(recall, "thread")["far"] == 0) is echoes
    assert parts(recall, "neighbours")["answer"] > 0


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
        assert not {"thread", "neighbours", "time_mention"} & hit.why.factors.keys()
