"""What dossiers, briefs and capsules say of a conversation: what holds now."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from tidal_plugins.testing import NOON

DAY = timedelta(days=1)


@pytest.fixture
def live(memory: Any, clock: Any) -> Any:
    """Return a function that records turns, a day apart, and reads what they supersede."""

    def make(*turns: tuple[str, str]) -> Any:
        for place, (user, agent) in enumerate(turns):
            at: datetime = NOON - (len(turns) - place) * DAY
            clock.set(at)
            memory.record(user, agent, thread=f"day {place}", occurred_at=at)
        clock.set(NOON)
        memory.supersessions.find()
        return memory

    return make


def texts(dossier: Any, part: str = "now") -> list[str]:
    return [finding.text for finding in dossier.findings if finding.part == part]


def test_questions_requests_and_thanks_state_nothing(live):
    memory = live(
        ("Thanks a lot for the loom! The loom has twelve shafts.", "You're welcome, weaving is fun!"),
        ("where did they say I get yarn for the loom", "At the mill in Varn, for the loom and for knitting."),
        ("can you order a reed for the loom please", "Sure."),
        ("The loom stands in the attic.", "Thanks!"),
    )
    assert texts(memory.dossiers.refresh("loom")) == [
        "The loom stands in the attic.",
        "Agent: At the mill in Varn, for the loom and for knitting.",
        "The loom has twelve shafts.",
    ]


def test_what_was_superseded_stands_behind_the_newer_value(live):
    memory = live(
        ("The concert of the choir is on Friday 27 March.", "Noted: the concert is on Friday 27 March."),
        ("The concert of the choir moved from Friday 27 March to Sunday 29 March.", "Sunday, then."),
    )
    said = str(memory.dossiers.refresh("concert"))
    assert "to Sunday 29 March" in said
    assert said.count("27 March") == 1, "in the newer statement alone"
    assert str(memory.dossiers.brief("choir")).count("27 March") == 1
    assert str(memory.capsule.read()).count("Friday 27 March") == 1


def test_a_plan_whose_day_is_over_stands_apart(live):
    memory = live(("Tomorrow the ferry goes to Varn at noon.", "Have a good trip."), ("The ferry was late.", "Oh no."))
    dossier = memory.dossiers.refresh("ferry")
    assert texts(dossier, "earlier") == ["Tomorrow (28 February) the ferry goes to Varn at noon."]
    assert texts(dossier) == ["The ferry was late."]
    assert "Earlier plans:\n- 2026-02-27: Tomorrow" in str(dossier)


def test_the_agent_speaks_where_it_answers_or_reports_work(live):
    memory = live(
        (
            "Please add a route for exports to the server.",
            "Added `GET /exports` to the server; 14 tests pass. Well done us!",
        ),
        ("The server is called Heron.", "Got it, a lovely bird."),
    )
    assert texts(memory.dossiers.refresh("server")) == [
        "The server is called Heron.",
        "Agent: Added `GET /exports` to the server; 14 tests pass.",
    ]


def test_little_said_of_a_topic_is_joined_by_what_has_to_do_with_it(live):
    memory = live(
        ("My shoulder hurts again, I made an appointment with Ragnhild, the physio at Northgate.", "Get well."),
        ("Ragnhild, the physio at Northgate, made an appointment for an ultrasound of the rotator cuff.", "I see."),
        ("The ultrasound of the rotator cuff at Northgate shows a small tear in the rotator cuff.", "What a relief!"),
        ("The bakery on the corner sells rye bread on weekdays.", "Yum."),
    )
    said = str(memory.dossiers.refresh("shoulder"))
    assert "small tear in the rotator cuff" in said
    assert "rye bread" not in said


def test_a_document_gives_the_passages_that_answer(memory):
    memory.remember(
        "# Handbook of the observatory\nThe dome opens at dusk.\nVisitors park behind the barn.\nTea is served.",
        source="handbook.md",
    )
    assert texts(memory.dossiers.refresh("visitors"), "documents") == ["handbook.md: Visitors park behind the barn."]


def test_the_capsule_has_people_rules_and_what_must_be_at_hand(live):
    memory = live(
        ("I'm Sunniva, I work at the observatory in Varn.", "Welcome, Sunniva."),
        ("My landlady is called Lotte Maria Anna van der Berg.", "I see."),
        ("My son Eskil is allergic to hazelnuts.", "I'll remember."),
        ("From now on use metric units, not imperial.", "Metric it is."),
        ("What a lovely evening, I saw a fox.", "Lucky you."),
    )
    capsule = memory.capsule.read()
    assert "I'm Sunniva" in capsule["identity"]
    assert "allergic to hazelnuts" in capsule["identity"]
    assert "van der Berg" in capsule["key_contacts"]
    assert "metric units" in capsule["operational_rules"]
    assert "a fox" not in str(capsule)
    assert capsule.filled == ("identity", "key_contacts", "operational_rules")


def test_a_fact_gives_way_to_what_was_said_of_it_later(memory, clock):
    clock.set(NOON - 9 * DAY)
    memory.facts["berth of the Heron"] = "17"
    memory.facts["hull colour"] = "green"
    clock.set(NOON)
    memory.record("The Heron lies at berth 9 this season.", "Noted.")
    capsule = memory.capsule.read()
    assert ": 17" not in capsule["identity"]
    assert "green" in capsule["identity"]


def test_a_recurring_memory_becomes_a_fact_without_its_acknowledgement(memory, clock):
    episode = memory.record("The tide gate closes at nine. Thanks!", "Noted, the tide gate closes at nine.")
    for number in range(3):
        memory.record(f"When does the gate close? {number}", "At nine.", surfaced=list(episode.entries))
        clock.advance(hours=1)
    [fact] = memory.maintenance.run().facts
    assert memory.get(fact).text.partition(" [")[0] == "The tide gate closes at nine."
