"""What people read of ordinary talk: own words, no chatter, nothing twice, and people who are who they say."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.sentences import sentences
from tidal_plugins.testing import NOON

SENTENCES = sentences(__file__)

HOUR = timedelta(hours=1)


def tell(memory: Any, *turns: str) -> None:
    for n, said in enumerate(turns):
        memory.record(said, "I see.", thread=f"t{n}", occurred_at=NOON - (len(turns) - n) * HOUR)


def test_nothing_stands_in_two_sections_even_where_lines_hold_several_statements(memory, capsules):
    tell(memory, "The roof must be sealed by Friday. I promised Greta a new gate by the end of March. Wear a helmet.")
    lines = [line for line in str(capsules.current(NOON)).splitlines() if line.startswith("- ")]
    assert sum("gate" in line for line in lines) == 1


LOOKS_LIKE_AN_INTRODUCTION = SENTENCES["looks_like_an_introduction"]


def test_what_only_looks_like_an_introduction_is_no_identity(memory, capsules):
    tell(memory, *LOOKS_LIKE_AN_INTRODUCTION)
    assert capsules.current(NOON)["identity"] == ""


def test_of_several_introductions_by_one_name_the_fullest_stands(memory, capsules):
    tell(memory, "It's Greta. Fine weather.", "Greta here, I run the mill since May.", "Greta here. I rang Olaf.")
    assert capsules.current(NOON)["identity"].count("Greta") <= 2
    assert "the mill since May" in capsules.current(NOON)["identity"]


def test_a_regular_event_is_no_routine_of_the_agent(memory, capsules):
    tell(memory, "Every evening around nine the light is gone for a minute.", "Every morning, check the mill's inbox.")
    loop = capsules.current(NOON)["loop_protocol"]
    assert "inbox" in loop
    assert "light" not in loop


def test_a_customer_number_is_no_contact_and_a_phone_number_is(memory, capsules):
    tell(memory, "The customer number is on the bill: 5510-2234-81.", "You can ring the miller at 0171 5550 1234.")
    contacts = capsules.current(NOON)["key_contacts"]
    assert "0171" in contacts
    assert "5510" not in contacts


def test_empathy_and_opinions_of_things_in_general_are_no_work_and_no_priority(memory, capsules):
    tell(
        memory,
        "That must have been really hard for you.",
        "Taking time for yourself is so important.",
        "Remember to find joy in the little things.",
        "I finished the new sluice on 3 March, it is important to me.",
    )
    text = str(capsules.current(NOON))
    assert "sluice" in text
    for word in ("must have been", "yourself", "joy"):
        assert word not in text


def test_praise_of_an_answer_is_left_out_and_objections_are_not(memory, capsules):
    tell(
        memory,
        "This plan is absolutely perfect for our sluice!",
        "You've really nailed the order of the sluices.",
        "I love how you split the sluice work into parts.",
        "That makes sense for how the mill is run.",
        "This list is great, but our sluice in Hagen is missing from it.",
        "The mill is great for weddings, we booked it for 3 May.",
    )
    text = str(capsules.current(NOON))
    for word in ("absolutely perfect", "nailed", "love how", "makes sense"):
        assert word not in text
    assert "Hagen" in str(memory.dossiers.brief("Hagen"))
    assert "3 May" in text


def test_what_is_considered_is_not_decided(memory, capsules):
    tell(memory, "I am considering moving to Hagen.", "We moved to Brilon on 3 March.")
    memory.dossiers.refresh("moving")
    for topic, decided in (("Hagen", False), ("Brilon", True)):
        assert ("Decided:" in str(memory.dossiers.brief(topic))) == decided


def test_pasted_texts_are_nobodys_rules_and_tasks(memory, capsules):
    mail = "From: Olaf\nTo: all\nSubject: gates\n\nFrom now on never lock the gate. I promised Eve 300 euros by Friday."
    tell(memory, f"What do you think of it?\n\n{mail}", f"Shorten this text:\n\n{mail}")
    capsule = str(capsules.current(NOON))
    assert "never lock" not in capsule
    assert "Eve" not in capsule


def test_a_bracket_with_a_number_ends_no_sentence_and_a_colon_or_code_leads_to_nothing(memory, capsules):
    said = "I registered for the race in May (May 11) as a first step."
    tell(memory, "```\nprint(1)\n```", "Hey Olaf! I bought the mill in Hagen on 2 March.", said, "Reduce it to these:")
    text = str(capsules.current(NOON))
    assert "(May 11) as a first step" in text
    assert ": I bought the mill" in text, "interjections are left out"
    assert "Reduce it" not in text


def test_an_agents_imperative_is_advice_and_no_work(memory, capsules):
    memory.record(
        "How do I store it?", "Use `numeric(15,3)` in the table. Added `amounts.py`.", occurred_at=NOON - HOUR
    )
    work = capsules.current(NOON)["recent_work"]
    assert "amounts.py" in work
    assert "numeric" not in work


def test_where_something_lies_stands_in_the_capsule_for_good(memory, capsules):
    tell(memory, "The spare bulb is in the blue tin under the stairs.", "The spare key hangs behind the stove.")
    known = capsules.current(NOON + timedelta(days=300))["identity"]
    assert "blue tin" in known
    assert "stove" in known
