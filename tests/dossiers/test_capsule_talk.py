"""What people read of ordinary talk: own words, no chatter, nothing twice, and people who are who they say."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tidal_plugins.testing import NOON

HOUR = timedelta(hours=1)


def tell(memory: Any, *turns: str) -> None:
    for n, said in enumerate(turns):
        memory.record(said, "I see.", thread=f"t{n}", occurred_at=NOON - (len(turns) - n) * HOUR)


def test_nothing_stands_in_two_sections_even_where_lines_hold_several_statements(memory, capsules):
    tell(memory, "The roof must be sealed by Friday. I promised Greta a new gate by the end of March. Wear a helmet.")
    lines = [line for line in str(capsules.current(NOON)).splitlines() if line.startswith("- ")]
    assert sum("gate" in line for line in lines) == 1


def test_a_customer_number_is_no_contact_and_a_phone_number_is(memory, capsules):
    tell(memory, "The customer number is on the bill: 5510-2234-81.", "You can ring the miller at 0171 5550 1234.")
    contacts = capsules.current(NOON)["key_contacts"]
    assert "0171" in contacts
    assert "5510" not in contacts


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


def test_where_something_lies_stands_in_the_capsule_for_good(memory, capsules):
    tell(memory, "The spare key hangs behind the stove.")
    assert "stove" in str(capsules.current(NOON + timedelta(days=300)))
