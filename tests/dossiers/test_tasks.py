"""Tasks that are open, and those that are not, or never were."""

import pytest

from tests.sentences import sentences
from tidal_plugins.dossiers.tasks import pending

SENTENCES = sentences(__file__)


def texts(found):
    return [point.raw for point in found]


@pytest.mark.parametrize("text", SENTENCES["what somebody means to do is pending"])
def test_what_somebody_means_to_do_is_pending(entries, text):
    assert texts(pending(entries(text))) == [text]


@pytest.mark.parametrize("text", SENTENCES["what nobody means to do is not"])
def test_what_nobody_means_to_do_is_not(entries, text):
    assert pending(entries(text)) == []


@pytest.mark.parametrize(("task", "later"), SENTENCES["what was done since is not pending"])
def test_what_was_done_since_is_not_pending(entries, task, later):
    assert pending(entries(task, later)) == []


@pytest.mark.parametrize(
    ("task", "later"), SENTENCES["a sentence that only shares words with a task does not close it"]
)
def test_a_sentence_that_only_shares_words_with_a_task_does_not_close_it(entries, task, later):
    assert texts(pending(entries(task, later)))[-1:] == [task]


@pytest.mark.parametrize(
    "later",
    ["I haven't booked the flight yet.", "Is the flight booked?", "I booked a table.", "I'll be booked all day."],
)
def test_what_only_sounds_done_stays_pending(entries, later):
    assert texts(pending(entries("I'll book the flight.", later))) == ["I'll book the flight."]


def test_an_agent_that_says_done_in_the_same_turn_has_done_it(entries):
    assert pending(entries("I need to book the flight.", "Done.", roles=["user", "assistant"])) == []


def test_an_agent_does_at_once_what_it_says_it_will(entries):
    assert pending(entries("I'll check the logs of the server.", roles=["assistant"])) == []
    assert pending(entries("Still open: check the logs of the server.", roles=["assistant"]))


def test_a_task_set_again_stands_there_once_and_the_newest_first(entries):
    said = entries("I need to renew my passport.", "I need to call the bank.", "I need to renew the passport soon!")
    assert texts(pending(said)) == ["I need to renew the passport soon!", "I need to call the bank."]


def test_whose_a_task_is_and_that_it_has_no_date_is_no_part_of_what_is_to_be_done(open_memory, clock):
    memory = open_memory()
    memory.record("actions: 1) alarm on tank level above 70%, Ji-woo, no date. 2) order gaskets, Petra.", "Added.")
    clock.advance(days=1)
    memory.record("the tank alarm is live, tick it off", "Ticked off: alarm on tank level above 70 %.")
    text = str(memory.dossiers.refresh("tank gaskets"))
    assert "order gaskets" in text.partition("Open:")[2].partition("Done:")[0]
    assert "Ji-woo" not in text


def test_many_tasks_that_differ_in_a_number_stay_apart(memory):
    for turn in range(4):
        memory.record(". ".join(f"TODO: check batch {turn * 10 + n} of the pump logs" for n in range(10)), "Noted.")
    text = str(memory.dossiers.refresh("pump logs"))
    assert text.count("check batch") > 10
    assert len({word for word in text.split() if word.isdigit()}) > 10


@pytest.mark.parametrize(
    "said",
    [
        "If I were rich I would order a new boat for the harbour.",
        "Imagine we had to sell the boat in the harbour. We have to call the harbour broker then.",
        "She said that one might need to paint the boat in the harbour.",
    ],
)
def test_what_is_imagined_or_rumoured_sets_no_task_and_is_no_work(memory, said):
    memory.record(said, "Right.")
    assert "Open:" not in str(memory.dossiers.refresh("harbour boat"))
    assert "harbour" not in str(memory.capsule.read())
