"""What stays in the capsule: facts that nobody revalued, what matters for good at any age, short statements."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tidal_plugins import Exchange, Message, Settings
from tidal_plugins.testing import NOON

DAY = timedelta(days=1)


def test_a_fact_stays_when_people_use_one_of_its_words(memory: Any, capsules: Any) -> None:
    memory.facts["allergy"] = "hazelnuts"
    memory.facts["blood group"] = "A positive"
    memory.facts["office phone"] = "0316 555 010"
    memory.record("Is a cat allergy common?", "Fairly.", occurred_at=NOON + DAY)
    memory.record("The group met at the office today.", "Good.", occurred_at=NOON + DAY)
    memory.record("The allergy is bad today.", "Sorry to hear it.", occurred_at=NOON + DAY)
    identity = capsules.current(NOON + 2 * DAY)["identity"]
    assert "hazelnuts" in identity
    assert "A positive" in identity
    assert "0316 555 010" in identity


def test_a_fact_gives_way_to_a_newer_value_of_its_kind(memory: Any, capsules: Any) -> None:
    memory.facts["office city"] = "Graz"
    memory.record("The office city is Villach.", "Noted.", occurred_at=NOON + DAY)
    assert "Graz" not in capsules.current(NOON + 2 * DAY)["identity"]


def test_what_matters_for_good_is_read_whatever_its_age(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(tuning={"capsule.newest": 20}))
    memory.record("Ida is severely allergic to sesame.", "Noted.", thread="old", occurred_at=NOON - 300 * DAY)
    memory.record("From now on use metric units, not imperial.", "Noted.", thread="old", occurred_at=NOON - 300 * DAY)
    memory.record_many(
        Exchange((Message("user", f"Bus {n} was late near the river.", None),), occurred_at=NOON - timedelta(hours=n))
        for n in range(40)
    )
    capsule = memory.capsule.read()
    assert "allergic to sesame" in capsule["identity"]
    assert "metric units" in capsule["operational_rules"]


def test_a_short_statement_about_oneself_stands_in_identity_and_an_acknowledgement_states_nothing(
    memory: Any, capsules: Any
) -> None:
    stated = ("I'm allergic to latex.", "I'm Sunniva, I work at the observatory in Varn.")
    nothing = ("I agree completely.", "I'm back.", "We know.")
    for place, said in enumerate((*stated, *nothing)):
        memory.record(said, "Good.", occurred_at=NOON + timedelta(minutes=place))
    capsule = capsules.current(NOON + DAY)
    assert [said for said in stated if said not in capsule["identity"]] == []
    assert [said for said in nothing if said in str(capsule)] == []


def test_a_short_statement_about_oneself_stands_in_a_dossier(memory: Any) -> None:
    memory.record("We use MariaDB.", "Noted.")
    assert "We use MariaDB." in str(memory.dossiers.refresh("MariaDB"))
