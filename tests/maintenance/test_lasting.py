"""What matters for good is there after years, and what does not has faded."""

from __future__ import annotations

import pytest

from tests.conftest import OpenMemory
from tests.tables import tables
from tidal_plugins import Settings
from tidal_plugins.testing import FrozenClock

TABLE = tables("maintenance/lasting.jsonl")

ALLERGY, TALK = "Mind that Iris is allergic to hazelnuts.", "The hazelnuts at the fair were roasted well."


def test_an_allergy_does_not_fade_and_talk_does(open_memory: OpenMemory, clock: FrozenClock) -> None:
    for settings, kept in ((Settings(), [ALLERGY]), (Settings(tuning={"decay.important": 11}), [])):
        memory = open_memory(f"{len(kept)}.db", settings=settings)
        memory.record(ALLERGY, "Noted.", thread="a")
        memory.record(TALK, "Lovely.", thread="b")
        clock.advance(days=3 * 365)
        assert [hit.text for hit in memory.recall("hazelnuts")] == kept
        assert all(memory.get(hit.id).tier is None for hit in memory.recall("hazelnuts"))


def test_the_newest_value_of_what_was_asked_for_does_not_fade(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory()
    old = memory.record("The choir rehearsal is on Tuesday.", None, thread="a").entries[0]
    clock.advance(days=1)
    new = memory.record("The choir rehearsal is on Wednesday now.", None, thread="b").entries[0]
    memory.supersessions.find()
    assert [(one.later, one.earlier) for one in memory.supersessions.list()] == [(new, old)]
    clock.advance(days=1)
    answer = f"On Wednesday [ep:{memory.get(new).episode}]."
    memory.record("When is the choir rehearsal?", answer, thread="c", surfaced=[new, old])
    clock.advance(days=3 * 365)
    assert memory.get(new).tier.state(memory.now()) == "warm"
    assert memory.get(old).tier.state(memory.now()) == "archived"


def test_what_matters_for_good_surfaces_at_a_lower_chance_for_a_turn_that_asks(open_memory: OpenMemory) -> None:
    def shown(question: str, important: float) -> str:
        strict = Settings(
            whisper={"threshold": 0.99}, tuning={"whisper.statement_threshold": 0.99, "whisper.important": important}
        )
        memory = open_memory(settings=strict)
        memory.record(ALLERGY, "Noted.", thread="a")
        memory.record(TALK, "Lovely.", thread="b")
        return memory.whisper(question).text

    assert "allergic" in shown("May Iris have the hazelnuts?", 0.1)
    assert "fair" not in shown("May Iris have the hazelnuts?", 0.1), "other memories need the whole chance"
    assert not shown("May Iris have the hazelnuts?", 1.0)
    assert not shown("Dora bought some hazelnuts for Iris at the fair.", 0.1), "it asks for nothing"


@pytest.mark.parametrize(("kept", "told"), TABLE["lasting"])
def test_where_a_thing_is_what_harms_and_a_rule_do_not_fade(open_memory: OpenMemory, kept: str, told: str) -> None:
    memory = open_memory()
    ids = [memory.record(text, "I see.", thread=text).entries[0] for text in (kept, told)]
    assert [memory.get(id_).tier is None for id_ in ids] == [True, False]


def test_a_note_that_its_writer_calls_important_does_not_fade(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory()
    memory.remember("The hazel hedge is cut in March.", kind="conversation", importance=9)
    memory.remember("The hazel hedge is green.", kind="conversation", importance=5)
    clock.advance(days=365)
    assert [hit.text for hit in memory.recall("hazel hedge")] == ["The hazel hedge is cut in March."]
