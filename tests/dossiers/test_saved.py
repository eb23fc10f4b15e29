"""What is written after a forgetting, from a capsule that was saved before; and topics as strange as they come."""

import pytest

from tests.conftest import OpenMemory
from tidal_plugins import InvalidInput, TidalMemory


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_a_saved_capsule_brings_nothing_back_that_was_forgotten(memory: TidalMemory, as_text, whole):
    said = memory.record("I'm allergic to pistachios.", "Then no baklava for the party in Linz.")
    memory.record("My brother Anton lives in Linz.", "Noted.")
    saved = memory.capsule.read()
    assert "pistachios" in str(saved)
    memory.forget(said.id if whole else memory.recall("allergic to pistachios")[0].id)
    written = memory.capsule.write(str(saved) if as_text else saved)
    assert "pistachios" not in str(written)
    assert "pistachios" not in str(memory.capsule.read())
    assert "My brother Anton lives in Linz." in str(written)


def test_what_people_wrote_with_a_citation_that_stands_is_kept(memory: TidalMemory):
    said = memory.record("The boiler room code is on the blue card.", "Noted.")
    text = f"# Capsule\n\n## Tools\n\nThe blue card opens the boiler room. [ep:{said.id}]\n"
    assert "The blue card opens the boiler room." in str(memory.capsule.write(text))


def test_a_turn_without_a_sentence_does_not_stop_a_capsule(open_memory: OpenMemory):
    memory = open_memory()
    memory.record("\n".join(f"TODO check the export of invoice batch {n} for the billing service" for n in range(15)))
    assert str(memory.capsule.read()).startswith("# Capsule")


def test_a_topic_has_only_characters_that_can_be_printed_and_is_bounded(memory: TidalMemory):
    memory.record("The boat shed leaks near the door.", "Noted.")
    for mark in ("\x1b[31m", "\x00", "\n", "\u202e", "\u200b"):
        dossier = memory.dossiers.refresh(topic := f"boat{mark} shed")
        assert dossier.topic.isprintable() or "\ufffd" in dossier.topic
        assert "leaks" in str(dossier)
        assert topic in memory.dossiers
        assert "leaks" in str(memory.dossiers.brief(topic))
    for topic in ("x" * 201, "boat " * 200_000):
        with pytest.raises(InvalidInput, match="limit is 200"):
            memory.dossiers.refresh(topic)
        with pytest.raises(InvalidInput):
            memory.dossiers.brief(topic)
        assert topic not in memory.dossiers
