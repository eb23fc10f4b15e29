"""What is unfinished, and what is not, or no more, or never was."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import count

import pytest

from tests.inside import storage_of
from tests.sentences import sentences
from tidal_plugins.dossiers.recent import Newest
from tidal_plugins.dossiers.unfinished import unfinished
from tidal_plugins.testing import NOON
from tidal_plugins.tuning import Tuning

SENTENCES = sentences(__file__)

# What follows is said on Sunday 1 March 2026 at noon.


@pytest.fixture
def find(open_memory, clock):
    """Return a function that records turns an hour apart and returns what is unfinished then."""

    number = count()

    def found(*turns, after=timedelta(hours=2), documents=()):
        memory = open_memory(f"{next(number)}.db")
        clock.set(NOON)
        for text in documents:
            memory.remember(text, kind="kb", source="letter.txt")
        for user, agent in turns:
            memory.record(user, agent, thread="talk")
            clock.advance(hours=1)
        return unfinished(Newest(storage_of(memory), ("default",), Tuning(), NOON + after))

    return found


@pytest.mark.parametrize(
    ("said", "kind", "due"),
    [
        ("I need to pay the plumber 80 euros by Thursday.", "task", date(2026, 3, 5)),
        ("Remind me to send the contract to Nils by Thursday.", "task", date(2026, 3, 5)),
        ("I have to return the library books about bees by 20 March.", "task", date(2026, 3, 20)),
        ("I must renew the van's permit tomorrow.", "task", date(2026, 3, 2)),
        ("I still have to repair the lock of the garden shed.", "task", None),
        ("TODO: rotate the keys of the mail server", "task", None),
        ("We have dinner with Tomas and Rea at the harbour on Friday.", "plan", date(2026, 3, 6)),
        ("My sister arrives in Ghent on 14 March with her two dogs.", "plan", date(2026, 3, 14)),
        ("The surveyor inspects the roof of the barn on Tuesday.", "plan", date(2026, 3, 3)),
        ("The choir sings in Saint Bavo next Saturday evening.", "plan", None),
    ],
)
def test_what_the_person_means_to_do_or_what_will_be(find, said, kind, due):
    [item] = find((said, "Noted."))
    assert item.kind == kind
    assert due is None or item.due == due


@pytest.mark.parametrize(
    ("said", "due"),
    [
        ("I will remind you on 20 March to renew the van's permit.", date(2026, 3, 20)),
        ("I'll remind you on Thursday to book the seats on the ferry.", date(2026, 3, 5)),
    ],
)
def test_what_the_agent_keeps_for_a_day_is_a_promise(find, said, due):
    [item] = find(("The van's permit and the ferry are on my mind.", said))
    assert (item.kind, item.due) == ("promise", due)


def test_advice_is_no_promise(find):
    assert find(("How do I begin?", "**Action:** Create a group chat for the rowers of the regatta.")) == []


def test_a_question_that_the_agent_could_not_answer_is_open_until_it_is(find):
    asked = ("Who repaired the old church bell in 1911?", "I don't know who repaired it.")
    assert [item.kind for item in find(asked)] == ["question"]
    answered = ("Any news?", "The old church bell was repaired in 1911 by Jules Maes.")
    assert find(asked, answered) == []


@pytest.mark.parametrize("said", SENTENCES["what is no plan of anybody"])
def test_what_is_no_plan_of_anybody(find, said):
    assert find((said, "All right.")) == []


def test_a_document_and_a_quotation_promise_nothing(find):
    letter = "I need to pay the plumber 80 euros by Thursday."
    assert find(("Good morning!", "Good morning!"), documents=[letter]) == []
    assert find((f'He wrote: "{letter}"', "I see.")) == []


@pytest.mark.parametrize(("said", "later"), SENTENCES["what was moved cancelled or done is not open for its day"])
def test_what_was_moved_cancelled_or_done_is_not_open_for_its_day(find, said, later):
    old = [item for item in find((said, "Noted.")) if item.due]
    assert len(old) == 1
    assert old[0].due not in [item.due for item in find((said, "Noted."), (later, "I see."))]


def test_a_moved_plan_is_open_for_its_new_day(find):
    [item] = find(
        ("We have dinner with Tomas at the harbour on Friday.", "Noted."),
        ("The dinner with Tomas at the harbour is on Saturday 14 March instead.", "I see."),
    )
    assert item.due == date(2026, 3, 14)


@pytest.mark.parametrize(
    "later",
    ["I must not forget to pay the plumber by Thursday.", "What did the plumber say on Friday?", "The bees are well."],
)
def test_what_changes_nothing_leaves_it_open(find, later):
    found = find(("I need to pay the plumber 80 euros by Thursday.", "Noted."), (later, "I see."))
    assert "I need to pay the plumber 80 euros by Thursday." in [item.point.raw for item in found]


def test_a_plan_is_open_until_its_day_is_over(find):
    said = ("We have dinner with Tomas and Rea at the harbour on Friday.", "Noted.")
    assert find(said, after=timedelta(days=5))
    assert find(said, after=timedelta(days=6)) == []
